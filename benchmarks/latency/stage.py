"""The queue, deployed to a local cloud as it is, with the benchmark's task code."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aws_cdk as cdk

from lifoq import Queue, Store
from lifoq.tables.dynamo import DynamoTable
from lifoq_cdk import asset
from localcloud import LocalCloud
from stacks import application

ROOT: Final = Path(__file__).resolve().parents[2]
STAGE: Final = "prod"
STACKS: Final = (f"lifoq-{STAGE}-state", f"lifoq-{STAGE}-queue")
START_MARK: Final = " START RequestId"
END_MARK: Final = "END RequestId"
IDLE_SECONDS: Final = 60.0


class Stage:
    """The deployed queue: its producer's side, and when its functions did what."""

    def __init__(self, cloud: LocalCloud) -> None:
        outputs = cloud.outputs(STACKS[1])
        self.trigger = outputs["TriggerFunctionName"]
        self.processor = outputs["ProcessTasksFunctionName"]
        self.sweep = outputs["SweepFunctionName"]
        self._cloud = cloud
        client: Any = cloud.client("dynamodb")
        name = cloud.outputs(STACKS[0])["TableName"]
        self.queue = Queue(Store(DynamoTable(name=name, client=client, once=client)))

    def starts(self, function: str, since: int) -> list[int]:
        """Epoch microseconds of its invocations, from ``since`` on."""
        lines = self._log(function)
        moments = [line.split(" ", 1)[0] for line in lines if START_MARK in line]
        return [at for at in map(_microseconds, moments) if at >= since]

    def calls(self, since: int) -> list[dict[str, Any]]:
        """The API calls of the functions, from ``since`` on."""
        lines = map(json.loads, self._cloud.calls.read_text().splitlines())
        return [call for call in lines if call["caller"] and call["at"] >= since]

    def wait_until_idle(self) -> None:
        """Until no invocation of trigger or processor is going on."""
        until = time.monotonic() + IDLE_SECONDS
        while any(map(self._busy, (self.trigger, self.processor))):
            if time.monotonic() > until:
                raise TimeoutError(f"the queue is not idle after {IDLE_SECONDS:g} s")
            time.sleep(0.05)

    def end_processes(self) -> None:
        """The next event of each function finds no process: a cold start."""
        for function in (self.trigger, self.processor):
            self._cloud.kill_function(function)

    def _busy(self, function: str) -> bool:
        lines = self._log(function)
        begun = sum(START_MARK in line for line in lines)
        return begun > sum(line.startswith(END_MARK) for line in lines)

    def _log(self, function: str) -> list[str]:
        log = self._cloud.logs / f"{function}.log"
        return log.read_text().splitlines() if log.exists() else []


@contextmanager
def deployed(folder: Path) -> Iterator[Stage]:
    with LocalCloud(folder / "cloud") as cloud:
        cloud.deploy(assembly(folder / "code"), *STACKS)
        yield Stage(cloud)


def assembly(code: Path) -> Path:
    """The synthesized application, with the benchmark's task code where a team's is."""
    for package in ("lifoq", "functions"):
        shutil.copytree(ROOT / package, code / package)
    shutil.copy(Path(__file__).with_name("tasks.py"), code / "functions" / "tasks.py")
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = cdk.App(context={**context, "stage": STAGE}, outdir=str(code / "cdk.out"))
    functions, report = asset.build(root=code), asset.build_report()
    application.build(app, stage=application.stage_of(app), asset=functions, report=report)
    return Path(app.synth().directory)


def _microseconds(moment: str) -> int:
    return round(
        datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC).timestamp() * 1e6
    )
