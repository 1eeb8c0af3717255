"""Task code, and what it needs around it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager

from lifoq.aws import client_choice as own
from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq.items.put_terms import check_name
from lifoq.items.schema import MAX_TYPE_BYTES
from lifoq.targets.configured import Target, encode
from lifoq_cdk.findings import SIX_CHARACTERS, accept_secret, accept_wildcard, allow
from lifoq_cdk.packaged import architecture_of
from lifoq_cdk.targets import permissions, secret_arn, secrets
from lifoq_project import asset
from lifoq_project.asset import Asset

Image = lambda_.AssetImageCode | lambda_.EcrImageCode
VPC_ACCESS: Final = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
"""The actions by which Lambda connects a function with a VPC, in the function's role
(https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html)."""
RESERVED = ("LIFOQ_", "POWERTOOLS_", "AWS_", "LAMBDA_")
"""The beginnings of environment variables that are not for task code to set."""
SETTABLE = (own.CHOICE,)
"""Variables that task code may set all the same."""


def check_variables(*names: str) -> None:
    """Raise InvalidInput where a variable is not for task code to set, or for Lambda to take."""
    for name in names:
        reserved = name.startswith(RESERVED) and name not in SETTABLE
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]+", name) or reserved:
            problem = (
                "must be letters, digits and '_', a letter first, and must not begin with "
                f"{', '.join(RESERVED)}: rename it"
            )
            raise InvalidInput("environment", name, problem)


@dataclass(frozen=True)
class TaskCode:
    """A folder of task code, a package of it, or a container image; and what it runs with.

    A folder is imported by its name, and what its ``requirements.txt`` asks for is packaged with
    it.

    Examples:
        >>> code = TaskCode("thumbnails", memory_size=1769, environment={"SIZES": "64,256"})
        >>> queue = LifoQueue(stack, "Thumbnails", tasks=code)
    """

    code: str | Path | Asset | Image
    _: KW_ONLY
    module: str | None = None
    """The module to import, so that the task types are registered; by default the folder's name."""
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, secretsmanager.ISecret | secretsmanager.Secret] = field(
        default_factory=dict
    )
    """Secrets by environment variable: the variable holds the secret's name, and the code may read
    the secret."""
    targets: Mapping[str, Target] = field(default_factory=dict)
    """Task types that are configured, beside those of the code."""
    initial_policy: Sequence[iam.PolicyStatement] = ()
    managed_policies: Sequence[iam.IManagedPolicy] = ()
    vpc: ec2.IVpc | None = None
    """The network in which the code runs. DynamoDB, SNS and what else it calls must be reachable
    from there."""
    vpc_subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    layers: Sequence[lambda_.ILayerVersion] = ()
    architecture: lambda_.Architecture = lambda_.Architecture.ARM_64
    memory_size: int = 512
    """The memory in MB. With it comes CPU: 1769 MB are one."""
    ephemeral_storage_size: cdk.Size | None = None

    def __post_init__(self) -> None:
        check_variables(*self.environment, *self.secrets)
        if both := sorted(set(self.environment) & set(self.secrets)):
            raise InvalidInput("secrets", both[0], "is in environment, too: rename one")
        for name in self.targets:
            check_name("targets", name, MAX_TYPE_BYTES)
        if self.module is None and not isinstance(self.code, str | Path):
            raise InvalidInput(
                "module", None, "must be given, as there is no folder to name what to import"
            )
        if self.image and self.layers:
            raise InvalidInput("layers", len(self.layers), "cannot be added to a container image")

    @property
    def image(self) -> Image | None:
        code = self.code
        return code if isinstance(code, lambda_.AssetImageCode | lambda_.EcrImageCode) else None

    @property
    def imported(self) -> str:
        """The module that registers the task types."""
        return self.module or Path(str(self.code)).resolve().name

    def package(self) -> Asset:
        """Return the package of lifoq's own functions: beside a container image, they have no task
        code with them.

        Raises ``InvalidInput`` where importing the folder would register nothing; ``AssetError``
        and ``RequirementsError`` where it cannot be packaged.
        """
        if isinstance(self.code, Asset):
            return self.code
        folder = None if self.image else Path(str(self.code)).resolve()
        if folder and folder.is_dir() and not (self.module or (folder / "__init__.py").is_file()):
            raise InvalidInput(
                "code",
                str(self.code),
                "has no __init__.py that would register its task types: add one, or name the "
                "module to import in TaskCode(…, module=…)",
            )
        return asset.build(folder, architecture=architecture_of(self.architecture))

    @property
    def variables(self) -> dict[str, str]:
        """The environment of whoever imports the code."""
        secrets = {name: secret.secret_name for name, secret in self.secrets.items()}
        targets = {Variable.TARGETS.value: encode(self.targets)} if self.targets else {}
        return {**self.environment, **secrets, **targets}

    def loading(self) -> dict[str, Any]:
        """Lambda's props for a function that only has to import the code."""
        return {"layers": list(self.layers) or None, "architecture": self.architecture}

    def running(self) -> dict[str, Any]:
        """Lambda's props for the function that runs it."""
        return {
            **self.loading(),
            "memory_size": self.memory_size,
            "ephemeral_storage_size": self.ephemeral_storage_size,
            "vpc": self.vpc,
            "vpc_subnets": self.vpc_subnets,
            "security_groups": list(self.security_groups) or None,
        }

    def permit(self, role: iam.IRole) -> None:
        """Let ``role`` do what the code needs to do."""
        for statement in self.initial_policy:
            role.add_to_principal_policy(statement)
        for policy in self.managed_policies:
            role.add_managed_policy(policy)
        if self.vpc:
            why = "Lambda makes network interfaces by it, which have no names before."
            allow(role, VPC_ACCESS, "*", why=why)
        for secret in self.secrets.values():
            secret.grant_read(role)
            accept_secret(role, secret)
        for statement in permissions(self.targets):
            role.add_to_principal_policy(statement)
        for name in secrets(self.targets):
            accept_wildcard(role, secret_arn(name), SIX_CHARACTERS)
