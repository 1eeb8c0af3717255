"""The CDK application's entry point: ``cdk synth -c stage=NAME``."""

import sys

import aws_cdk as cdk

from lifoq.errors import InvalidInput
from lifoq_cdk import asset
from lifoq_cdk.requirements import RequirementsError
from stacks import application
from stacks.config import ConfigurationError


def main() -> int:
    app = cdk.App()
    try:
        stage = application.stage_of(app)
        functions = asset.build()
        report = asset.build_report()
        application.build(app, stage=stage, asset=functions, report=report)
    except (ConfigurationError, InvalidInput, asset.AssetError, RequirementsError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command's message
        return 1
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
