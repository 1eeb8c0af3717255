"""DynamoDB's JSON as it travels, in answers, stream records and exports alike."""

import base64
import json
from typing import Any


def encode(document: Any) -> str:
    """Return JSON of a document that may contain images, moto's own types and bytes. Bytes travel
    as base64."""
    return json.dumps(document, separators=(",", ":"), default=_encoded)


def _encoded(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value.to_json()
