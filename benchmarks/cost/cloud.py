"""The deployed queue on the local cloud: what its functions run, publish, send and ask for."""

import json
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.cost.transitions import TYPE
from benchmarks.payloads import report
from demo.steps import run
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store
from localcloud import LocalCloud

ROOT: Final = Path(__file__).resolve().parents[2]
CDK: Final = ROOT / "node_modules" / ".bin" / "cdk"
STAGE: Final = "dev"
STACKS: Final = tuple(f"lifoq-{STAGE}-{name}" for name in ("state", "queue", "generator"))
FUNCTIONS: Final = {
    "trigger": "TriggerFunctionName",
    "processor": "ProcessTasksFunctionName",
    "sweep": "SweepFunctionName",
}
_REPORT: Final = re.compile(r"^REPORT .*Duration: ([\d.]+) ms", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What was counted in a stretch of time."""

    seconds: float
    calls: Counter[tuple[str, str]]
    """By caller (trigger, processor, sweep) and action, such as ``dynamodb:Query``."""
    durations: dict[str, list[float]]
    """Seconds of each run, by function."""
    log_bytes: dict[str, int]
    spare_kicks: int
    """Kicks that Lambda gave up, as a processor was running all the time: SQS messages."""

    def count(self, action: str) -> int:
        return sum(number for (_, asked), number in self.calls.items() if asked == action)

    def gigabyte_seconds(self, memory: dict[str, int]) -> float:
        """Lambda bills whole milliseconds."""
        return sum(
            memory[name] / 1024 * math.ceil(seconds * 1000) / 1000
            for name, runs in self.durations.items()
            for seconds in runs
        )


@dataclass
class Reading:
    """Holds its traffic once the block is over."""

    _traffic: Traffic | None = field(default=None)

    @property
    def traffic(self) -> Traffic:
        if self._traffic is None:
            raise RuntimeError("The reading is not over yet.")
        return self._traffic


class Deployment:
    """The stacks that every stage has, as CloudFormation deployed them."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        state, queue, _ = (cloud.outputs(name) for name in STACKS)
        self._names = {name: queue[output] for name, output in FUNCTIONS.items()}
        self.store = Store(DynamoTable.connect(state["TableName"], **cloud.arguments()))
        self._spare_kicks = next(
            url
            for url in cloud.client("sqs").list_queues()["QueueUrls"]
            if "SpareKicks" in url.rsplit("/", 1)[-1]
        )

    @property
    def memory(self) -> dict[str, int]:
        """Megabytes of each function, as deployed."""
        return {
            name: self._cloud.client("lambda").get_function_configuration(FunctionName=function)[
                "MemorySize"
            ]
            for name, function in self._names.items()
        }

    @property
    def traced(self) -> bool:
        """Whether X-Ray records runs."""
        trigger = self._cloud.client("lambda").get_function_configuration(
            FunctionName=self._names["trigger"]
        )
        return bool(trigger.get("TracingConfig", {}).get("Mode") == "Active")

    def invoke(self, name: str) -> None:
        self._cloud.client("lambda").invoke(FunctionName=self._names[name], Payload=b"{}")

    def batch_for(self, seconds: int) -> None:
        """As a stage's ``stream.batching_window_seconds`` does."""
        client = self._cloud.client("lambda")
        (mapping,) = client.list_event_source_mappings()["EventSourceMappings"]
        client.update_event_source_mapping(
            UUID=mapping["UUID"], MaximumBatchingWindowInSeconds=seconds
        )

    def put(self, size: int, number: int = 1) -> None:
        self.store.put_many([NewTask(task_type=TYPE, payload=report(size))] * number)

    def standing(self) -> dict[str, float]:
        """What is billed by the month: the metrics that were sent so far, and the alarms by the
        metrics that each reads."""
        cloudwatch = self._cloud.client("cloudwatch")
        alarms = cloudwatch.describe_alarms()["MetricAlarms"]
        return {
            "custom metrics": len(cloudwatch.list_metrics(Namespace="lifoq")["Metrics"]),
            "alarms": sum(_metrics_read(alarm) for alarm in alarms),
            "dashboard": len(cloudwatch.list_dashboards()["DashboardEntries"]),
        }

    def rest(self) -> None:
        """Wait until no task is left, and each kick has ended: in a run, or as a spare one."""
        statuses = (Status.PENDING, Status.DELAYED, Status.TAKEN)
        while any(self.store.count(status, cap=1).value for status in statuses):
            time.sleep(0.2)
        while self._open_kicks():
            time.sleep(0.2)

    def _open_kicks(self) -> int:
        calls = self._count(self._cloud.calls.read_bytes())
        sent = calls["trigger", "sns:Publish"] + calls["sweep", "sns:Publish"]
        return sent - len(_REPORT.findall(self._log("processor"))) - self._spare()

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        found = Reading()
        logs = {name: self._log(name) for name in self._names}
        calls, spare, began = self._cloud.calls.stat().st_size, self._spare(), time.monotonic()
        yield found
        written = {name: self._log(name)[len(before) :] for name, before in logs.items()}
        found._traffic = Traffic(  # noqa: SLF001 - a reading is this class's own
            seconds=time.monotonic() - began,
            calls=self._count(self._cloud.calls.read_bytes()[calls:]),
            durations={
                name: [float(millis) / 1000 for millis in _REPORT.findall(text)]
                for name, text in written.items()
            },
            log_bytes={name: len(text.encode()) for name, text in written.items()},
            spare_kicks=self._spare() - spare,
        )

    def _log(self, name: str) -> str:
        path = self._cloud.logs / f"{self._names[name]}.log"
        return path.read_text() if path.exists() else ""

    def _spare(self) -> int:
        attributes = self._cloud.client("sqs").get_queue_attributes(
            QueueUrl=self._spare_kicks, AttributeNames=["ApproximateNumberOfMessages"]
        )["Attributes"]
        return int(attributes["ApproximateNumberOfMessages"])

    def _count(self, lines: bytes) -> Counter[tuple[str, str]]:
        """The functions' own calls; who asks otherwise is the benchmark."""
        names = {function: name for name, function in self._names.items()}
        calls = [json.loads(line) for line in lines.splitlines()]
        return Counter(
            (names[call["caller"]], call["action"]) for call in calls if call["caller"] in names
        )


def _metrics_read(alarm: Any) -> int:
    return sum("MetricStat" in one for one in alarm.get("Metrics", [])) or 1


def deploy(cloud: LocalCloud, downstream_url: str) -> Deployment:
    """Synthesize the application and deploy the queue of a stage with the defaults."""
    assembly = cloud.directory / "cdk.out"
    target = {"url": downstream_url, "allowed_networks": ["127.0.0.0/8"]}
    overrides = {"targets": {"device.check": {"https": target}}}
    run(
        [
            *(str(CDK), "synth", "--quiet", "--no-notices", "--output", str(assembly)),
            *("-c", f"stage={STAGE}", "-c", f"overrides={json.dumps(overrides)}"),
        ],
        log=cloud.directory / "synth.log",
        environment={
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
        },
    )
    cloud.deploy(assembly, *STACKS)
    return Deployment(cloud)
