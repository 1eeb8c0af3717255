"""A stack comes, changes and goes through CloudFormation, and a deployment may fail."""

import json
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from lifoq_localcloud import DeploymentError, LocalCloud
from lifoq_project import cdk_cli
from tests.localcloud import template
from tests.localcloud.harness import CODE_BUCKET, Deployed, eventually


def test_a_deployment_that_fails_tells_what_the_cli_said(deployed, tmp_path, monkeypatch):
    """The CDK's own rules for templates, which take long, run only where somebody wants it."""
    program = """echo "$0 rules: $CDK_VALIDATION"; exit 1"""
    monkeypatch.setattr(cdk_cli, "command", lambda *told: ["sh", "-c", program, *told])
    heard: list[str] = []
    with pytest.raises(DeploymentError, match=r"cdk deploy failed:\ndeploy rules: false$"):
        deployed.cloud.deploy_application(tmp_path, heard.append)
    assert heard == ["deploy rules: false\n"]
    monkeypatch.setenv("CDK_VALIDATION", "true")
    with pytest.raises(DeploymentError, match="rules: true"):
        deployed.cloud.deploy_application(tmp_path, heard.append)


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        ('{"context": {"@aws-cdk/core:bootstrapQualifier": "team"}}', {"Qualifier": "team"}),
        ("{}", {}),
        ("[]", {}),
        ("no JSON", {}),
    ],
)
def test_the_account_is_bootstrapped_with_the_qualifier_of_a_projects_cdk_json(
    tmp_path, monkeypatch, settings, given
):
    (tmp_path / "cdk.json").write_text(settings)
    cloud, api = LocalCloud(tmp_path / "cloud"), mock.Mock()
    api.describe_stacks.return_value = {"Stacks": []}
    api.exceptions.AlreadyExistsException = AlreadyThere
    api.create_stack.side_effect = AlreadyThere  # another deployment was faster
    monkeypatch.setattr(cloud, "client", {"cloudformation": api}.get)
    monkeypatch.setattr(cdk_cli, "command", mock.Mock(side_effect=cdk_cli.CdkUnavailable("later")))
    with pytest.raises(DeploymentError, match="later"):
        cloud.deploy_application(tmp_path)
    asked = api.create_stack.call_args.kwargs
    told = {one["ParameterKey"]: one["ParameterValue"] for one in asked["Parameters"]}
    assert told == {"FileAssetsBucketKmsKeyId": "AWS_MANAGED_KEY", **given}
    assert asked["StackName"] == "CDKToolkit"


class AlreadyThere(Exception):
    """CloudFormation's answer where there is a stack of that name."""


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
