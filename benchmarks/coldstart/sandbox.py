"""Lay out what a Lambda function sees in a folder, and start processes that see nothing else."""

import compileall
import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lifoq import Lifetimes, WorkerSettings, environment
from lifoq.environment import Variable
from lifoq_localcloud.functions.sandboxes import lay_out_runtime
from lifoq_project import asset
from stacks.stage import FUNCTIONS, TASKS

SERVICES: Final[Mapping[str, tuple[str, ...]]] = {
    "trigger": ("sns",),
    "process_tasks": ("dynamodb",),
    "sweep": ("dynamodb",),
    "create_tasks": ("dynamodb",),
    "ingest": ("dynamodb",),
    "api": ("dynamodb",),
    "task_events": ("sns", "stepfunctions"),
}
"""Each function, and what it makes clients for before its first event."""

ENVIRONMENT: Final[Mapping[str, str]] = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
    "AWS_LAMBDA_FUNCTION_NAME": "probe",
    "TZ": "UTC",
    Variable.TASKS: TASKS,
    Variable.TRIGGER_TOPIC: "arn:aws:sns:us-east-1:123456789012:trigger",
    Variable.PROCESS_TOPIC: "arn:aws:sns:us-east-1:123456789012:process",
    Variable.DEAD_LETTERS: "https://sqs.us-east-1.amazonaws.com/123456789012/dead-letters",
    Variable.INGEST_MAPPING: "{}",
    Variable.QUEUE: "probe",
    Variable.EVENTS_TOPIC: "arn:aws:sns:us-east-1:123456789012:events",
    Variable.TASK_TOKENS: "true",
    **environment.of_queue("tasks", Lifetimes()),
    **environment.of_worker(WorkerSettings(window=30, task_timeout=20)),
    "POWERTOOLS_SERVICE_NAME": "lifoq-probe",
    "POWERTOOLS_METRICS_NAMESPACE": "lifoq",
}

_PROBE: Final = Path(__file__).with_name("probe.py")


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    task: Path
    """The unpacked asset: source alone, as Lambda gets it."""
    runtime: Path
    """boto3 and what it needs, with bytecode, since Lambda's runtime does not change."""
    package_bytes: int

    def start(
        self, what: str, *services: str, variables: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Start a process of its own, which has these ``variables`` beside, and return what the
        probe found in it. Raises CalledProcessError where it failed."""
        finished = subprocess.run(
            # -B: as on Lambda, where the asset's folder is read-only, no bytecode is kept.
            [
                *(sys.executable, "-I", "-S", "-B", str(_PROBE)),
                *(str(self.task), str(self.runtime), what, *services),
            ],
            env={**ENVIRONMENT, **(variables or {})},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
        return found


def lay_out(folder: Path) -> Sandbox:
    package = asset.build(FUNCTIONS)
    task, runtime = folder / "task", folder / "runtime"
    archive = zipfile.ZipFile(package.path)
    archive.extractall(task, [name for name in archive.namelist() if not name.endswith(".pyc")])
    lay_out_runtime(runtime)
    for entry in runtime.iterdir():  # once for each installation: it lies where Python keeps it
        compile_it = compileall.compile_dir if entry.is_dir() else compileall.compile_file
        compile_it(entry.resolve(), quiet=1)
    return Sandbox(task=task, runtime=runtime, package_bytes=package.path.stat().st_size)
