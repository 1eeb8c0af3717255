"""Workers for tasks that take longer than Lambda lets a function run: ``lifoq work`` on Fargate."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

import lifoq
from lifoq import environment as variables
from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq.items.put_terms import check_name
from lifoq.items.schema import MAX_TYPE_BYTES
from lifoq.metrics import Metric
from lifoq_cdk import known
from lifoq_cdk.findings import accept, accept_wildcard
from lifoq_cdk.metrics import QueueMetrics
from lifoq_cdk.queue import LifoQueue
from lifoq_cdk.task_code import check_variables
from lifoq_cdk.worker_scaling import scale
from lifoq_cdk.workers import WorkerScaling

STOP: Final = cdk.Duration.seconds(120)
"""The time between SIGTERM and SIGKILL: the most on Fargate; Spot gives as long a notice."""
LONGEST_GRACE: Final = cdk.Duration.seconds(110)
"""The rest of it is for what is still at work then: it is handed back to the queue."""
LONGEST_PROTECTION: Final = cdk.Duration.hours(48)
HEALTH_FILE: Final = "/tmp/lifoq-health"  # noqa: S108 - in a container of its own
ARCHITECTURES: Final = {
    lambda_.Architecture.ARM_64.name: ecs.CpuArchitecture.ARM64,
    lambda_.Architecture.X86_64.name: ecs.CpuArchitecture.X86_64,
}


class LongTasks(Construct):
    """An ECS service on Fargate that does some task types of a queue, and runs nothing while there
    are no such tasks.

    Examples:
        >>> image = ecs.ContainerImage.from_registry("public.ecr.aws/shop/videos")
        >>> videos = LongTasks(stack, "Videos", queue=queue, types=["video.encode"], image=image)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: LifoQueue,
        types: Sequence[str],
        image: ecs.ContainerImage,
        module: str | None = None,
        scaling: WorkerScaling | None = None,
        cpu: int = 1024,
        memory_limit_mib: int = 2048,
        ephemeral_storage_gib: int | None = None,
        architecture: lambda_.Architecture | None = None,
        spot: bool = False,
        grace: cdk.Duration = LONGEST_GRACE,
        protection: cdk.Duration | None = None,
        vpc: ec2.IVpc | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        assign_public_ip: bool | None = None,
        environment: Mapping[str, str] | None = None,
        secrets: Mapping[str, ecs.Secret] | None = None,
    ) -> None:
        """``types``: the processor on Lambda passes them over from now on. ``image``: has lifoq and
        the task code in it; what it starts by itself does not matter. ``module``: of task code, by
        default the queue's. ``cpu``, ``memory_limit_mib``: as Fargate has them together.

        ``grace``: how long tasks may go on when a worker is stopped. ``protection``: for how long a
        worker that holds tasks is spared, where fewer are needed or others are deployed; by default
        two hours. ``vpc``: by default one of its own with public subnets, nothing that costs, and
        no way in. ``assign_public_ip``: for a VPC's public subnets.

        Raises ``InvalidInput`` where settings cannot work.
        """
        super().__init__(scope, construct_id)
        self._queue = queue
        self.workers = construct_id
        """The group's name."""
        own, secrets = dict(environment or {}), dict(secrets or {})
        self.types = _checked(types, [*own, *secrets])
        self.scaling = scaling or WorkerScaling()
        known.check(grace=grace, protection=protection, longest_wait=self.scaling.longest_wait)
        self._grace = _at_most(LONGEST_GRACE, "grace", grace)
        self._protection = _at_most(
            LONGEST_PROTECTION, "protection", protection or cdk.Duration.hours(2)
        )
        queue.leave_to(self.workers, self.types)
        self.task_definition = ecs.FargateTaskDefinition(
            self,
            "Task",
            cpu=cpu,
            memory_limit_mib=memory_limit_mib,
            ephemeral_storage_gib=ephemeral_storage_gib,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ARCHITECTURES[(architecture or queue.tasks.architecture).name],
                operating_system_family=ecs.OperatingSystemFamily.LINUX,
            ),
        )
        self._add_container(image, module or queue.tasks.imported, own, secrets)
        self.cluster = ecs.Cluster(self, "Cluster", vpc=vpc or self._own_vpc())
        # Not by the cluster's prop: CDK makes it too late for the service to depend on it, and it
        # cannot be deleted before.
        providers = ecs.CfnClusterCapacityProviderAssociations(
            self.cluster,
            "Cluster",
            cluster=self.cluster.cluster_name,
            capacity_providers=["FARGATE", "FARGATE_SPOT"],
            default_capacity_provider_strategy=[],
        )
        self.service = ecs.FargateService(
            self,
            "Service",
            cluster=self.cluster,
            task_definition=self.task_definition,
            assign_public_ip=vpc is None if assign_public_ip is None else assign_public_ip,
            vpc_subnets=vpc_subnets,
            capacity_provider_strategies=[
                ecs.CapacityProviderStrategy(
                    capacity_provider="FARGATE_SPOT" if spot else "FARGATE", weight=1
                )
            ],
            # The first worker starts with the service, so an image that does not work is found out
            # then, and the deployment is taken back.
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            min_healthy_percent=100,
            max_healthy_percent=200,
        )
        self.service.node.add_dependency(providers)
        self._permit()
        metrics = QueueMetrics(queue.queue_name)
        scale(
            self,
            self.service,
            self.scaling,
            workers=self.workers,
            metrics=metrics,
            deadline_seconds=queue.lifetimes.deadline,
            sweep_minutes=queue.sweep_minutes,
        )
        self._watch(metrics)
        self._accept(own_vpc=vpc is None)

    @property
    def task_role(self) -> iam.IRole:
        """The role of the task code: grant it what the code needs."""
        return self.task_definition.task_role

    def _own_vpc(self) -> ec2.Vpc:
        return ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="Workers", subnet_type=ec2.SubnetType.PUBLIC)
            ],
            gateway_endpoints={
                "DynamoDB": ec2.GatewayVpcEndpointOptions(
                    service=ec2.GatewayVpcEndpointAwsService.DYNAMODB
                )
            },
            # Nobody uses it, and to empty it takes a function.
            restrict_default_security_group=False,
        )

    def _add_container(
        self,
        image: ecs.ContainerImage,
        module: str,
        own: Mapping[str, str],
        secrets: Mapping[str, ecs.Secret],
    ) -> None:
        self.logs = self._queue.surroundings.log_group(self, "Logs")
        settings = variables.of_worker(replace(self._queue.worker, types_elsewhere=frozenset()))
        self.task_definition.add_container(
            "Worker",
            image=image,
            entry_point=["lifoq"],
            command=[
                "work",
                f"--tasks={module}",
                *(f"--type={name}" for name in self.types),
                f"--in-flight={self.scaling.in_flight}",
                f"--grace={self._grace.to_seconds():g}s",
                f"--protect={self._protection.to_seconds():g}s",
                f"--health-file={HEALTH_FILE}",
                # An image that has an older lifoq would work by other settings than the queue's.
                f"--release={lifoq.__version__}",
                "--metrics",
            ],
            environment={**own, **settings, Variable.QUEUE.value: self._queue.queue_name},
            secrets=secrets,
            stop_timeout=STOP,
            health_check=ecs.HealthCheck(
                command=["CMD-SHELL", f"find {HEALTH_FILE} -mmin -1 | grep -q ."],
                interval=cdk.Duration.seconds(30),
                start_period=cdk.Duration.seconds(60),
            ),
            # Processes that task code starts and leaves behind are cleared away.
            linux_parameters=ecs.LinuxParameters(self, "Linux", init_process_enabled=True),
            logging=ecs.LogDrivers.aws_logs(stream_prefix=self.workers, log_group=self.logs),
        )

    def _permit(self) -> None:
        self._queue.grant_work(self.task_role)
        self.task_role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"],
                resources=[self.cluster.arn_for_tasks("*")],
            )
        )

    def _accept(self, *, own_vpc: bool) -> None:
        accept(self, "AwsSolutions-ECS2", "Settings; a secret is given by its name.")
        accept(
            self,
            "AwsSolutions-ECS4",
            "Container Insights cost more than the workers; the queue's metrics tell enough.",
        )
        if own_vpc:
            accept(
                self,
                "AwsSolutions-VPC7",
                "There is nobody to watch: nobody gets in, and the workers hold no address long.",
            )
        accept_wildcard(self, "*", "To log in to a registry knows no resources.")
        accept_wildcard(
            self,
            self.cluster.arn_for_tasks("*"),
            "A worker protects itself while it holds tasks; these have no names before they run.",
        )

    def _watch(self, metrics: QueueMetrics) -> None:
        queue = self._queue
        board = queue.alarm_board(self)
        board.add(
            "LongTasksWaiting",
            meaning="Tasks for long workers wait almost until their deadline.",
            metric=metrics.of_workers(self.workers, Metric.OLDEST_WAITING_AGE),
            threshold=queue.alarm_thresholds.oldest_waiting_seconds(queue.lifetimes.deadline),
            minutes=3,
        )
        queue.show_workers(
            self.workers,
            service=self.service,
            log_group=self.logs,
            most=self.scaling.max_workers,
            alarms=board,
        )


def _checked(types: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """``names``: of environment variables."""
    if isinstance(types, str) or not types:
        raise InvalidInput("types", types, "must be a list of task types, such as ['video.encode']")
    for name in types:
        check_name("types", name, MAX_TYPE_BYTES)
    check_variables(*names)
    return tuple(dict.fromkeys(types))


def _at_most(most: cdk.Duration, name: str, given: cdk.Duration) -> cdk.Duration:
    if given.to_seconds() > most.to_seconds():
        problem = f"is longer than ECS allows, {most.to_human_string()}: shorten it"
        raise InvalidInput(name, given.to_human_string(), problem)
    return given
