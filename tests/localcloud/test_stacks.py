"""CloudFormation as its users know it: change sets, exports, and a way back from what fails."""

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.cloudformation.exceptions import ValidationError

from lifoq_localcloud.deployments import references
from tests.localcloud.harness import CODE_BUCKET, Deployed
from tests.localcloud.template import build, of_type, parameter, ref

TOPIC = of_type("AWS::SNS::Topic")
ALL = build(CODE_BUCKET, "probe.zip")["Resources"]


@pytest.fixture
def name() -> str:
    return f"stack-{uuid.uuid4().hex[:8]}"


def exporting(name: str, *exports: str, **resources: Any) -> str:
    """A template whose resources of these names are exported as ``<stack>:<resource>``."""
    outputs = {one: {"Value": ref(one), "Export": {"Name": f"{name}:{one}"}} for one in exports}
    return json.dumps({"Resources": resources, "Outputs": outputs})


def held_by(export: str) -> str:
    return f"/{export.replace(':', '/')}"


def holder(export: str) -> dict[str, Any]:
    """A parameter with what another stack exports."""
    return parameter({"Fn::ImportValue": export}, Name=held_by(export))


def importing(export: str) -> str:
    return json.dumps({"Resources": {"Imported": holder(export)}})


class Stacks:
    def __init__(self, deployed: Deployed) -> None:
        self.api = deployed.client("cloudformation")
        self._deployed = deployed

    def change(self, stack: str, template: str, *, kind: str = "CREATE", **more: Any) -> str:
        """By a change set, under the name that the CDK CLI gives to each; what becomes of it."""
        names = {"StackName": stack, "ChangeSetName": "cdk-deploy-change-set"}
        given = {"TemplateBody": template, "Capabilities": ["CAPABILITY_IAM"], **more}
        self.api.create_change_set(**names, **given, ChangeSetType=kind)
        assert self.api.describe_change_set(**names)["StackName"] == stack
        self.api.execute_change_set(**names)
        self.api.delete_change_set(**names)
        return self.status(stack)

    def status(self, stack: str) -> str:
        return self.api.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]

    def history(self, stack: str) -> list[str]:
        """The statuses that a stack has had, one after another."""
        events = self.api.describe_stack_events(StackName=stack)["StackEvents"]
        return [one["ResourceStatus"] for one in reversed(events)]

    def reasons(self, stack: str) -> str:
        events = self.api.describe_stack_events(StackName=stack)["StackEvents"]
        return " ".join(one.get("ResourceStatusReason") or "" for one in events)

    def exports(self) -> dict[str, str]:
        return {one["Name"]: one["Value"] for one in self.api.list_exports()["Exports"]}

    def imported(self, export: str) -> str:
        found = self._deployed.client("ssm").get_parameter(Name=held_by(export))
        return found["Parameter"]["Value"]

    def put_code(self, key: str, code: bytes) -> None:
        self._deployed.client("s3").put_object(Bucket=CODE_BUCKET, Key=key, Body=code)

    def delete(self, stack: str) -> None:
        """It is gone then."""
        self.api.delete_stack(StackName=stack)
        with pytest.raises(ClientError, match="does not exist"):
            self.status(stack)


@pytest.fixture
def stacks(deployed) -> Stacks:
    return Stacks(deployed)


def test_what_a_change_set_exports_another_stack_imports(stacks, name):
    first, second = f"{name}:First", f"{name}:Second"
    stacks.change(name, exporting(name, "First", First=TOPIC))
    stacks.change(f"{name}-user", importing(first))
    assert stacks.imported(first) == stacks.exports()[first]

    both = exporting(name, "First", "Second", First=TOPIC, Second=TOPIC)
    assert stacks.change(name, both, kind="UPDATE") == "UPDATE_COMPLETE"
    stacks.change(f"{name}-other", importing(second))
    assert stacks.imported(second) == stacks.exports()[second]
    stacks.delete(f"{name}-user")
    with pytest.raises(ClientError, match="ParameterNotFound"):
        stacks.imported(first)


def test_change_sets_of_two_stacks_may_have_the_same_name(stacks, name):
    for stack in (f"{name}-a", f"{name}-b"):
        given = {"TemplateBody": exporting(stack, "Topic", Topic=TOPIC), "ChangeSetType": "CREATE"}
        stacks.api.create_change_set(StackName=stack, ChangeSetName="same", **given)
    stacks.api.delete_change_set(StackName=f"{name}-b", ChangeSetName="same")
    stacks.api.execute_change_set(StackName=f"{name}-a", ChangeSetName="same")
    assert stacks.status(f"{name}-a") == "CREATE_COMPLETE"
    assert stacks.status(f"{name}-b") == "REVIEW_IN_PROGRESS"
    stacks.delete(f"{name}-a")
    with pytest.raises(ClientError, match="ChangeSetNotFound"):
        stacks.api.describe_change_set(StackName=f"{name}-a", ChangeSetName="same")


SOON = {"Fn::Join": ["", ["so", "on"]]}
"""Text for a number, which only the deployment finds out: a template's own is refused at once."""
CHOSEN = ("Role", "Received", "Failures", "Letters", "Reader", "LettersMapping", "BrokerMapping")


def changed(**properties: dict[str, Any]) -> dict[str, Any]:
    """A function that reads a queue, a broker, which does nothing here, and a table."""
    resources = {one: ALL[one] for one in (*CHOSEN, "Table")}
    for one, some in properties.items():
        resources[one] = of_type(ALL[one]["Type"], **{**ALL[one]["Properties"], **some})
    return resources


# It fails over a resource that comes last, after it would have removed the table.
NO_EXPORT = {"Role": ALL["Role"], "New": TOPIC, "Imported": holder("nobody:exports")}


NO_JSON = {"FilterCriteria": {"Filters": [{"Pattern": "{nojson"}]}}
WRONG = {
    "import": (NO_EXPORT, "No export named nobody:exports found", True),
    "function": (changed(Reader={"Timeout": SOON}), "", False),
    "mapping": (changed(LettersMapping=NO_JSON), "", True),
    "function beside a broker": (
        changed(BrokerMapping={"Queues": ["others"]}, Reader={"Timeout": SOON}),
        "",
        True,
    ),
}


@pytest.mark.parametrize(("wrong", "reason", "by_change_set"), WRONG.values(), ids=WRONG)
def test_what_fails_is_taken_back_and_what_is_right_can_follow(
    deployed, stacks, name, wrong, reason, by_change_set
):
    def there() -> tuple[Any, Any]:
        topics = deployed.client("sns").list_topics()["Topics"]
        return deployed.client("dynamodb").list_tables()["TableNames"], topics

    def change(kind: str, resources: dict[str, Any], *exports: str) -> str:
        template = exporting(name, *exports, **resources)
        if by_change_set:
            return stacks.change(name, template, kind=kind)
        call = stacks.api.create_stack if kind == "CREATE" else stacks.api.update_stack
        call(StackName=name, TemplateBody=template, Capabilities=["CAPABILITY_IAM"])
        return stacks.status(name)

    before = there()
    assert change("CREATE", wrong) == "ROLLBACK_COMPLETE"
    assert reason in stacks.reasons(name)
    assert there() == before
    stacks.delete(name)
    assert change("CREATE", changed(), "Table") == "CREATE_COMPLETE"
    table = stacks.exports()[f"{name}:Table"]
    deployed.client("dynamodb").put_item(TableName=table, Item={"id": {"S": "kept"}})

    before = there()
    assert change("UPDATE", wrong) == "UPDATE_ROLLBACK_COMPLETE"
    assert there() == before
    assert deployed.client("dynamodb").scan(TableName=table)["Count"] == 1
    assert stacks.exports()[f"{name}:Table"] == table
    assert change("UPDATE", changed(Reader={"Timeout": 5})) == "UPDATE_COMPLETE"
    assert f"{name}:Table" not in stacks.exports()
    stacks.delete(name)


def test_what_was_gone_with_what_it_belonged_to_is_deleted(stacks, name):
    settings = of_type(
        "AWS::Lambda::EventInvokeConfig",
        FunctionName=ref("Reader"),
        Qualifier="$LATEST",
        MaximumRetryAttempts=0,
    )
    stacks.change(name, exporting(name, **changed(), Settings=settings))
    without = exporting(name, Role=ALL["Role"])
    assert stacks.change(name, without, kind="UPDATE") == "UPDATE_COMPLETE"


def test_an_export_in_use_can_neither_be_removed_nor_replaced(stacks, name):
    stacks.change(name, exporting(name, "Topic", Topic=TOPIC))
    stacks.change(f"{name}-user", importing(f"{name}:Topic"))
    value = stacks.exports()[f"{name}:Topic"]

    again = {"Imported": parameter({"Fn::ImportValue": f"{name}:Topic"})}
    stacks.change(f"{name}-twice", exporting(name, **again))

    without = exporting(name, Topic=TOPIC)
    assert stacks.change(name, without, kind="UPDATE") == "UPDATE_ROLLBACK_COMPLETE"
    users = f"{name}-user and {name}-twice"
    reason = f"Export {name}:Topic cannot be deleted as it is in use by {users}"
    assert f"{reason} " in stacks.reasons(name)
    stacks.delete(f"{name}-twice")
    other = json.loads(exporting(name, "Topic", Topic=TOPIC, Other=TOPIC))
    other["Outputs"]["Topic"]["Value"] = ref("Other")
    stacks.change(name, json.dumps(other), kind="UPDATE")
    assert f"Export {name}:Topic cannot be updated" in stacks.reasons(name)
    assert stacks.exports()[f"{name}:Topic"] == value

    stacks.api.delete_stack(StackName=name)
    assert stacks.status(name) == "DELETE_FAILED"
    same, taken = exporting(name, "Topic", Topic=TOPIC), f"{name}:Topic is already exported by"
    for twin, before in ((f"{name}-twin", None), (f"{name}-later", exporting(name, Topic=TOPIC))):
        if before:
            stacks.change(twin, before)
        status = stacks.change(twin, same, kind="UPDATE" if before else "CREATE")
        assert status == ("UPDATE_ROLLBACK_COMPLETE" if before else "ROLLBACK_COMPLETE")
        assert f"Export with name {taken} stack {name}" in stacks.reasons(twin)
        assert stacks.exports()[f"{name}:Topic"] == value
    stacks.delete(f"{name}-user")
    stacks.delete(name)
    assert f"{name}:Topic" not in stacks.exports()


# What AWS refuses

REFERS = {
    "Ref": ref("Nothing"),
    "GetAtt": {"Fn::GetAtt": ["Nothing", "Arn"]},
    "short GetAtt": {"Fn::GetAtt": "Nothing.Arn"},
    "Sub": {"Fn::Sub": "of ${Nothing.Arn} in ${AWS::Region}, not ${!Other}"},
    "below": {"Fn::Join": ["", ["x", {"Fn::Sub": ["${Nothing}${x}", {"x": ref("Topic")}]}]]},
}


YAML = """
Resources:
  Topic:
    Type: AWS::SNS::Topic
    Properties: {TopicName: news}
Outputs:
  Topic: {Value: !Ref Topic}
  Name: {Value: !GetAtt Topic.TopicName}
  Said: {Value: !Sub "all the ${Topic.TopicName}"}
"""


def test_a_template_may_be_yaml_with_the_short_names_of_functions(stacks, name):
    assert stacks.change(name, YAML) == "CREATE_COMPLETE"
    (stack,) = stacks.api.describe_stacks(StackName=name)["Stacks"]
    told = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
    topic = told.pop("Topic")
    assert topic.endswith(":news")
    assert told == {"Name": "news", "Said": "all the news"}


def test_what_refers_to_nothing_is_refused_and_leaves_no_stack(stacks, name, subtests):
    there, body = f"{name}-there", {"Resources": {"Topic": TOPIC}}
    stacks.change(there, json.dumps(body))
    reads = {"Version": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/nobody/has"}}
    unread = {**body, "Parameters": reads}
    refused = [(unread, r"fetch parameters \[/nobody/has\] from parameter")]
    for value in REFERS.values():
        one = {"Topic": TOPIC, "One": parameter(value)}
        told = r"Unresolved resource dependencies \[Nothing\] in the {} block"
        of_output = {**body, "Outputs": {"One": {"Value": value}}}
        refused += [(of_output, told.format("Outputs"))]
        refused += [({"Resources": one}, told.format("Resources"))]
    for template, wanted in refused:
        given = {"TemplateBody": json.dumps(template)}
        with subtests.test(wanted, template=template):
            with pytest.raises(ClientError, match=wanted):
                stacks.api.create_stack(StackName=name, **given)
            with pytest.raises(ClientError, match=wanted):
                stacks.change(name, given["TemplateBody"])
            if template is unread:
                continue  # an update with it begins, and is rolled back
            with pytest.raises(ClientError, match=wanted):
                stacks.api.update_stack(StackName=there, **given)
    assert name not in {one["StackName"] for one in stacks.api.describe_stacks()["Stacks"]}
    assert stacks.status(there) == "CREATE_COMPLETE"


def test_all_that_a_template_names_and_lacks_is_told_in_order():
    values = [
        ref("D"),
        {"Fn::GetAtt": ["B", {"Fn::Sub": "${A}"}]},
        {"Fn::GetAtt": "C.Outputs.Arn"},
        {"Fn::Sub": "${ E } ${F.Arn} ${!No} ${AWS::Region} ${Given} ${Topic.Arn}"},
        {"Fn::Sub": ["${x} ${G}", {"x": {"Fn::GetAtt": ["H", "Arn"]}}]},
        *(ref(known) for known in ("AWS::StackName", "Given", "Topic")),
    ]
    its = {"Topic": TOPIC, "It": parameter({"Fn::Join": ["", values]})}
    template = {"Resources": its, "Parameters": {"Given": {"Type": "String"}}}
    with pytest.raises(ValidationError) as told:
        references.check(template)
    lacking = "Unresolved resource dependencies [A, B, C, D, E, F, G, H]"
    sentence = f"Template format error: {lacking} in the Resources block of the template"
    assert told.value.message == sentence
    references.check({**template, "Transform": "AWS::LanguageExtensions"})
    for named in "ABCDEFGH":
        its[named] = {**TOPIC, "DependsOn": "Topic"}
    references.check(template)
    assert (references.order(its)[0], references.order(its)[-1]) == ("Topic", "It")


def test_resources_are_ordered_by_what_they_depend_on_and_a_circle_is_told():
    its = {"C": {**TOPIC, "DependsOn": ["B"]}, "B": {**TOPIC, "DependsOn": "A"}, "A": TOPIC}
    assert references.order(its) == ["A", "B", "C"]
    with pytest.raises(ValidationError) as told:
        references.check({"Resources": {**its, "A": parameter(ref("C"))}})
    begun, _, circle = told.value.message.partition("[")
    assert begun == "Circular dependency between resources: "
    assert sorted(circle) == sorted("A, B, C]")


@pytest.mark.parametrize(("default", "given", "other"), [("a", "a", "b"), (7, "7", "8")])
def test_a_parameter_that_is_given_its_default_changes_nothing(stacks, name, default, given, other):
    shown = of_type("AWS::SNS::Topic", DisplayName=ref("Shown"))
    declared = {"Shown": {"Type": "String", "Default": default}}
    template = json.dumps({"Parameters": declared, "Resources": {"Topic": shown}})

    def update(value: str) -> None:
        parameters = [{"ParameterKey": "Shown", "ParameterValue": value}]
        stacks.api.update_stack(StackName=name, TemplateBody=template, Parameters=parameters)

    stacks.api.create_stack(StackName=name, TemplateBody=template)
    with pytest.raises(ClientError, match="No updates are to be performed"):
        update(given)
    update(other)
    with pytest.raises(ClientError, match="No updates are to be performed"):
        update(other)
    update(given)
    assert stacks.status(name) == "UPDATE_COMPLETE"


def test_an_output_that_cannot_be_told_has_the_deployment_rolled_back(stacks, name):
    outputs = {"One": {"Value": {"Fn::GetAtt": ["Topic", "Colour"]}}}
    template = {"Resources": {"Topic": TOPIC}, "Outputs": outputs}
    assert stacks.change(name, json.dumps(template)) == "ROLLBACK_COMPLETE"
    assert "Colour" in stacks.reasons(name)
    begun = ["REVIEW_IN_PROGRESS", "CREATE_IN_PROGRESS"]
    undone = ["CREATE_FAILED", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE"]
    assert stacks.history(name) == [*begun, *undone]
    right = json.dumps({"Resources": template["Resources"]})
    stacks.delete(name)
    stacks.change(name, right)
    assert stacks.change(name, json.dumps(template), kind="UPDATE") == "UPDATE_ROLLBACK_COMPLETE"
    undone = ["UPDATE_FAILED", "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE"]
    assert stacks.history(name) == [*begun, "CREATE_COMPLETE", "UPDATE_IN_PROGRESS", *undone]


NOTHING_CAN_RUN_WITH: dict[str, list[tuple[dict[str, Any], str]]] = {
    "Schedule": [
        ({"ScheduleExpression": "cron(61 * * * ? *)"}, "61 is not between 0 and 59"),
        ({"ScheduleExpressionTimezone": "Mars"}, "no such time zone"),
    ],
    "Mapping": [
        (NO_JSON, "Invalid filter"),
        ({"FilterCriteria": {"Filters": [{"Pattern": '{"body": "x"}'}]}}, "of lists"),
    ],
    "Probe": [({"Code": {"S3Bucket": CODE_BUCKET, "S3Key": "no.zip"}}, "Could not unzip")],
}


def test_what_nothing_can_run_with_has_the_deployment_rolled_back(stacks, name, subtests):
    stacks.put_code("no.zip", b"no archive")
    others = ("Role", "Received", "Failures", "Table", "Listener", "Follower", "Logs")
    good = {one: ALL[one] for one in (*others, *NOTHING_CAN_RUN_WITH)}
    assert stacks.change(name, exporting(name, **good)) == "CREATE_COMPLETE"
    for resource, wrong in NOTHING_CAN_RUN_WITH.items():
        for change, reason in wrong:
            with subtests.test(reason):
                properties = {**ALL[resource]["Properties"], **change}
                bad = {**good, resource: of_type(ALL[resource]["Type"], **properties)}
                again = stacks.change(name, exporting(name, **bad), kind="UPDATE")
                assert again == "UPDATE_ROLLBACK_COMPLETE"
                assert reason in stacks.reasons(name)
        new = f"{name}-{resource}"
        assert stacks.change(new, exporting(new, **bad)) == "ROLLBACK_COMPLETE"
        assert reason in stacks.reasons(new)
    stacks.delete(name)


def test_a_name_that_cloudformation_makes_is_as_long_as_its_service_takes(stacks, deployed, name):
    stack, logical_id = f"{name}-{'x' * 40}", f"Group{'y' * 40}"
    group = of_type("AWS::Scheduler::ScheduleGroup")
    template = json.dumps({"Resources": {logical_id: group, f"{logical_id}2": group}})
    assert stacks.change(stack, template) == "CREATE_COMPLETE"
    made = stacks.api.list_stack_resources(StackName=stack)["StackResourceSummaries"]
    names = [one["PhysicalResourceId"] for one in made]
    assert [len(one) for one in names] == [64, 64]
    assert len(set(names)) == 2
    assert all(deployed.client("scheduler").get_schedule_group(Name=one) for one in names)


def test_a_stack_has_the_tags_of_its_change_set(stacks, name):
    tags = [{"Key": "team", "Value": "prices"}]
    plain = {"Team": {"Type": "String", "Default": "prices"}}
    resources = {"Here": of_type("AWS::SQS::Queue")}
    template = json.dumps({"Parameters": plain, "Resources": resources})
    assert stacks.change(name, template, Tags=tags) == "CREATE_COMPLETE"
    assert stacks.api.describe_stacks(StackName=name)["Stacks"][0]["Tags"] == tags
    with pytest.raises(stacks.api.exceptions.AlreadyExistsException):
        stacks.api.create_stack(StackName=name, TemplateBody=template)
    others = [{"Key": "team", "Value": "tasks"}]
    assert stacks.change(name, template, kind="UPDATE", Tags=others) == "UPDATE_COMPLETE"
    told = json.dumps({"Description": "Prices.", **json.loads(template)})
    stacks.api.update_stack(StackName=name, TemplateBody=told)
    (stack,) = stacks.api.describe_stacks(StackName=name)["Stacks"]
    assert (stack["Tags"], stack["Description"]) == (others, "Prices.")


def test_a_stack_that_is_deleted_is_told_by_its_id(stacks, name):
    stacks.change(name, exporting(name, Topic=TOPIC))
    (stack,) = stacks.api.describe_stacks(StackName=name)["Stacks"]
    stacks.delete(name)
    assert stacks.status(stack["StackId"]) == "DELETE_COMPLETE"
    deleted = ["DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    made = ["REVIEW_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    assert stacks.history(stack["StackId"]) == [*made, *deleted]
    stacks.api.delete_stack(StackName=name)


def test_a_change_set_that_was_not_executed_makes_way_for_the_next(stacks, name):
    names = {"StackName": name, "ChangeSetName": "first"}
    body = exporting(name, Topic=TOPIC)
    stacks.api.create_change_set(**names, TemplateBody=body, ChangeSetType="CREATE")
    assert stacks.change(name, body) == "CREATE_COMPLETE"
    with pytest.raises(ClientError, match=r"ChangeSet \[first\] does not exist"):
        stacks.api.describe_change_set(**names)
    stacks.api.delete_change_set(**names)
    more = exporting(name, Topic=TOPIC, More=TOPIC)
    stacks.api.create_change_set(**names, TemplateBody=more, ChangeSetType="UPDATE")

    def told() -> tuple[str, str]:
        one = stacks.api.describe_change_set(**names)
        return one["Status"], one["ExecutionStatus"]

    assert told() == ("CREATE_COMPLETE", "AVAILABLE")
    stacks.api.execute_change_set(**names)
    assert told() == ("CREATE_COMPLETE", "EXECUTE_COMPLETE")


def test_what_a_condition_leaves_out_is_no_resource_of_the_stack(stacks, name):
    queue = of_type("AWS::SQS::Queue")
    told = {
        "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
        "Resources": {"Gone": {**queue, "Condition": "Never"}, "Here": queue},
    }
    assert stacks.change(name, json.dumps(told)) == "CREATE_COMPLETE"
    api, stack = stacks.api, {"StackName": name}
    listed = api.list_stack_resources(**stack)["StackResourceSummaries"]
    described = api.describe_stack_resources(**stack)["StackResources"]
    assert [one["LogicalResourceId"] for one in (*listed, *described)] == ["Here", "Here"]
    one = api.describe_stack_resource(**stack, LogicalResourceId="Here")["StackResourceDetail"]
    assert one["PhysicalResourceId"] == listed[0]["PhysicalResourceId"]


def test_a_composite_alarm_knows_the_alarms_of_its_rule(stacks, deployed, name):
    part = of_type(
        "AWS::CloudWatch::Alarm",
        MetricName="TasksShed",
        Namespace="lifoq",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
    )
    rule = {"Fn::Join": ["", ['ALARM("', {"Fn::GetAtt": ["Part", "Arn"]}, '")']]}
    whole = of_type("AWS::CloudWatch::CompositeAlarm", AlarmRule=rule)
    template = exporting(name, "Whole", Part=part, Whole=whole)
    assert stacks.change(name, template) == "CREATE_COMPLETE"
    alarms = deployed.client("cloudwatch")
    kinds = ["MetricAlarm", "CompositeAlarm"]
    named = {"AlarmNames": [stacks.exports()[f"{name}:Whole"]], "AlarmTypes": kinds}
    (found,) = alarms.describe_alarms(**named)["CompositeAlarms"]
    every = alarms.describe_alarms()["MetricAlarms"]
    (of,) = [one["AlarmArn"] for one in every if one["AlarmName"].startswith(name)]
    assert found["AlarmRule"] == f'ALARM("{of}")'
    stacks.delete(name)
    assert not alarms.describe_alarms(**named)["CompositeAlarms"]
