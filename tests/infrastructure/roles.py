"""The calls of each caller, by the local cloud's record, held against the role as deployed."""

import json
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult

from lifoq_localcloud import LocalCloud

BATCHES = {
    "dynamodb:TransactWriteItems": ("dynamodb:PutItem", "dynamodb:UpdateItem"),
    "sns:PublishBatch": ("sns:Publish",),
}
"""IAM knows only what is in them."""
Statement = dict[str, Any]
Call = tuple[str, str]
"""The action, and the resource."""


def calls(cloud: LocalCloud, caller: str, *, since: int = 0) -> set[Call]:
    """Return the calls of a function, or, for ``""``, of whoever has the account's own key."""
    return {
        (part, resource)
        for call in map(json.loads, cloud.calls.read_text().splitlines()[since:])
        if call["caller"] == caller
        for part in BATCHES.get(call["action"], (call["action"],))
        for resource in call["resources"] or ["*"]
    }


def of_function(cloud: LocalCloud, name: str) -> list[Statement]:
    """The statements of a function's role."""
    configuration = cloud.client("lambda").get_function_configuration(FunctionName=name)
    return of_role(cloud, configuration["Role"].rsplit("/", 1)[-1])


def of_role(cloud: LocalCloud, role: str) -> list[Statement]:
    iam = cloud.client("iam")
    documents = (
        iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
        for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]
    )
    return [statement for document in documents for statement in document["Statement"]]


def granted(statements: list[Statement]) -> set[Call]:
    return {
        (action, resource)
        for statement in statements
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    }


def refused(calls: set[Call], statements: list[Statement]) -> set[Call]:
    """The calls that a role with these statements could not make."""
    policy = IAMPolicy(json.dumps({"Version": "2012-10-17", "Statement": statements}))
    return {
        call
        for call in calls
        if policy.is_action_permitted(*call) is not PermissionResult.PERMITTED
    }


def as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]
