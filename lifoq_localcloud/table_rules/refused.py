"""A refusal of DynamoDB's: its code, its sentence, and the reasons of a cancelled transaction."""

from typing import Any, Final

VALIDATION: Final = "ValidationException"
CANCELLED: Final = "TransactionCanceledException"
MISMATCH: Final = "IdempotentParameterMismatchException"


class RefusedError(Exception):
    """DynamoDB would refuse this request: ``str`` of it is DynamoDB's sentence."""

    def __init__(
        self,
        message: str,
        *,
        code: str = VALIDATION,
        reasons: list[Any] | None = None,
        item: dict[str, Any] | None = None,
    ) -> None:
        """``item`` is what a failed condition shows of the item that is there."""
        super().__init__(message)
        self.code = code
        self.reasons = reasons
        self.item = item

    def answer(self) -> dict[str, Any]:
        """Return the body of the answer, whose status is 400."""
        told: dict[str, Any] = {
            "__type": f"com.amazonaws.dynamodb.v20120810#{self.code}",
            "message": str(self),
        }
        if self.reasons is not None:
            told["CancellationReasons"] = self.reasons
        if self.item is not None:
            told["Item"] = self.item
        return told


def invalid(reason: str) -> RefusedError:
    """A parameter value that is well formed and yet not allowed."""
    return RefusedError(f"One or more parameter values were invalid: {reason}")
