"""The replacement of a part of moto by one of this package."""

from typing import Any


def replace(owner: Any, name: str, value: Any) -> None:
    """Refuses a name that this version of moto does not have: it would have no effect."""
    if not hasattr(owner, name):
        raise AttributeError(f"This version of moto has no {name} in {owner}.")
    setattr(owner, name, value)
