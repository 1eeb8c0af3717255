"""Handlers: the code that runs tasks.

``registry`` maps a task type to its handler, ``context`` is what the handler is told, ``answers``
calls it for one task or a batch, ``outcome`` is what its return value or exception means,
``backoff`` how long a retry waits, ``allowance`` how many attempts and how much time one task has.
``async_handlers`` runs coroutines, ``attempt_log`` names task and attempt in log lines.
"""
