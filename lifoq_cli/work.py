"""``lifoq work``: a processor outside Lambda, for as long as it likes."""

import importlib
import logging
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import click

from lifoq.aws.dynamo_table import DynamoTable
from lifoq.client.connection import SharedLimits
from lifoq.client.queue import Queue
from lifoq.environment import Environment
from lifoq.errors import InvalidInput, LifoqError
from lifoq.metrics import NAMESPACE, OF_TYPE, Metric, service
from lifoq.store.store import Store
from lifoq.worker.handlers import task_id_in_logs as logged
from lifoq.worker.handlers.registry import REGISTRY, Registry
from lifoq.worker.processor import Processor
from lifoq.worker.run.report import RunReport
from lifoq.worker.settings import WorkerSettings
from lifoq_cli import options
from lifoq_cli.protection import Protection
from lifoq_cli.release import check_not_older
from lifoq_cli.session import Session

DEFAULTS = WorkerSettings()
LOOPBACK: Final = "127.0.0.1"
LAST_PORT: Final = 65_535


class NoTaskCode(LifoqError):
    """The module of task code cannot be imported."""


@click.command()
@click.option("--tasks", default="tasks", show_default=True, help="The module of task code.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="NAME",
    help="Only tasks of this type; once for each type.",
)
@click.option("--in-flight", type=int, help=f"Tasks at a time ({DEFAULTS.in_flight}).")
@options.duration("--task-timeout", "The longest a task may take; by default its type's, or 60s.")
@options.duration("--lease", "After so long, a lost worker's tasks run elsewhere (30s).")
@click.option(
    "--max-attempts", type=int, help=f"Attempts until a task fails ({DEFAULTS.max_attempts})."
)
@click.option("--rate-limit", type=float, help="Tasks started per second, over all types.")
@options.duration("--grace", "At SIGTERM, what runs may go on for so long.", default="30s")
@click.option(
    "--health-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Touched every five seconds: a file older than a minute is a worker that hangs.",
)
@options.duration("--protect", "On ECS: while it holds tasks, scaling in spares it for so long.")
@click.option(
    "--release",
    metavar="VERSION",
    help="What the queue was deployed by: an older lifoq than that refuses to work.",
)
@click.option("--metrics", is_flag=True, help="Print metrics, as Lambda's functions do (EMF).")
@click.option(
    "--metrics-port",
    metavar="[ADDRESS:]PORT",
    help="Serve metrics for Prometheus: on this machine alone, or at an address of it.",
)
@click.pass_obj
def work(
    session: Session,
    *,
    tasks: str,
    types: tuple[str, ...],
    in_flight: int | None,
    task_timeout: float | None,
    lease: float | None,
    max_attempts: int | None,
    rate_limit: float | None,
    grace: float,
    health_file: Path | None,
    protect: float | None,
    release: str | None,
    metrics: bool,
    metrics_port: str | None,
) -> None:
    """Work on the queue's tasks until SIGTERM or Ctrl-C.

    Then no task is claimed any more. What runs may finish for --grace; what is left is handed back,
    its attempt uncounted. Settings that are not given are taken from the environment variables that
    a deployed processor has, if they are there.
    """
    check_not_older(release)
    queue = session.queue
    if not isinstance(queue, Queue):
        raise click.UsageError("one worker works on one queue: name one of the cells")
    log = logging.StreamHandler()
    log.addFilter(logged.with_task_id)
    log.setFormatter(logged.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[log])
    registry = _registered(tasks)
    settings = _settings(
        registry,
        types_elsewhere=_elsewhere(registry, tasks, types),
        unknown_types="wait",
        task_timeout=task_timeout,
        lease=lease,
        heartbeat=None if lease is None else lease / 3,
        in_flight=in_flight,
        max_attempts=max_attempts,
        rate_limit=rate_limit,
    )
    if shared := queue.shared_limits:
        settings = _with_shared(settings, shared, rate_limit)
    elif not settings.shared_limits:
        _tell_own_limits(session, registry, settings)
    protection = None if protect is None else Protection.of_this_task(protect)
    processor = Processor(_by_own_client(queue.store, session.tell), registry, settings)
    tellers: list[Callable[[RunReport], None]] = []
    if metrics:
        tellers.append(_emitter(session.title))
    if metrics_port is not None:
        tellers.append(_served(session, metrics_port))

    def progress(report: RunReport) -> None:
        if health_file is not None:
            health_file.touch()
        if protection is not None:
            protection.keep(busy=not processor.idle)
        for tell in tellers:
            tell(report)

    _stop_at_signals(processor, grace)
    own = sorted({kind.name for kind in registry} - settings.types_elsewhere)
    session.tell(f"Working on {', '.join(own)}.")
    report = processor.serve(on_progress=progress)
    session.tell(
        f"Stopped: {report.claimed} claimed, {report.succeeded} succeeded, {report.retried} to be "
        f"tried again or handed back, {report.cancelled} cancelled, {report.failed} failed."
    )


def _by_own_client(store: Store, tell: Callable[[str], None]) -> Store:
    """Return the same queue, called by lifoq's own client where it may: this process is lifoq's.
    ``tell`` gets a sentence about who calls. It comes after the import of the task code, which may
    patch boto3 to trace its calls."""
    table = store.table
    if isinstance(table, DynamoTable):
        table, reason = table.in_worker()
        own = "lifoq's own client calls DynamoDB."
        tell(own if reason is None else f"boto3 calls DynamoDB, not lifoq's own client: {reason}.")
    return Store(table, lifetimes=store.lifetimes, large=store.large)


def _with_shared(
    settings: WorkerSettings, shared: SharedLimits, rate_limit: float | None
) -> WorkerSettings:
    """Add the settings that hold over all workers of the queue together: they come with the
    queue."""
    if rate_limit is not None:
        raise click.UsageError(
            "--rate-limit is of one worker, and the limits of this queue hold over all of them "
            "together: change rate_limit_per_second of the queue"
        )
    return replace(settings, shared_limits=True, **asdict(shared))


def _tell_own_limits(session: Session, registry: Registry, settings: WorkerSettings) -> None:
    limited = [k.name for k in registry if k.in_flight is not None or k.rate_limit is not None]
    limited = [*sorted(limited), *(["all types"] if settings.rate_limit else [])]
    if limited:
        session.tell(
            f"The limits of {', '.join(limited)} hold for this worker alone: beside others, also "
            "in Lambda, deploy the queue with shared_limits, and name it by --queue."
        )


def _registered(module: str) -> Registry:
    if not all(part.isidentifier() for part in module.split(".")):
        raise InvalidInput("tasks", module, "is no module's name, such as tasks")
    sys.path.insert(0, str(Path.cwd()))
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise NoTaskCode(
            f"task code cannot be imported: {error}; --tasks names its module, which is looked for "
            "in this folder"
        ) from error
    if targets := Environment.of_this_process().targets:
        from lifoq.targets import configured  # noqa: PLC0415 - not where there is none

        configured.register(REGISTRY, configured.decode(targets))
    if not list(REGISTRY):
        raise NoTaskCode(f"{module} registers no task type: none of its functions has @task")
    return REGISTRY


def _elsewhere(registry: Registry, module: str, types: tuple[str, ...]) -> frozenset[str]:
    """Return the types that others do, where ``types`` says which are done here."""
    known = frozenset(kind.name for kind in registry)
    if unknown := sorted(set(types) - known):
        raise NoTaskCode(
            f"{module} registers no task type {unknown[0]!r}, but {', '.join(sorted(known))}"
        )
    return known.difference(types) if types else frozenset()


def _settings(registry: Registry, **given: Any) -> WorkerSettings:
    """Return the settings: what was given comes before what the environment says, and that before
    the defaults."""
    environment = Environment.of_this_process()
    base = environment.worker() if environment.has_worker else DEFAULTS
    longest = max((kind.timeout or 0 for kind in registry), default=0)
    told = {"task_timeout": max(base.task_timeout, longest)}
    return replace(base, **told | {name: one for name, one in given.items() if one is not None})


def _stop_at_signals(processor: Processor, grace: float) -> None:
    """The second signal leaves no grace."""
    left = [0.0, grace]

    def stop(*_: object) -> None:
        processor.stop(grace=left.pop() if left else 0.0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _served(session: Session, place: str) -> Callable[[RunReport], None]:
    """Metrics that Prometheus comes for."""
    host, _, port = place.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= LAST_PORT):
        sentence = "must be a port, such as 9108, or an address and a port, such as 0.0.0.0:9108"
        raise InvalidInput("metrics_port", place, sentence)
    from lifoq_cli.prometheus import WorkerMetrics  # noqa: PLC0415 - an extra of its own

    worker, host = WorkerMetrics(session.title), host.strip("[]") or LOOPBACK
    shown = f"[{host}]" if ":" in host else host
    session.tell(f"Metrics at http://{shown}:{worker.serve(host, int(port))}/metrics")
    return worker.tell


def _emitter(queue_name: str) -> Callable[[RunReport], None]:
    """The metrics that Lambda's functions send, on the standard output, from where a log driver
    brings them to CloudWatch."""
    try:
        from aws_lambda_powertools import Metrics  # noqa: PLC0415 - an extra of its own
    except ModuleNotFoundError as error:
        raise click.UsageError("--metrics needs an extra: pip install 'lifoq[work]'") from error
    metrics: Any = Metrics(namespace=NAMESPACE, service=service(queue_name))

    def tell(report: RunReport) -> None:
        values = [(metric, value) for metric, value in report.counts().items() if value]
        values += [(Metric.WAIT, seconds) for seconds in report.waits]
        values += [(Metric.SERVICE, seconds) for seconds in report.services]
        for metric, value in values:
            metrics.add_metric(name=metric.value, unit=metric.unit.value, value=value)
        if values:
            metrics.flush_metrics()
        for name, tasks in report.limits.items():
            found = Metric.CONCURRENCY_FOUND
            metrics.add_dimension(name=OF_TYPE, value=name)
            metrics.add_metric(name=found.value, unit=found.unit.value, value=tasks)
            metrics.flush_metrics()

    return tell
