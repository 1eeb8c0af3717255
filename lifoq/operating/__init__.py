"""Operating a deployed queue: its parts in the account, its pause, and a local cloud nearby."""
