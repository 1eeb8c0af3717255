"""The state of deployed resources, as their services tell it."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from botocore.exceptions import ClientError

from tests.localcloud.rows import rows

Client = Callable[[str], Any]
"""A client of a cloud, by the service's name."""

_CHANGING: Final = {
    *("AlarmConfigurationUpdatedTimestamp", "CreateDate", "CreatedDate", "CreatedTimestamp"),
    *("CreationDate", "CreationDateTime", "CreationTime", "EarliestRestorableDateTime"),
    *("ItemCount", "LIFOQ_DEPLOYED", "LastModificationDate", "LastModified", "LastModifiedDate"),
    *("LastModifiedTimestamp", "LatestRestorableDateTime", "LatestStreamArn", "LatestStreamLabel"),
    *("ResponseMetadata", "RevisionId", "RoleId", "RoleLastUsed", "StateTransitionedTimestamp"),
    *("StateUpdatedTimestamp", "SubscriptionsConfirmed", "SubscriptionsDeleted"),
    *("SubscriptionsPending", "TableSizeBytes", "UUID", "Version", "creationDate", "creationTime"),
    *("revisionId", "storedBytes", "updateDate"),
}
"""Parts of an answer that say when a resource was made or changed and what it holds, and not how it
is set."""
_ARN: Final = re.compile(r'"(?:Table|logGroup|Alarm)?Arn": "([^"]*)"')
_CALLS: Final[dict[str, list[tuple[str, str]]]] = {}
"""The calls that tell the state of a resource, by its type: the rows of ``asked.txt``. In a row, ID
stands for the resource's physical id, and ARN for the first ARN in the answers to the rows before
it."""
for _kind, (_operation,), _call in rows("asked.txt"):
    _CALLS.setdefault(_kind, []).append((_operation, json.dumps(_call)))


def state(client: Client, resource_type: str, name: str) -> Any:
    """Return what the service says of a resource, but for when it was changed; None for a type that
    is not asked about."""
    match resource_type:
        case "AWS::IAM::ManagedPolicy":
            return _lasting(_managed_policy(client("iam"), name))
        case "AWS::IAM::Role":
            return _lasting(_role(client("iam"), name))
    if resource_type not in _CALLS:
        return None
    answers: list[Any] = []
    for operation, call in _CALLS[resource_type]:
        service, _, asked = operation.partition(".")
        arn = _ARN.search(json.dumps(answers, default=str))
        given = call.replace('"ID"', f'"{name}"').replace('"ARN"', f'"{arn[1] if arn else ""}"')
        try:
            answers.append(getattr(client(service), asked)(**json.loads(given)))
        except ClientError as error:
            if service != "s3":  # for which a part that is not set is an error
                raise
            answers.append(error.response["Error"]["Code"])
    return _lasting(answers)


def _managed_policy(iam: Any, policy_arn: str) -> Any:
    version = iam.get_policy(PolicyArn=policy_arn)["Policy"]["DefaultVersionId"]
    found = iam.get_policy_version(PolicyArn=policy_arn, VersionId=version)["PolicyVersion"]
    return found["Document"]


def _role(iam: Any, name: str) -> Any:
    inline = iam.list_role_policies(RoleName=name)["PolicyNames"]
    return (
        iam.get_role(RoleName=name)["Role"],
        iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"],
        {one: iam.get_role_policy(RoleName=name, PolicyName=one) for one in inline},
    )


def _lasting(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _lasting(one) for name, one in answer.items() if name not in _CHANGING}
    return [_lasting(one) for one in answer] if isinstance(answer, list | tuple) else answer
