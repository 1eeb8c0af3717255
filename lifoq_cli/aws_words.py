"""Words of AWS or boto3, for errors that lifoq has no sentence of its own for."""

import sys
from typing import Any


def sentence(error: Exception) -> str | None:
    """Return the sentence for an error of boto3 or botocore; None for an error of others."""
    if "botocore" not in sys.modules:
        return None
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - it was imported

    if isinstance(error, ClientError):
        told: Any = error.response.get("Error", {})
        return f"AWS refused {error.operation_name}: {told.get('Code')}: {told.get('Message')}"
    if isinstance(error, BotoCoreError):
        return f"AWS could not be asked: {error}"
    return None
