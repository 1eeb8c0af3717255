"""The state of deployed resources, as their services tell it."""

from collections.abc import Callable
from typing import Any, Final

Client = Callable[[str], Any]
"""A client of a cloud, by the service's name."""

_CHANGING: Final = {
    *("AlarmConfigurationUpdatedTimestamp", "CreateDate", "CreatedDate", "CreatedTimestamp"),
    "CreationDate",
    *("CreationDateTime", "CreationTime", "ItemCount", "LIFOQ_DEPLOYED", "LastModificationDate"),
    *("LastModified", "LastModifiedTimestamp", "LatestStreamArn", "LatestStreamLabel"),
    *("ResponseMetadata", "RevisionId", "RoleId", "RoleLastUsed", "StateTransitionedTimestamp"),
    *("StateUpdatedTimestamp", "TableSizeBytes", "UUID", "creationTime", "revisionId"),
    *("storedBytes", "updateDate"),
}
"""Parts of an answer that say when a resource was made or changed and what it holds, and not how it
is set."""


def _queue(client: Client, url: str) -> Any:
    sqs = client("sqs")
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return attributes, sqs.list_queue_tags(QueueUrl=url).get("Tags", {})


def _table(client: Client, name: str) -> Any:
    dynamodb = client("dynamodb")
    table = dynamodb.describe_table(TableName=name)["Table"]
    return (
        table,
        dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"],
        dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"][
            "PointInTimeRecoveryDescription"
        ]["PointInTimeRecoveryStatus"],
        dynamodb.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"],
    )


def _function(client: Client, name: str) -> Any:
    found = client("lambda").get_function(FunctionName=name)
    return found["Configuration"], found.get("Tags", {}), found.get("Concurrency")


def _mapping(client: Client, uuid: str) -> Any:
    return client("lambda").get_event_source_mapping(UUID=uuid)


def _log_group(client: Client, name: str) -> Any:
    logs = client("logs")
    (group,) = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return group, logs.list_tags_for_resource(resourceArn=group["logGroupArn"])["tags"]


def _managed_policy(client: Client, policy_arn: str) -> Any:
    iam = client("iam")
    version = iam.get_policy(PolicyArn=policy_arn)["Policy"]["DefaultVersionId"]
    found = iam.get_policy_version(PolicyArn=policy_arn, VersionId=version)["PolicyVersion"]
    return found["Document"]


def _role(client: Client, name: str) -> Any:
    iam = client("iam")
    inline = iam.list_role_policies(RoleName=name)["PolicyNames"]
    return (
        iam.get_role(RoleName=name)["Role"],
        iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"],
        {
            one: iam.get_role_policy(RoleName=name, PolicyName=one)["PolicyDocument"]
            for one in inline
        },
    )


def _rule(client: Client, name: str) -> Any:
    events = client("events")
    found = events.describe_rule(Name=name)
    return (
        found,
        events.list_targets_by_rule(Rule=name)["Targets"],
        events.list_tags_for_resource(ResourceARN=found["Arn"])["Tags"],
    )


def _topic(client: Client, topic_arn: str) -> Any:
    sns = client("sns")
    attributes = sns.get_topic_attributes(TopicArn=topic_arn)["Attributes"]
    counted = {"SubscriptionsConfirmed", "SubscriptionsDeleted", "SubscriptionsPending"}
    return (
        {name: value for name, value in attributes.items() if name not in counted},
        sns.list_tags_for_resource(ResourceArn=topic_arn)["Tags"],
    )


def _subscription(client: Client, subscription_arn: str) -> Any:
    return client("sns").get_subscription_attributes(SubscriptionArn=subscription_arn)["Attributes"]


def _parameter(client: Client, name: str) -> Any:
    ssm = client("ssm")
    wanted = [{"Key": "Name", "Values": [name]}]
    (described,) = ssm.describe_parameters(ParameterFilters=wanted)["Parameters"]
    return (
        described.get("Description") or "",
        ssm.get_parameter(Name=name)["Parameter"]["Value"],
        ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=name)["TagList"],
    )


def _schedule(client: Client, name: str) -> Any:
    return client("scheduler").get_schedule(Name=name)


def _machine(client: Client, machine_arn: str) -> Any:
    stepfunctions = client("stepfunctions")
    return (
        stepfunctions.describe_state_machine(stateMachineArn=machine_arn),
        stepfunctions.list_tags_for_resource(resourceArn=machine_arn)["tags"],
    )


def _bucket(client: Client, name: str) -> Any:
    s3 = client("s3")
    calls = {
        "encryption": s3.get_bucket_encryption,
        "lifecycle": s3.get_bucket_lifecycle_configuration,
        "ownership": s3.get_bucket_ownership_controls,
        "public access": s3.get_public_access_block,
        "tags": s3.get_bucket_tagging,
    }
    answers = {}
    for part, call in calls.items():
        try:
            answers[part] = call(Bucket=name)
        except s3.exceptions.ClientError as error:
            answers[part] = error.response["Error"]["Code"]
    return answers


def _alarm(client: Client, name: str) -> Any:
    cloudwatch = client("cloudwatch")
    (alarm,) = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return alarm, cloudwatch.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"]


def _dashboard(client: Client, name: str) -> Any:
    return client("cloudwatch").get_dashboard(DashboardName=name)["DashboardBody"]


def _key(client: Client, key_id: str) -> Any:
    kms = client("kms")
    return (
        kms.describe_key(KeyId=key_id)["KeyMetadata"],
        kms.get_key_policy(KeyId=key_id, PolicyName="default")["Policy"],
        kms.list_resource_tags(KeyId=key_id)["Tags"],
    )


def _api(client: Client, api_id: str) -> Any:
    api = client("apigatewayv2")
    return api.get_api(ApiId=api_id), api.get_routes(ApiId=api_id)["Items"]


_BY_TYPE: Final[dict[str, Callable[[Client, str], Any]]] = {
    "AWS::ApiGatewayV2::Api": _api,
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::CloudWatch::Dashboard": _dashboard,
    "AWS::DynamoDB::Table": _table,
    "AWS::Events::Rule": _rule,
    "AWS::IAM::ManagedPolicy": _managed_policy,
    "AWS::IAM::Role": _role,
    "AWS::KMS::Key": _key,
    "AWS::Lambda::EventSourceMapping": _mapping,
    "AWS::Lambda::Function": _function,
    "AWS::Logs::LogGroup": _log_group,
    "AWS::S3::Bucket": _bucket,
    "AWS::SNS::Subscription": _subscription,
    "AWS::SNS::Topic": _topic,
    "AWS::SQS::Queue": _queue,
    "AWS::SSM::Parameter": _parameter,
    "AWS::Scheduler::Schedule": _schedule,
    "AWS::StepFunctions::StateMachine": _machine,
}


def state(client: Client, resource_type: str, name: str) -> Any:
    """Return what the service says of a resource, but for when it was changed; None for a type that
    is not asked about."""
    ask = _BY_TYPE.get(resource_type)
    return None if ask is None else _lasting(ask(client, name))


def _lasting(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _lasting(one) for name, one in answer.items() if name not in _CHANGING}
    return [_lasting(one) for one in answer] if isinstance(answer, list | tuple) else answer
