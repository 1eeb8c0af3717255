"""One stage of the queue as a CDK application: which stacks there are, and what they share."""

from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from lifoq_cdk.asset import Asset
from lifoq_cdk.generator import GeneratorStack
from lifoq_cdk.queue import QueueStack
from lifoq_cdk.reports import AnalyticsStack
from lifoq_cdk.state import StateStack
from stacks.config import DEFAULT_STAGE, ConfigurationError, StageConfig, load_stage

if TYPE_CHECKING:
    from collections.abc import Mapping


def stage_of(app: cdk.App) -> StageConfig:
    """The stage that the context chooses. Raises ``ConfigurationError``."""
    stages: Mapping[str, Mapping[str, Any]] | None = app.node.try_get_context("stages")
    if not stages:
        raise ConfigurationError("The context has no 'stages': run cdk where cdk.json is.")
    name = app.node.try_get_context("stage") or DEFAULT_STAGE
    return load_stage(name, stages, app.node.try_get_context("overrides"))


def build(app: cdk.App, *, stage: StageConfig, asset: Asset, report: Asset) -> None:
    """Put the stage's stacks into ``app``, and have them checked when it is synthesized."""
    prefix = f"lifoq-{stage.name}"
    state = StateStack(app, f"{prefix}-state", stage=stage)
    QueueStack(app, f"{prefix}-queue", stage=stage, asset=asset, state=state)
    GeneratorStack(app, f"{prefix}-generator", stage=stage, asset=asset, state=state)
    if stage.analytics:
        AnalyticsStack(
            app,
            f"{prefix}-analytics",
            stage=stage,
            analytics=stage.analytics,
            report=report,
            state=state,
        )
    for key, value in {"application": "lifoq", "stage": stage.name, **stage.tags}.items():
        cdk.Tags.of(app).add(key, value)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks())
