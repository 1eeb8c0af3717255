"""Commands for whoever runs a deployed stage: ``python -m stacks.operate COMMAND STAGE``."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import boto3
import click
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    NoRegionError,
    WaiterError,
)

from lifoq.errors import LifoqError
from lifoq.operating.processing import Processing

ROOT: Final = Path(__file__).resolve().parent.parent
CDK: Final = ROOT / "node_modules" / ".bin" / "cdk"
ASSEMBLIES: Final = ROOT / ".build" / "assemblies"
"""The assemblies that ``deploy`` synthesized last, a folder for each stage."""
HOLD_DATA: Final = ("key", "state")
"""Stacks that ``destroy`` alone deletes, and last: old data needs the key, even if new does not."""


class NotDeployedError(click.ClickException):
    """Raised where there is no such stage."""

    def __init__(self, stage: str) -> None:
        super().__init__(
            f"'{stage}' is not deployed in this account and region: deploy it first, or look at "
            "AWS_PROFILE and AWS_REGION."
        )


class DeployedStage:
    """A stage as it is deployed in the account and region of the environment.

    What holds for it is asked of AWS, since it may have been deployed otherwise than it is written
    now.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # boto3 itself knows AWS_DEFAULT_REGION only; the CDK CLI prefers AWS_REGION.
        self._session: Any = boto3.Session(region_name=os.environ.get("AWS_REGION"))

    def _client(self, service: str) -> Any:
        return self._session.client(service)

    @cached_property
    def _cloudformation(self) -> Any:
        return self._client("cloudformation")

    # Stacks

    @property
    def stacks(self) -> list[Any]:
        """Return the stacks as CloudFormation describes them, in an order in which they can be
        deleted: the youngest first, since it may import from the others, and last what holds
        data."""
        # A stage's name may begin with another's: lifoq-dev-2-state is none of dev.
        mine = re.compile(rf"lifoq-{re.escape(self._name)}-[a-z]+")
        pages = self._cloudformation.get_paginator("describe_stacks").paginate()
        found = [stack for page in pages for stack in page["Stacks"]]
        return sorted(
            (stack for stack in found if mine.fullmatch(stack["StackName"])),
            key=lambda stack: (_place(stack), stack["CreationTime"]),
            reverse=True,
        )

    @property
    def is_protected(self) -> bool:
        return any(stack.get("EnableTerminationProtection") for stack in self.stacks)

    def delete(self, stack: Any) -> None:
        """Delete a stack, as ``stacks`` has it, and wait until it is gone."""
        stack_name = stack["StackName"]
        if stack.get("EnableTerminationProtection"):
            self._cloudformation.update_termination_protection(
                StackName=stack_name, EnableTerminationProtection=False
            )
        self._cloudformation.delete_stack(StackName=stack_name)
        try:
            self._cloudformation.get_waiter("stack_delete_complete").wait(
                StackName=stack_name, WaiterConfig={"Delay": 3, "MaxAttempts": 400}
            )
        except WaiterError as error:
            raise click.ClickException(
                f"{stack_name} could not be deleted: {self._last_reason(stack_name)}"
            ) from error

    def _last_reason(self, stack_name: str) -> str:
        events = self._cloudformation.describe_stack_events(StackName=stack_name)["StackEvents"]
        reasons = (event.get("ResourceStatusReason") for event in events)
        return next((reason for reason in reasons if reason), "CloudFormation gives no reason")

    def empty_buckets(self, stack: Any) -> None:
        """Delete what lies in a stack's buckets; CloudFormation deletes only an empty one."""
        s3 = self._client("s3")
        pages = self._cloudformation.get_paginator("list_stack_resources").paginate(
            StackName=stack["StackName"]
        )
        for resource in (one for page in pages for one in page["StackResourceSummaries"]):
            if resource["ResourceType"] != "AWS::S3::Bucket":
                continue
            bucket = resource["PhysicalResourceId"]
            for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
                objects = [{"Key": found["Key"]} for found in page.get("Contents", [])]
                if objects:
                    s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})

    # Processing

    @property
    def processing(self) -> Processing | None:
        """The switch of the stage's processors; None where there is nothing to switch yet."""
        if not any(stack["StackName"] == self._stack("queue") for stack in self.stacks):
            return None
        return Processing.connect(self._name, region_name=self._session.region_name)

    def _stack(self, name: str) -> str:
        return f"lifoq-{self._name}-{name}"


def _place(stack: Any) -> int:
    """The lower, the later it goes."""
    kind = stack["StackName"].rpartition("-")[2]
    return HOLD_DATA.index(kind) if kind in HOLD_DATA else len(HOLD_DATA)


@click.group(help="Deploy and destroy a stage in the account of the environment.")
def main() -> None:
    pass


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("stage")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.argument("cdk_arguments", nargs=-1, type=click.UNPROCESSED)
def deploy(stage: str, *, yes: bool, cdk_arguments: tuple[str, ...]) -> None:
    """Deploy all stacks of STAGE; CDK_ARGUMENTS go to the CDK CLI.

    A stage that is paused stays paused. A stack that the stage no longer has is deleted.
    """
    approval = ("--require-approval=never",) if yes else ()
    assembly = ASSEMBLIES / stage
    with _explained():
        deployed = DeployedStage(stage)
        if deployed.is_protected and not yes:
            click.confirm(f"'{stage}' is a protected stage. Deploy to it?", abort=True)
        with _pause_kept(stage, deployed):
            _cdk(
                *("deploy", "--all", "-c", f"stage={stage}", f"--output={assembly}"),
                *approval,
                *cdk_arguments,
            )
        _delete_left_over(deployed, assembly, yes=yes)


@contextmanager
def _pause_kept(stage: str, deployed: DeployedStage) -> Iterator[None]:
    """CloudFormation sets the processor's concurrency anew whenever it sees fit."""
    before = deployed.processing
    paused = before is not None and before.is_paused
    try:
        yield
    finally:
        if paused and (after := deployed.processing):
            after.hold()
            click.echo(f"'{stage}' was paused, and still is.")


def _delete_left_over(deployed: DeployedStage, assembly: Path, *, yes: bool) -> None:
    """Stacks of settings that were switched off, such as the analytics'."""
    if not (assembly / "manifest.json").exists():
        return  # the CDK arguments chose another folder
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    for stack in deployed.stacks:
        name = stack["StackName"]
        if name in artifacts:
            continue
        if _place(stack) < len(HOLD_DATA):
            click.echo(f"{name} is no longer part of the stage, and stays: old data may need it.")
            continue
        if yes or click.confirm(f"{name} is no longer part of the stage. Delete it?"):
            deployed.delete(stack)
            click.echo(f"{name} is no longer part of the stage, and was deleted.")


@main.command()
@click.argument("stage")
@click.option("--yes", is_flag=True, help="Ask nothing.")
def destroy(stage: str, *, yes: bool) -> None:
    """Delete all stacks of STAGE with their tasks and exports."""
    with _explained():
        deployed = DeployedStage(stage)
        stacks = deployed.stacks
        if not stacks:
            raise NotDeployedError(stage)
        if deployed.is_protected:
            raise click.ClickException(
                f"'{stage}' is protected: take 'protected' from it in stacks/stages.py and deploy "
                "it, if it is really to be destroyed."
            )
        if not yes:
            typed = click.prompt(f"All tasks and exports will be lost. Type '{stage}' to go on")
            if typed != stage:
                raise click.ClickException(f"'{typed}' is not '{stage}': nothing was destroyed.")
        for stack in stacks:
            click.echo(f"Deleting {stack['StackName']} …")
            deployed.empty_buckets(stack)
            deployed.delete(stack)


@contextmanager
def _explained() -> Iterator[None]:
    """AWS's refusals as a sentence each."""
    try:
        yield
    except LifoqError as error:
        raise click.ClickException(str(error)) from error
    except NoCredentialsError as error:
        raise click.ClickException(
            "There are no AWS credentials: sign in, or set AWS_PROFILE."
        ) from error
    except NoRegionError as error:
        raise click.ClickException("There is no AWS region: set AWS_REGION.") from error
    except BotoCoreError as error:
        raise click.ClickException(
            f"AWS could not be asked: {str(error).rstrip('.')}. Look at AWS_PROFILE, AWS_REGION "
            "and the network, or sign in again."
        ) from error
    except ClientError as error:
        described = error.response.get("Error", {})
        raise click.ClickException(
            f"AWS refused {error.operation_name}: {described.get('Code')}: "
            f"{described.get('Message')}"
        ) from error


def _cdk(*arguments: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    try:
        finished = subprocess.run(  # noqa: S603 - the pinned CLI, no shell
            [str(CDK), *arguments], cwd=ROOT, env=environment, check=False
        )
    except FileNotFoundError as error:
        raise click.ClickException(
            "The CDK CLI is not installed: run 'make setup' first."
        ) from error
    if finished.returncode:
        raise click.exceptions.Exit(finished.returncode)


if __name__ == "__main__":
    main(prog_name="python -m stacks.operate")
