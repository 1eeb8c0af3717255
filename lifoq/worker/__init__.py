"""The worker: it claims tasks, newest first, runs them, and settles them.

The rooms, from the lowest, and the question that each answers:

| room | question |
|---|---|
| ``handlers`` | Which code runs a task, what is it told, and what does its outcome mean? |
| ``gates`` | What may hold a waiting task back, and why? ``gates.table`` lists it all. |
| ``backlog`` | Which task is next, and when to poll for more? |
| ``run`` | What happens in one invocation, and in the attempts beside its loop? |
| ``sweep`` | What is done once a minute, since no run can do it? |

To add a limit: one file in ``gates`` with ``make``, one row in ``gates.table``, its situation in
``tests/unit/test_gates.py``, and the term or setting that switches it on. ``python -m
tests.docs.waiting`` writes the page.

``processor`` is the door to ``run``; ``process_state`` holds what all runs of a process share,
``settings`` what the deployment sets, and ``known_types`` which task types a worker handles.
"""
