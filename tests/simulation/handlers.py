"""Task code of the simulation: does well, or one of the things that task code does."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from lifoq.errors import Busy, Cancelled, Fail, LifoqError, Retry
from lifoq.items.schema import Attribute
from lifoq.items.task import NewTask
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.outcome import Done
from lifoq.worker.handlers.rate import Rate
from lifoq.worker.handlers.registry import Registry
from lifoq.worker.settings import WorkerSettings
from tests.simulation.batches import BATCHES, ONE_CALL, WAITS, check_batch
from tests.simulation.cancelling import asks
from tests.simulation.database import Database
from tests.simulation.history import Violation
from tests.simulation.keys import KEYED_TYPES, KEYS, PER_KEY, RATE_PER_KEY, Starts
from tests.simulation.machine import Machine
from tests.simulation.scenario import Scenario
from tests.simulation.together import EVERYTHING
from tests.simulation.weights import HEAVIEST, UNIT_BURSTS, UNIT_RATES, UNITS, WEIGHED

UNREGISTERED: Final = "stranger"
"""No task code runs tasks of this type."""
TYPES: Final = (
    "plain",
    "plain",
    "plain",
    "stubborn",
    "brief",
    "single",
    "slow-start",
    *BATCHES,
    *KEYED_TYPES,
    "weighed",
    "weighed-pace",
    UNREGISTERED,
)
"""To draw from."""
SHARED: Final = (
    *("single", "slow-start", "pair", "pair", "steady", "steady", "steady-pair"),
    *("weighed", "weighed", "weighed-pace"),
)
"""To draw from as well, where limits hold over all workers together."""
RATES: Final = {"slow-start": 0.5, "steady": 2.5, "steady-pair": 3.0}
"""Starts per second on one machine, or on all."""
CAPS: Final = {"single": 1, "pair": 2, "steady-pair": 2, "single-bulk": 1}
"""Calls at a time on one machine, or on all."""
ADAPTIVE: Final = ("plain", "brief", *CAPS, *RATES)
"""Where a scenario says so."""


def types(scenario: Scenario) -> tuple[str, ...]:
    """To draw from."""
    return (*TYPES, *SHARED) if scenario.worker.shared_limits else TYPES


def passed_over(scenario: Scenario) -> frozenset[str]:
    """Return the types that nobody ever starts."""
    return frozenset({UNREGISTERED} if scenario.worker.unknown_types == "wait" else ())


def free(scenario: Scenario) -> set[str]:
    """Return the types that may start whenever a processor has a slot."""
    worker = scenario.worker
    paced = worker.rate_limit is not None or worker.total_in_flight is not None
    if worker.shared_limits and paced:
        return set()
    return set(TYPES) - RATES.keys() - CAPS.keys() - set(WEIGHED) - passed_over(scenario)


def adaptive(scenario: Scenario) -> set[str]:
    """Return the types of which each worker finds by itself how many tasks may run at a time."""
    return set(ADAPTIVE if scenario.adaptive_concurrency else ())


def limited_together(scenario: Scenario) -> tuple[dict[str, int], dict[str, float]]:
    """Tasks (or units) at a time, and per second, of all workers together."""
    worker = scenario.worker
    if not worker.shared_limits:
        return {}, {}
    total = {} if worker.total_in_flight is None else {EVERYTHING: worker.total_in_flight}
    rate = {} if worker.rate_limit is None else {EVERYTHING: worker.rate_limit}
    return {**CAPS, **UNITS, **total}, {**RATES, **UNIT_RATES, **rate}


DEEPEST: Final = 2
"""Generations of follow-ups."""


def max_attempts(settings: WorkerSettings) -> dict[str, int]:
    """Attempts that each type has. A stranger fails at its first, but the sweep, which may take it
    from a lost worker, knows no better than to give it the usual number."""
    return {**dict.fromkeys((*TYPES, *SHARED), settings.max_attempts), "stubborn": 6}


class TaskCode:
    def __init__(self, database: Database, scenario: Scenario) -> None:
        self._database = database
        self._scenario = scenario
        self._settings = scenario.worker
        self._types = types(scenario)
        self._adaptive = adaptive(scenario)
        self._downstream = math.inf if scenario.downstream is None else scenario.downstream
        self.started: set[str] = set()
        """Claims under which task code began."""
        self.finished: set[str] = set()
        """Claims under which task code came to a good end."""
        self._starts_of_keys = Starts()
        self._inside: Counter[tuple[str, str]] = Counter()
        """Attempts that run, by machine and task type; "" counts them all."""
        self._units: Counter[tuple[str, str]] = Counter()
        """Their units, for types that have a weight."""
        self.promised: dict[str, int] = {}
        """Follow-ups that the task code under a claim asked for."""

    def registry(self, machine: Machine, refused: set[str] | None = None) -> Registry:
        """The task types, as this machine runs them; ``refused`` takes in those for which the
        downstream had no room."""
        registry = Registry()

        def run(payload: Any, context: Context) -> Any:
            places = [(machine.name, name) for name in ("", context.task_type)]
            self._inside.update(places)
            self._units[places[1]] += weight_of(context)
            try:
                self._begins_together(machine, context)
                self._assert_room(places, context)
                self._begin(machine, context)
                self._visit(machine, context, self._inside[places[1]])
                return self._attempt(machine, payload, context)
            except Busy:
                if refused is not None:
                    refused.add(context.task_type)
                raise
            except Violation as violation:  # the processor takes whatever comes for an outcome
                if violation.task_id not in self._database.damaged:
                    machine.scheduler.failure = violation
                raise
            finally:
                self._inside.subtract(places)
                self._units[places[1]] -= weight_of(context)
                self._database.together.ends(context.task_type, _claim(context))

        self._register_batches(registry, machine, refused)
        registry.task("plain", adaptive_concurrency="plain" in self._adaptive)(run)
        registry.task("stubborn", max_attempts=6, backoff=Backoff(min_seconds=0.2, immediate=2))(
            run
        )
        registry.task("brief", timeout=1.0, adaptive_concurrency="brief" in self._adaptive)(run)
        for name in (*CAPS, *RATES):
            if registry.get(name) is None:
                registry.task(
                    name,
                    in_flight=CAPS.get(name),
                    rate_limit=RATES.get(name),
                    adaptive_concurrency=name in self._adaptive,
                )(run)
        for name in WEIGHED:
            rate = UNIT_RATES.get(name)
            registry.task(
                name,
                weight="units",
                units_in_flight=UNITS.get(name),
                rate_limit=None
                if rate is None
                else Rate(rate, of="units", burst=UNIT_BURSTS[name]),
            )(run)
        for name in KEYED_TYPES:
            registry.task(name, per_key=PER_KEY.get(name), rate_per_key=RATE_PER_KEY.get(name))(run)
        return registry

    def _register_batches(
        self, registry: Registry, machine: Machine, refused: set[str] | None
    ) -> None:
        def run_batch(payloads: list[Any], contexts: list[Context]) -> Any:
            first = contexts[0]
            places = [(machine.name, name) for name in ("", first.task_type)]
            self._inside.update(places)  # one call
            try:
                check_batch(contexts, self._database.history, self._scenario)
                if len(contexts) > 1:
                    self._database.trace.add(ONE_CALL)
                self._begins_together(machine, first)
                self._assert_room(places, first)
                return self._batch(machine, payloads, contexts, self._inside[places[1]])
            except Busy:
                if refused is not None:
                    refused.add(first.task_type)
                raise
            except Violation as violation:
                if violation.task_id not in self._database.damaged:
                    machine.scheduler.failure = violation
                raise
            finally:
                machine.scheduler.current.claim = None
                self._inside.subtract(places)
                self._database.together.ends(first.task_type, _claim(first))

        for name, size in BATCHES.items():
            registry.task(name, batch=size, batch_wait=WAITS[name], in_flight=CAPS.get(name))(
                run_batch
            )

    def _assert_room(self, places: list[tuple[str, str]], context: Context) -> None:
        """Within the caps on tasks in flight; one that hangs counts as well, after its timeout and
        over all runs."""
        for place in places:
            cap = CAPS.get(place[1], self._settings.in_flight)
            if self._inside[place] > cap:
                raise Violation(f"began as one too many of at most {cap}", context.task_id)
        units, most = self._units[places[1]], UNITS.get(context.task_type, math.inf)
        if units > most:
            raise Violation(f"began, so that {units} units are at work of {most}", context.task_id)

    def _begins_together(self, machine: Machine, context: Context) -> None:
        claim = _claim(context)
        sent = self._database.history.claims[claim].time
        self._database.together.begins(
            machine, context.task_type, claim, context.task_id, sent, weight=weight_of(context)
        )

    def _visit(self, machine: Machine, context: Context, inside: int) -> None:
        """Busy where the downstream has no room for the last of so many of its type; perhaps too
        late for its timeout."""
        draw = self._database.draw
        if inside > self._downstream or draw.random() < self._database.faults.busy:
            longest = draw.choice((0.1, 0.5, 0.5, 1.2 * self._settings.task_timeout))
            machine.sleep(draw.uniform(0.001, longest))
            raise Busy(_signed(context), after=draw.choice((None, 0.0, 0.5)))

    def _attempt(self, machine: Machine, payload: Any, context: Context) -> Any:
        claim = _claim(context)
        draw = self._database.draw
        machine.sleep(draw.uniform(0.01, 0.5))
        value: Any = {"claim": claim}
        if draw.random() < self._database.faults.breaker:
            act = draw.choice(_ACTS)
            self._database.trace.add(f"attempt {context.attempt}: {act.__name__}", context.task_id)
            value = act(self, machine, payload, context)
        machine.now()  # a dead machine has no effect
        self.finished.add(claim)
        return value

    def _batch(
        self, machine: Machine, payloads: list[Any], contexts: list[Context], inside: int
    ) -> Any:
        """Do what task code does for each task, and answer by the list, by task, or not at all."""
        draw, answers = self._database.draw, list[Any]()
        try:
            self._visit(machine, contexts[0], inside)
        except Busy as busy:
            for context in contexts:
                context.answer(Busy(_signed(context), after=busy.after))
            raise
        for payload, context in zip(payloads, contexts, strict=True):
            self._begin(machine, context)
            try:
                answers.append(self._attempt(machine, payload, context))
            except (LifoqError, RuntimeError, SystemExit) as error:
                answers.append(error)
            if draw.random() < 0.1:
                context.answer(answers[-1])
        if draw.random() < 0.3 * self._database.faults.breaker:
            raise LookupError("the batch has failed")
        silent = draw.random() < 0.3 * self._database.faults.breaker
        return draw.choice((None, answers[:-1], 5)) if silent else answers

    def _begin(self, machine: Machine, context: Context) -> None:
        machine.scheduler.current.claim = claim = _claim(context)
        if claim in self.started:
            raise Violation(f"ran twice under claim {claim}", context.task_id)
        self.started.add(claim)
        taken = self._database.history.claims.get(claim)
        assert taken is not None
        assert taken.after is not None
        if (paced := self._starts_of_keys.begins(taken)) is not None:
            self._database.trace.add(paced)
        if context.attempt != taken.after[Attribute.ATTEMPTS]:
            raise Violation("was told a wrong number of its attempt", context.task_id)
        kept = None if context.last_checkpoint is None else context.last_checkpoint["text"]
        stored = taken.after.get(Attribute.CHECKPOINT)
        if (kept is None) != (stored is None) or (kept is not None and kept not in str(stored)):
            raise Violation("was not handed the last checkpoint", context.task_id)

    # What task code does

    def raises(self, _machine: Machine, _payload: Any, context: Context) -> Any:
        raise RuntimeError(_signed(context))

    def exits(self, _machine: Machine, _payload: Any, context: Context) -> Any:
        raise SystemExit(_signed(context))

    def asks_for_a_retry(self, _machine: Machine, _payload: Any, context: Context) -> Any:
        after = self._database.draw.choice((None, 0.0, 0.5, 20.0))
        raise Retry(_signed(context), after=after)

    def gives_up(self, _machine: Machine, _payload: Any, context: Context) -> Any:
        raise Fail(_signed(context))

    def takes_long_or_hangs(self, machine: Machine, _payload: Any, context: Context) -> Any:
        longest = self._database.draw.choice((1.2, 10))
        machine.sleep(self._database.draw.uniform(0.5, longest) * self._settings.task_timeout)
        return {"claim": _claim(context)}

    def stops_when_it_is_cancelled(self, machine: Machine, _payload: Any, context: Context) -> Any:
        for _ in range(8):
            machine.sleep(self._database.draw.uniform(0.05, 0.12) * self._settings.task_timeout)
            if context.cancelled:
                writes = self._database.history.of_task[context.task_id]
                if not any(asks(write) for write in writes):
                    raise Violation("was told that it is cancelled, and is not", context.task_id)
                raise Cancelled(context.task_id)
        return {"claim": _claim(context)}

    def returns_no_json(self, _machine: Machine, _payload: Any, _context: Context) -> Any:
        return object()

    def returns_too_much(self, _machine: Machine, _payload: Any, _context: Context) -> Any:
        return "x" * 420_000

    def works_in_steps(self, machine: Machine, _payload: Any, context: Context) -> Any:
        claim = _claim(context)
        for step in range(3):
            context.checkpoint({"claim": claim, "text": f"{claim} {step}"})
            machine.sleep(self._database.draw.uniform(0.1, 1.0))
            context.heartbeat()
        if self._database.draw.random() < 0.5:
            raise RuntimeError(_signed(context))
        return {"claim": claim}

    def chains(self, _machine: Machine, payload: Any, context: Context) -> Any:
        claim = _claim(context)
        depth = payload.get("depth", 0)
        number = self._database.draw.randint(1, 4) if depth < DEEPEST else 0
        self.promised[claim] = number
        child = {"parent": context.task_id, "claim": claim, "depth": depth + 1}
        follow_ups = [
            NewTask(
                task_type=self._database.draw.choice(self._types),
                payload=child,
                delay=delay,
                key=self._database.draw.choice(KEYS),
                weight=self._database.draw.randint(1, HEAVIEST),
            )
            for delay in (self._database.draw.choice((None, 3.0)) for _ in range(number))
        ]
        if self._database.draw.random() < 0.5:
            ids = self._database.draw.choices(("everybody's", "job-1", context.task_id), k=2)
            follow_ups += [NewTask(task_type="plain", payload={}, task_id=own) for own in ids]
        return Done(result={"claim": claim}, follow_ups=follow_ups)


Act = Callable[[TaskCode, Machine, Any, Context], Any]

_ACTS: Final[tuple[Act, ...]] = (
    TaskCode.raises,
    TaskCode.raises,
    TaskCode.exits,
    TaskCode.asks_for_a_retry,
    TaskCode.gives_up,
    TaskCode.takes_long_or_hangs,
    TaskCode.takes_long_or_hangs,
    TaskCode.stops_when_it_is_cancelled,
    TaskCode.returns_no_json,
    TaskCode.works_in_steps,
    TaskCode.chains,
    TaskCode.chains,
    TaskCode.returns_too_much,
)


def weight_of(context: Context) -> int:
    """Return what a task weighs for the limits of its type."""
    return context._task.weight or 1 if context.task_type in WEIGHED else 1


def _claim(context: Context) -> str:
    return str(context._task.claim_id)


def _signed(context: Context) -> str:
    return f"claim={_claim(context)};"
