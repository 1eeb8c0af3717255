"""Functions: their settings, what invokes them, and what becomes of failed invocations."""

from typing import Any, Final

from moto.awslambda.models import EventSourceMapping, LambdaFunction
from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Properties, Resource, StandIn, client


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


class EventInvokeConfig(Resource, CloudFormationModel):
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


def _completed(cloudformation_json: Properties, defaults: Properties) -> Properties:
    """moto leaves a property as it was that an update does not name; on AWS it gets its default."""
    return {
        **cloudformation_json,
        "Properties": {**defaults, **cloudformation_json["Properties"]},
    }
