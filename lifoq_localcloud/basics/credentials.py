"""The credentials of a local cloud: a secret that each start makes anew, and that only its owner
can read.

Access keys are made of it: one for each function, which tells the function's requests apart, and
one for any client outside. Each key has a secret of its own, from which no other can be made.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as Keys

from lifoq_localcloud.basics.account import REGION

FILE: Final = "environment"
"""The file in the cloud's directory: a shell that reads it works with this cloud."""
_OWN: Final = ("localhost", "127.0.0.1", "::1")
"""Names and addresses of this machine, to which no proxy leads."""
_NAME: Final = re.compile(r"[\w.:*/\[\]-]+")
"""Text that may stand in a shell's variable without quotes."""


def without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables with which programs reach this machine itself, and all else as before. In both
    spellings: some programs know one of them only, and others prefer the small one."""
    before = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    named = [name for name in map(str.strip, before.split(",")) if _NAME.fullmatch(name)]
    names = ",".join([*named, *(name for name in _OWN if name not in named)])
    return {"NO_PROXY": names, "no_proxy": names}


@dataclass(frozen=True, kw_only=True)
class Credentials:
    endpoint: str
    secret: str = field(default_factory=lambda: secrets.token_hex(20), repr=False)

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Read the credentials of the cloud that has written into this directory last."""
        lines = (directory / FILE).read_text().splitlines()
        found = dict(line.removeprefix("export ").split("=", 1) for line in lines)
        return cls(endpoint=found["AWS_ENDPOINT_URL"], secret=found["AWS_SECRET_ACCESS_KEY"])

    def write(self, directory: Path) -> None:
        """Nobody but the owner can read it, at no moment."""
        file = directory / FILE
        file.unlink(missing_ok=True)
        file.touch(mode=0o600, exist_ok=False)
        variables = {**self.environment(), **without_proxy(os.environ)}
        file.write_text("".join(f"export {k}={v}\n" for k, v in variables.items()))

    def access_key(self, caller: str = "") -> str:
        """The key of a function, by name; the empty name is any client outside."""
        digest = hashlib.sha256(f"{self.secret} {caller}".encode()).hexdigest()
        return f"LKIA{digest[:32].upper()}"

    def secret_of(self, caller: str) -> str:
        """Return the secret of a function's access key, or of the key for clients outside."""
        if not caller:
            return self.secret
        return hmac.digest(self.secret.encode(), caller.encode(), "sha256").hex()

    def environment(self, *, caller: str = "") -> dict[str, str]:
        """Return the environment variables that point AWS's SDKs and tools at this cloud alone."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key(caller),
            "AWS_SECRET_ACCESS_KEY": self.secret_of(caller),
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def signed(self, url: str, data: bytes) -> dict[str, str]:
        """The headers of a POST that no SDK makes."""
        request = AWSRequest("POST", url, headers={"Content-Type": "application/json"}, data=data)
        SigV4Auth(Keys(self.access_key(), self.secret), "localcloud", REGION).add_auth(request)
        return dict(request.headers)

    def arguments(self) -> dict[str, Any]:
        """The credentials for one client of boto3's."""
        return {
            "aws_access_key_id": self.access_key(),
            "aws_secret_access_key": self.secret,
            "region_name": REGION,
            "endpoint_url": self.endpoint,
        }
