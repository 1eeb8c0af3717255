"""State machines, which run here."""

from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Resource, client


class StateMachine(Resource, CloudFormationModel):
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
