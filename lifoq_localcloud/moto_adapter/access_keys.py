"""The secrets of access keys that moto's IAM and STS have issued."""

from moto.core.utils import utcnow
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from lifoq_localcloud.basics.account import ACCOUNT


def issued_secret(access_key: str) -> str | None:
    """The secret of a user's active key, or of a role that somebody has assumed for a time that is
    not over; None for any other key."""
    key = iam_backends[ACCOUNT]["aws"].access_keys.get(access_key)
    if key is None or key.status != "Active":
        return None
    session = sts_backends[ACCOUNT]["aws"].get_assumed_role_from_access_key(access_key)
    if session is not None and session.expiration < utcnow():
        return None
    secret: str = key.secret_access_key
    return secret
