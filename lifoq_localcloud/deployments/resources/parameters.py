"""Parameters of Systems Manager."""

from moto.core.common_models import CloudFormationModel

from lifoq_localcloud.deployments.resources.resource import Resource, client


class Parameter(Resource, CloudFormationModel):
    """moto reads a parameter's tags as a list; CloudFormation has a map."""

    TYPE = "AWS::SSM::Parameter"
    NAME_PROPERTY = "Name"
    CHANGES = frozenset({"AllowedPattern", "DataType", "Description", "Tier", "Type", "Value"})

    def create(self) -> None:
        given = {name: self.properties[name] for name in self.CHANGES & self.properties.keys()}
        client("ssm").put_parameter(Name=self.name, Overwrite=True, **{"Description": "", **given})

    def remove(self) -> None:
        client("ssm").delete_parameter(Name=self.name)

    def get_cfn_attribute(self, attribute: str) -> str:
        return str(client("ssm").get_parameter(Name=self.name)["Parameter"][attribute])
