"""Functions: their settings, what invokes them, and what becomes of failed invocations."""

import base64
from typing import Any, Final

from moto.awslambda.models import EventSourceMapping, LambdaFunction
from moto.awslambda.utils import get_backend as lambda_backend
from moto.cloudformation.exceptions import AlreadyExistsException
from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.deployments.resources.changes import between
from lifoq_localcloud.deployments.resources.resource import Properties, Resource, StandIn, client

_SETTINGS: Final[dict[str, Any]] = {
    "Description": "",
    "Environment": {},
    "Handler": None,
    "Layers": [],
    "MemorySize": 128,
    "Role": None,
    "Runtime": None,
    "Timeout": 3,
    "VpcConfig": None,
}
"""A function's settings where its template does not name them."""


class DeployedFunction(LambdaFunction, CloudFormationModel):
    """moto's function, with the properties that it forgets on the way."""

    CHANGES = frozenset(_SETTINGS) | {
        *("Architectures", "Code", "LoggingConfig", "ReservedConcurrentExecutions"),
        *("TracingConfig",),
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
    def change(cls, resource: LambdaFunction, properties: Properties, before: Properties) -> None:
        changed = between(before, properties)
        wanted = {**_SETTINGS, **properties}
        wanted["Environment"] = {"Variables": {}, **wanted["Environment"]}
        resource.update_configuration({name: wanted[name] for name in changed & _SETTINGS.keys()})
        if "Code" in changed:
            code = properties["Code"]
            if "ZipFile" in code:  # the text of index.py, which Lambda's API wants packed
                packed = cls._create_zipfile_from_plaintext_code(code["ZipFile"])
                code = {"ZipFile": base64.b64encode(packed)}
            resource.update_function_code(code)
        cls._complete(resource, properties)

    @staticmethod
    def _complete(function: LambdaFunction, properties: Properties) -> None:
        function.reserved_concurrency = properties.get("ReservedConcurrentExecutions")
        vars(function)["logging_config"] = properties.get("LoggingConfig", {})
        function.tracing_config = properties.get("TracingConfig") or {"Mode": "PassThrough"}
        function.architectures = properties.get("Architectures", ["x86_64"])


class DeployedMapping(EventSourceMapping, CloudFormationModel):
    """moto's mapping; one of a broker, which cannot run here, has an id and nothing behind it."""

    CHANGES = frozenset(
        {
            *("BatchSize", "BisectBatchOnFunctionError", "DestinationConfig", "Enabled"),
            *("FilterCriteria", "FunctionName", "FunctionResponseTypes"),
            *("MaximumBatchingWindowInSeconds", "MaximumRecordAgeInSeconds"),
            *("MaximumRetryAttempts", "ParallelizationFactor", "ScalingConfig"),
            "TumblingWindowInSeconds",
        }
    )

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **_more: Any
    ) -> Any:
        properties = {
            name: value
            for name, value in cloudformation_json["Properties"].items()
            if name != "Tags"  # moto takes them in another form
        }
        kind = StandIn if is_broker(properties["EventSourceArn"]) else EventSourceMapping
        return kind.create_from_cloudformation_json(
            resource_name, {**cloudformation_json, "Properties": properties}, *place
        )

    @classmethod
    def change(
        cls, resource: EventSourceMapping, properties: Properties, before: Properties
    ) -> None:
        wanted = {"Enabled": True, **properties}
        changed = between(before, properties) & cls.CHANGES
        lambda_backend(ACCOUNT, REGION).update_event_source_mapping(
            resource.uuid, {name: wanted.get(name) for name in changed}
        )


def is_broker(arn: Any) -> bool:
    """True if the ARN is an Amazon MQ broker's."""
    return isinstance(arn, str) and arn.startswith("arn:") and arn.split(":")[2] == "mq"


class DeployedPermission(Resource, CloudFormationModel):
    """A statement of a function's policy, which moto does not take away again."""

    TYPE = "AWS::Lambda::Permission"

    def create(self) -> None:
        self.name = self.name[-100:]  # as long as Lambda takes it; its end is random
        client("lambda").add_permission(StatementId=self.name, **self.properties)

    def remove(self) -> None:
        function = self.properties["FunctionName"]
        client("lambda").remove_permission(FunctionName=function, StatementId=self.name)


class EventInvokeConfig(Resource, CloudFormationModel):
    TYPE = "AWS::Lambda::EventInvokeConfig"
    CHANGES = frozenset({"DestinationConfig", "MaximumEventAgeInSeconds", "MaximumRetryAttempts"})

    def create(self) -> None:
        settings = {k: v for k, v in self.properties.items() if k != "Qualifier"}
        api, function = client("lambda"), settings["FunctionName"]
        # A function has one: a second would go with the first.
        found = api.list_function_event_invoke_configs(FunctionName=function)
        if found["FunctionEventInvokeConfigs"]:
            name = f"{function}|{self.properties['Qualifier']}"
            raise AlreadyExistsException(f"{self.TYPE} {name} already exists")
        api.put_function_event_invoke_config(**settings)

    def update(self, before: Properties) -> None:  # noqa: ARG002 - as for all types
        # moto appends a second configuration to the first and goes on answering with the first.
        self.remove()
        self.create()

    def remove(self) -> None:
        client("lambda").delete_function_event_invoke_config(
            FunctionName=self.properties["FunctionName"]
        )
