"""Schedules of a queue in memory: a test lets them fire."""

from lifoq.client.queue import Queue
from lifoq.schedules.memory import MemoryGroup


def fire_schedules(queue: Queue) -> int:
    """Put the tasks of the schedules that are due by the queue's clock, and return how many. Of
    several times of a schedule that have passed, one counts. ``lifoq_run`` does it by itself.

    Args:
        queue: A queue of ``Queue.in_memory``. Those of others fire by themselves: 0 is returned.

    Examples:
        >>> from lifoq import every
        >>> from lifoq.testing import TurnableHost, fire_schedules
        >>> host = TurnableHost()
        >>> queue = Queue.in_memory(host=host)
        >>> schedule = queue.schedules.put("tenant-42", every(3600), "report.send")
        >>> fire_schedules(queue)  # the first time is at once
        1
        >>> host.advance(3600)
        >>> fire_schedules(queue), str(queue.waiting())
        (1, '2')
    """
    group = queue.schedule_group
    tasks = group.fire() if isinstance(group, MemoryGroup) else []
    for task in tasks:
        queue.store.put(task)
    return len(tasks)
