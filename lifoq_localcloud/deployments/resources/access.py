"""IAM's roles and policies."""

import json
from typing import Any

from moto.core.common_models import CloudFormationModel
from moto.iam.models import InlinePolicy, ManagedPolicy, Role

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.deployments.resources.changes import ByMoto
from lifoq_localcloud.deployments.resources.resource import Properties, client


class DeployedRole(Role, CloudFormationModel):
    """moto's role, with managed policies, which it drops, and changes, of which it knows one."""

    CHANGES = frozenset(
        {
            "AssumeRolePolicyDocument",
            "Description",
            "ManagedPolicyArns",
            "MaxSessionDuration",
            "PermissionsBoundary",
            "Policies",
        }
    )

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **more: Any
    ) -> Role:
        properties = cloudformation_json["Properties"]
        own = {name: value for name, value in properties.items() if name != "Policies"}
        return Role.create_from_cloudformation_json(
            resource_name, {**cloudformation_json, "Properties": own}, *place, **more
        )

    @classmethod
    def complete(cls, resource: Role, properties: Properties) -> None:
        _set_policies(resource.name, properties, {})

    @classmethod
    def change(cls, resource: Role, properties: Properties, before: Properties) -> None:
        iam, name = client("iam"), resource.name
        iam.update_assume_role_policy(
            RoleName=name, PolicyDocument=json.dumps(properties["AssumeRolePolicyDocument"])
        )
        iam.update_role(
            RoleName=name,
            Description=properties.get("Description", ""),
            MaxSessionDuration=int(properties.get("MaxSessionDuration", 3600)),
        )
        if boundary := properties.get("PermissionsBoundary"):
            iam.put_role_permissions_boundary(RoleName=name, PermissionsBoundary=boundary)
        elif before.get("PermissionsBoundary"):
            iam.delete_role_permissions_boundary(RoleName=name)
        _set_policies(name, properties, before)

    @classmethod
    def destroy(cls, resource: Role) -> None:
        iam, name = client("iam"), resource.name
        for one in iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]:
            iam.detach_role_policy(RoleName=name, PolicyArn=one["PolicyArn"])
        cls.delete_from_cloudformation_json(name, {}, ACCOUNT, REGION)


def _set_policies(role: str, properties: Properties, before: Properties) -> None:
    """Give a role the policies of its template, in place of those of ``before``."""
    iam = client("iam")
    wanted, attached = properties.get("ManagedPolicyArns", []), before.get("ManagedPolicyArns", [])
    for policy_arn in attached:
        if policy_arn not in wanted:
            iam.detach_role_policy(RoleName=role, PolicyArn=policy_arn)
    for policy_arn in wanted:
        if policy_arn not in attached:
            iam.attach_role_policy(RoleName=role, PolicyArn=policy_arn)
    inline = {one["PolicyName"]: one["PolicyDocument"] for one in properties.get("Policies", [])}
    for one in before.get("Policies", []):
        if one["PolicyName"] not in inline:
            iam.delete_role_policy(RoleName=role, PolicyName=one["PolicyName"])
    for policy, document in inline.items():
        iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=json.dumps(document))


class DeployedPolicy(ByMoto, InlinePolicy, CloudFormationModel):
    CHANGES = frozenset({"Groups", "PolicyDocument", "PolicyName", "Roles", "Users"})


class DeployedManagedPolicy(ManagedPolicy, CloudFormationModel):
    """moto's managed policy, which moto neither changes nor deletes."""

    CHANGES = frozenset({"Groups", "PolicyDocument", "Roles", "Users"})

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Properties, *place: Any, **more: Any
    ) -> ManagedPolicy:
        properties = cloudformation_json["Properties"]
        holders = {f"{kind}s" for kind in _HOLDERS}
        own = {name: value for name, value in properties.items() if name not in holders}
        return ManagedPolicy.create_from_cloudformation_json(
            resource_name, {**cloudformation_json, "Properties": own}, *place, **more
        )

    @classmethod
    def complete(cls, resource: ManagedPolicy, properties: Properties) -> None:
        _attach(resource.arn, properties, {})

    @classmethod
    def change(cls, resource: ManagedPolicy, properties: Properties, before: Properties) -> None:
        iam, policy = client("iam"), resource.arn
        if properties["PolicyDocument"] != before["PolicyDocument"]:
            _forget_versions(policy)
            iam.create_policy_version(
                PolicyArn=policy,
                PolicyDocument=json.dumps(properties["PolicyDocument"]),
                SetAsDefault=True,
            )
        _attach(policy, properties, before)

    @classmethod
    def destroy(cls, resource: ManagedPolicy) -> None:
        iam, policy = client("iam"), resource.arn
        entities = iam.list_entities_for_policy(PolicyArn=policy)
        holders = {
            f"{kind}s": [one[name] for one in entities[f"Policy{kind}s"]]
            for kind, name in _HOLDERS.items()
        }
        _attach(policy, {}, holders)
        _forget_versions(policy)
        iam.delete_policy(PolicyArn=policy)


_HOLDERS = {"Group": "GroupName", "Role": "RoleName", "User": "UserName"}
"""Kinds of holders of a policy, and the parameter that names one."""


def _forget_versions(policy: str) -> None:
    """Delete all but the one in use: IAM keeps five."""
    iam = client("iam")
    for one in iam.list_policy_versions(PolicyArn=policy)["Versions"]:
        if not one["IsDefaultVersion"]:
            iam.delete_policy_version(PolicyArn=policy, VersionId=one["VersionId"])


def _attach(policy: str, properties: Properties, before: Properties) -> None:
    iam = client("iam")
    for kind, name in _HOLDERS.items():
        wanted, attached = properties.get(f"{kind}s", []), before.get(f"{kind}s", [])
        for one in attached:
            if one not in wanted:
                detach = getattr(iam, f"detach_{kind.lower()}_policy")
                detach(PolicyArn=policy, **{name: one})
        for one in wanted:
            if one not in attached:
                attach = getattr(iam, f"attach_{kind.lower()}_policy")
                attach(PolicyArn=policy, **{name: one})
