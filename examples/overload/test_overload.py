"""The account of every task, in memory; and the slow system."""

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from account import Account
from slow_system import SlowSystem
from targets import TARGETS

from lifoq import REGISTRY, Status, Task
from lifoq.targets.configured import register

SECOND = 1_000_000
NOTHING = {"waiting": 0, "taken": 0, "succeeded": 0, "failed": 0, "cancelled": 0, "shed": 0}


@pytest.fixture
def system():
    with SlowSystem(port=0, slots=2, service_seconds=0.5) as system:
        threading.Thread(target=system.serve_forever, daemon=True).start()
        yield system
        system.shutdown()


def test_the_fresh_are_served_and_the_others_shed_and_each_is_accounted_for(
    system, lifoq_queue, lifoq_host, lifoq_run
):
    register(REGISTRY, {name: replace(one, url=system.url) for name, one in TARGETS.items()})

    def put(number):
        return [lifoq_queue.put("device.check", deadline=10).task_id for _ in range(number)]

    ids = put(3)
    lifoq_host.advance(10)
    ids += put(2)
    lifoq_run()

    account = Account(put=5, tasks=lifoq_queue.store.read(ids), now=lifoq_host.now())
    assert account.counts == NOTHING | {"succeeded": 2, "shed": 3}
    assert sorted(system.served) == sorted(ids[3:])
    assert list(account.contradictions({"created": 5} | account.counts, system.served)) == []


def task(task_id, status=Status.PENDING, *, put=0.0, first_taken=None, finished=None):
    """A task whose times are given in seconds, and whose deadline is 10 s."""

    def at(seconds):
        return None if seconds is None else round(seconds * SECOND)

    return Task(
        task_id=task_id,
        status=status,
        task_type="device.check",
        payload=None,
        attempts=0,
        enqueued_at=at(put),
        task_updated=0,
        expires_at=at(put + 10),
        ttl=0,
        first_taken_at=at(first_taken),
        finished_at=at(finished),
    )


def an_account(*tasks, put=None, now=5):
    return Account(put=len(tasks) if put is None else put, tasks=tasks, now=now * SECOND)


def test_every_task_is_counted_once_by_where_it_is_and_shed_from_its_deadline_on():
    tasks = [task(status, status) for status in Status]
    before, after = (an_account(*tasks, now=now).counts for now in (9, 10))
    ended = {"taken": 1, "succeeded": 1, "failed": 1, "cancelled": 1}
    assert before == NOTHING | ended | {"waiting": 2}
    assert after == NOTHING | ended | {"shed": 2}


def test_a_stretch_holds_what_happened_from_its_start_up_to_its_end():
    account = an_account(
        task("before", Status.SUCCESS, put=9.9, first_taken=9.95, finished=9.99),
        task("at its start", Status.SUCCESS, put=10, first_taken=10.5, finished=11),
        task("inside", Status.SUCCESS, put=12, first_taken=12.25, finished=19.9),
        task("at its end", Status.SUCCESS, put=20, first_taken=20, finished=21),
        task("shed inside", put=5),
        task("shed at its end", put=10.1),
        now=30,
    )
    stretch = account.between(10 * SECOND, 20 * SECOND)
    assert (stretch.arrivals, stretch.succeeded, stretch.shed) == (3, 2, 1)
    assert [stretch.waited(share) for share in (0.5, 0.95)] == [0.25, 0.5]
    assert stretch.shedding_rate == pytest.approx(1 / 3)
    assert stretch.load == 1.5


DONE, WAITS = task("done", Status.SUCCESS), task("waits")


@pytest.mark.parametrize(
    ("account", "told", "served", "sentences"),
    [
        (an_account(DONE), {"created": 1, "succeeded": 1}, ["done"], []),
        (an_account(), {"created": 0}, [], ["No task was put."]),
        (an_account(DONE, put=2), {"created": 2, "succeeded": 2}, ["done"],
         ["1 of the 2 tasks that were put are gone", "says 2 succeeded, the account has 1"]),
        (an_account(DONE), {"created": 2, "succeeded": 1, "shed": 1}, ["done"],
         ["says 2 were created, but 1 were put", "says 1 shed, the account has 0"]),
        (an_account(DONE), {"created": 1}, ["done"],
         ["do not add up: created 1 = waiting 0", "says 0 succeeded, the account has 1"]),
        (an_account(WAITS), {"created": 1, "waiting": 1}, [], ["1 waiting and 0 taken tasks"]),
        (an_account(DONE), {"created": 1, "succeeded": 1}, [], ["1 tasks succeeded that the slow"]),
    ],
)  # fmt: skip
def test_a_report_that_differs_from_the_account_is_found_out(account, told, served, sentences):
    found = list(account.contradictions(NOTHING | told, served))
    assert [part in one for part, one in zip(sentences, found, strict=True)] == [True] * len(found)


def test_requests_beyond_the_slots_of_the_slow_system_are_refused_at_once(system):
    def ask(_):
        with closing(http.client.HTTPConnection("127.0.0.1", system.server_port)) as connection:
            connection.request("POST", "/check", b"{}", {"Idempotency-Key": "one"})
            return connection.getresponse().status

    with ThreadPoolExecutor(6) as clients:
        answers = sorted(clients.map(ask, range(6)))
    assert answers[:2] + answers[-1:] == [200, 200, 429]
    assert (len(system.served), system.refused) == (answers.count(200), answers.count(429))
