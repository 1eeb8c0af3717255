"""Make text that others wrote safe to show to a person."""

import re
from typing import Final

_NAMES: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069"
    r"\ud800-\udfff\ufeff]"
)
"""Characters that move the cursor, colour, erase, end a line, turn the order of letters, are not
seen (two names that differ would look the same), or cannot be written at all."""
_LINES: Final = re.compile(_NAMES.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0b-\x1f"))


def harmless(text: str, *, lines: bool = False) -> str:
    """``text`` with ``\\u001b`` and the like in place of what a terminal or a browser would obey.
    JSON text keeps its value. ``lines``: tabs and ends of lines stay."""
    return (_LINES if lines else _NAMES).sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def finalize(value: object) -> object:
    """Make the value of a Jinja expression harmless. A value that the template has escaped itself
    stays as it is."""
    return harmless(value, lines=True) if type(value) is str else value
