"""The public names of the Python library, with what their docstrings say: griffe reads the source.

A docstring has paragraphs, and then sections: ``Args:``, ``Attributes:``, ``Raises:``,
``Examples:``.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import griffe

ROOT: Final = Path(__file__).parents[2]
OF_TESTS: Final = "testing.md"
PAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "queue.md": (
        *("Queue", "Cells", "Wanted", "Listing", "PutOutcome", "WaitOutcome", "QueueStats"),
        *("Explanation", "Reason"),
        *("Count", "Pressure", "Lifetimes", "Schedules", "Schedule", "When", "cron", "every", "at"),
    ),
    "tasks.md": ("NewTask", "Task", "Status", "TaskError", "PastAttempt", "Ended", "Large"),
    "task-code.md": (
        *("task", "setup", "around_attempts", "Context", "Done", "Retry", "Busy", "Fail"),
        *("Cancelled", "LeaseLost", "Backoff", "Rate", "Registry", "REGISTRY"),
    ),
    "errors.md": (
        *("LifoqError", "InvalidInput", "QueueMisconfigured", "BadEnvironment"),
        *("StoreUnavailable", "TaskNotFound", "WrongStatus", "NoResult", "TaskFailed"),
        *("TaskCancelled", "TaskShed", "WaitTimeout", "DamagedTask", "ItemTooLarge"),
        *("BlocksOthers", "ProcessUnusable"),
    ),
    "workers.md": ("Processor", "WorkerSettings", "RunReport", "Sweeper", "SweepReport", "Store"),
    "services.md": ("HttpsTarget", "LambdaTarget", "IngestMapping"),
    OF_TESTS: (
        *("lifoq_queue", "lifoq_host", "lifoq_run", "TurnableHost", "ManualHost", "START"),
        *("create_table", "fire_schedules"),
    ),
}
"""Public names, by the page of the reference that has them."""
OF_MODULES: Final = {
    "HttpsTarget": "targets.https",
    "LambdaTarget": "targets.function",
    "IngestMapping": "ingest.mapping",
}
"""Names that users import from a module of their own."""
CLOSED: Final = {"Store", "Cells"}
"""Classes whose inherited members are for the library itself, or are told of another class."""
INTERNAL: Final = {"may_replace", "of_objects", "object_prefix", "preview", "sweep_sheds"}
"""Properties of values that are for the library itself."""
DECORATORS: Final = {"task", "setup", "around_attempts"}
"""Methods of the registry that are public names themselves."""
NOT_GIVEN: Final = {"self", "cls"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """A parameter, a field or an attribute."""

    name: str
    type: str
    default: str | None
    """The default as the source has it; None if there is none."""
    meaning: str


@functools.cache
def library() -> griffe.Module:
    """Read the source of the library, without importing it."""
    options = griffe.GoogleOptions(trim_doctest_flags=False)
    found = griffe.load(
        "lifoq", search_paths=[ROOT], docstring_parser="google", docstring_options=options
    )
    assert isinstance(found, griffe.Module)
    return found


def find(page: str, name: str) -> Any:
    """Return the class, function or attribute that a public name stands for."""
    place = f"{OF_MODULES[name]}.{name}" if name in OF_MODULES else name
    if page == OF_TESTS:
        place = f"testing.plugin.{name}" if is_fixture(name) else f"testing.{name}"
    return target(library()[f"Registry.{name}" if name in DECORATORS else place])


def is_fixture(name: str) -> bool:
    """Return True for a fixture of pytest."""
    return name.startswith("lifoq_")


def target(found: Any) -> Any:
    """Return what an alias stands for, such as an import."""
    return found.final_target if isinstance(found, griffe.Alias) else found


def members(one: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public members of a class, its own first, then inherited ones."""
    inherited = {} if one.name in CLOSED else one.inherited_members
    for name, member in [*one.members.items(), *inherited.items()]:
        if not name.startswith("_") and name not in INTERNAL:
            yield name, target(member)


def methods(one: Any) -> Iterator[tuple[str, Any]]:
    """Yield the methods that are for users: those with an example. Those that make an instance come
    first, then inherited ones."""
    found = [
        (name, member)
        for name, member in members(one)
        if member.is_function and example(member) and name not in DECORATORS
    ]
    yield from sorted(
        found, key=lambda each: ("classmethod" not in each[1].labels, each[0] in one.members)
    )


def sections(one: Any, kind: str) -> list[Any]:
    """Return the entries of a docstring's sections of a kind, such as ``raises``."""
    if one is None or one.docstring is None:
        return []
    found = [section.value for section in one.docstring.parsed if section.kind.value == kind]
    return [entry for value in found for entry in (value if isinstance(value, list) else [value])]


def text(one: Any) -> str:
    """Return a docstring's own paragraphs, without its sections."""
    return "\n\n".join(sections(one, "text"))


def example(one: Any) -> str:
    """Return the example of a docstring; empty if it has none."""
    return "\n".join(written for _, written in sections(one, "examples"))


def constructor(one: Any) -> Any:
    """Return the ``__init__`` that users call, whose docstring says what its parameters are; None
    if they make no instance, or make it of a dataclass's fields."""
    made = target(one.all_members.get("__init__")) if one.is_class else None
    return made if sections(made, "parameters") else None


def parameters(function: Any) -> list[Row]:
    """Return a function's parameters, with what its docstring says of each."""
    if function is None:
        return []
    said = {entry.name: entry.description for entry in sections(function, "parameters")}
    return [
        Row(
            name=one.name,
            type=spelled_type(function, one.annotation),
            default=None if one.default is None or stars(one) else str(one.default),
            meaning=said.get(one.name, ""),
        )
        for one in function.parameters
        if one.name not in NOT_GIVEN
    ]


def stars(parameter: Any) -> str:
    """Return the stars before the name of a parameter that takes several arguments."""
    kinds = griffe.ParameterKind
    return {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(parameter.kind, "")


def attributes(one: Any) -> list[Row]:
    """Return a class's attributes: fields, properties, and those that its docstring names; without
    those that are parameters, too."""
    rows = {
        name: Row(
            name=name,
            type=spelled_type(member, member.annotation),
            default=_default_of_field(one, member),
            meaning=text(member),
        )
        for name, member in members(one)
        if member.is_attribute and member.docstring is not None
    }
    for base in (one, *map(target, one.mro())):
        for entry in sections(base, "attributes"):
            row = Row(name=entry.name, type="", default=None, meaning=entry.description)
            rows.setdefault(entry.name, row)
    given = {row.name for row in parameters(constructor(one))}
    return [row for row in rows.values() if row.name not in given]


def _default_of_field(one: Any, member: Any) -> str | None:
    is_field = "dataclass" in one.labels and member.value is not None
    return str(member.value) if is_field else None


def is_enum(one: Any) -> bool:
    """Return True for a class of constants."""
    return one.is_class and any("Enum" in str(base) for base in one.bases)


def spelled_type(one: Any, annotation: Any) -> str:
    """Return a type in words that a user knows: names that stand for other types are replaced."""
    if annotation is None:
        return ""
    spelled = re.sub(r"^[\"'](.*)[\"']$", r"\1", str(annotation))

    def replaced(found: re.Match[str]) -> str:
        named = _named(one, found[0])
        value = str(getattr(named, "value", None) or "")
        if not value or value.startswith("TypeVar"):
            return found[0]
        literal = re.fullmatch(r"Literal\[(.*)\]", value)
        return " | ".join(literal[1].split(", ")) if literal else spelled_type(named, value)

    return re.sub(r"\b[A-Z]\w+\b", replaced, spelled).replace("'", '"')


def constant(one: Any, default: str) -> str:
    """Return a default as its source has it; if it is the name of a number or of several, these."""
    value = str(getattr(_named(one, default), "value", ""))
    if re.fullmatch(r"[\d_.]+|\([\d, ]+\)", value):
        return value
    return default if '"' in default else default.replace("'", '"')


def _named(one: Any, name: str) -> Any:
    """Return what a name stands for where an object is defined; None if that is elsewhere."""
    try:
        return target(library().modules_collection[one.resolve(name)])
    except (KeyError, griffe.GriffeError):
        return None
