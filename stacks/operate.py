"""Commands for whoever runs a deployed stage: ``python -m stacks.operate COMMAND STAGE``."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import boto3
import click
from botocore.exceptions import ClientError, NoCredentialsError, NoRegionError

from stacks.config import ConfigurationError, StageConfig, load_stage

ROOT: Final = Path(__file__).resolve().parent.parent
CDK: Final = ROOT / "node_modules" / ".bin" / "cdk"


class DeployedStage:
    """A stage as it is deployed in the account and region of the environment."""

    def __init__(self, name: str) -> None:
        self._name = name
        # boto3 itself knows AWS_DEFAULT_REGION only; the CDK CLI prefers AWS_REGION.
        self._session: Any = boto3.Session(region_name=os.environ.get("AWS_REGION"))

    def _client(self, service: str) -> Any:
        return self._session.client(service)

    @cached_property
    def _cloudformation(self) -> Any:
        return self._client("cloudformation")

    @property
    def is_paused(self) -> bool:
        """Whether the processor may not run at all."""
        answer = self._client("lambda").get_function_concurrency(FunctionName=self._processor)
        return bool(answer.get("ReservedConcurrentExecutions") == 0)

    def pause(self) -> None:
        """Let no processor start; one that runs ends its window. Tasks keep coming, and shedding.

        The function's reserved concurrency is Lambda's own switch, and no deployment turns it on
        again by the way: CloudFormation leaves alone what did not change in the template.
        """
        self._reserve(0)

    def resume(self) -> None:
        """Let processors run again as the template says, and kick the first."""
        self._reserve(self._template_concurrency())
        self._client("sns").publish(
            TopicArn=self._outputs["ProcessTasksTopicArn"], Message="processing resumes"
        )

    def empty_export_bucket(self) -> None:
        """Delete exports and reports; CloudFormation deletes only an empty bucket."""
        bucket = self._outputs_of("state")["ExportBucketName"]
        s3 = self._client("s3")
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            objects = [{"Key": found["Key"]} for found in page.get("Contents", [])]
            if objects:
                s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})

    def _reserve(self, executions: int) -> None:
        self._client("lambda").put_function_concurrency(
            FunctionName=self._processor, ReservedConcurrentExecutions=executions
        )

    def _template_concurrency(self) -> int:
        template = self._cloudformation.get_template(StackName=self._stack("queue"))
        body = template["TemplateBody"]
        resources = (json.loads(body) if isinstance(body, str) else body)["Resources"]
        (reserved,) = [
            resource["Properties"]["ReservedConcurrentExecutions"]
            for resource in resources.values()
            if "ReservedConcurrentExecutions" in resource.get("Properties", {})
        ]
        return int(reserved)

    @property
    def _processor(self) -> str:
        return self._outputs["ProcessTasksFunctionName"]

    @cached_property
    def _outputs(self) -> dict[str, str]:
        return self._outputs_of("queue")

    def _outputs_of(self, stack: str) -> dict[str, str]:
        (found,) = self._cloudformation.describe_stacks(StackName=self._stack(stack))["Stacks"]
        return {one["OutputKey"]: one["OutputValue"] for one in found["Outputs"]}

    def _stack(self, name: str) -> str:
        return f"lifoq-{self._name}-{name}"


@click.group(help="Deploy, pause, resume and destroy a stage in the account of the environment.")
def main() -> None:
    pass


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("stage")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.argument("cdk_arguments", nargs=-1, type=click.UNPROCESSED)
def deploy(stage: str, *, yes: bool, cdk_arguments: tuple[str, ...]) -> None:
    """Deploy all stacks of STAGE; CDK_ARGUMENTS go to the CDK CLI."""
    if _configuration(stage).protected and not yes:
        click.confirm(f"'{stage}' is a protected stage. Deploy to it?", abort=True)
    approval = ("--require-approval=never",) if yes else ()
    _cdk("deploy", "--all", "-c", f"stage={stage}", *approval, *cdk_arguments)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("stage")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.argument("cdk_arguments", nargs=-1, type=click.UNPROCESSED)
def destroy(stage: str, *, yes: bool, cdk_arguments: tuple[str, ...]) -> None:
    """Delete all stacks of STAGE with their tasks and exports."""
    if _configuration(stage).protected:
        raise click.ClickException(
            f"'{stage}' is protected: set its 'protected' to false in cdk.json and deploy it, "
            "if it is really to be destroyed."
        )
    if not yes:
        typed = click.prompt(f"All tasks and exports will be lost. Type '{stage}' to go on")
        if typed != stage:
            raise click.ClickException(f"'{typed}' is not '{stage}': nothing was destroyed.")
    with _explained(stage):
        DeployedStage(stage).empty_export_bucket()
    _cdk("destroy", "--all", "--force", "-c", f"stage={stage}", *cdk_arguments)


@main.command()
@click.argument("stage")
def pause(stage: str) -> None:
    """Stop processing in STAGE; tasks keep arriving and shedding."""
    window = _configuration(stage).processor_timeout_seconds
    with _explained(stage):
        DeployedStage(stage).pause()
    click.echo(
        f"'{stage}' is paused: no processor starts. One that runs ends within {window} s.\n"
        f"Tasks are still taken in, and shed at their deadline. Go on with: "
        f"python -m stacks.operate resume {stage}"
    )


@main.command()
@click.argument("stage")
def resume(stage: str) -> None:
    """Go on processing in STAGE."""
    _configuration(stage)
    with _explained(stage):
        DeployedStage(stage).resume()
    click.echo(f"'{stage}' processes tasks again.")


def _configuration(stage: str) -> StageConfig:
    stages = json.loads((ROOT / "cdk.json").read_text())["context"]["stages"]
    try:
        return load_stage(stage, stages)
    except ConfigurationError as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _explained(stage: str) -> Iterator[None]:
    """Say in a sentence what a newcomer runs into; anything else stays as it is."""
    try:
        yield
    except NoCredentialsError as error:
        raise click.ClickException(
            "There are no AWS credentials: sign in, or set AWS_PROFILE."
        ) from error
    except NoRegionError as error:
        raise click.ClickException("There is no AWS region: set AWS_REGION.") from error
    except ClientError as error:
        if "does not exist" not in str(error):
            raise
        raise click.ClickException(
            f"'{stage}' is not deployed in this account and region: deploy it first, or look at "
            "AWS_PROFILE and AWS_REGION."
        ) from error


def _cdk(*arguments: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    finished = subprocess.run(  # noqa: S603 - the pinned CLI, no shell
        [str(CDK), *arguments], cwd=ROOT, env=environment, check=False
    )
    if finished.returncode:
        raise click.exceptions.Exit(finished.returncode)


if __name__ == "__main__":
    main(prog_name="python -m stacks.operate")
