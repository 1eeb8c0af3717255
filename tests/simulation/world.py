"""One seed, from the first put to the last check: chaos, then calm, then rest."""

import json
import logging
import random
from collections import Counter
from dataclasses import replace
from typing import Final
from unittest import mock

from lifoq.basics.host import microseconds
from lifoq.client.queue import Queue
from lifoq.items.change import Item, is_number
from lifoq.items.schema import TERMINAL, WAITING, Attribute, Status
from lifoq.store.store import Store
from lifoq.testing.hosts import START
from lifoq.worker.gates import busy_downstream
from lifoq.worker.sweep import sweep
from tests.simulation import handlers
from tests.simulation.clients import Client
from tests.simulation.database import Connection, Database
from tests.simulation.fleet import SWEEP_EVERY, Fleet
from tests.simulation.handlers import TaskCode
from tests.simulation.history import Violation, Write, status_of
from tests.simulation.machine import Machine, Role
from tests.simulation.replacing import success_of
from tests.simulation.rules import Rules
from tests.simulation.scenario import CALM, Scenario
from tests.simulation.together import Together
from tests.simulation.trace import Trace
from tests.simulation.weights import HEAVIEST, UNIT_BURSTS, WEIGHED
from tests.virtual.scheduler import Scheduler

TICK: Final = 2.0
"""Seconds between two visits of the director."""
LONGEST_IDLE: Final = SWEEP_EVERY + 10.0
"""Seconds that a task may wait without any processor running: one sweep interval, the time that
the sweep and its kick take, and the index's lag."""
LONGEST_CALM: Final = 3_000.0
"""Seconds until the queue must have come to rest."""
OUTAGE: Final = 15.0
QUOTAS_LOST: Final = 15.0
"""Seconds in which others take over what a machine has of limits that all share."""


class World:
    def __init__(self, seed: int) -> None:
        self.scenario = scenario = Scenario.of(seed)
        self.scheduler = Scheduler(random.Random(f"schedule {seed}"), start=START)
        self.trace = Trace(self.scheduler)
        rules = Rules(
            lifetimes=scenario.lifetimes,
            max_attempts=handlers.max_attempts(scenario.worker),
            lease=scenario.worker.lease,
            shared_limits=scenario.worker.shared_limits,
            passed_over=handlers.passed_over(scenario),
        )
        self.draw = random.Random(f"faults {seed}")
        caps, rates = handlers.limited_together(scenario)
        together = Together(
            now=lambda: self.scheduler.time,
            caps=caps,
            rates=rates,
            bursts=UNIT_BURSTS,
            heaviest=dict.fromkeys(WEIGHED, HEAVIEST),
            skew=2 * scenario.worker_skew,
            smooth=replace(scenario.faults, breaker=0, index_lag=CALM.index_lag) == CALM,
            tell=self.trace.add,
        )
        self.database = Database(scenario, self.scheduler, rules, self.trace, self.draw, together)
        self.code = TaskCode(self.database, scenario)
        self.fleet = Fleet(scenario, self.database, self.code)
        self._nature = Machine("nature", Role.TTL, self.scheduler)
        self._clients = 0
        self._idle_since: int | None = None
        self._ttl_due = START

    def run(self) -> None:
        """Violation where the queue breaks its word."""
        logging.disable(logging.CRITICAL)  # the library warns of every fault
        try:
            with (
                mock.patch.object(sweep, "PAGE", self.scenario.sweep_page),
                mock.patch.object(busy_downstream, "PROBE_AFTER", self.scenario.probe_after),
            ):
                self._chaos()
                self._calm()
            self._assert_at_rest()
        finally:
            logging.disable(logging.NOTSET)
            self.scheduler.close()

    def _chaos(self) -> None:
        clients = [self._client(number) for number in range(len(self.scenario.client_skews))]
        if self.scenario.faults.outages:
            self._nature.spawn(self._outage, "outage")
        if self.scenario.faults.pause:
            self._nature.spawn(self._pauses, "pauses")
        if self.scenario.faults.damage:
            self._nature.spawn(self._damages, "damages")
        while any(client.left for client in clients):
            self._tick()
            clients = [self._replaced(number, client) for number, client in enumerate(clients)]
        self.scheduler.sleep(self.draw.uniform(0, 30))

    def _replaced(self, number: int, client: Client) -> Client:
        """In the place of a client that crashed, another does what is left."""
        return client if client.alive else self._client(number, client.left)

    def _client(self, number: int, operations: int | None = None) -> Client:
        self._clients += 1
        machine = Machine(
            f"client-{self._clients}",
            Role.CLIENT,
            self.scheduler,
            skew=self.scenario.client_skews[number],
        )
        connection = Connection(self.database, machine)
        store = Store(connection, lifetimes=self.scenario.lifetimes, host=machine)
        client = Client(
            machine,
            Queue(store, host=machine),
            self.database,
            operations=self.scenario.operations if operations is None else operations,
            pace=self.scenario.pace,
            types=handlers.types(self.scenario),
        )
        machine.spawn(client.work, "client")
        return client

    def _outage(self) -> None:
        self._nature.sleep(self.draw.uniform(0, self.scenario.operations * self.scenario.pace))
        self.trace.add("the database is out")
        self.database.out = True
        self._nature.sleep(OUTAGE)
        self.database.out = False
        self.trace.add("the database is back")

    def _damages(self) -> None:
        while self.database.faults.damage:
            self._nature.sleep(self.draw.expovariate(1 / self.scenario.faults.damage))
            self.database.damage()

    def _pauses(self) -> None:
        """A whole machine stands still for longer than a lease, and then goes on."""
        worker = self.scenario.worker
        while self.database.faults.pause:
            self._nature.sleep(self.draw.expovariate(1 / self.scenario.faults.pause))
            workers = [*self.fleet.running, *self.fleet.serving]
            if workers:
                machine = self.draw.choice(workers).machine
                self.trace.add(f"{machine.name} stands still")
                machine.faults += 1
                self.database.together.pauses()
                machine.suspend()
                longer = QUOTAS_LOST * self.draw.random() if worker.shared_limits else 0.0
                self._nature.sleep(self.draw.uniform(0.3, 3) * worker.lease + longer)
                machine.resume()

    def _calm(self) -> None:
        self.trace.add("calm")
        self.database.calm()
        self.fleet.calm()
        until = self.scheduler.time + microseconds(LONGEST_CALM)
        while not self._at_rest():
            self._tick()
            self._assert_not_idle()
            if self.scheduler.time > until:
                left = Counter(status_of(item) for item in self.database.tasks())
                raise Violation(f"no rest after {LONGEST_CALM:g} s of calm: {dict(left)}")

    def _tick(self) -> None:
        self.scheduler.sleep(TICK)
        if self.scheduler.time >= self._ttl_due:
            self._ttl_due = self.scheduler.time + microseconds(self.scenario.ttl_every)
            self.database.expire(self.draw.uniform(0, self.scenario.ttl_late))
        self.database.history.assert_adds_up(self.database.tasks())

    def _at_rest(self) -> bool:
        """Nothing is in flight, and nothing waits but what its deadline has overtaken, be it whole
        or damaged."""
        return not (self.fleet.running or self.fleet.serving) and not any(
            item[Attribute.TASK_STATUS] == Status.TAKEN or self._waits(item)
            for item in (*self.database.tasks(), *self.database.damaged_tasks())
        )

    def _waits(self, item: Item) -> bool:
        """And a worker whose clock is a bit ahead sees it so."""
        ahead = self.scheduler.time + microseconds(self.scenario.worker_skew)
        expires_at = item.get(Attribute.EXPIRES_AT)
        return status_of(item) in WAITING and not (is_number(expires_at) and expires_at <= ahead)

    def _assert_not_idle(self) -> None:
        """A task never waits longer than one sweep interval for a processor."""
        now = self.scheduler.time
        waits = any(
            self._waits(item) and item.get(Attribute.DUE_AT, 0) <= now
            for item in self.database.tasks()
            if item[Attribute.TASK_TYPE] not in handlers.passed_over(self.scenario)
        )
        if not waits or self.fleet.running:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - max(self._idle_since, self.fleet.last_run) > microseconds(LONGEST_IDLE):
            raise Violation("tasks wait, and no processor came for longer than a sweep interval")

    # At rest

    def _assert_at_rest(self) -> None:
        history, items = self.database.history, self.database.tasks()
        if {item[Attribute.TASK_ID]: item for item in items} != history.present():
            raise Violation("the table holds something else than was written to it")
        for item in items:
            if status_of(item) not in TERMINAL | WAITING:
                raise Violation("did not come to an end", str(item[Attribute.TASK_ID]))
        self._assert_successes_are_done()
        self._assert_follow_ups()
        self.database.table.expire(self.scheduler.time + microseconds(10**9))
        damaged = self.database.damaged
        left = [i for i in self.database.table.items() if i[Attribute.TASK_ID] not in damaged]
        if left:  # slots among them
            raise Violation("something at rest would stay for ever")

    def _sound_writes(self) -> list[Write]:
        """To tasks that nobody has damaged."""
        damaged = self.database.damaged
        return [write for write in self.database.history.writes if write.task_id not in damaged]

    def _assert_successes_are_done(self) -> None:
        for write in self._sound_writes():
            claim = success_of(write)
            if claim is not None and claim not in self.code.finished:
                raise Violation("succeeded, but its task code did not", write.task_id)

    def _assert_follow_ups(self) -> None:
        """Exactly once, and in the same call as the success."""
        history, sound = self.database.history, self._sound_writes()
        put: Counter[str] = Counter()
        for write in history.writes:
            claim = _parent_claim(write.after) if write.was is None else None
            if claim is None or history.claims[claim].task_id in self.database.damaged:
                continue
            put[claim] += 1
            call = [w for w in sound if w.call == write.call]
            if claim not in map(success_of, call):
                raise Violation("a follow-up without its parent's success", write.task_id)
        for write in sound:
            claim = success_of(write)
            promised = 0 if claim is None else self.code.promised.get(claim, 0)
            if claim is not None and put[claim] != promised:
                rule = f"{put[claim]} follow-ups were put, not {promised}"
                raise Violation(rule, write.task_id)


def _parent_claim(item: Item | None) -> str | None:
    return None if item is None else json.loads(item[Attribute.PAYLOAD]).get("claim")
