"""Lambda functions, a folder each, whose handler Lambda imports."""

import gc
import os

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    # A start leaves next to no garbage, and Python would look for it again and again.
    gc.disable()


def started() -> None:
    """Say that the clients are made, as each handler does: from then on garbage is collected, and
    not looked for among what will stay."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
