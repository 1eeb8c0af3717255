"""``AttributesToGet``, which moto does not heed, as the expression that took its place."""

from typing import Any


def rewrite(request: dict[str, Any]) -> bool:
    """Turn ``AttributesToGet`` of a request, or of a table in a batch, into a projection.

    Return True if there was one.
    """
    changed = False
    for asked in (request, *(request.get("RequestItems") or {}).values()):
        if isinstance(asked, dict) and (attributes := asked.pop("AttributesToGet", None)):
            names = {f"#shown{place}": name for place, name in enumerate(attributes)}
            asked["ProjectionExpression"] = ", ".join(names)
            asked["ExpressionAttributeNames"] = names
            changed = True
    return changed
