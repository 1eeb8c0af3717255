"""The token by which Prometheus gets in."""

import secrets
from pathlib import Path
from typing import Final

from lifoq.errors import InvalidInput

SHORTEST: Final = 16


def metrics_token(file: Path) -> str:
    """That of the file, which is made, for this user's eyes, where there is none.

    Raises InvalidInput; click's UsageError where the extra is not installed.
    """
    import lifoq_cli.prometheus  # noqa: F401, PLC0415 - an extra of its own

    try:
        if not file.exists():
            file.touch(mode=0o600)
            file.write_text(secrets.token_urlsafe(24) + "\n")
        token = file.read_text().strip()
    except (OSError, ValueError) as error:
        raise InvalidInput("metrics_token_file", str(file), f"cannot be read: {error}") from error
    if len(token) < SHORTEST:
        problem = f"holds less than {SHORTEST} letters and digits: delete it to have one made"
        raise InvalidInput("metrics_token_file", str(file), problem)
    return token
