"""The CDK application's entry point: ``cdk synth -c stage=NAME``."""

import sys
from collections.abc import Callable

import aws_cdk as cdk

from lifoq.errors import InvalidInput
from lifoq_project import asset
from lifoq_project.requirements import RequirementsError
from stacks.stage import build
from stacks.stages import DEFAULT, STAGES


def chosen(app: cdk.App) -> Callable[[cdk.App], None]:
    """Return the stage that the context names. Raises ``InvalidInput`` for an unknown one."""
    name = app.node.try_get_context("stage") or DEFAULT
    if name not in STAGES:
        problem = (
            f"is unknown: choose one of {', '.join(STAGES)} with '-c stage=NAME', or add it to "
            "stacks/stages.py"
        )
        raise InvalidInput("stage", name, problem)
    return STAGES[name]


def main() -> int:
    app = cdk.App()
    try:
        build(app, chosen(app))
    except (InvalidInput, asset.AssetError, RequirementsError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command's message
        return 1
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
