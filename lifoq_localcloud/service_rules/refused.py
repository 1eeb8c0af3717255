"""A refusal of a service: its code and its sentence."""

from typing import Final

VALIDATION: Final = "ValidationException"
LAMBDA_VALUE: Final = "InvalidParameterValueException"


class RefusedError(Exception):
    """AWS would refuse this call: ``code`` is the error's code, ``str`` of it AWS's sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
