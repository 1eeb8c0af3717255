"""The worker: it claims tasks, newest first, runs them, and settles them.

The rooms, from the lowest, and the question that each answers:

| room | question |
|---|---|
| ``handlers`` | Which code runs a task, what is it told, and what does its outcome mean? |
| ``gates`` | What may hold a waiting task back, and why? ``gates.all_gates`` lists it all. |
| ``backlog`` | Which task is next, and when to poll for more? |
| ``run`` | What happens in one invocation, and in the attempts beside its loop? |
| ``sweep`` | What is done once a minute, since no run can do it? |

To add a limit:

1. One file in ``gates`` with ``make``, one row in ``gates.all_gates``, and its situation in
   ``tests/unit/test_gates.py``.
   A gate that keeps something from one run to the next (a rate, a pause) has ``of_process`` in its
   row; a gate about a key is of the run, and keeps it as ``fair_share`` does
   (``from_run_to_run``). ``wait`` says whether a task may start: polls go on meanwhile, each half
   second at the least. ``wait_of_any`` says whether a poll is of use: where it is inf, the run does
   not poll before a task has ended or a quota was answered. So it tells a number of seconds where
   nobody will tell the run that the gate is open.
2. What switches it on: a term of ``handlers.registry``, which ``Registry.task`` takes; or a field
   of ``settings``.
3. If it may let nothing start for minutes: ``sweep.stalled_queue.patience``, or an alarm rings.
4. If it counts tasks: what it means beside ``shared_limits``, a quota over all workers, or a
   sentence of ``process_state`` that refuses both.
5. ``python -m tests.docs.waiting`` and ``python -m tests.docs.reference`` write the pages.

``processor`` is the door to ``run``; ``process_state`` holds what all runs of a process share,
``settings`` what the deployment sets, and ``known_types`` which task types a worker handles.
"""
