"""A stack comes, changes and goes through CloudFormation, and a deployment may fail."""

import json
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from lifoq_localcloud import DeploymentError, LocalCloud
from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_project import cdk_cli
from tests.localcloud import template
from tests.localcloud.harness import CODE_BUCKET, Deployed, eventually

BOOTSTRAPPED = f" ✅  Environment aws://{ACCOUNT}/{REGION} bootstrapped.\n"
"""The line of the CDK CLI with which a step of ``lifoq dev`` begins."""


def test_a_deployment_that_fails_tells_what_the_cli_said(deployed, tmp_path, monkeypatch):
    """The CDK's own rules for templates, which take long, run only where somebody wants it."""
    program = """echo "$0 rules: $CDK_VALIDATION"; exit 1"""
    monkeypatch.setattr(cdk_cli, "command", lambda *told: ["sh", "-c", program, *told])
    heard: list[str] = []
    with pytest.raises(DeploymentError, match=r"cdk deploy failed:\ndeploy rules: false$"):
        deployed.cloud.deploy_application(tmp_path, heard.append)
    assert heard[-1] == "deploy rules: false\n"
    assert heard[:-1] in ([], [BOOTSTRAPPED])  # once for each cloud
    monkeypatch.setenv("CDK_VALIDATION", "true")
    with pytest.raises(DeploymentError, match="rules: true"):
        deployed.cloud.deploy_application(tmp_path, heard.append)


class AlreadyThere(Exception):
    """CloudFormation's answer where there is a stack of that name."""


STANDS = {"StackName": "CDKToolkit", "StackStatus": "CREATE_COMPLETE"}


@pytest.fixture
def new_cloud(tmp_path, monkeypatch) -> mock.Mock:
    """A local cloud without a stack, whose CDK CLI tells with which command it was called."""
    cloud, api = LocalCloud(tmp_path / "cloud"), mock.Mock()
    api.exceptions.AlreadyExistsException = AlreadyThere
    api.describe_stacks.side_effect = [{"Stacks": []}, {"Stacks": [STANDS]}]
    monkeypatch.setattr(cloud, "client", {"cloudformation": api}.get)

    def command(*told: str) -> list[str]:
        raise cdk_cli.CdkUnavailable(told[0])

    monkeypatch.setattr(cdk_cli, "command", command)
    return mock.Mock(deploy=cloud.deploy_application, api=api)


@pytest.mark.parametrize("refusal", [None, AlreadyThere])  # the second: another was faster
def test_the_account_is_bootstrapped_by_the_template_of_the_cli(new_cloud, tmp_path, refusal):
    new_cloud.api.create_stack.side_effect = refusal
    heard: list[str] = []
    with pytest.raises(DeploymentError, match=r"^deploy$"):
        new_cloud.deploy(tmp_path, heard.append)
    asked = new_cloud.api.create_stack.call_args.kwargs
    assert asked["TemplateBody"] == cdk_cli.bootstrap_template().read_text()
    assert heard == [BOOTSTRAPPED]


@pytest.mark.parametrize("file", ["cdk.json", "cdk.context.json"])
def test_the_cli_itself_bootstraps_where_settings_tell_it_how(new_cloud, tmp_path, file):
    (tmp_path / file).write_text('{"context": {"@aws-cdk/core:bootstrapQualifier": "team"}}')
    with pytest.raises(DeploymentError, match=r"^bootstrap$"):
        new_cloud.deploy(tmp_path)
    new_cloud.api.create_stack.assert_not_called()


def test_a_bootstrap_that_fails_is_told_with_its_reason_and_can_be_tried_again(new_cloud, tmp_path):
    new_cloud.api.describe_stacks.side_effect = [{"Stacks": []}] * 2
    told = {"StackEvents": [{"ResourceStatusReason": "no room"}, {}]}
    new_cloud.api.describe_stack_events.return_value = told
    with pytest.raises(DeploymentError, match=r"cdk bootstrap failed: no room$"):
        new_cloud.deploy(tmp_path)
    new_cloud.api.delete_stack.assert_called_once_with(StackName="CDKToolkit")
    new_cloud.api.describe_stacks.side_effect = [{"Stacks": []}]
    refused = ClientError({"Error": {"Code": "ValidationError"}}, "CreateStack")
    new_cloud.api.create_stack.side_effect = refused
    with pytest.raises(DeploymentError, match=r"cdk bootstrap failed: .*ValidationError"):
        new_cloud.deploy(tmp_path)


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
