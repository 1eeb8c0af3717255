"""Counts the capacity units that DynamoDB says a client's calls consumed."""

from typing import Any


class Units:
    """Of all calls of one client since ``take`` was last asked."""

    def __init__(self, client: Any) -> None:
        self._total = 0.0
        client.meta.events.register("provide-client-params.dynamodb", self._ask)
        client.meta.events.register("after-call.dynamodb", self._add)

    def take(self) -> float:
        total, self._total = self._total, 0.0
        return total

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
        known = "ReturnConsumedCapacity" in model.input_shape.members
        return params | ({"ReturnConsumedCapacity": "TOTAL"} if known else {})

    def _add(self, parsed: dict[str, Any], **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", {})
        self._total += consumed.get("CapacityUnits", 0.0)
