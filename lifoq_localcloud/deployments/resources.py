"""CloudFormation resource types and properties that moto passes over.

moto creates most of our resources itself. The types below it skips with a warning, and of some it
drops properties. Each is created here with the calls of the service's own API, so that any client
sees it afterwards, and changes it in the same way.
"""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar, Final, Self

from moto.awslambda.models import EventSourceMapping, LambdaFunction
from moto.cloudformation import parsing
from moto.cloudformation.models import CloudFormationBackend
from moto.core.common_models import CloudFormationModel
from moto.dynamodb.models.table import Table
from moto.s3.models import FakeBucket
from moto.sns.models import Topic

from lifoq_localcloud.moto_adapter.patch import replace

Properties = dict[str, Any]
Client = Callable[[str], Any]
"""A boto3 client of this cloud, by the service's name."""

_client: Client | None = None


def install(client: Client) -> None:
    """Teach moto the types below, and let it stand in for what neither of us knows."""
    global _client  # noqa: PLW0603 - moto's model registry is global, too
    _client = client
    parsing.get_model_list.cache_clear()
    parsing.get_model_map.cache_clear()
    parsing.get_name_type_map.cache_clear()
    replace(parsing, "resource_class_from_type", _class_of)
    resolve = CloudFormationBackend._resolve_update_parameters  # noqa: SLF001 - no public way

    def resolve_update_parameters(
        backend: Any, instance: Any, incoming_params: list[Any]
    ) -> dict[str, str]:
        """The previous value of a parameter that was never given is its default."""
        known = [
            one
            for one in incoming_params
            if not one.get("UsePreviousValue") or one["ParameterKey"] in instance.parameters
        ]
        return resolve(backend, instance, known)

    replace(CloudFormationBackend, "_resolve_update_parameters", resolve_update_parameters)
    update = parsing.parse_and_update_resource

    def update_resource(logical_id: str, resource_json: Any, resources: Any, **place: Any) -> Any:
        """Update a resource. One that moto cannot change stays as it is; moto alone would lose it
        from the stack."""
        changed = update(logical_id, resource_json, resources, **place)
        return resources[logical_id] if changed is None else changed

    replace(parsing, "parse_and_update_resource", update_resource)


def client(service: str) -> Any:
    if _client is None:
        raise RuntimeError("The resource types are not installed.")
    return _client(service)


def is_stand_in(resource_type: str) -> bool:
    """True if a resource of this type only has an id here, and does nothing."""
    return _class_of(resource_type) is StandIn


class _Deployed:
    """A resource in the form that moto wants: it has a name, and can be created, updated and
    deleted."""

    TYPE: ClassVar[str]
    NAME_PROPERTY: ClassVar[str] = ""

    def __init__(self, name: str, properties: Properties) -> None:
        self.name = name
        self.properties = properties

    def create(self) -> None:
        """Make it so; an update is a repetition of it unless the type says otherwise."""

    def update(self) -> None:
        self.create()

    def remove(self) -> None:
        """Undo :meth:`create`."""

    @property
    def physical_resource_id(self) -> str:
        return self.name

    def get_cfn_attribute(self, attribute: str) -> str:
        return f"{self.name}.{attribute}"

    def is_created(self) -> bool:
        return True

    def delete(self, _account_id: str, _region: str) -> None:
        self.remove()

    @classmethod
    def cloudformation_type(cls) -> str:
        return cls.TYPE

    @classmethod
    def cloudformation_name_type(cls) -> str:
        return cls.NAME_PROPERTY

    @classmethod
    def has_cfn_attr(cls, _attribute: str) -> bool:
        return True

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *_place: Any, **_more: Any
    ) -> Self:
        resource = cls(resource_name, cloudformation_json.get("Properties", {}))
        resource.create()
        return resource

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Self,
        new_resource_name: str,  # noqa: ARG003 - moto's signature
        cloudformation_json: Properties,
        *_place: Any,
        **_more: Any,
    ) -> Self:
        original_resource.properties = cloudformation_json.get("Properties", {})
        original_resource.update()
        return original_resource


class StandIn(_Deployed):
    """A resource that has an id, so that the stack holds together, and nothing behind it."""

    TYPE = "?"

    def get_cfn_attribute(self, attribute: str) -> str:
        if attribute.endswith("Arn"):
            return f"arn:aws:local:us-east-1:123456789012:{self.name}"
        return f"{self.name}.{attribute}"


class Subscription(_Deployed, CloudFormationModel):
    TYPE = "AWS::SNS::Subscription"

    def create(self) -> None:
        attributes = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in self.properties.items()
            if name not in {"TopicArn", "Protocol", "Endpoint", "Region"}
        }
        # Filters of the message's body need their scope first.
        ordered = sorted(attributes.items(), key=lambda item: item[0] != "FilterPolicyScope")
        answer = client("sns").subscribe(
            TopicArn=self.properties["TopicArn"],
            Protocol=self.properties["Protocol"],
            Endpoint=self.properties["Endpoint"],
            Attributes=dict(ordered),
            ReturnSubscriptionArn=True,
        )
        self.name = answer["SubscriptionArn"]

    def update(self) -> None:
        self.remove()
        self.create()

    def remove(self) -> None:
        client("sns").unsubscribe(SubscriptionArn=self.name)


class TopicPolicy(_Deployed, CloudFormationModel):
    TYPE = "AWS::SNS::TopicPolicy"

    def create(self) -> None:
        for topic in self.properties["Topics"]:
            client("sns").set_topic_attributes(
                TopicArn=topic,
                AttributeName="Policy",
                AttributeValue=json.dumps(self.properties["PolicyDocument"]),
            )


class QueuePolicy(_Deployed, CloudFormationModel):
    TYPE = "AWS::SQS::QueuePolicy"

    def create(self) -> None:
        for queue in self.properties["Queues"]:
            client("sqs").set_queue_attributes(
                QueueUrl=queue, Attributes={"Policy": json.dumps(self.properties["PolicyDocument"])}
            )


class EventInvokeConfig(_Deployed, CloudFormationModel):
    TYPE = "AWS::Lambda::EventInvokeConfig"

    def create(self) -> None:
        settings = {k: v for k, v in self.properties.items() if k != "Qualifier"}
        client("lambda").put_function_event_invoke_config(**settings)

    def update(self) -> None:
        # moto appends a second configuration to the first and goes on answering with the first.
        self.remove()
        self.create()

    def remove(self) -> None:
        client("lambda").delete_function_event_invoke_config(
            FunctionName=self.properties["FunctionName"]
        )


class Schedule(_Deployed, CloudFormationModel):
    TYPE = "AWS::Scheduler::Schedule"
    NAME_PROPERTY = "Name"

    def create(self) -> None:
        client("scheduler").create_schedule(**{**self.properties, "Name": self.name})

    def update(self) -> None:
        client("scheduler").update_schedule(**{**self.properties, "Name": self.name})

    def remove(self) -> None:
        client("scheduler").delete_schedule(Name=self.name, **self._group())

    def get_cfn_attribute(self, attribute: str) -> str:
        schedule = client("scheduler").get_schedule(Name=self.name, **self._group())
        return str(schedule[attribute])

    def _group(self) -> dict[str, str]:
        group = self.properties.get("GroupName")
        return {"GroupName": group} if group else {}


class ScheduleGroup(_Deployed, CloudFormationModel):
    TYPE = "AWS::Scheduler::ScheduleGroup"
    NAME_PROPERTY = "Name"

    def create(self) -> None:
        client("scheduler").create_schedule_group(Name=self.name)

    def update(self) -> None:
        """A group has a name and tags only."""

    def remove(self) -> None:
        client("scheduler").delete_schedule_group(Name=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        value = client("scheduler").get_schedule_group(Name=self.name)[attribute]
        return value.isoformat() if isinstance(value, datetime) else str(value)


class Alarm(_Deployed, CloudFormationModel):
    TYPE = "AWS::CloudWatch::Alarm"
    NAME_PROPERTY = "AlarmName"

    def create(self) -> None:
        client("cloudwatch").put_metric_alarm(**{**self.properties, "AlarmName": self.name})

    def remove(self) -> None:
        client("cloudwatch").delete_alarms(AlarmNames=[self.name])

    def get_cfn_attribute(self, attribute: str) -> str:
        alarms = client("cloudwatch").describe_alarms(AlarmNames=[self.name])["MetricAlarms"]
        return str(alarms[0]["AlarmArn" if attribute == "Arn" else attribute])


class EncryptionKey(_Deployed, CloudFormationModel):
    """moto takes a key's tags by other names than CloudFormation has, and no change of a key."""

    TYPE = "AWS::KMS::Key"

    def create(self) -> None:
        answer = client("kms").create_key(
            Policy=json.dumps(self.properties["KeyPolicy"]),
            Description=self.properties.get("Description", ""),
        )
        self.name = answer["KeyMetadata"]["KeyId"]

    def update(self) -> None:
        client("kms").put_key_policy(
            KeyId=self.name, PolicyName="default", Policy=json.dumps(self.properties["KeyPolicy"])
        )

    def remove(self) -> None:
        client("kms").schedule_key_deletion(KeyId=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        return str(client("kms").describe_key(KeyId=self.name)["KeyMetadata"][attribute])


class Parameter(_Deployed, CloudFormationModel):
    """moto reads a parameter's tags as a list; CloudFormation has a map."""

    TYPE = "AWS::SSM::Parameter"
    NAME_PROPERTY = "Name"

    def create(self) -> None:
        wanted = ("Description", "Type", "Value")
        given = {name: self.properties[name] for name in wanted if name in self.properties}
        client("ssm").put_parameter(Name=self.name, Overwrite=True, **given)

    def remove(self) -> None:
        client("ssm").delete_parameter(Name=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        return str(client("ssm").get_parameter(Name=self.name)["Parameter"][attribute])


class StateMachine(_Deployed, CloudFormationModel):
    """moto creates one that it does not execute."""

    TYPE = "AWS::StepFunctions::StateMachine"
    NAME_PROPERTY = "StateMachineName"

    def create(self) -> None:
        answer = client("stepfunctions").create_state_machine(
            name=self.name,
            definition=self.properties["DefinitionString"],
            roleArn=self.properties["RoleArn"],
            type=self.properties.get("StateMachineType", "STANDARD"),
        )
        self.name = answer["stateMachineArn"]

    def update(self) -> None:
        client("stepfunctions").update_state_machine(
            stateMachineArn=self.name,
            definition=self.properties["DefinitionString"],
            roleArn=self.properties["RoleArn"],
        )

    def remove(self) -> None:
        client("stepfunctions").delete_state_machine(stateMachineArn=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        return self.name if attribute == "Arn" else self.name.rsplit(":", 1)[-1]


class HttpApi(_Deployed, CloudFormationModel):
    TYPE = "AWS::ApiGatewayV2::Api"

    def create(self) -> None:
        answer = client("apigatewayv2").create_api(**_given(self, "Name", "ProtocolType"))
        self.name = answer["ApiId"]

    def update(self) -> None:
        client("apigatewayv2").update_api(ApiId=self.name, Name=self.properties["Name"])

    def remove(self) -> None:
        client("apigatewayv2").delete_api(ApiId=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        """Where it answers here. On AWS, it has a host of its own."""
        if attribute == "ApiEndpoint":
            return f"{client('apigatewayv2').meta.endpoint_url}/_http/{self.name}"
        return super().get_cfn_attribute(attribute)


class HttpIntegration(_Deployed, CloudFormationModel):
    TYPE = "AWS::ApiGatewayV2::Integration"

    def create(self) -> None:
        names = ("ApiId", "IntegrationType", "IntegrationUri", "PayloadFormatVersion")
        answer = client("apigatewayv2").create_integration(
            **_given(self, *names), IntegrationMethod="POST"
        )
        self.name = answer["IntegrationId"]

    def update(self) -> None:
        names = ("ApiId", "IntegrationUri", "PayloadFormatVersion")
        client("apigatewayv2").update_integration(IntegrationId=self.name, **_given(self, *names))


class HttpRoute(_Deployed, CloudFormationModel):
    TYPE = "AWS::ApiGatewayV2::Route"

    def create(self) -> None:
        names = ("ApiId", "RouteKey", "Target", "AuthorizationType")
        self.name = client("apigatewayv2").create_route(**_given(self, *names))["RouteId"]

    def update(self) -> None:
        names = ("ApiId", "RouteKey", "Target", "AuthorizationType")
        client("apigatewayv2").update_route(RouteId=self.name, **_given(self, *names))


class HttpStage(_Deployed, CloudFormationModel):
    TYPE = "AWS::ApiGatewayV2::Stage"

    def create(self) -> None:
        client("apigatewayv2").create_stage(**_given(self, "ApiId", "StageName"))
        self.name = self.properties["StageName"]

    def update(self) -> None:
        """Change nothing: a stage's limits and access logs are not imitated."""


def _given(resource: _Deployed, *names: str) -> Properties:
    return {name: resource.properties[name] for name in names if name in resource.properties}


class DeployedTable(_Deployed, CloudFormationModel):
    """moto's table, with TTL and PITR, which it drops, and changes, which it cannot take."""

    TYPE = "AWS::DynamoDB::Table"
    NAME_PROPERTY = "TableName"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **_more: Any
    ) -> Self:
        Table.create_from_cloudformation_json(resource_name, cloudformation_json, *place)
        return super().create_from_cloudformation_json(resource_name, cloudformation_json, *place)

    def create(self) -> None:
        dynamodb = client("dynamodb")
        if ttl := self.properties.get("TimeToLiveSpecification"):
            dynamodb.update_time_to_live(TableName=self.name, TimeToLiveSpecification=ttl)
        if pitr := self.properties.get("PointInTimeRecoverySpecification"):
            dynamodb.update_continuous_backups(
                TableName=self.name, PointInTimeRecoverySpecification=pitr
            )

    def update(self) -> None:
        self.create()
        client("dynamodb").update_table(
            TableName=self.name,
            DeletionProtectionEnabled=self.properties.get("DeletionProtectionEnabled", False),
        )

    def remove(self) -> None:
        client("dynamodb").delete_table(TableName=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        table = client("dynamodb").describe_table(TableName=self.name)["Table"]
        return str(table[{"Arn": "TableArn", "StreamArn": "LatestStreamArn"}[attribute]])


class DeployedBucket(FakeBucket, CloudFormationModel):
    """moto's bucket, with its lifecycle and who is kept out; a change of one whose name
    CloudFormation made up finds it."""

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **more: Any
    ) -> FakeBucket:
        bucket = FakeBucket.create_from_cloudformation_json(
            resource_name, cloudformation_json, *place, **more
        )
        _settle(bucket.name, cloudformation_json.get("Properties", {}))
        return bucket

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: FakeBucket,
        new_resource_name: str,
        cloudformation_json: Properties,
        *place: Any,
        **more: Any,
    ) -> FakeBucket:
        named = {"BucketName": original_resource.name, **cloudformation_json["Properties"]}
        _settle(original_resource.name, cloudformation_json["Properties"])
        return FakeBucket.update_from_cloudformation_json(
            original_resource,
            new_resource_name,
            {**cloudformation_json, "Properties": named},
            *place,
            **more,
        )


_OF_A_RULE: Final = frozenset(
    {"AbortIncompleteMultipartUpload", "ExpirationInDays", "Id", "Prefix", "Status"}
)
"""The parts of a lifecycle rule that lifoq's buckets use. A rule with any other part is passed
over, as moto does with all rules."""


def _settle(bucket: str, properties: Properties) -> None:
    rules = properties.get("LifecycleConfiguration", {}).get("Rules", [])
    if known := [_lifecycle(rule) for rule in rules if rule.keys() <= _OF_A_RULE]:
        client("s3").put_bucket_lifecycle_configuration(
            Bucket=bucket, LifecycleConfiguration={"Rules": known}
        )
    if closed := properties.get("PublicAccessBlockConfiguration"):
        client("s3").put_public_access_block(
            Bucket=bucket,
            PublicAccessBlockConfiguration={
                name: str(value).lower() == "true" for name, value in closed.items()
            },
        )


def _lifecycle(rule: Properties) -> dict[str, Any]:
    """A rule as S3's API has it."""
    found: dict[str, Any] = {
        "Status": rule["Status"],
        "Filter": {"Prefix": rule.get("Prefix", "")},
    }
    if "Id" in rule:
        found["ID"] = rule["Id"]
    if days := rule.get("ExpirationInDays"):
        found["Expiration"] = {"Days": int(days)}
    if unfinished := rule.get("AbortIncompleteMultipartUpload"):
        days = int(unfinished["DaysAfterInitiation"])
        found["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": days}
    return found


class DeployedTopic(Topic, CloudFormationModel):
    """moto's topic; a change does not make another one of it, with another ARN."""

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Topic,
        new_resource_name: str,  # noqa: ARG003 - moto's signature
        cloudformation_json: Properties,
        *_place: Any,
        **_more: Any,
    ) -> Topic:
        key = cloudformation_json["Properties"].get("KmsMasterKeyId", "")
        client("sns").set_topic_attributes(
            TopicArn=original_resource.arn, AttributeName="KmsMasterKeyId", AttributeValue=key
        )
        return original_resource


def _completed(cloudformation_json: Properties, defaults: Properties) -> Properties:
    """moto leaves a property as it was that an update does not name; on AWS it gets its default."""
    return {
        **cloudformation_json,
        "Properties": {**defaults, **cloudformation_json["Properties"]},
    }


class DeployedFunction(LambdaFunction, CloudFormationModel):
    """moto's function, with the properties that it forgets on the way."""

    DEFAULTS: Final = {
        "Description": "",
        "Environment": {"Variables": {}},
        "Layers": [],
        "MemorySize": 128,
        "Timeout": 3,
        "VpcConfig": None,
    }

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **_more: Any
    ) -> LambdaFunction:
        function = LambdaFunction.create_from_cloudformation_json(
            resource_name, cloudformation_json, *place
        )
        cls._complete(function, cloudformation_json["Properties"])
        return function

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: LambdaFunction,
        new_resource_name: str,
        cloudformation_json: Properties,
        *place: Any,
        **more: Any,
    ) -> LambdaFunction:
        function = LambdaFunction.update_from_cloudformation_json(
            original_resource,
            new_resource_name,
            _completed(cloudformation_json, cls.DEFAULTS),
            *place,
            **more,
        )
        cls._complete(function, cloudformation_json["Properties"])
        return function

    @staticmethod
    def _complete(function: LambdaFunction, properties: Properties) -> None:
        function.reserved_concurrency = properties.get("ReservedConcurrentExecutions")
        vars(function)["logging_config"] = properties.get("LoggingConfig", {})
        function.tracing_config = properties.get("TracingConfig") or {"Mode": "PassThrough"}
        function.architectures = properties.get("Architectures", ["x86_64"])


class DeployedMapping(EventSourceMapping, CloudFormationModel):
    """moto's mapping; one of a broker, which cannot run here, has an id and nothing behind it."""

    DEFAULTS: Final = dict.fromkeys(
        (
            "BatchSize",
            "BisectBatchOnFunctionError",
            "DestinationConfig",
            "FilterCriteria",
            "FunctionResponseTypes",
            "MaximumBatchingWindowInSeconds",
            "MaximumRecordAgeInSeconds",
            "MaximumRetryAttempts",
        )
    )

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **_more: Any
    ) -> Any:
        source = cloudformation_json["Properties"]["EventSourceArn"]
        kind = StandIn if is_broker(source) else EventSourceMapping
        return kind.create_from_cloudformation_json(resource_name, cloudformation_json, *place)

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Any,
        new_resource_name: str,
        cloudformation_json: Properties,
        *place: Any,
        **more: Any,
    ) -> Any:
        return type(original_resource).update_from_cloudformation_json(
            original_resource,
            new_resource_name,
            _completed(cloudformation_json, cls.DEFAULTS),
            *place,
            **more,
        )


def is_broker(arn: Any) -> bool:
    """True if the ARN is an Amazon MQ broker's."""
    return isinstance(arn, str) and arn.startswith("arn:") and arn.split(":")[2] == "mq"


NOTHING_BEHIND: Final = ("Custom::", "AWS::EC2::")
"""Networks: nothing is needed of them here, and moto deletes them in an order that fails."""


def _class_of(resource_type: str) -> type[Any]:
    if resource_type.startswith(NOTHING_BEHIND):
        return StandIn
    return parsing.get_model_map().get(resource_type, StandIn)
