"""The parts that an attempt has emitted, as its checkpoint keeps them."""

from typing import Any, Final

_PARTS: Final = "parts"


def checkpoint_of(parts: list[Any]) -> dict[str, list[Any]]:
    """Return the checkpoint that keeps these parts."""
    return {_PARTS: parts}


def parts_of(checkpoint: Any) -> list[Any]:
    """Return the parts that a checkpoint keeps: none, if task code has kept something else."""
    if not isinstance(checkpoint, dict) or checkpoint.keys() != {_PARTS}:
        return []
    parts = checkpoint[_PARTS]
    return parts if isinstance(parts, list) else []
