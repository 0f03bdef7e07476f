"""No two files import each other, directly or through others: a file can be read, tested and moved with only what
is below it.

Imports inside functions and under ``TYPE_CHECKING`` count, too: a reader follows them as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "app", ROOT / "packaging", ROOT / "tests" / "helpers")


def files() -> dict[str, Path]:
    """Every module by its name."""
    found = {}
    for folder in FOLDERS:
        top = ROOT if folder.parent.name == "tests" else folder if folder.name == "app" else folder.parent
        for path in folder.rglob("*.py"):
            parts = path.relative_to(top).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Atelier's modules that a file imports. ``from package import module`` is an import of the module."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                if inner in known or module in known:
                    yield inner if inner in known else module


def cycles(graph: dict[str, set[str]]) -> list[frozenset[str]]:
    """The strongly connected parts of two modules or more (Tarjan 1972), without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[frozenset[str]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            at, following = work[-1]
            for other in following:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in stack:
                    low[at] = min(low[at], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    cut = stack.index(at)
                    if len(stack) - cut > 1:
                        found.append(frozenset(stack[cut:]))
                    del stack[cut:]
    return found


def graph_of(known: dict[str, Path]) -> dict[str, set[str]]:
    return {name: {other for other in imports(name, path, known) if other != name} for name, path in known.items()}


def test_no_two_files_import_each_other() -> None:
    known = files()
    assert len(known) > 300
    found = [sorted(circle) for circle in cycles(graph_of(known))]
    assert not found, "\n".join(" -> ".join(circle) for circle in found)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, [{"a", "b"}]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, [{"a", "b", "c"}]),
        ({"a": {"b"}, "b": {"a"}, "c": {"d", "a"}, "d": {"c"}}, [{"a", "b"}, {"c", "d"}]),
    ],
)
def test_cycles_are_found(graph: dict[str, set[str]], expected: list[set[str]]) -> None:
    assert sorted(map(sorted, cycles(graph))) == sorted(map(sorted, expected))


def test_an_indirect_cycle_is_found_in_files(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def f() -> None:\n    import two\n")
    (tmp_path / "two.py").write_text("from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from one import f\n")
    known = {"one": tmp_path / "one.py", "two": tmp_path / "two.py"}
    assert cycles(graph_of(known)) == [frozenset({"one", "two"})]
