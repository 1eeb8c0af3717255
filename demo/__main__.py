"""``python -m demo``: set up a queue, overload its downstream, and tell what happened."""

import math
import os
import shutil
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from demo import downstream, verdict
from demo.exports import Exporter, windows
from demo.interruption import Interruption
from demo.ledger import MICROS, Counts, Ledger, Stretch, scan
from demo.load import Generator, Phase
from demo.steps import run, step
from demo.story import Chapter, about
from demo.view import View
from lifoq.environment import Environment
from localcloud import LocalCloud

ROOT: Final = Path(__file__).resolve().parent.parent
OUT: Final = ROOT / "out" / "demo"
ASSEMBLY: Final = OUT / "cdk.out"
STAGE: Final = "demo"
VENV: Final = Path(sys.executable).parent
CDK: Final = ROOT / "node_modules" / ".bin" / "cdk"

SLOTS: Final = 4
SERVICE_SECONDS: Final = 0.4
"""4 slots of 0.4 s: the legacy system takes ten tasks a second."""

BELOW: Final = Phase(name="below capacity", tasks_per_second=5, seconds=20)
OVERLOAD: Final = Phase(name="overload", tasks_per_second=20, seconds=40)
DRAIN: Final = Phase(name="drain", tasks_per_second=0, seconds=90)
"""Ends as soon as nothing waits and nothing is taken; a lost lease waits for the next sweep, which
comes every minute."""

PHASES: Final = (BELOW, OVERLOAD, DRAIN)

LOOK_SECONDS: Final = 1.0
"""Between two looks at the table: moto reads all of it."""
REPORT_BUCKET_SECONDS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Queue:
    """The deployed queue, as its stacks' outputs tell."""

    table_name: str
    table_arn: str
    export_bucket: str
    schedule_name: str
    deadline_seconds: float


class Demo:
    """One run, from the empty local cloud to the report."""

    def __init__(self, console: Console, cloud: LocalCloud, legacy: downstream.Downstream) -> None:
        self._console = console
        self._cloud = cloud
        self._legacy = legacy
        self._ledger = Ledger()
        self._chapters: list[Chapter] = []

    def run(self) -> list[str]:
        """What does not add up at the end; nothing if all is well."""
        queue = self._deploy()
        started = math.floor(time.time())
        overload, oldest_waiting = self._drive(queue)
        with step(self._console, "Exporting the table: one full export, and windows over the run"):
            self._export(queue, started)
        with step(self._console, "Running the Spark report") as shown:
            run(
                [
                    *(sys.executable, "-m", "analytics.report", str(OUT / "exports")),
                    *("--out", str(OUT), "--width", str(REPORT_BUCKET_SECONDS)),
                    *("--about", self._about()),
                ],
                log=OUT / "logs" / "report.log",
                tell=shown.tell,
            )
        return self._judge(overload, oldest_waiting)

    def _deploy(self) -> Queue:
        with step(self._console, f"Synthesizing the CDK app, stage {STAGE}"):
            run(
                [
                    *(str(CDK), "synth", "--quiet", "--no-notices", "--output", str(ASSEMBLY)),
                    *("-c", f"stage={STAGE}", "-c", f"downstream={self._legacy.url}"),
                ],
                log=OUT / "logs" / "synth.log",
                # The CDK CLI runs on the virtual environment's node and python.
                environment={"PATH": os.pathsep.join((str(VENV), os.environ.get("PATH", "")))},
            )
        stacks = [f"lifoq-{STAGE}-{name}" for name in ("state", "queue", "generator")]
        with step(self._console, "Deploying it to the local cloud through CloudFormation"):
            self._cloud.deploy(ASSEMBLY, *stacks)
        state, processing, generator = (self._cloud.outputs(name) for name in stacks)
        configuration = self._cloud.client("lambda").get_function_configuration(
            FunctionName=processing["TriggerFunctionName"]
        )
        return Queue(
            table_name=state["TableName"],
            table_arn=state["TableArn"],
            export_bucket=state["ExportBucketName"],
            schedule_name=generator["LoadScheduleName"],
            deadline_seconds=Environment(configuration["Environment"]["Variables"])
            .lifetimes()
            .deadline,
        )

    def _drive(self, queue: Queue) -> tuple[Stretch, float]:
        """The three phases; what happened in the overload while it was steady, and the age of the
        oldest task that waited in it, in seconds."""
        generator = Generator(self._cloud.client("scheduler"), queue.schedule_name)
        self._console.print(
            f"\nThe slow downstream takes {self._legacy.capacity:g} tasks/s; "
            f"a task that waited {queue.deadline_seconds:g} s is shed.",
            highlight=False,
        )
        with View(self._console, phases=PHASES, deadline_seconds=queue.deadline_seconds) as view:
            self._watch(queue, generator, BELOW, view)
            overload_began = _now()
            oldest_waiting = self._watch(queue, generator, OVERLOAD, view)
            self._watch(queue, generator, DRAIN, view)
        arrivals = self._ledger.arrivals(since=overload_began)
        if arrivals is None:
            raise RuntimeError("the generator put no task in the overload phase")
        first, last = arrivals
        steady_from = first + round(queue.deadline_seconds * MICROS)
        return self._ledger.between(steady_from, max(steady_from + 1, last)), oldest_waiting

    def _watch(self, queue: Queue, generator: Generator, phase: Phase, view: View) -> float:
        """One phase to its end; the age of the oldest waiting task seen in it, in seconds."""
        dynamodb = self._cloud.client("dynamodb")
        generator.start(phase)
        started, began = _now(), time.monotonic()
        oldest = 0.0
        while True:
            self._ledger.observe(scan(dynamodb, queue.table_name))
            snapshot = self._ledger.snapshot(_now())
            elapsed = time.monotonic() - began
            oldest = max(oldest, snapshot.oldest_waiting or 0.0)
            counts = snapshot.counts
            drained = phase is DRAIN and not (counts.waiting or counts.taken)
            ended = drained or elapsed >= phase.seconds
            view.show(phase, elapsed, snapshot, end=ended)
            if ended:
                self._chapters.append(Chapter(name=phase.name, start=started, end=_now()))
                return oldest
            time.sleep(LOOK_SECONDS)

    def _export(self, queue: Queue, started: int) -> None:
        exporter = Exporter(
            dynamodb=self._cloud.client("dynamodb"),
            s3=self._cloud.client("s3"),
            table_arn=queue.table_arn,
            bucket=queue.export_bucket,
        )
        ended = math.ceil(time.time())
        # An export's moment is a whole second, and has to be past.
        time.sleep(max(0.0, ended - time.time()))
        # The windows begin where the full export ends: nothing before them is unknown.
        exporter.full(started)
        for window in windows(start=started, end=ended, deadline_seconds=queue.deadline_seconds):
            exporter.incremental(window)
        exporter.copy(OUT / "exports")

    def _about(self) -> str:
        template = ASSEMBLY / f"lifoq-{STAGE}-queue.template.json"
        return about(stage=STAGE, chapters=self._chapters, template=template)

    def _judge(self, overload: Stretch, oldest_waiting: float) -> list[str]:
        report = verdict.Report.read(OUT / "summary.json")
        self._console.print()
        verdict.print_summary(self._console, report)
        verdict.print_overload(
            self._console,
            overload,
            oldest_waiting=oldest_waiting,
            refused=self._legacy.counts()["refused"],
        )
        return list(verdict.contradictions(report, self._final_counts()))

    def _final_counts(self) -> Counts:
        return self._ledger.snapshot(_now()).counts


def _now() -> int:
    return time.time_ns() // 1000


@click.command()
def main() -> None:
    """Drive a queue through overload on this machine, for about two minutes, and report on it."""
    interruption = Interruption()
    console = Console()
    started = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    logs = OUT / "logs"
    logs.mkdir(parents=True)
    try:
        with (
            downstream.running(slots=SLOTS, service_seconds=SERVICE_SECONDS) as legacy,
            LocalCloud(OUT) as cloud,
        ):
            wrong = Demo(console, cloud, legacy).run()
    except KeyboardInterrupt:
        interruption.end_survivors()
        console.print("\nInterrupted; everything that the demo started is stopped.")
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - said to the user, kept whole in the log
        (logs / "demo.log").write_text(traceback.format_exc())
        console.print(f"\nThe demo failed: {error}\nLogs: {logs}", style="red", markup=False)
        sys.exit(1)
    if wrong:
        console.print("\n".join(["", *wrong, f"Logs: {logs}"]), style="red", markup=False)
        sys.exit(1)
    console.print(
        f"\nEverything adds up, after {time.monotonic() - started:.0f} s. "
        f"Open {(OUT / 'report.html').relative_to(ROOT)}",
        highlight=False,
    )


if __name__ == "__main__":
    main()
