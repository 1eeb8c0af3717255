"""Tells whether somebody has a hand in boto3's calls, and where: a tracer, a recorder, a mock."""

import importlib
import sys
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

OWNERS: Final = frozenset({"boto3", "botocore", "http", "urllib3"})
"""Packages that a call goes through; their functions are written in them."""
CLASSES: Final = (
    ("boto3.session", "Session"),
    ("botocore.session", "Session"),
    ("botocore.client", "BaseClient"),
    ("botocore.client", "ClientCreator"),
    ("botocore.endpoint", "Endpoint"),
    ("botocore.endpoint", "EndpointCreator"),
    ("botocore.httpsession", "URLLib3Session"),
    ("botocore.awsrequest", "AWSConnection"),
    ("botocore.awsrequest", "AWSHTTPConnection"),
    ("botocore.awsrequest", "AWSHTTPSConnection"),
    ("botocore.awsrequest", "AWSHTTPConnectionPool"),
    ("botocore.awsrequest", "AWSHTTPSConnectionPool"),
    ("urllib3.connectionpool", "HTTPConnectionPool"),
    ("urllib3.connectionpool", "HTTPSConnectionPool"),
    ("urllib3.connection", "HTTPConnection"),
    ("urllib3.connection", "HTTPSConnection"),
    ("http.client", "HTTPConnection"),
    ("http.client", "HTTPSConnection"),
)
"""Public classes on a call's way, in the order of the call."""
BOUND: Final[tuple[type[Any], ...]] = (staticmethod, classmethod, MethodType)
HARMLESS_FINDERS: Final = frozenset(
    {
        *("_distutils_hack", "_frozen_importlib", "_frozen_importlib_external", "botocore"),
        *("six", "zipimport"),
    }
)
"""Modules of finders that look for modules alone, and change none."""


def patched_part() -> str | None:
    """Return the name of a class or function on the way of boto3's calls that is not its own any
    more, or of botocore's listeners, if somebody has added to those that it gives each client, as
    moto does. None where all is boto3's own.

    Before botocore is imported nothing of it is patched; unless a finder waits for the import, as
    tracers' do: then it is imported here. Listeners that were added to one session or one client
    are not found.
    """
    if "botocore.client" not in sys.modules and not _somebody_waits():
        return None
    importlib.import_module("boto3")
    modules = {name for name, _ in CLASSES}
    for name in (*modules, "botocore.handlers"):
        importlib.import_module(name)
    listeners = sys.modules["botocore.handlers"].BUILTIN_HANDLERS
    if not _is_own(sys.modules["boto3"].client):
        return "boto3.client"
    if not all(_is_own(listener) for _, listener, *_ in listeners):
        return "botocore.handlers.BUILTIN_HANDLERS"
    classes = ((f"{module}.{name}", getattr(sys.modules[module], name)) for module, name in CLASSES)
    return next((name for name, class_ in classes if not _is_whole(class_)), None)


def _somebody_waits() -> bool:
    finders = (finder if isinstance(finder, type) else type(finder) for finder in sys.meta_path)
    return any(finder.__module__.partition(".")[0] not in HARMLESS_FINDERS for finder in finders)


def _is_whole(class_: Any) -> bool:
    """True if nobody has put another in the class's place, or something into it."""
    return isinstance(class_, type) and all(
        _is_own(one) for one in vars(class_).values() if callable(_inner(one))
    )


def _is_own(function: Any) -> bool:
    """True if it was written in one of the owners: a wrapper may take its function's name, and its
    class; not where it was written."""
    inner = _inner(function)
    if issubclass(type(inner), BuiltinFunctionType):
        return True  # the interpreter's
    if type(inner) is FunctionType:
        place = inner.__globals__["__name__"]
    else:
        place = (inner if isinstance(inner, type) else type(inner)).__module__
    return str(place).partition(".")[0] in OWNERS


def _inner(attribute: Any) -> Any:
    """The function in a method, a method of a class, a static one or a property."""
    if isinstance(attribute, property):
        return attribute.fget
    return attribute.__func__ if isinstance(attribute, BOUND) else attribute
