"""The words by which an operator is told of the limits that all workers share."""

from typing import Any

import pytest

from lifoq import Queue
from lifoq.basics.clock import CLOCKS_APART
from lifoq.basics.host import microseconds
from lifoq.client.cells import Cells
from lifoq.client.connection import SharedLimits
from lifoq.items.quota_table import NONE, QUOTA_LASTS, Amount, Renewal, SharedLimit
from lifoq.operating.shared_limit_usage import find_limit_usage
from lifoq.operating.workers import Holding, find_workers
from lifoq.store.quota_tables import QuotaTables

OWN = SharedLimit(in_flight=10, rate=5.0)
VIDEO = SharedLimit(in_flight=3)
LEASE = 30.0


@pytest.fixture
def queue(store, host) -> Queue:
    shared = SharedLimits(rate_limit=OWN.rate, total_in_flight=OWN.in_flight)
    return Queue(store, host=host, shared_limits=shared)


def take(queue: Queue, limit: str, shared: SharedLimit, worker: str, wants: Amount) -> None:
    """A worker's renewal at the quota table of a limit."""
    lease = microseconds(LEASE)
    terms: dict[str, Any] = {"insists": True, "returns": 0, "lease": lease, "renew": True}
    renewal = Renewal(worker=worker, number=1, keeps=NONE, wants=wants, **terms)
    assert QuotaTables(queue.store, host=queue.store._host).take(limit, shared, renewal) is not None


def test_each_shared_limit_is_told_with_who_holds_how_much_of_it(queue, host):
    (own,) = find_limit_usage(queue)
    assert (own.title, own.at_a_time, own.of_rate) == ("all types", "0 of 10", "0 of 5")
    assert (own.workers, own.free_at, own.is_short) == (0, None, False)
    queue.put("video", task_id="runs")
    queue.store.claim("runs", claim_id="c", lease=30)
    queue.put("mail")  # has no limit of its own
    take(queue, "", OWN, "lost", Amount(4, 3))
    take(queue, "video", VIDEO, "lost", Amount(3, 0))
    lost_at = host.now()
    host.advance(QUOTA_LASTS + 1)
    take(queue, "", OWN, "well", Amount(8, 1))
    own, video = find_limit_usage(queue)
    assert (own.at_a_time, own.of_rate, own.holders) == (
        "10 of 10",
        "4 of 5",
        "2, 1 of them silent",
    )
    assert own.is_short
    workers = find_workers(queue)
    assert [task.task_id for task in workers.unknown] == ["runs"]
    assert {(one.name, one.cell): one.holdings for one in workers.found} == {
        ("well", None): [Holding(limit="", unit=None, has=Amount(6, 1), is_silent=False)],
        ("lost", None): [
            Holding(limit="", unit=None, has=Amount(4, 3), is_silent=True),
            Holding(limit="video", unit=None, has=Amount(3, 0), is_silent=True),
        ],
    }
    assert (video.task_type, video.at_a_time, video.of_rate) == ("video", "3 of 3", "–")
    assert (video.workers, video.silent_workers, video.is_short) == (1, 1, False)
    assert video.free_at == lost_at + microseconds(QUOTA_LASTS + CLOCKS_APART + LEASE)
    host.time = video.free_at + 1
    own, video = find_limit_usage(queue)
    assert (own.at_a_time, own.workers) == ("6 of 10", 1)
    assert (video.at_a_time, video.free_at) == ("0 of 3", None)
    (well,) = find_workers(Cells([queue])).found
    assert (well.name, well.cell) == ("well", queue.store.table.name)


@pytest.mark.parametrize(
    ("rate", "total", "told"),
    [(5.0, None, [("–", "0 of 5")]), (None, 10, [("0 of 10", "–")]), (None, None, [])],
)
def test_a_queue_has_a_limit_of_its_own_if_it_limits_its_rate_or_its_tasks(
    store, rate, total, told
):
    queue = Queue(store, shared_limits=SharedLimits(rate_limit=rate, total_in_flight=total))
    assert [(own.at_a_time, own.of_rate) for own in find_limit_usage(queue)] == told


def test_a_limit_in_units_is_told_beside_that_of_the_tasks(queue):
    queue.put("video")
    take(queue, "video", VIDEO, "w", Amount(2, 0))
    minutes = SharedLimit(in_flight=20_000, rate=1_500.0, unit="minutes", most_owed=15_000.0)
    take(queue, "video", minutes, "w", Amount(8_500, 200))
    _, tasks, units = find_limit_usage(queue)
    assert (tasks.title, tasks.at_a_time, tasks.of_rate) == ("video", "2 of 3", "–")
    assert (units.title, units.at_a_time, units.of_rate) == (
        "video, minutes",
        "8,500 of 20,000",
        "200 of 1,000",
    )


def test_limits_are_those_of_the_newest_tasks(queue, host, monkeypatch):
    monkeypatch.setattr("lifoq.operating.shared_limit_usage.LARGEST_PAGE", 1)
    for task_type in ("mail", "video"):
        queue.put(task_type)
        take(queue, task_type, VIDEO, "w", Amount(1, 0))
        host.advance(1)
    _, found = find_limit_usage(queue)
    assert found.task_type == "video"


def test_the_numbers_of_a_queue_tell_of_its_shared_limits(session, queue, lifoq, answer):
    session.__dict__["queue"] = queue
    (limit,) = answer("stats")["shared_limits"]
    assert (limit["task_type"], limit["in_flight"], limit["slots"]) == (None, 10, 0)
    assert "all types 0 of 10 0 of 5 0 no now" in " ".join(lifoq("stats")[1].split())


def test_items_without_a_name_for_their_type_are_passed_over(queue, past):
    for kind in (None, ["video"], {"video": 1}):
        past.write({"taskId": f"{kind}", "taskStatus": "TAKEN", "taskCreated": 1, "taskType": kind})
    assert [limit.title for limit in find_limit_usage(queue)] == ["all types"]


def test_where_limits_are_not_shared_nothing_is_read(store, monkeypatch):
    queue = Queue(store)
    for call in ("query", "get", "get_many"):
        monkeypatch.delattr(type(store.table), call)
    assert find_limit_usage(queue) == find_limit_usage(Cells([queue])) == []
