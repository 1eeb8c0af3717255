"""Transactions that were sent before, by their ``ClientRequestToken``.

The same transaction with the same token within ten minutes is done once; another one with that
token is refused.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

import json
from typing import Any, Final

from lifoq_localcloud.table_rules.refused import MISMATCH, RefusedError

_SECONDS: Final = 600


class Repeats:
    """The tokens of the last ten minutes, each with its transaction."""

    def __init__(self) -> None:
        self._done: dict[str, tuple[float, str]] = {}

    def knows(self, request: dict[str, Any], now_seconds: float) -> bool:
        """Return True if this transaction was done. RefusedError if another one had its token."""
        self._done = {
            token: one for token, one in self._done.items() if one[0] > now_seconds - _SECONDS
        }
        done = self._done.get(request.get("ClientRequestToken") or "")
        if done is not None and done[1] != _content(request):
            raise RefusedError(
                "Idempotent parameter mismatch: the transaction differs from an earlier one with "
                "the same ClientRequestToken",
                code=MISMATCH,
            )
        return done is not None

    def note(self, request: dict[str, Any], now_seconds: float) -> None:
        """Keep a transaction that has succeeded."""
        if token := request.get("ClientRequestToken"):
            self._done[token] = (now_seconds, _content(request))


def _content(request: dict[str, Any]) -> str:
    """Return what was asked for, without the token, as text to compare."""
    return json.dumps(
        {name: one for name, one in request.items() if name != "ClientRequestToken"}, sort_keys=True
    )
