"""The CDK application: the stage that its context chooses, checked by cdk-nag."""

from collections.abc import Callable

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from lifoq.errors import InvalidInput
from stacks.stage import put_out
from stacks.stages import DEFAULT, STAGES


def build(app: cdk.App, stage: Callable[[cdk.App], None] | None = None) -> None:
    """Put a stage's stacks into ``app``, and have them checked when it is synthesized. ``stage``:
    by default the one that the context names. Raises ``InvalidInput`` for an unknown one, and for
    settings that cannot work."""
    (stage or _chosen(app))(app)
    put_out(app)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks())


def _chosen(app: cdk.App) -> Callable[[cdk.App], None]:
    name = app.node.try_get_context("stage") or DEFAULT
    if name not in STAGES:
        problem = (
            f"is unknown: choose one of {', '.join(STAGES)} with '-c stage=NAME', or add it to "
            "stacks/stages.py"
        )
        raise InvalidInput("stage", name, problem)
    return STAGES[name]
