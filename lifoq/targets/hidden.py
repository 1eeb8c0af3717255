"""Secrets that a downstream sends back, taken out of what is kept of its answer.

An error page or a debugging proxy may show the request that it got, headers and all. An answer
becomes a task's result or error, which is read by more people than the secret is.
"""

import base64
import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

SHORTEST: Final = 8
"""Characters of a secret from which on a part of it is hidden; a shorter secret is hidden whole."""
SHORTEST_BASE64: Final = 9
"""Characters of base64 that eight bytes determine, wherever they lie in it."""
IN_PLACE: Final = "…"
DEEPEST: Final = 3
"""Layers of escapes that are looked behind, such as JSON in JSON in a query."""


def _byte(found: re.Match[str]) -> str:
    return chr(int(found[0][1:], 16))


def _json_escape(found: re.Match[str]) -> str:
    escape = found[0][1:]
    plain = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
    return chr(int(escape[1:], 16)) if escape[0] == "u" else plain.get(escape, escape)


def _entity(found: re.Match[str]) -> str:
    return html.unescape(found[0])


_ESCAPES: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    ("\\", re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])'), _json_escape),
    ("%", re.compile(r"%[0-9a-fA-F]{2}"), _byte),
    ("&", re.compile(r"&(?:#[xX]?[0-9a-fA-F]{1,6}|[a-zA-Z]{2,6});"), _entity),
)
"""The escapes: the character that begins one, its pattern, and the character that it stands for."""


@dataclass(frozen=True)
class _View:
    """A text with its escapes resolved."""

    text: str
    origins: Sequence[int]
    """The place in the original at which each character begins, and the end."""

    def resolved(self, escape: re.Pattern[str], plain: Callable[[re.Match[str]], str]) -> "_View":
        """Return the view behind these escapes, each of which is one character."""
        parts: list[str] = []
        origins: list[int] = []
        done = 0
        for found in escape.finditer(self.text):
            character = plain(found)
            if len(character) == 1:
                parts += [self.text[done : found.start()], character]
                origins += self.origins[done : found.start() + 1]
                done = found.end()
        return _View("".join((*parts, self.text[done:])), [*origins, *self.origins[done:]])


class Hidden:
    """Puts ``…`` in the place of some secrets, of parts of them from ``SHORTEST`` characters on,
    and of what stands for them in base64, percent encoding, JSON's escapes or HTML's."""

    def __init__(self, secrets: Iterable[str]) -> None:
        plain = {word for secret in secrets for word in _words(secret)}
        self._needles = [(word, min(len(word), SHORTEST)) for word in plain]
        encoded = {text for word in plain for text in _base64(word)}
        self._needles += [(text, SHORTEST_BASE64) for text in encoded]

    def text(self, text: str) -> str:
        """Return a text with the secrets in it replaced."""
        if not self._needles:
            return text
        spans = sorted(
            (view.origins[start], view.origins[end])
            for view in _views(text)
            for needle, least in self._needles
            for start, end in _parts(view.text, needle, least)
        )
        kept, done = [], 0
        for start, end in spans:
            if start >= done:
                kept += [text[done:start], IN_PLACE]
            done = max(done, end)
        return "".join((*kept, text[done:])) if kept else text

    def value(self, value: Any) -> Any:
        """Return a JSON value without them, names of fields and numbers included."""
        if not self._needles:
            return value
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            return {self.text(name): self.value(one) for name, one in value.items()}
        if isinstance(value, bool) or value is None:
            return value
        written = str(value)  # a text, or a number: digits may be a secret, too
        hidden = self.text(written)
        return value if hidden == written else hidden


def _words(secret: str) -> Iterator[str]:
    """The value of a header, what follows its scheme, and the user and password of a Basic one; in
    the bytes that were sent, and as UTF-8, into which a downstream may turn them."""
    scheme, _, rest = secret.partition(" ")
    credentials = _decoded(rest) if scheme.lower() == "basic" else ""
    for word in (secret, rest.strip(), credentials, credentials.partition(":")[2]):
        if word:
            yield word
            yield word.encode().decode("latin-1")


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text.strip(), validate=True).decode()
    except ValueError:
        return ""


def _base64(word: str) -> Iterator[str]:
    """Yield the base64 of the word, wherever it lies in the text that is encoded: the characters
    that no neighbour has a part in."""
    content = word.encode("latin-1", "replace")
    for before in range(3):
        first = (before * 8 + 5) // 6
        last = (before + len(content)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"\0" * before + content).decode()[first:last]


def _views(text: str) -> list[_View]:
    """The text as it is, and as it is behind its escapes, layer by layer."""
    found = layer = [_View(text, range(len(text) + 1))]
    seen = {text}
    for _ in range(DEEPEST):
        behind = (
            view.resolved(escape, plain)
            for view in layer
            for sign, escape, plain in _ESCAPES
            if sign in view.text
        )
        layer = []
        for view in behind:
            if view.text not in seen:
                seen.add(view.text)
                layer.append(view)
        found = [*found, *layer]
    return found


def _parts(text: str, needle: str, least: int) -> Iterator[tuple[int, int]]:
    """Yield the places at which ``text`` holds a part of ``needle`` of ``least`` characters or
    more. Each such part holds one of the blocks that the needle is made of, if these have half its
    length: to look for those takes little time, however long needle and text are.
    """
    size = (least + 1) // 2
    for at in range(0, len(needle) - size + 1, size):
        found = text.find(needle[at : at + size])
        while found >= 0:
            start, end = _extended(text, found, needle, at, size)
            behind = found + 1
            if end - start >= least:
                yield start, end
                behind = max(behind, end - size + 1)
            found = text.find(needle[at : at + size], behind)


def _extended(text: str, found: int, needle: str, at: int, size: int) -> tuple[int, int]:
    """The span around a block for which text and needle agree."""
    start, end = 0, size
    while (
        found + start > 0 and at + start > 0 and text[found + start - 1] == needle[at + start - 1]
    ):
        start -= 1
    while (
        found + end < len(text) and at + end < len(needle) and text[found + end] == needle[at + end]
    ):
        end += 1
    return found + start, found + end
