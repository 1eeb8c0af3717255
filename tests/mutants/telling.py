"""Code whose statements tell that they run, in whichever thread.

Modules are compiled with a call before each statement. That costs a fifth of the tests' time. A
tracer costs a multiple of it, and follows neither the strands of virtual machines nor threads well.
"""

import ast
import atexit
import builtins
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

from tests.mutants.operators import ROOTS

TELLS: Final = "__ran__"
"""The name by which a statement tells."""
CODE: Final = Path(__file__).parents[2]
PACKAGES: Final = {Path(root).name for root in ROOTS}
now: Final[set[str]] = set()
"""Places, ``path:line``, that have run lately."""
EVERY: Final = 0.1
"""Seconds between two looks at what has run, in a process that a test started."""


class Telling(SourceFileLoader):
    """Loads a module whose statements tell that they run."""

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.path)
        tree = ast.parse(path.read_bytes())
        make_tell(tree, str(path.relative_to(CODE)))
        return compile(tree, self.path, "exec", dont_inherit=True)


class Finder(MetaPathFinder):
    """Finds the modules of the product."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if (
            spec is not None
            and type(spec.loader) is SourceFileLoader
            and Path(spec.loader.path).is_relative_to(CODE)
        ):
            spec.loader = Telling(fullname, spec.loader.path)
        return spec


def make_tell(tree: ast.AST, path: str) -> None:
    """Put a call before each statement, but for what must come first."""
    for node in [*ast.walk(tree)]:
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body:
                setattr(node, field, [*_with_calls(body, path)])


def _with_calls(body: list[ast.stmt], path: str) -> Iterator[ast.stmt]:
    for statement in body:
        if not _must_be_first(statement):
            call = ast.parse(f"{TELLS}({f'{path}:{statement.lineno}'!r})").body[0]
            for part in ast.walk(call):
                ast.copy_location(part, statement)
            yield call
        yield statement


def _must_be_first(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.ImportFrom(module="__future__"):
            return True
    return False


def begin() -> None:
    """Let the modules of the product, which are loaded from now on, tell."""
    setattr(builtins, TELLS, now.add)  # runpy gives a program's first module names of its own
    sys.meta_path.insert(0, Finder())


def write_into(folder: Path) -> None:
    """Write into a file of this process, again and again, what has run, and between which two
    times: when it looked before, and when it looked."""
    path = folder / f"{os.getpid()}-{time.monotonic_ns()}.jsonl"
    one_at_a_time = threading.Lock()
    looked_before = time.monotonic()

    def write() -> None:
        nonlocal looked_before
        with one_at_a_time:
            looking = time.monotonic()
            ran = [now.pop() for _ in range(len(now))]
            if ran:
                with path.open("a") as file:
                    print(json.dumps([looked_before, time.monotonic(), ran]), file=file)
            looked_before = looking

    def go_on() -> None:
        while True:
            time.sleep(EVERY)
            write()

    threading.Thread(target=go_on, daemon=True).start()
    atexit.register(write)
