"""ECS, which runs no container here: clusters, task definitions and services are there."""

from moto.core.common_models import CloudFormationModel
from moto.ecs.models import Cluster, Service, TaskDefinition

from lifoq_localcloud.deployments.resources.changes import ByMoto


class DeployedCluster(Cluster, CloudFormationModel):
    REPLACED = frozenset({"ClusterName"})


class DeployedTaskDefinition(TaskDefinition, CloudFormationModel):
    """moto's task definition, whose every change is another revision."""

    REPLACED = frozenset(
        {
            *("ContainerDefinitions", "Cpu", "EnableFaultInjection", "EphemeralStorage"),
            *("ExecutionRoleArn", "Family"),
            *("InferenceAccelerators", "IpcMode", "Memory", "NetworkMode", "PidMode"),
            *("PlacementConstraints", "ProxyConfiguration", "RequiresCompatibilities"),
            *("RuntimePlatform", "TaskRoleArn", "Volumes"),
        }
    )


class DeployedService(ByMoto, Service, CloudFormationModel):
    CHANGES = frozenset({"DesiredCount", "TaskDefinition"})
    REPLACED = frozenset({"Cluster", "LaunchType", "Role", "SchedulingStrategy", "ServiceName"})
