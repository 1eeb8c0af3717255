"""Expressions from their text: conditions, updates and projections.

A parenthesis may hold a condition or an operand; what follows it tells which. So the methods that
read conditions return either, and whoever needs a condition asks ``_condition``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

from lifoq_localcloud.expressions.tokens import Token, tokens
from lifoq_localcloud.expressions.tree import (
    Action,
    Both,
    Call,
    Condition,
    Not,
    Operand,
    Operation,
    Path,
    Sum,
    Update,
    Value,
)

_Read = TypeVar("_Read")
_COMPARATORS: Final = {"=", "<>", "<", "<=", ">", ">="}
_SIGNS: Final = {"+", "-"}
_SECTIONS: Final = {"SET", "REMOVE", "ADD", "DELETE"}
_LARGEST_INDEX: Final = 2**31 - 1
_MOST_BYTES: Final = 4_096
_MOST_OPERATORS: Final = 300
_MOST_PARTS: Final = 32
"""Parts of a path."""
_MOST_LEVELS: Final = 150
"""Parentheses in parentheses; DynamoDB itself has no such limit."""
_MOST_TREES: Final = 2_048
"""Trees of each kind that are kept."""


class UnreadableError(Exception):
    """The text is no expression: ``str`` of it is DynamoDB's sentence, without its beginning."""


@dataclass(frozen=True, slots=True)
class _Inside:
    """A part that stood in parentheses."""

    content: Any


@lru_cache(maxsize=_MOST_TREES)
def condition(text: str) -> Condition:
    """Return the tree of a condition, a filter or a key condition. Raises UnreadableError."""
    parser = _Parser(text)
    return parser.whole(parser.condition)


@lru_cache(maxsize=_MOST_TREES)
def update(text: str) -> Update:
    """Return the tree of an update. Raises UnreadableError."""
    parser = _Parser(text)
    return parser.whole(parser.update)


@lru_cache(maxsize=_MOST_TREES)
def projection(text: str) -> tuple[Path, ...]:
    """Return the paths of a projection. Raises UnreadableError."""
    parser = _Parser(text)
    return parser.whole(parser.paths)


class _Parser:
    def __init__(self, text: str) -> None:
        if not text:
            raise UnreadableError("The expression can not be empty;")
        if (size := len(text.encode())) > _MOST_BYTES:
            raise UnreadableError(
                f"Expression size has exceeded the maximum allowed size; expression size: {size}"
            )
        self._text = text
        self._tokens = tokens(text)
        self._place = 0
        self._redundant = False
        self._too_large: int | None = None
        self._deepest_path = 0
        self._operators = 0
        self._levels = 0

    def whole(self, read: Callable[[], _Read]) -> _Read:
        """Read all of the text. Mistakes of syntax come first."""
        found = read()
        if self._next.kind != "end":
            raise self._unexpected()
        if self._redundant:
            raise UnreadableError("The expression has redundant parentheses;")
        self._check_limits()
        return found

    def _check_limits(self) -> None:
        if self._operators > _MOST_OPERATORS:
            told = f"operator count: {_MOST_OPERATORS + 1}"  # DynamoDB counts no further
            raise UnreadableError(f"The expression contains too many operators; {told}")
        if self._too_large is not None:
            told = f"index: [{self._too_large}]"
            raise UnreadableError(f"List index is not within the allowable range; {told}")
        if self._deepest_path > _MOST_PARTS:
            told = f"nesting levels: {self._deepest_path}"
            raise UnreadableError(f"The document path has too many nesting levels; {told}")

    # ── Conditions ──

    def condition(self) -> Condition:
        return self._condition(self._either())

    def _condition(self, found: "Condition | Operand | _Inside") -> Condition:
        content: Condition | Operand = _content(found)
        if isinstance(content, Path | Value):
            raise self._unexpected()  # an operand, and no comparator behind it
        return content

    def _either(self) -> "Condition | Operand | _Inside":
        left = self._both()
        while self._next.keyword == "OR":
            first = self._condition(left)
            self._take()
            left = self._counted(Both("OR", first, self._condition(self._both())))
        return left

    def _both(self) -> "Condition | Operand | _Inside":
        left = self._negated()
        while self._next.keyword == "AND":
            first = self._condition(left)
            self._take()
            left = self._counted(Both("AND", first, self._condition(self._negated())))
        return left

    def _negated(self) -> "Condition | Operand | _Inside":
        if self._next.keyword != "NOT":
            return self._simple()
        times = 0
        while self._next.keyword == "NOT":
            self._take()
            times += 1
        found = self._condition(self._simple())
        for _ in range(times):
            found = self._counted(Not(found))
        return found

    def _simple(self) -> "Condition | Operand | _Inside":
        if self._next.text != "(":
            return self._compared(self._operand())
        self._take()
        level = self._deeper()
        found = self._either()
        self._levels = level
        self._expect(")")
        self._redundant |= isinstance(found, _Inside)
        content = _content(found)
        if isinstance(content, Path | Value | Call) and self._compares():
            return self._compared(content)
        return _Inside(content)

    def _compares(self) -> bool:
        return self._next.text in _COMPARATORS or self._next.keyword in {"BETWEEN", "IN"}

    def _compared(self, first: Operand) -> Condition | Operand:
        """Return the comparison that begins with an operand, or the operand alone."""
        if not self._compares():
            return first
        token = self._take()
        if token.keyword == "BETWEEN":
            low = self._operand()
            self._expect_keyword("AND")
            return self._counted(Operation("BETWEEN", (first, low, self._operand())))
        if token.keyword == "IN":
            self._expect("(")
            choices = self._listed(self._operand)
            self._expect(")")
            return self._counted(Operation("IN", (first, *choices)))
        return self._counted(Operation(token.text, (first, self._operand())))

    def _operand(self) -> Operand:
        if self._next.text == "(":
            self._take()
            level = self._deeper()
            # Whether it stood in parentheses itself is told by how it begins.
            nested = self._next.text == "("
            found = self._operand()
            self._levels = level
            self._expect(")")
            self._redundant |= nested
            return found
        if self._next.kind == "value":
            return Value(self._take().text)
        if self._next.kind == "word" and self._tokens[self._place + 1].text == "(":
            return self._call()
        return self._path()

    def _call(self) -> Call:
        function = self._take().text
        self._expect("(")
        level = self._deeper()
        operands = self._listed(self._operand)
        self._levels = level
        self._expect(")")
        return self._counted(Call(function, tuple(operands)))

    # ── Paths ──

    def paths(self) -> tuple[Path, ...]:
        return tuple(self._listed(self._path))

    def _path(self) -> Path:
        parts: list[str | int] = [self._name()]
        while True:
            if self._next.text == ".":
                self._take()
                parts.append(self._name())
            elif self._next.text == "[":
                self._take()
                parts.append(self._index())
                self._expect("]")
            else:
                self._deepest_path = max(self._deepest_path, len(parts))
                return Path(tuple(parts))

    def _name(self) -> str:
        if self._next.kind not in {"word", "name"}:
            raise self._unexpected()
        return self._take().text

    def _index(self) -> int:
        if self._next.kind != "index":
            raise self._unexpected()
        text = self._take().text
        # Python reads no number of more than 4,300 digits.
        index = int(text[:20])
        if index > _LARGEST_INDEX and self._too_large is None:
            self._too_large = index
        return index

    # ── Updates ──

    def update(self) -> Update:
        actions: list[Action] = []
        sections = []
        while True:
            section = self._next.keyword
            if section not in _SECTIONS:
                raise self._unexpected()
            self._take()
            sections.append(section)
            actions += self._listed(partial(self._action, section))
            if self._next.keyword not in _SECTIONS:
                return Update(tuple(actions), tuple(sections))

    def _action(self, section: str) -> Action:
        path = self._path()
        if section == "REMOVE":
            return Action(section, path)
        if section == "SET":
            self._expect("=")
            return Action(section, path, _content(self._assigned()))
        if self._next.kind != "value":
            raise self._unexpected()
        return Action(section, path, Value(self._take().text))

    def _assigned(self) -> "Operand | Sum | _Inside":
        if self._next.text != "(":
            return self._added(self._operand())
        self._take()
        level = self._deeper()
        found = self._assigned()
        self._levels = level
        self._expect(")")
        self._redundant |= isinstance(found, _Inside)
        content = _content(found)
        if self._next.text in _SIGNS and not isinstance(content, Sum):
            return self._added(content)
        return _Inside(content)

    def _added(self, first: Operand) -> Operand | Sum:
        if self._next.text not in _SIGNS:
            return first
        return Sum(self._take().text, (first, self._operand()))

    # ── Tokens ──

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        self._place += 1
        return self._tokens[self._place - 1]

    def _expect(self, sign: str) -> None:
        if self._next.text != sign:
            raise self._unexpected()
        self._take()

    def _expect_keyword(self, keyword: str) -> None:
        if self._next.keyword != keyword:
            raise self._unexpected()
        self._take()

    def _listed(self, read: Callable[[], _Read]) -> list[_Read]:
        found = [read()]
        while self._next.text == ",":
            self._take()
            found.append(read())
        return found

    def _counted(self, operator: _Read) -> _Read:
        self._operators += 1
        return operator

    def _deeper(self) -> int:
        """Count a level, and return the level before."""
        level = self._levels
        self._levels += 1
        if self._levels > _MOST_LEVELS:
            raise UnreadableError("The expression is nested too deeply;")
        return level

    def _unexpected(self) -> UnreadableError:
        """The sentence on the next token: it stands between its neighbours."""
        token = self._next
        before = self._tokens[self._place - 1] if self._place else token
        after = self._tokens[min(self._place + 1, len(self._tokens) - 1)]
        near = self._text[before.start : after.end]
        return UnreadableError(f'Syntax error; token: "{token.text}", near: "{near}"')


def _content(found: Any) -> Any:
    return found.content if isinstance(found, _Inside) else found
