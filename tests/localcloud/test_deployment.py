"""Stacks come, change and go, through CloudFormation and the CDK CLI."""

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
from tests.localcloud import template
from tests.localcloud.harness import CODE_BUCKET, Deployed, eventually


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


def test_a_deployment_that_fails_tells_what_the_cli_said(deployed, tmp_path, monkeypatch):
    program = """case "$0" in deploy) echo "--app is required"; exit 1;; *) echo "$0" "$1";; esac"""
    monkeypatch.setattr(cdk_cli, "command", lambda *told: ["sh", "-c", program, *told])
    heard: list[str] = []
    with pytest.raises(DeploymentError, match=r"cdk deploy failed:\n--app is required$"):
        deployed.cloud.deploy_application(tmp_path, heard.append)
    assert heard[-1] == "--app is required\n"
    assert heard[:-1] in ([], [f"bootstrap aws://{ACCOUNT}/{REGION}\n"])  # once for each cloud


def test_the_cdks_rules_for_templates_are_asked_only_where_somebody_wants_them(
    deployed, tmp_path, monkeypatch
):
    monkeypatch.setattr(cdk_cli, "command", lambda *_: ["sh", "-c", 'echo "$CDK_VALIDATION"'])
    heard: list[str] = []
    deployed.cloud.deploy_application(tmp_path, heard.append)
    assert heard[-1] == "false\n"
    monkeypatch.setenv("CDK_VALIDATION", "true")
    deployed.cloud.deploy_application(tmp_path, heard.append)
    assert heard[-1] == "true\n"


def test_an_update_reaches_mapping_subscription_schedule_and_table(deployed):
    name = "changing"
    before = template.build(CODE_BUCKET, "probe.zip")
    cloudformation = deployed.client("cloudformation")
    cloudformation.create_stack(
        StackName=name, TemplateBody=json.dumps(before), Capabilities=["CAPABILITY_IAM"]
    )
    ids = deployed.cloud.outputs(name)
    stack = Deployed(cloud=deployed.cloud, ids=ids)
    stack.put("kept")
    eventually(stack.records)

    after = template.build(CODE_BUCKET, "probe.zip")
    resources: dict[str, Any] = after["Resources"]
    wanted = template.only({"dynamodb": {"Keys": {"id": {"S": ["only"]}}}})
    resources["Mapping"]["Properties"]["FilterCriteria"] = wanted
    resources["Single"]["Properties"]["ReservedConcurrentExecutions"] = 0
    resources["Schedule"]["Properties"]["ScheduleExpression"] = "rate(2 minutes)"
    resources["Table"]["Properties"]["TimeToLiveSpecification"]["Enabled"] = False
    del resources["Subscription"]
    del after["Outputs"]["Subscription"]
    cloudformation.update_stack(
        StackName=name, TemplateBody=json.dumps(after), Capabilities=["CAPABILITY_IAM"]
    )

    assert deployed.cloud.outputs(name)["Table"] == ids["Table"]
    stack.put("other")
    stack.put("only")
    deployed.client("sns").publish(TopicArn=ids["Topic"], Message="to nobody")
    (record,) = eventually(stack.records)
    assert record["dynamodb"]["Keys"]["id"]["S"] == "only"
    scanned = deployed.client("dynamodb").scan(TableName=ids["Table"])["Items"]
    assert {one["id"]["S"] for one in scanned} == {"kept", "other", "only"}
    with pytest.raises(ClientError, match="concurrency limit"):
        stack.invoke("Single", {})
    schedule = deployed.client("scheduler").get_schedule(Name=ids["Schedule"])
    assert schedule["ScheduleExpression"] == "rate(2 minutes)"
    ttl = deployed.client("dynamodb").describe_time_to_live(TableName=ids["Table"])
    assert ttl["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED"

    cloudformation.delete_stack(StackName=name)
    names = [one["Name"] for one in deployed.client("scheduler").list_schedules()["Schedules"]]
    assert ids["Schedule"] not in names
    assert ids["Table"] not in deployed.client("dynamodb").list_tables()["TableNames"]
    with pytest.raises(ClientError, match="Function not found"):
        stack.invoke("Probe", {})
