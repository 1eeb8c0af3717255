"""The CDK application's entry point: ``cdk synth -c stage=NAME``."""

import sys

import aws_cdk as cdk

from lifoq.errors import InvalidInput
from lifoq_project import asset
from lifoq_project.requirements import RequirementsError
from stacks import application


def main() -> int:
    app = cdk.App()
    try:
        application.build(app)
    except (InvalidInput, asset.AssetError, RequirementsError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command's message
        return 1
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
