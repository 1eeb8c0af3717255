"""The operation of a deployed queue: its parts in the account, its pause, its workers and limits,
and the log of a task."""
