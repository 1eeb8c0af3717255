"""A serverless LIFO task queue on AWS: newest task first, the oldest shed when load is
insurmountable, nothing lost silently."""

import importlib
from typing import Any

__version__ = "0.2.0.dev0"

_modules: dict[str, str] = {}
"""The module of each public name, as a line of ``__init__.pyi`` says."""


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: a Lambda function reads from disk what it uses, and
    nothing else, when it starts."""
    if not _modules:  # by the loader, which finds it in a zip as well
        stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()
        words = [line.split() for line in stub.splitlines() if line.startswith("from ")]
        _modules.update({public: module for _, module, _, public, *_ in words})
    if name == "__all__":
        found: Any = sorted(_modules)
    elif name in _modules:
        found = getattr(importlib.import_module(_modules[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
