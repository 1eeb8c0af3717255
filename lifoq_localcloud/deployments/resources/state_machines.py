"""State machines, which run here."""

from typing import Any

from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.changes import text
from lifoq_localcloud.deployments.resources.resource import Properties, Resource, client


class StateMachine(Resource, CloudFormationModel):
    """moto creates one that it does not execute."""

    TYPE = "AWS::StepFunctions::StateMachine"
    NAME_PROPERTY = "StateMachineName"
    CHANGES = frozenset(
        {"DefinitionString", "LoggingConfiguration", "RoleArn", "TracingConfiguration"}
    )

    def create(self) -> None:
        answer = client("stepfunctions").create_state_machine(
            name=self.name,
            definition=self.properties["DefinitionString"],
            roleArn=self.properties["RoleArn"],
            type=self.properties.get("StateMachineType", "STANDARD"),
            **self._settings(),
        )
        self.name = answer["stateMachineArn"]

    def update(self, before: Properties) -> None:  # noqa: ARG002 - as for all types
        client("stepfunctions").update_state_machine(
            stateMachineArn=self.name,
            definition=self.properties["DefinitionString"],
            roleArn=self.properties["RoleArn"],
            **self._settings(),
        )

    def _settings(self) -> dict[str, Any]:
        tracing = self.properties.get("TracingConfiguration", {}).get("Enabled", False)
        logging = {"Level": "OFF", **self.properties.get("LoggingConfiguration", {})}
        if "IncludeExecutionData" in logging:
            logging["IncludeExecutionData"] = text(logging["IncludeExecutionData"]) == "true"
        return {
            "tracingConfiguration": {"enabled": text(tracing) == "true"},
            "loggingConfiguration": _lower(logging),
        }

    def remove(self) -> None:
        client("stepfunctions").delete_state_machine(stateMachineArn=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        return self.name if attribute == "Arn" else self.name.split(":")[-1]


def _lower(value: Any) -> Any:
    """Return settings with small initials, which Step Functions' API has and CloudFormation not."""
    if isinstance(value, dict):
        return {name[0].lower() + name[1:]: _lower(inner) for name, inner in value.items()}
    return [_lower(inner) for inner in value] if isinstance(value, list) else value
