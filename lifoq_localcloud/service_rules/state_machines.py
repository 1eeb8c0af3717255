"""Step Functions: a definition whose states lead somewhere, names, and JSON as input and output."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import VALIDATION, RefusedError

MOST_DATA_BYTES: Final = 262_144
"""The most of an execution's input, and of a state's output."""
TERMINAL: Final = frozenset({"Succeed", "Fail"})
TYPES: Final = TERMINAL | {"Choice", "Map", "Parallel", "Pass", "Task", "Wait"}
_WAITS: Final = frozenset({"Seconds", "SecondsPath", "Timestamp", "TimestampPath"})
MOST_NAME_LETTERS: Final = 80
_MISSING: Final = "MISSING_TRANSITION_TARGET"
_SCHEMA: Final = "SCHEMA_VALIDATION_FAILED"
_NEEDED: Final = (
    *(("Choices", "Next"), ("Retry", "ErrorEquals")),
    *(("Catch", "ErrorEquals"), ("Catch", "Next")),
)
"""A field of a state, and what each of its parts has to have."""
_NOT_IN_NAMES: Final = re.compile(r"[\s<>{}\[\]?*\"#%\\^|~`$&,;:/\u0000-\u001f\u007f-\u009f]")


def check_new(asked: dict[str, Any]) -> None:
    if _NOT_IN_NAMES.search(asked.get("name") or ""):
        raise RefusedError("InvalidName", f"Invalid Name: '{asked['name']}'")
    check(asked)


def check(asked: dict[str, Any]) -> None:
    """Hold a definition against the grammar of states."""
    text = asked.get("definition")
    if not isinstance(text, str):
        return
    try:
        definition = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"INVALID_JSON_DESCRIPTION: {error}", "/") from error
    for code, told, place in _wrong(definition, ""):
        raise _invalid(f"{code}: {told}", place)


def check_execution(asked: dict[str, Any]) -> None:
    """Hold an execution's name and input against the rules."""
    if _NOT_IN_NAMES.search(asked.get("name") or ""):
        raise RefusedError("InvalidName", f"Invalid Name: '{asked['name']}'")
    _check_json(
        asked.get("input"),
        "input",
        "InvalidExecutionInput",
        "Invalid State Machine Execution Input",
    )


def check_output(asked: dict[str, Any]) -> None:
    _check_json(asked.get("output"), "output", "InvalidOutput", "Invalid Output")


def _check_json(text: Any, name: str, code: str, words: str) -> None:
    if text is None:
        return
    if len(text.encode()) > MOST_DATA_BYTES:
        raise RefusedError(
            VALIDATION,
            f"1 validation error detected: Value at '{name}' failed to satisfy constraint: Member "
            f"must have length less than or equal to {MOST_DATA_BYTES}",
        )
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedError(code, f"{words}: '{error}'") from error


def _invalid(told: str, place: str) -> RefusedError:
    return RefusedError(
        "InvalidDefinition", f"Invalid State Machine Definition: '{told} at {place}'"
    )


Wrong = Iterator[tuple[str, str, str]]
"""Code, sentence and place of what is wrong, such as ``/States/A/Next``."""


def _wrong(machine: Any, place: str) -> Wrong:
    """Yield what is wrong in a machine, or in a branch or a processor within one."""
    for field in ("StartAt", "States"):
        if not isinstance(machine, dict) or not machine.get(field):
            yield _SCHEMA, f"The field '{field}' is required but was missing", place or "/"
            return
    states = machine["States"]
    if machine["StartAt"] not in states:
        yield _MISSING, f"Missing 'StartAt' target: {machine['StartAt']}", f"{place}/StartAt"
    for name, state in states.items():
        yield from _wrong_state(name, state, states, f"{place}/States/{name}")
    for name in sorted(states.keys() - _reached(machine["StartAt"], states)):
        yield _MISSING, f'State "{name}" is not reachable.', f"{place}/States/{name}"


def _wrong_state(name: str, state: Any, states: dict[str, Any], here: str) -> Wrong:
    """Yield what is wrong with a state, where it leads, and in the machines within it."""
    if len(name) > MOST_NAME_LETTERS:
        yield _SCHEMA, f"The name of a state has at most {MOST_NAME_LETTERS} characters", here
    if not isinstance(state, dict) or state.get("Type") not in TYPES:
        told = f"Value is not a valid Type: it has to be one of {sorted(TYPES)}"
        yield _SCHEMA, told, f"{here}/Type"
        return
    yield from _wrong_end(state, here)
    yield from _wrong_fields(state, here)
    yield from _wrong_parts(state, here)
    for where, target in _targets(state):
        if target not in states:
            yield _MISSING, f"Missing 'Next' target: {target}", f"{here}{where}"
    for where, inner in _machines(state):
        yield from _wrong(inner, f"{here}{where}")


def _reached(start: Any, states: dict[str, Any]) -> set[str]:
    """Return the names of all states that the first one leads to, itself included."""
    reached, ahead = set(), [start]
    while ahead:
        name = ahead.pop()
        if name in reached or not isinstance(states.get(name), dict):
            continue
        reached.add(name)
        ahead += [target for _, target in _targets(states[name])]
    return reached


def _wrong_end(state: dict[str, Any], here: str) -> Wrong:
    kind = state["Type"]
    ends = state.get("End") is True
    if kind == "Choice":
        if not state.get("Choices"):
            yield _SCHEMA, "The field 'Choices' is required, with a choice at least", here
        if ends or "Next" in state:
            yield _SCHEMA, "The fields 'Next' and 'End' are not supported in a Choice", here
    elif kind not in TERMINAL and ends == ("Next" in state):
        yield _SCHEMA, "Exactly one of the fields 'Next' and 'End' has to be there", here


def _wrong_fields(state: dict[str, Any], here: str) -> Wrong:
    kind = state["Type"]
    if kind == "Task" and not isinstance(state.get("Resource"), str):
        yield _SCHEMA, "The field 'Resource' is required but was missing", here
    if kind == "Wait" and len(_WAITS & state.keys()) != 1:
        yield _SCHEMA, f"Exactly one of the fields {sorted(_WAITS)} has to be there", here
    if kind == "Parallel" and not state.get("Branches"):
        yield _SCHEMA, "The field 'Branches' is required, with a branch at least", here
    for field in ("TimeoutSeconds", "HeartbeatSeconds"):
        value = state.get(field)
        if isinstance(value, int | float) and value <= 0:
            yield _SCHEMA, f"{field} has to be more than 0", f"{here}/{field}"


def _wrong_parts(state: dict[str, Any], here: str) -> Wrong:
    """Yield what lacks in the choices, retries and catchers of a state."""
    for field, needed in _NEEDED:
        for place, one in enumerate(state.get(field) or []):
            if not isinstance(one, dict) or not one.get(needed):
                told = f"The field '{needed}' is required but was missing"
                yield _SCHEMA, told, f"{here}/{field}[{place}]"


def _targets(state: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield place and name of each state that may follow."""
    for field in ("Next", "Default"):
        if field in state:
            yield f"/{field}", state[field]
    for field in ("Choices", "Catch"):
        for place, one in enumerate(state.get(field) or []):
            yield f"/{field}[{place}]/Next", one["Next"]


def _machines(state: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield place and definition of each machine within a state."""
    for place, branch in enumerate(state.get("Branches") or []):
        yield f"/Branches[{place}]", branch
    if state["Type"] == "Map":
        field = "ItemProcessor" if "ItemProcessor" in state else "Iterator"
        yield f"/{field}", state.get(field)
