"""ECS's services, which run no container here."""

from moto.core.common_models import CloudFormationModel
from moto.ecs.models import Service

from lifoq_localcloud.deployments.resources.changes import ByMoto


class DeployedService(ByMoto, Service, CloudFormationModel):
    CHANGES = frozenset({"DesiredCount", "TaskDefinition"})
