"""Schedules that put tasks: when they fire, what they put, and where a queue keeps those that its
clients make.

A schedule's firing ends in an ordinary put: EventBridge Scheduler calls ``ScheduledTasksFunction``
(``functions/lifoq_functions/create_tasks``) with the event, and its handler puts the task that
``event.new_task`` reads from it.
"""
