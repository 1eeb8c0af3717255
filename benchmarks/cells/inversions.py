"""Starts that should have been another's: a newer task waits, in another cell."""

from benchmarks.cells.simulation import Waits, Work


def newer_by(work: Work, waits: Waits) -> dict[int, float]:
    """Of each task that started while a newer one waited: by how many seconds the newest of those
    was newer. Tasks are numbered as they arrive; who starts on arrival is the newest of all."""
    waited = [task for task, wait in enumerate(waits) if wait is None or wait > 0]
    starts = [(work.arrivals[task] + wait, task) for task in waited if (wait := waits[task])]
    arrivals = iter([(work.arrivals[task], task) for task in waited])
    arrival = next(arrivals, None)
    waiting: list[int] = []
    """All that arrived; those at the end that have started are taken off."""
    gone: set[int] = set()
    inversions = {}
    for moment, task in sorted(starts):
        while arrival is not None and arrival[0] <= moment:
            waiting.append(arrival[1])
            arrival = next(arrivals, None)
        gone.add(task)
        while waiting and waiting[-1] in gone:
            gone.remove(waiting.pop())
        # Whoever is newer than a task that may still start has not expired either.
        if waiting and waiting[-1] > task:
            inversions[task] = work.arrivals[waiting[-1]] - work.arrivals[task]
    return inversions
