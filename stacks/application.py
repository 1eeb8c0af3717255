"""One stage of the queue as a CDK application: which stacks there are, and what they share."""

from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from lifoq_cdk.asset import Asset
from stacks.analytics import AnalyticsStack
from stacks.config import DEFAULT_STAGE, ConfigurationError, StageConfig, load_stage
from stacks.generator import GeneratorStack
from stacks.queue import QueueStack
from stacks.state import KeyStack, StateStack

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
    key = KeyStack(app, f"{prefix}-key", stage=stage).key if stage.customer_managed_key else None
    state = StateStack(app, f"{prefix}-state", stage=stage, key=key)
    queue = QueueStack(app, f"{prefix}-queue", stage=stage, asset=asset, state=state)
    GeneratorStack(app, f"{prefix}-generator", stage=stage, queue=queue)
    if stage.analytics:
        AnalyticsStack(
            app,
            f"{prefix}-analytics",
            stage=stage,
            analytics=stage.analytics,
            report=report,
            queue=queue,
        )
    for tag, value in {"application": "lifoq", "stage": stage.name, **stage.tags}.items():
        cdk.Tags.of(app).add(tag, value)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks())
