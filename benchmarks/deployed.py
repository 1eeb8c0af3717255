"""The queue on the local cloud, deployed with its defaults, and what its functions did there."""

import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aws_cdk as cdk

from lifoq import Queue, Store
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.items.schema import Status
from lifoq_cdk import LifoQueue
from lifoq_localcloud import LocalCloud
from stacks.stage import Stage, put_out

ROOT: Final = Path(__file__).resolve().parents[1]
STAGE: Final = "dev"
STACKS: Final = tuple(f"lifoq-{STAGE}-{name}" for name in ("state", "queue"))
FUNCTIONS: Final = {
    "trigger": "TriggerFunctionName",
    "processor": "ProcessTasksFunctionName",
    "sweep": "SweepFunctionName",
}
_START: Final = re.compile(r"^(\S+) START RequestId", re.MULTILINE)
_REPORT: Final = re.compile(r"^REPORT .*Duration: ([\d.]+) ms", re.MULTILINE)


class Deployment:
    """A deployed queue, whose functions are called trigger, processor and sweep."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        outputs = cloud.outputs(STACKS[1])
        self.names = {name: outputs[output] for name, output in FUNCTIONS.items()}
        client: Any = cloud.client("dynamodb")
        table = cloud.outputs(STACKS[0])["TableName"]
        self.queue = Queue(Store(DynamoTable.of_clients(table, client=client, once=client)))
        (self._spare,) = [
            url
            for url in cloud.client("sqs").list_queues()["QueueUrls"]
            if "SpareKicks" in url.rsplit("/", 1)[-1]
        ]

    def invoke(self, name: str) -> None:
        self.cloud.client("lambda").invoke(FunctionName=self.names[name], Payload=b"{}")

    def calls(self, since: int = 0) -> list[dict[str, Any]]:
        """The functions' own API calls, from epoch microseconds ``since`` on; who asks otherwise is
        the benchmark."""
        called = {function: name for name, function in self.names.items()}
        return [
            {**call, "caller": called[call["caller"]]}
            for call in self._all_calls()
            if call["caller"] in called and call["at"] >= since
        ]

    def _all_calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.cloud.calls.read_text().splitlines()]

    def log(self, name: str) -> str:
        path = self.cloud.logs / f"{self.names[name]}.log"
        return path.read_text() if path.exists() else ""

    def begins(self, name: str, since: int) -> list[int]:
        """Epoch microseconds of a function's runs, from ``since`` on."""
        moments = map(_microseconds, _START.findall(self.log(name)))
        return [moment for moment in moments if moment >= since]

    def spare_kicks(self) -> int:
        """Kicks that Lambda gave up, as a processor was running all the time: SQS messages."""
        wanted = "ApproximateNumberOfMessages"
        client = self.cloud.client("sqs")
        found = client.get_queue_attributes(QueueUrl=self._spare, AttributeNames=[wanted])
        return int(found["Attributes"][wanted])

    def rest(self) -> None:
        """Wait until no task is left, and each kick has ended: in a run, or as a spare one."""
        statuses = (Status.PENDING, Status.DELAYED, Status.TAKEN)
        while any(self.queue.store.count(status, cap=1).value for status in statuses):
            time.sleep(0.2)
        while self._open_kicks():
            time.sleep(0.2)

    def _open_kicks(self) -> int:
        """Count the kicks, a producer's among them, that have not ended."""
        sent = [call for call in self._all_calls() if call["action"] == "sns:Publish"]
        return len(sent) - len(durations(self.log("processor"))) - self.spare_kicks()


def durations(log: str) -> list[float]:
    """Seconds of each run that ended."""
    return [float(millis) / 1000 for millis in _REPORT.findall(log)]


@contextmanager
def deployed(folder: Path, *, stream_pause_seconds: float = 0.0) -> Iterator[Deployment]:
    with LocalCloud(folder / "cloud", stream_pause_seconds=stream_pause_seconds) as cloud:
        cloud.deploy(_assembly(folder / "code"), *STACKS)
        yield Deployment(cloud)


def _assembly(code: Path) -> Path:
    """The synthesized application, with the benchmarks' task code."""
    tasks = code / "tasks"
    tasks.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("deployed_tasks.py"), tasks / "__init__.py")
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = cdk.App(context=context, outdir=str(code / "cdk.out"))
    stage = Stage(app, STAGE)
    LifoQueue(
        stage.stack("queue", "trigger, processor and sweep"),
        "Default",
        queue_name=STAGE,
        state=stage.state(),
        tasks=tasks,
    )
    put_out(app)
    return Path(app.synth().directory)


def _microseconds(moment: str) -> int:
    at = datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return round(at.timestamp() * 1e6)
