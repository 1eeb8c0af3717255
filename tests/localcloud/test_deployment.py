"""A stack comes, changes and goes through CloudFormation, and a deployment may fail."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lifoq_localcloud import DeploymentError
from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_project import cdk_cli
from tests.localcloud import template
from tests.localcloud.harness import CODE_BUCKET, Deployed, eventually


def test_a_deployment_that_fails_tells_what_the_cli_said(deployed, tmp_path, monkeypatch):
    """The CDK's own rules for templates, which take long, run only where somebody wants it."""
    program = (
        """case "$0" in deploy) echo "rules: $CDK_VALIDATION"; exit 1;; *) echo "$0" "$1";; esac"""
    )
    monkeypatch.setattr(cdk_cli, "command", lambda *told: ["sh", "-c", program, *told])
    heard: list[str] = []
    with pytest.raises(DeploymentError, match=r"cdk deploy failed:\nrules: false$"):
        deployed.cloud.deploy_application(tmp_path, heard.append)
    assert heard[-1] == "rules: false\n"
    assert heard[:-1] in ([], [f"bootstrap aws://{ACCOUNT}/{REGION}\n"])  # once for each cloud
    monkeypatch.setenv("CDK_VALIDATION", "true")
    with pytest.raises(DeploymentError, match="rules: true"):
        deployed.cloud.deploy_application(tmp_path, heard.append)


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
