"""Small changes to a source file, each of which some test should notice."""

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOTS: Final = (
    *("lifoq", "functions/lifoq_functions", "analytics/lifoq_analytics"),
    *("lifoq_localcloud", "lifoq_cdk", "stacks"),
)
"""Packages that mutants are drawn from."""

COMPARED_AS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
RECKONED_AS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.BitOr: "&",
    ast.BitAnd: "|",
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One place of one file, written differently."""

    path: str
    line: int
    was: str
    becomes: str
    start: int
    """Where ``was`` begins in the file's text, in characters."""
    rule: str | None = None
    """The promise that it breaks, for a mutant made by hand."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {_one_line(self.was)} → {_one_line(self.becomes)}"

    def applied(self, text: str) -> str:
        return text[: self.start] + self.becomes + text[self.start + len(self.was) :]


def draw(root: Path, *, number: int, seed: int) -> list[Mutant]:
    """Draw this many mutants, each place of the three packages being as likely as any other."""
    everywhere = [
        mutant
        for folder in ROOTS
        for path in sorted((root / folder).rglob("*.py"))
        if "testing" not in path.parts
        for mutant in mutants_of(path.read_text(), str(path.relative_to(root)))
    ]
    return random.Random(seed).sample(everywhere, number)


def mutants_of(text: str, path: str) -> Iterator[Mutant]:
    """All that can be made of a file. Annotations and docstrings are left as they are."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def at(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def mutant(node: ast.expr | ast.stmt, becomes: str) -> Mutant:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
        return Mutant(
            path=path, line=node.lineno, was=text[start:end], becomes=becomes, start=start
        )

    for node in _code(ast.parse(text)):
        yield from (mutant(part, becomes) for part, becomes in _changes(node))


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the code that runs: no annotation or text, and no part of a class's declaration."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "type_params"}:
            continue
        if isinstance(node, ast.ClassDef) and field in {"decorator_list", "keywords"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_passed_over(child):
                yield child
                yield from _code(child)


def _is_passed_over(node: ast.AST) -> bool:
    """Return True for code without effect, or of words alone."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger"))):
            return True
        case ast.ClassDef(bases=[ast.Name("Protocol")]):
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Compare(left=ast.Name("__name__"))):
            return True
        case ast.keyword(arg="strict" | "daemon") | ast.keyword(value=ast.JoinedStr()):
            return True
    return isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert)


def _changes(  # noqa: C901, PLR0912  (a list, not branches)
    node: ast.AST,
) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    match node:
        case ast.Compare(ops=[operator], left=left, comparators=[right]):
            if type(operator) in COMPARED_AS:
                sign = COMPARED_AS[type(operator)]
                yield node, f"(({ast.unparse(left)}) {sign} ({ast.unparse(right)}))"
        case ast.BoolOp(op=operator, values=values):
            sign = " and " if isinstance(operator, ast.Or) else " or "
            yield node, "(" + sign.join(f"({ast.unparse(value)})" for value in values) + ")"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool({ast.unparse(operand)})"
        case ast.BinOp(op=operator, left=left, right=right) if type(operator) in RECKONED_AS:
            sign = RECKONED_AS[type(operator)]
            yield node, f"(({ast.unparse(left)}) {sign} ({ast.unparse(right)}))"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1 if value < 5 else value * 2 + 1)
        case ast.Constant(value=float(value)):
            yield node, repr(value * 2 + 1)
        case ast.IfExp(test=test):
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.If(test=test) | ast.While(test=test):
            yield test, "False"
            if isinstance(node, ast.If):
                yield test, "True"
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.Await() as value):
            if not _is_passed_over(value):
                yield node, "pass"
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) not in ("None", "False"):
            yield node, "return None"
        case ast.Call(keywords=[*_, ast.keyword(arg=str(), value=value)]):
            if not any(isinstance(part, ast.JoinedStr | ast.Constant) for part in ast.walk(value)):
                yield value, "None"


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:57]}…"
