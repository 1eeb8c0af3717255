"""A refusal of DynamoDB's: its code, its sentence, and the reasons of a cancelled transaction."""

from typing import Any, Final

VALIDATION: Final = "ValidationException"
CANCELLED: Final = "TransactionCanceledException"
MISMATCH: Final = "IdempotentParameterMismatchException"


class RefusedError(Exception):
    """DynamoDB would refuse this request: ``str`` of it is DynamoDB's sentence."""

    def __init__(
        self, message: str, *, code: str = VALIDATION, reasons: list[Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reasons = reasons

    def answer(self) -> dict[str, Any]:
        """Return the body of the answer, whose status is 400."""
        told: dict[str, Any] = {
            "__type": f"com.amazonaws.dynamodb.v20120810#{self.code}",
            "message": str(self),
        }
        if self.reasons is not None:
            told["CancellationReasons"] = self.reasons
        return told


def invalid(reason: str) -> RefusedError:
    """A parameter value that is well formed and yet not allowed."""
    return RefusedError(f"One or more parameter values were invalid: {reason}")
