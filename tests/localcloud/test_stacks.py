"""CloudFormation as its users know it: change sets, exports, and a way back from what fails."""

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localcloud.harness import CODE_BUCKET, Deployed
from tests.localcloud.template import build, of_type, ref

TOPIC = of_type("AWS::SNS::Topic")


@pytest.fixture
def name() -> str:
    return f"stack-{uuid.uuid4().hex[:8]}"


def table() -> dict[str, Any]:
    return of_type(
        "AWS::DynamoDB::Table",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


def exporting(name: str, *exports: str, **resources: Any) -> str:
    """A template whose resources of these names are exported as ``<stack>:<resource>``."""
    outputs = {one: {"Value": ref(one), "Export": {"Name": f"{name}:{one}"}} for one in exports}
    return json.dumps({"Resources": resources, "Outputs": outputs})


def _parameter(export: str) -> str:
    return f"/{export.replace(':', '/')}"


def importing(export: str, **resources: Any) -> str:
    """A template with a parameter that holds what another stack exports."""
    value = {"Fn::ImportValue": export}
    parameter = of_type("AWS::SSM::Parameter", Type="String", Name=_parameter(export), Value=value)
    return json.dumps({"Resources": {**resources, "Imported": parameter}})


class Stacks:
    def __init__(self, deployed: Deployed) -> None:
        self.api = deployed.client("cloudformation")
        self._deployed = deployed

    def change(self, stack: str, template: str, *, kind: str = "CREATE") -> None:
        """By a change set, under the name that the CDK CLI gives to each."""
        names = {"StackName": stack, "ChangeSetName": "cdk-deploy-change-set"}
        self.api.create_change_set(**names, TemplateBody=template, ChangeSetType=kind)
        assert self.api.describe_change_set(**names)["StackName"] == stack
        self.api.execute_change_set(**names)
        self.api.delete_change_set(**names)

    def status(self, stack: str) -> str:
        return self.api.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]

    def reasons(self, stack: str) -> str:
        events = self.api.describe_stack_events(StackName=stack)["StackEvents"]
        return " ".join(one.get("ResourceStatusReason") or "" for one in events)

    def exports(self) -> dict[str, str]:
        return {one["Name"]: one["Value"] for one in self.api.list_exports()["Exports"]}

    def imported(self, export: str) -> str:
        parameter = self._deployed.client("ssm").get_parameter(Name=_parameter(export))
        return parameter["Parameter"]["Value"]

    def missing(self, stack: str) -> bool:
        try:
            self.api.describe_stacks(StackName=stack)
        except ClientError as error:
            return "does not exist" in str(error)
        return False


@pytest.fixture
def stacks(deployed) -> Stacks:
    return Stacks(deployed)


def test_what_a_change_set_exports_another_stack_imports(stacks, name):
    stacks.change(name, exporting(name, "First", First=TOPIC))
    stacks.change(f"{name}-user", importing(f"{name}:First"))
    assert stacks.imported(f"{name}:First") == stacks.exports()[f"{name}:First"]

    stacks.change(
        name, exporting(name, "First", "Second", First=TOPIC, Second=TOPIC), kind="UPDATE"
    )
    stacks.change(f"{name}-other", importing(f"{name}:Second"))
    assert stacks.imported(f"{name}:Second") == stacks.exports()[f"{name}:Second"]
    assert stacks.status(name) == "UPDATE_COMPLETE"
    stacks.api.delete_stack(StackName=f"{name}-user")
    with pytest.raises(ClientError, match="ParameterNotFound"):
        stacks.imported(f"{name}:First")


def test_change_sets_of_two_stacks_may_have_the_same_name(stacks, name):
    for stack in (f"{name}-a", f"{name}-b"):
        stacks.api.create_change_set(
            StackName=stack,
            ChangeSetName="same",
            TemplateBody=exporting(stack, "Topic", Topic=TOPIC),
            ChangeSetType="CREATE",
        )
    stacks.api.delete_change_set(StackName=f"{name}-b", ChangeSetName="same")
    stacks.api.execute_change_set(StackName=f"{name}-a", ChangeSetName="same")
    assert stacks.status(f"{name}-a") == "CREATE_COMPLETE"
    assert stacks.status(f"{name}-b") == "REVIEW_IN_PROGRESS"


@pytest.mark.parametrize("direct", [True, False])
def test_a_creation_that_fails_leaves_nothing_and_can_be_repeated(
    deployed, stacks, name, *, direct
):
    def create(template: str) -> None:
        if direct:
            stacks.api.create_stack(StackName=name, TemplateBody=template)
        else:
            stacks.change(name, template)

    before = deployed.client("dynamodb").list_tables()["TableNames"]
    create(importing("nobody:exports", Table=table()))
    assert stacks.status(name) == "ROLLBACK_COMPLETE"
    assert "No export named nobody:exports found" in stacks.reasons(name)
    assert deployed.client("dynamodb").list_tables()["TableNames"] == before

    stacks.api.delete_stack(StackName=name)
    create(exporting(name, "Table", Table=table()))
    assert stacks.status(name) == "CREATE_COMPLETE"
    assert f"{name}:Table" in stacks.exports()
    stacks.api.update_stack(StackName=name, TemplateBody=exporting(name, Table=table()))
    assert f"{name}:Table" not in stacks.exports()


def test_an_update_that_fails_is_taken_back_and_loses_nothing(deployed, stacks, name):
    dynamodb = deployed.client("dynamodb")
    stacks.change(name, exporting(name, "Table", Table=table(), Gone=TOPIC))
    kept = stacks.exports()[f"{name}:Table"]
    dynamodb.put_item(TableName=kept, Item={"id": {"S": "kept"}})
    topics = len(deployed.client("sns").list_topics()["Topics"])

    # It would remove the table, and fails over a resource that comes after.
    stacks.change(name, importing("nobody:exports", New=TOPIC), kind="UPDATE")

    assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
    assert "No export named nobody:exports found" in stacks.reasons(name)
    assert dynamodb.scan(TableName=kept)["Count"] == 1
    assert len(deployed.client("sns").list_topics()["Topics"]) == topics
    stacks.change(name, exporting(name, "Table", Table=table(), New=TOPIC), kind="UPDATE")
    assert stacks.status(name) == "UPDATE_COMPLETE"
    assert stacks.exports()[f"{name}:Table"] == kept


def behind_a_queue(**changed: Any) -> str:
    """A template with a function that reads a queue, and a broker, which does nothing here."""
    resources = build(CODE_BUCKET, "probe.zip")["Resources"]
    names = ("Role", "Received", "Failures", "Letters", "Reader", "LettersMapping", "BrokerMapping")
    chosen = {one: resources[one] for one in names}
    for name, properties in changed.items():
        chosen[name] = of_type(chosen[name]["Type"], **{**chosen[name]["Properties"], **properties})
    return json.dumps({"Resources": chosen})


@pytest.mark.parametrize(
    "wrong",
    [
        {"Reader": {"Timeout": "soon"}},
        {"LettersMapping": {"FilterCriteria": "none"}},
        {"BrokerMapping": {"Queues": ["others"]}, "Reader": {"Timeout": "soon"}},
    ],
    ids=" ".join,
)
def test_what_cannot_run_is_taken_back_and_what_is_right_can_follow(stacks, name, wrong):
    stacks.change(name, behind_a_queue(**wrong))
    assert stacks.status(name) == "ROLLBACK_COMPLETE"
    stacks.api.delete_stack(StackName=name)
    stacks.change(name, behind_a_queue())
    assert stacks.status(name) == "CREATE_COMPLETE"

    stacks.change(name, behind_a_queue(**wrong), kind="UPDATE")
    assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
    stacks.change(name, behind_a_queue(Reader={"Timeout": 5}), kind="UPDATE")
    assert stacks.status(name) == "UPDATE_COMPLETE"
    stacks.api.delete_stack(StackName=name)
    assert stacks.missing(name)


def test_what_was_gone_with_what_it_belonged_to_is_deleted(stacks, name):
    resources = json.loads(behind_a_queue())["Resources"]
    settings = of_type(
        "AWS::Lambda::EventInvokeConfig",
        FunctionName=ref("Reader"),
        Qualifier="$LATEST",
        MaximumRetryAttempts=0,
    )
    stacks.change(name, json.dumps({"Resources": {**resources, "Settings": settings}}))
    stacks.change(name, json.dumps({"Resources": {"Role": resources["Role"]}}), kind="UPDATE")
    assert stacks.status(name) == "UPDATE_COMPLETE"


def test_an_export_in_use_can_neither_be_removed_nor_replaced(stacks, name):
    stacks.change(name, exporting(name, "Topic", Topic=TOPIC))
    stacks.change(f"{name}-user", importing(f"{name}:Topic"))
    value = stacks.exports()[f"{name}:Topic"]

    stacks.change(name, exporting(name, Topic=TOPIC), kind="UPDATE")
    assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
    assert f"Export {name}:Topic cannot be deleted as it is in use by {name}-user" in (
        stacks.reasons(name)
    )
    other = json.loads(exporting(name, "Topic", Topic=TOPIC, Other=TOPIC))
    other["Outputs"]["Topic"]["Value"] = ref("Other")
    stacks.change(name, json.dumps(other), kind="UPDATE")
    assert f"Export {name}:Topic cannot be updated" in stacks.reasons(name)
    assert stacks.exports()[f"{name}:Topic"] == value

    stacks.api.delete_stack(StackName=name)
    assert stacks.status(name) == "DELETE_FAILED"
    stacks.api.delete_stack(StackName=f"{name}-user")
    stacks.api.delete_stack(StackName=name)
    assert stacks.missing(name)
    assert f"{name}:Topic" not in stacks.exports()
