"""A write that is refused again and again ends within a bound, and pauses on the way."""

from typing import Any

import pytest

from lifoq.errors import StoreUnavailable
from lifoq.items.change import Change, ConditionFailed, Item, TransactionRefused
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.store.memory_table import MemoryTable
from lifoq.store.repeat_refused_write import TRIES
from lifoq.store.store import Store
from lifoq.testing.hosts import START, ManualHost

BOOM = TaskError(type="ValueError", message="boom")


class RefusingTable(MemoryTable):
    """Others are always faster, and leave everything as it was."""

    refuses = False
    refused = 0

    def _refuse(self, item: Item | None) -> None:
        if self.refuses:
            self.refused += 1
            raise ConditionFailed(item)

    def put(self, item: Item, **over: Any) -> None:
        self._refuse(None)
        super().put(item, **over)

    def update_and_get(self, task_id: str, change: Change) -> Item:
        self._refuse(self.get(task_id))
        return super().update_and_get(task_id, change)

    def update_and_put(self, task_id: str, *_: Any, **__: Any) -> None:
        self.refused += 1
        current = self.get(task_id)
        raise TransactionRefused(current=current, update_refused=False, taken_ids=frozenset())


def put(store: Store, **terms: Any) -> Task:
    return store.put(NewTask(task_type="a", task_id="t", **terms))


def claimed(store: Store) -> Task:
    put(store)
    return store.claim("t", claim_id="c", lease=30)


def replaced(store: Store) -> Task:
    task = claimed(store)
    put(store, if_exists="replace")
    return task


OPERATIONS = {
    "put": (put, lambda store, _: put(store)),
    "replace": (replaced, lambda store, _: put(store, if_exists="replace")),
    "cancel": (put, lambda store, _: store.cancel("t")),
    "run now": (lambda store: put(store, delay=9), lambda store, _: store.run_now("t")),
    "settle": (replaced, lambda store, task: store.fail(task, BOOM)),
    "follow up": (
        claimed,
        lambda store, task: store.succeed(task, "1", [NewTask(task_type="a")]),
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_who_is_refused_again_and_again_is_told(name):
    table, host = RefusingTable(), ManualHost()
    store = Store(table, host=host)
    prepare, operation = OPERATIONS[name]
    task = prepare(store)
    table.refuses = True

    with pytest.raises(StoreUnavailable, match=f"task 't' changed {TRIES} times"):
        operation(store, task)

    assert table.refused == TRIES
    assert host.slept == sorted(host.slept)
    assert len(host.slept) > 1


def test_the_sweep_leaves_a_task_to_the_next_that_others_write_to_all_the_time():
    table, host = RefusingTable(), ManualHost()
    store = Store(table, host=host)
    task = replaced(store)
    table.refuses = True
    host.time = START + 60_000_000
    assert store.reclaim(task, max_attempts=3) is None
    assert table.refused == TRIES
