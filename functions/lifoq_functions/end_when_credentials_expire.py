"""End a function's process whose credentials have expired.

Lambda gives a process its credentials when it starts it, and never again. A process that is used
for longer than they hold could only fail from then on. So it ends itself, and Lambda starts
another. Its work counts as failed, and comes again as after any other failure.
"""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from aws_lambda_powertools import Logger

EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException"})
"""AWS's codes; what only reached AWS too late has others, and may pass."""
logger = Logger()


def ends_with_credentials(handle: Callable[..., Any]) -> Callable[..., Any]:
    """Make a handler end its process where it fails because the credentials have expired."""

    @wraps(handle)
    def handle_or_end(event: Any, context: Any) -> Any:
        try:
            return handle(event, context)
        except Exception as error:
            end_if_expired(error)
            raise

    return handle_or_end


def end_if_expired(error: BaseException | None) -> None:
    """End this process where ``error``, or what it was raised from, says that the credentials have
    expired. For handlers that go on after an error."""
    while error is not None:
        response: Any = getattr(error, "response", None)
        if isinstance(response, dict) and response.get("Error", {}).get("Code") in EXPIRED:
            logger.error("credentials have expired: this process ends, Lambda starts another")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)
        error = error.__cause__
