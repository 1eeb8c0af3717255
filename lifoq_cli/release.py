"""Releases of lifoq, and which of them fit together."""

import lifoq
from lifoq.errors import InvalidInput, LifoqError


class TooOld(LifoqError):
    """Raised where this lifoq is older than the one that the queue was deployed by."""


def numbers(release: str) -> tuple[int, ...]:
    """Return a release's first two numbers: those that share them fit together."""
    return tuple(int(number) for number in release.split(".")[:2] if number.isdecimal())


def check_not_older(deployed: str | None) -> None:
    """Raise TooOld where this lifoq is older than the release ``deployed``: it would leave out the
    settings that it does not know, and work by its own defaults. None: nobody asks. InvalidInput.
    """
    if deployed is None:
        return
    if not numbers(deployed):
        raise InvalidInput("--release", deployed, "is no release, such as 0.1.0")
    if numbers(lifoq.__version__) < numbers(deployed):
        raise TooOld(
            f"the queue was deployed by lifoq {deployed}, and this is {lifoq.__version__}, which "
            f"may not know all of its settings: install lifoq {deployed} in the worker's image"
        )
