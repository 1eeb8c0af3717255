"""The worker: it claims tasks, newest first, runs them, and settles them.

The rooms, from the lowest:

- ``handlers``: which code runs a task, what it is told, and what its outcome means;
- ``gates``: whatever may hold a waiting task back; ``gates.table`` lists it all;
- ``backlog``: which task is next, and when to poll for more;
- ``run``: the loop of one invocation, and the attempts beside it;
- ``sweep``: once a minute, what no run can do.

``processor`` is the door to ``run``; ``process_state`` holds what all runs of a process share,
``settings`` what the deployment sets, and ``known_types`` which task types a worker handles.
"""
