"""Attributes of messages, which SQS and SNS hold against the same rules."""

import re
from collections.abc import Mapping
from typing import Any, Final

_TYPE: Final = re.compile(r"(String|Number|Binary)(\.[A-Za-z0-9_.-]+)?|String\.Array")
_NAME: Final = re.compile(
    r"(?!(aws|amazon)\.)(?!\.)(?!.*\.\.)[A-Za-z0-9_.-]{1,256}(?<!\.)", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def wrong(name: str, attribute: Mapping[str, Any]) -> str | None:
    """Return a sentence on what is wrong with an attribute, or None."""
    if not _NAME.fullmatch(name):
        return f"Invalid message attribute name '{name}': letters, digits, -, _ and . only."
    kind = attribute.get("DataType") or ""
    if not _TYPE.fullmatch(kind):
        return (
            f"The type of message (user) attribute '{name}' is invalid. You must use only the "
            "following supported type prefixes: Binary, Number, String."
        )
    member = "BinaryValue" if kind.startswith("Binary") else "StringValue"
    value = attribute.get(member)
    if not value:
        return (
            f"The message (user) attribute '{name}' must contain a non-empty value of type "
            f"'{kind.partition('.')[0]}'."
        )
    if kind.startswith("Number") and not _NUMBER.fullmatch(value):
        return f"Could not cast message (user) attribute '{name}' value to number."
    return None
