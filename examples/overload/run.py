"""Overload the queue on this machine, and report on it: ``python run.py``, some 100 seconds.

`lifoq dev` runs the queue beside the slow system. A producer puts tasks, first fewer than the slow
system can do, then twice as many. In the end the table is exported, `lifoq report` tells from the
export what became of the tasks, and an account of this program's own says whether that is true.
"""

import json
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import click
from account import MICROSECONDS, Account, equation
from producer import Phase, Producer, Went
from programs import beside, run

from lifoq import Queue

HERE = Path(__file__).resolve().parent
LIFOQ = (sys.executable, "-m", "lifoq_cli")
QUEUE = "overload"
SLOTS, SERVICE_SECONDS = 4, 0.4
"""Four slots of 0.4 s: the slow system does ten tasks a second."""
BELOW = Phase(name="below capacity", tasks_per_second=5, seconds=20)
OVERLOAD_TASKS_PER_SECOND = 20
DRAIN_SECONDS = 90
"""The most that the drain may take: a task whose lease was lost waits for the next sweep, which
comes every minute."""
BUCKET_SECONDS = 5
"""The width of the bars in the report's charts."""


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=HERE / ".local" / "report",
    help="Folder for report.html and the logs of what runs.",
)
@click.option(
    "--seconds",
    type=click.IntRange(min=15),  # of which the first ten pass until the first task is shed
    default=40,
    show_default=True,
    help="How long the overload lasts.",
)
def main(out: Path, seconds: int) -> None:
    """Overload the queue on this machine, and report on it. The exit status is 1 where the report
    differs from this program's own account."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    begun = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    page, folder = out / "report.html", out.absolute()
    page.unlink(missing_ok=True)
    os.chdir(HERE)  # where `lifoq dev` finds the application, and other commands its cloud
    try:
        wrong = overload(folder, seconds)
    except KeyboardInterrupt:
        click.echo("\nInterrupted; everything that was started is stopped.")
        sys.exit(130)
    if wrong:
        raise click.ClickException("\n".join(["it does not add up.", *wrong]))
    click.echo(f"\nEverything adds up, after {time.monotonic() - begun:.0f} s. Open {page}")


def overload(out: Path, seconds: int) -> list[str]:
    """Run all of it, with an overload of so many seconds. Returns what does not add up in the end,
    a sentence each."""
    system = [sys.executable, "slow_system.py", "--port=0"]
    system += [f"--slots={SLOTS}", f"--service-seconds={SERVICE_SECONDS}"]
    above = Phase(name="overload", tasks_per_second=OVERLOAD_TASKS_PER_SECOND, seconds=seconds)
    # TTL deletes late, as it does on AWS: what was shed is in the table until it is exported.
    dev = [*LIFOQ, "dev", "--port=0", "--ttl-delay=3600", "--until-stdin-closes"]
    with beside(system, log=out / "slow_system.log", until="http.+") as url:
        click.echo("Deploying the queue to a local cloud …")
        console = "Console of .+|No console.*"
        with beside(dev, log=out / "dev.log", until=console, SLOW_SYSTEM=url) as said:
            click.echo(
                f"{said}\nThe slow system does {SLOTS / SERVICE_SECONDS:g} tasks/s."
                f" {BELOW.tasks_per_second:g} tasks/s are put for {BELOW.seconds} s, then"
                f" {above.tasks_per_second:g} for {above.seconds} s.\n"
            )
            _enter_local_cloud()
            producer = Producer(Queue.connect(QUEUE))
            phases = [producer.run(BELOW), producer.run(above)]
            phases.append(producer.drain(most_seconds=DRAIN_SECONDS))
            told = report(out, phases)
            account = producer.account()
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - on loopback
            asked = json.load(answer)
    summarize(account, phases[1], refused=asked["refused"])
    return list(account.contradictions(told, asked["served"]))


def report(out: Path, phases: Sequence[Went]) -> dict[str, int]:
    """Export the table, and report on it. Returns what the report tells of the tasks."""
    click.echo("\nExporting the table, and reporting on it …")
    exported = run([*LIFOQ, "export", "--queue", QUEUE, "--wait", "--json"])
    about = {
        "queue": QUEUE,
        "phases": [
            {"name": phase.name, "from": _iso(phase.start), "to": _iso(phase.end)}
            for phase in phases
        ],
    }
    options = [f"--out={out}", f"--width={BUCKET_SECONDS}", f"--slots={SLOTS}"]
    options.append(f"--about={json.dumps(about)}")
    run([*LIFOQ, "report", json.loads(exported)["path"], *options], tells=True)
    tasks: dict[str, int] = json.loads((out / "summary.json").read_text())["tasks"]
    return tasks


def summarize(account: Account, overload: Went, *, refused: int) -> None:
    """Tell the account, and the overload beside theory: from when the oldest waiting tasks reached
    their deadline, to the last put."""
    last = max(account.tasks, key=lambda task: task.enqueued_at)
    start = overload.start + last.expires_at - last.enqueued_at
    stretch = account.between(start, max(start + 1, last.enqueued_at))
    click.echo(
        f"\n{equation(account.put, account.counts)}\n\n"
        f"Overload, {stretch.seconds:.0f} s of it from one deadline after its start:\n"
        f"  in {stretch.arrivals / stretch.seconds:.1f}/s,"
        f" done {stretch.succeeded / stretch.seconds:.1f}/s: ρ = {stretch.load:.2f}"
        f" (the slow system refused {refused} requests in all)\n"
        f"  shedding rate {stretch.shedding_rate:.3f}; in theory 1 − 1/ρ ="
        f" {max(0.0, 1 - 1 / stretch.load):.3f}\n"
        f"  served tasks waited {stretch.waited(0.5):.2f} s (p50),"
        f" {stretch.waited(0.95):.2f} s (p95);"
        f" the oldest waiting task {overload.oldest_waiting_seconds:.1f} s"
    )


def _enter_local_cloud() -> None:
    """Work with the local cloud of this folder from here on, whatever AWS the shell means."""
    os.environ.pop("AWS_PROFILE", None)
    for line in Path(".local", "environment").read_text().splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        os.environ[name] = value


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _iso(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / MICROSECONDS, UTC).isoformat()


if __name__ == "__main__":
    main()
