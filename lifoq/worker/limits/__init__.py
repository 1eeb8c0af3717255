"""Limits: whether one more task may start in this worker.

    a task wants to start
        │
      Limits ──▶ ConcurrencyLimit of the worker, and of the task type:
        │           slots, TokenBucket (rate), what the downstream was found to take
        └──────▶ Quota of each limit that holds over all workers:
                    renewed by background calls at a quota table in DynamoDB

``adaptive_concurrency`` finds how many tasks of a type the downstream takes at a time: it lets the
number go up and down, ``attempt_times`` measures what that does to attempts, and
``capacity_estimate`` learns from it.
"""
