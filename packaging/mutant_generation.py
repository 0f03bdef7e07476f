"""Make mutants of a Python source: copies with one small change each, like a typing mistake.

Left unchanged: docstrings, annotations, imports, assertions, log calls, ``__repr__``, texts for people, code for
other systems.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEED = "atelier"
SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
LEFT_ALONE = {"_", "N_", "ngettext", "getattr", "Literal", "dataclass", "field", "TypeVar", "Callable", "lru_cache"}
"""Calls and subscripts that are left unchanged: texts for people, optional system features, types, data classes,
caches.
"""


@dataclass(frozen=True)
class Mutant:
    """A changed source. ``name`` says where and what, and stays the same when lines move."""

    name: str
    line: int
    source: str


def mutants_of(file: Path) -> list[Mutant]:
    """All mutants of a file, ordered by a hash, so that code added elsewhere does not change the order."""
    made = _Mutator(file.name, file.read_text("utf-8")).mutants()
    return sorted(made, key=lambda each: hashlib.sha256(f"{SEED}{each.name}".encode()).digest())


class _Mutator:
    """Makes each mutant by one edit of the tree, which is then reverted."""

    def __init__(self, name: str, source: str) -> None:
        self._file = name
        self._tree = ast.parse(source)
        self._seen: dict[str, int] = {}

    def mutants(self) -> Iterator[Mutant]:
        yield from self._below(self._tree, "")

    def _below(self, node: ast.AST, scope: str) -> Iterator[Mutant]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "type_params") or (field == "body" and _other_system(node)):
                continue
            children = value if isinstance(value, list) else [value]
            for index, child in enumerate(children):
                if not isinstance(child, ast.AST) or _skipped(child):
                    continue
                named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                below = f"{scope}.{child.name}".strip(".") if named else scope  # type: ignore[attr-defined]
                place = value if isinstance(value, list) else node
                for before, after, new in _changes(child, node, field):
                    yield self._edited(place, index if isinstance(value, list) else field, new, (below, before, after))
                yield from self._below(child, below)

    def _edited(self, node: Any, key: int | str, new: ast.AST | None, label: tuple[str, str, str]) -> Mutant:
        old = node[key] if isinstance(key, int) else getattr(node, key)
        name = f"{self._file} {label[0] or 'module'}: `{_short(label[1])}` → `{_short(label[2])}`"
        self._seen[name] = number = self._seen.get(name, 0) + 1
        _put(node, key, new)
        source = ast.unparse(ast.fix_missing_locations(self._tree))
        _put(node, key, old) if new is not None else node.insert(key, old)
        line = getattr(old, "lineno", None) or getattr(getattr(old, "value", None), "lineno", 0)
        return Mutant(name if number == 1 else f"{name} ({number})", line, source)


def _put(place: Any, key: int | str, new: ast.AST | None) -> None:
    if isinstance(key, str):
        setattr(place, key, new)
    else:
        place[key : key + 1] = [] if new is None else [new]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 36 else f"{text[:24]}…{text[-11:]}"


def _other_system(node: ast.AST) -> bool:
    """Whether the body is for a system on which these tests do not run."""
    return (
        isinstance(node, ast.If)
        and "sys.platform" in ast.unparse(node.test)
        and "== 'linux'" not in ast.unparse(node.test)
    )


def _skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.FunctionDef | ast.Raise) and (
        getattr(node, "name", "") == "__repr__" or "AssertionError" in ast.unparse(node)[:30]
    ):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or re.match(r"_?log\.", ast.unparse(node)) is not None
    if isinstance(node, ast.Compare):
        return "sys.platform" in ast.unparse(node)
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in ("__all__", "log", "_log")
    named = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else None
    return isinstance(named, ast.Name) and named.id in LEFT_ALONE


def _changes(node: Any, parent: ast.AST, field: str) -> Iterator[tuple[str, str, ast.AST | None]]:
    """The mutants of one node: the old and the new text, and the replacement node (None removes it)."""

    def to(new: ast.AST) -> tuple[str, str, ast.AST]:
        return ast.unparse(node), ast.unparse(ast.fix_missing_locations(new)), new

    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            operators = [*node.ops[:at], SWAPPED[type(operator)](), *node.ops[at + 1 :]]
            yield to(ast.Compare(node.left, operators, node.comparators))
    elif isinstance(node, ast.BoolOp):
        yield to(ast.BoolOp(SWAPPED[type(node.op)](), node.values))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield to(node.left)
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield to(ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield to(node.operand)
    elif isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield to(ast.Constant(not value))
        elif isinstance(value, int | float):
            yield to(ast.Constant(value + 1))
            if value:
                yield to(ast.Constant(value - 1))
        elif isinstance(value, str) and value and " " not in value:  # a text with a space is shown to people
            yield to(ast.Constant(f"{value}x"))
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) not in ("None", "False"):
        yield to(ast.Return(ast.Constant(None)))
    elif isinstance(node, ast.Raise | ast.Continue | ast.Break | ast.AugAssign | ast.Delete | ast.Return) or _acts(
        node
    ):
        yield to(ast.Pass())
    elif isinstance(node, ast.With | ast.AsyncWith) and not any(item.optional_vars for item in node.items):
        head = ", ".join(ast.unparse(item.context_expr) for item in node.items)
        yield f"with {head}", "if True", ast.If(ast.Constant(True), node.body, [])
    elif isinstance(node, ast.keyword) and node.arg and isinstance(parent, ast.Call):
        yield f"{ast.unparse(parent.func)}({ast.unparse(node)})", f"{ast.unparse(parent.func)}()", None
    if field == "test" and isinstance(parent, ast.If | ast.IfExp) and not isinstance(node, ast.Compare | ast.UnaryOp):
        yield to(ast.UnaryOp(ast.Not(), node))
    elif field == "ifs":
        yield to(ast.Constant(True))
    elif field == "decorator_list":
        yield f"@{ast.unparse(node)}", "", None


def _acts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
