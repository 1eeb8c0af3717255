"""What opens the local cloud: a secret that each start makes anew, and hands to its owner alone.

Access keys are made of it, one for each function, which tells its requests apart, and one for any
client outside. Nobody can guess them, so that a request's signature need not be looked at.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from .account import REGION

FILE: Final = "environment"
"""In the cloud's directory: a shell that reads it works with this cloud."""


@dataclass(frozen=True, kw_only=True)
class Credentials:
    endpoint: str
    secret: str = field(default_factory=lambda: secrets.token_hex(20), repr=False)

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Those of the cloud that has written into this directory last."""
        lines = (directory / FILE).read_text().splitlines()
        found = dict(line.removeprefix("export ").split("=", 1) for line in lines)
        return cls(endpoint=found["AWS_ENDPOINT_URL"], secret=found["AWS_SECRET_ACCESS_KEY"])

    def write(self, directory: Path) -> None:
        """Nobody but the owner can read it, at no moment."""
        file = directory / FILE
        file.unlink(missing_ok=True)
        file.touch(mode=0o600, exist_ok=False)
        file.write_text("".join(f"export {k}={v}\n" for k, v in self.environment().items()))

    def access_key(self, caller: str = "") -> str:
        """The key of a function, by name; the empty name is any client outside."""
        digest = hashlib.sha256(f"{self.secret} {caller}".encode()).hexdigest()
        return f"LKIA{digest[:32].upper()}"

    def environment(self, *, caller: str = "") -> dict[str, str]:
        """What points AWS's SDKs and tools at this cloud, and at nothing else."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key(caller),
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def authorization(self) -> str:
        """The header of a request that no SDK makes."""
        return f"AWS4-HMAC-SHA256 Credential={self.access_key()}/0/{REGION}/localcloud/"

    def arguments(self) -> dict[str, Any]:
        """The credentials for one client of boto3's."""
        return {
            "aws_access_key_id": self.access_key(),
            "aws_secret_access_key": self.secret,
            "region_name": REGION,
            "endpoint_url": self.endpoint,
        }
