"""The words of an expression, each with its place in the text."""

import re
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<word>[A-Za-z][A-Za-z0-9_]*)|(?P<name>#[A-Za-z0-9_]+)|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<index>0|[1-9][0-9]*)|(?P<sign><>|<=|>=|[^ \t\r\n])"
)
KEYWORDS: Final = {"SET", "ADD", "REMOVE", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}
"""Words that are no names in any expression, in capitals or not."""
END: Final = "<EOF>"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a sign, or the end. ``kind``: word, keyword, name, value, index, sign, end."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """The keyword in capitals; empty for any other token."""
        return self.text.upper() if self.kind == "keyword" else ""


def tokens(text: str) -> list[Token]:
    """Return all tokens of a text, the end included."""
    found = [
        Token(_kind(match), match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)
    ]
    return [*found, Token("end", END, len(text), len(text))]


def _kind(match: re.Match[str]) -> str:
    kind = str(match.lastgroup)
    return "keyword" if kind == "word" and match[0].upper() in KEYWORDS else kind
