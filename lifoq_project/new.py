"""A small project of one's own around a queue: an application, task code and its test."""

import importlib.metadata
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Final

from lifoq.errors import InvalidInput

EXTRAS: Final = "dev"
TEMPLATE: Final = Path(__file__).with_name("template")
"""Files end in ``.tmpl``, so that no tool takes them for code of lifoq's; ``dot-`` stands for
a dot at the beginning, for else no wheel would have them."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,99}")
_CLONE: Final = Path(__file__).resolve().parents[1]


def create(folder: Path) -> list[Path]:
    """Write the project into a folder that is new or empty; its files. The folder's name becomes
    the stack's and the queue's.

    Raises ``InvalidInput``, before anything is written.
    """
    folder = folder.absolute()
    name = folder.resolve().name
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "folder",
            str(folder),
            "gives the stack and the queue its name, so it must be letters, digits and '-', "
            "beginning with a letter, 100 at the most: choose another",
        )
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise InvalidInput("folder", str(folder), "is not empty: name a new or an empty one")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot become the project's folder ({error.strerror}): name another"
        raise InvalidInput("folder", str(folder), problem) from error
    texts = dict(_texts(name=name, lifoq=_requirement()))
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return sorted(folder / path for path in texts)


def _texts(**words: str) -> Iterator[tuple[Path, str]]:
    for file in TEMPLATE.rglob("*.tmpl"):
        path = file.relative_to(TEMPLATE).with_suffix("")
        yield (
            path.with_name(path.name.replace("dot-", ".")),
            Template(file.read_text()).substitute(words),
        )


def _requirement() -> str:
    """Return the requirement of this lifoq, from where it was installed: not every one comes from a
    registry."""
    wanted = f"lifoq[{EXTRAS}]"
    try:
        lifoq = importlib.metadata.distribution("lifoq")
    except importlib.metadata.PackageNotFoundError:  # run in a clone of the repository
        return f"{wanted} @ {_CLONE.as_uri()}"
    origin = json.loads(lifoq.read_text("direct_url.json") or "{}")
    if not origin:
        return f"{wanted}~={lifoq.version}"
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"{wanted} @ {vcs['vcs']}+{origin['url']}@{vcs['commit_id']}"
    return f"{wanted} @ {origin['url']}"
