"""Makes a change of code that has run at import hold in a process that has imported it.

A constant is computed anew, and so is what modules have made of it. Of a function or a class, the
defaults are. What lies inside of other objects by then stays as it was.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from tests.mutants.map import named_at_import
from tests.mutants.operators import Mutant


def is_at_import(mutant: Mutant, root: Path) -> bool:
    """True for a constant, or the default of a parameter or field; not for a function's body."""
    return named_at_import((root / mutant.path).read_text(), mutant.line) is not None


def make(mutant: Mutant, root: Path) -> None:
    """Let the change hold in this process. ValueError, or what the changed code raises, where that
    cannot be done so."""
    path = root / mutant.path
    (module,) = (one for one in _modules() if one.__file__ == str(path))
    text = path.read_text()
    pairs = zip(ast.parse(text).body, ast.parse(mutant.applied(text)).body, strict=True)
    (changed,) = (new for old, new in pairs if ast.dump(old) != ast.dump(new))
    if isinstance(changed, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        _take_defaults(vars(module)[changed.name], _run(changed, module)[changed.name])
    elif name := _target(changed):
        _replace(module, name, _run(changed, module)[name])


def _modules() -> Iterator[ModuleType]:
    return (one for one in [*sys.modules.values()] if getattr(one, "__file__", None))


def _run(statement: ast.stmt, module: ModuleType) -> dict[str, Any]:
    """Run one statement of a module beside it, and return the names that there are then."""
    names = dict(vars(module))
    code = compile(ast.Module([statement], []), str(module.__file__), "exec", dont_inherit=True)
    exec(code, names)  # noqa: S102  (code of the product, with a change)
    return names


def _target(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return name
    return None


def _replace(module: ModuleType, name: str, new: object) -> None:
    """Put a value in the place of the old one in all modules that have it by this name; and so on
    with what they have made of it."""
    done = set[tuple[str, str]]()
    waiting = [(module, name, new)]
    while waiting:
        origin, name, new = waiting.pop(0)
        old = vars(origin)[name]
        for one in _modules():
            if vars(one).get(name) is not old or (one.__name__, name) in done:
                continue
            done.add((one.__name__, name))
            setattr(one, name, new)
            for statement in ast.parse(Path(str(one.__file__)).read_text()).body:
                made = _target(statement)
                fresh = made and made != name and (one.__name__, made) not in done
                if made and fresh and _uses(statement, name):
                    waiting.append((one, made, _run(statement, one)[made]))


def _uses(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement))


def _take_defaults(old: object, new: object) -> None:
    """Give a function the defaults of another; or a class those of its fields and methods, and its
    own constants."""
    old, new = _function(old), _function(new)
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
    if isinstance(old, type) and isinstance(new, type):
        for name, value in vars(new).items():
            before = vars(old).get(name)
            plain = type(value).__module__ == "builtins" and not name.startswith("__")
            if isinstance(_function(value), FunctionType):
                _take_defaults(before, value)
            elif plain and value != before:
                setattr(old, name, value)


def _function(one: object) -> object:
    """Return the function that a property, class method or decorator wraps; else the object."""
    one = one.fget if isinstance(one, property) else one
    return getattr(one, "__func__", getattr(one, "__wrapped__", one))
