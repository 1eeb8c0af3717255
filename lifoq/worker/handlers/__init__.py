"""Handlers: the code that runs tasks.

    Registry ──▶ TaskType: a handler, and its terms
                    │
    payload, Context ──▶ ``invoke`` calls it ──────▶ a value, or what it raised
                                                             │
                                 Succeed, TryAgain (after a Backoff), GiveUp, Cancel
                                                             │
                                                 Outcome.write: one conditional write

``registry`` maps a task type to its handler, ``context`` is what the handler is told,
``invoke`` calls it for one task or a batch, ``outcome`` is what its return value or exception
means, ``backoff`` how long a retry waits, ``attempts_and_timeout_of_task`` how many attempts and
how much time one task has. ``async_handlers`` runs coroutines, ``emitted_answer_parts`` keeps what
a handler says while it runs, ``rate`` is how many tasks may start in a time, ``task_id_in_logs``
names the task in log records.
"""
