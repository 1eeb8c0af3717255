"""The CDK CLI deploys, updates and destroys a stack, whatever became of the deployment before."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import psutil
import pytest
from aws_cdk import aws_lambda as lambda_
from botocore.exceptions import ClientError

from lifoq_localcloud import DeploymentError, LocalCloud
from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_project import cdk_cli
from tests.infrastructure.deployments import new_app
from tests.localcloud.harness import Deployed, eventually


def synthesized(code: Path, greeting: str, timeout: Any = 2) -> Path:
    """An application with one function; CDK's own look at it would find what is wrong."""
    app = new_app()
    stack = cdk.Stack(app, "small")
    function = lambda_.Function(
        stack,
        "Probe",
        code=lambda_.Code.from_asset(str(code)),
        handler="probe.handle",
        runtime=lambda_.Runtime.PYTHON_3_13,
        environment={"GREETING": greeting},
    )
    function.node.default_child.add_property_override("Timeout", timeout)
    cdk.CfnOutput(stack, "Function", value=function.function_name)
    return Path(app.synth().directory)


def greeting(deployed: Deployed, function: str) -> str:
    answer = deployed.client("lambda").invoke(FunctionName=function, Payload=b"{}")
    return json.loads(answer["Payload"].read())["environment"]["GREETING"]


@pytest.mark.prove
def test_the_cdk_cli_deploys_updates_and_destroys_whatever_became_of_the_deployment_before(
    deployed, tmp_path
):
    cloud = deployed.cloud
    shutil.copy(Path(__file__).with_name("probe.py"), tmp_path)
    first, second = synthesized(tmp_path, "hello"), synthesized(tmp_path, "good day")
    # What only the deployment finds out: text in the template itself is refused before it begins.
    wrong = synthesized(tmp_path, "never", timeout=cdk.Fn.sub("soon"))
    cloud.deploy(first, "small")
    assert "(no changes)" in cloud.cdk(first, "bootstrap", f"aws://{ACCOUNT}/{REGION}")
    function = cloud.outputs("small")["Function"]
    assert greeting(deployed, function) == "hello"
    (process,) = cloud.processes(function)
    cloud.cdk(first, "destroy", "small", "--force")
    eventually(lambda: not psutil.pid_exists(process))
    with pytest.raises(ClientError, match="Function not found"):
        greeting(deployed, function)

    with pytest.raises(DeploymentError, match="ROLLBACK_COMPLETE"):
        deploy_by_change_set(cloud, wrong)
    deploy_by_change_set(cloud, first)
    function = cloud.outputs("small")["Function"]
    assert greeting(deployed, function) == "hello"
    (process,) = cloud.processes(function)

    with pytest.raises(DeploymentError, match="UPDATE_ROLLBACK_COMPLETE"):
        deploy_by_change_set(cloud, wrong)
    killed_in_the_middle(cloud, second)
    deploy_by_change_set(cloud, second)
    assert cloud.outputs("small")["Function"] == function
    assert greeting(deployed, function) == "good day"
    assert process not in cloud.processes(function)
    deployed.client("cloudformation").delete_stack(StackName="small")


def deploy_by_change_set(cloud: LocalCloud, assembly: Path) -> None:
    """Deploy by a change set, like ``cdk deploy`` by itself."""
    cloud.cdk(assembly, "deploy", "small", "--require-approval=never")


def killed_in_the_middle(cloud: LocalCloud, assembly: Path) -> None:
    command = ("deploy", "small", f"--app={assembly}", "--require-approval=never", "--ci")
    own = {"CDK_DEFAULT_ACCOUNT": ACCOUNT, "CDK_DEFAULT_REGION": REGION}
    with subprocess.Popen(
        cdk_cli.command(*command),
        env={**cdk_cli.environment(), **cloud.environment(), **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as cli:
        assert cli.stdout is not None
        assert any("creating CloudFormation changeset" in line for line in cli.stdout)
        cli.kill()
