"""Refuse functions that only forward their parameters, and protocols that a single class implements.

    python packaging/check_forwarding_and_protocols.py

Callers use the object that does the work. A ``Protocol`` describes what a lower package needs of a higher one, or
what several classes share; a single class in the same package is named directly. Exceptions are listed here with
their reasons; an entry that matches nothing is an error.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "atelier_desk"
ALLOWED = {
    "engine/services/mcp.py:McpService.sign_in": "the counterpart of sign_out, which does more",
    "engine/services/own_tools.py:OwnToolService.aclose": "every service is closed by a method of this name",
    "engine/services/projects.py:ProjectService.aclose": "every service is closed by a method of this name",
    "engine/services/projects.py:ProjectService.stop": "a protocol in tools/registry/tool_services.py",
    "tools/teams/team_tool_base.py:preview": "defines the length of a preview",
}
"""Functions by module and name, and why they are allowed."""
READS = ("engine/services/", ("self._context.repos.", "self._repo."))
"""Reads of stored rows by a service: a repository also writes, so the window has no access to one, and the service
defines what may be read.
"""
REMAINING = {
    "cli": 2,
    "desktop": 36,
    "domain": 3,
    "knowledge": 1,
    "llm": 13,
    "mcp": 2,
    "storage": 3,
    "web": 1,
}
"""By package that was not cleaned up yet, the number of forwarding functions; the numbers only go down."""
_CONTEXT = "services reach each other through the context, which all of them import"
PROTOCOLS = {
    "desktop/widgets/scrim.py:InFront": "the question dialog and the message box inherit most of its methods from Qt",
    "mcp/listing.py:ListResult": "implemented by several classes of the SDK",
    "desktop/chat/transcript/transcript_host.py:MessageMenu": "messages and the builder of their menus need each other",
    "desktop/system/notification.py:Notifier": "tests have another implementation",
    "domain/clock.py:Clock": "tests have another implementation",
    "engine/services/common/service_context.py:McpAccess": _CONTEXT,
    "engine/services/common/service_context.py:MemoryVectors": _CONTEXT,
    "engine/services/common/service_context.py:ProjectVectors": _CONTEXT,
    "engine/services/common/service_context.py:ProviderAccess": _CONTEXT,
    "engine/services/common/service_context.py:RuleAccess": _CONTEXT,
    "engine/services/common/service_context.py:ServiceContext": "the open engine has the services, which need it",
    "engine/services/common/mcp_sign_in.py:Servers": ("the MCP service has the sign-ins, which connect its servers"),
    "engine/team/team_interface.py:TeamPort": "drivers know the team, and the team starts drivers",
    "storage/damaged_row_search.py:Store": "the store has the integrity check, which reads the store",
    "storage/writing/writer.py:CommitCounter": "the store passes the counter to the writer",
    "workspace/documents/xml_archive.py:Element": "lxml has no types",
}
"""Protocols by module and name, and why they are allowed: most prevent two files from importing each other."""
_BUILTIN = {*dir(dict), *dir(list), *dir(set), *dir(str), "close", "is_set", "set"}
"""Methods of containers, texts, events and streams that a class or module uses internally."""


class Function(NamedTuple):
    """A function that only forwards its parameters."""

    module: str
    line: int
    name: str
    to: str


def functions(module: str, source: str) -> Iterator[Function]:
    """The forwarding functions of a module. Nested functions, decorated ones and special methods do not count:
    others call them by contract.
    """
    tree = ast.parse(source)
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(("", node, False))
        elif isinstance(node, ast.ClassDef):
            found += [
                (f"{node.name}.", each, True)
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
    for owner, function, method in found:
        if (
            not function.decorator_list
            and not function.name.startswith("__")
            and (to := forward_target(function, method=method))
        ):
            yield Function(module, function.lineno, owner + function.name, to)


def forward_target(function: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> str:
    """What receives the parameters unchanged when a function does nothing else; empty otherwise."""
    body = [each for each in function.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return ""
    value = body[0].value
    if isinstance(function, ast.AsyncFunctionDef):
        # An async function that awaits nothing adapts a plain function for callers that need an awaitable.
        value = value.value if isinstance(value, ast.Await) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute | ast.Name):
        return ""
    target = ast.unparse(value.func)
    owner, _dot, called = target.removeprefix("self.").rpartition(".")
    if owner.startswith("_") and "." not in owner and called in _BUILTIN:
        return ""
    parameters = function.args
    expected = [each.arg for each in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)][method:]
    passed = [ast.unparse(each) for each in value.args] + [
        ast.unparse(each.value) for each in value.keywords if each.arg
    ]
    named = all(each.arg is None or each.arg == ast.unparse(each.value) for each in value.keywords)
    expected += [f"*{parameters.vararg.arg}"] if parameters.vararg else []
    rest = [ast.unparse(each.value) for each in value.keywords if each.arg is None]
    # a name for one use of a method that has several
    own = target.startswith("self.") and target.count(".") == 1 and bool(value.keywords)
    if not method and not expected:
        return ""
    return (
        target
        if named
        and not own
        and sorted(passed) == sorted(expected)
        and rest == ([parameters.kwarg.arg] if parameters.kwarg else [])
        else ""
    )


class Class(NamedTuple):
    """A class: its package and module, its methods and attributes, and its bases."""

    module: str
    line: int
    has: frozenset[str]
    bases: tuple[str, ...]


def classes(package: Path) -> dict[str, list[Class]]:
    """All classes by name."""
    found: dict[str, list[Class]] = {}
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                has = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
                has |= {
                    each.target.id
                    for each in node.body
                    if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
                }
                for each in ast.walk(node):
                    if (
                        isinstance(each, ast.Attribute)
                        and isinstance(each.ctx, ast.Store)
                        and ast.unparse(each.value) == "self"
                    ):
                        has.add(each.attr)
                bases = tuple(ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
                found.setdefault(node.name, []).append(
                    Class(path.relative_to(package).as_posix(), node.lineno, frozenset(has), bases)
                )
    return found


def single_class_protocols(known: Mapping[str, list[Class]]) -> Iterator[tuple[str, Class]]:
    """The protocols that at most one class implements, not counting classes of other packages."""

    def has(name: str, above: tuple[str, ...] = ()) -> frozenset[str]:
        own = frozenset().union(*(each.has for each in known[name]))
        bases = {
            base for each in known[name] for base in each.bases if base in known and base != name and base not in above
        }
        return own.union(*(has(base, (*above, name)) for base in bases))

    every = {name: has(name) for name in known}
    for name, candidates in known.items():
        for one in candidates:
            if "Protocol" not in one.bases or every[name] <= {"__call__"}:
                continue
            having = [
                each
                for other, each_of in known.items()
                if every[name] <= every[other]
                for each in each_of
                if "Protocol" not in each.bases
            ]
            package = one.module.partition("/")[0]
            if len(having) <= 1 and all(each.module.partition("/")[0] == package for each in having):
                yield name, one


def problems(package: Path = PACKAGE) -> list[str]:
    """What is wrong, a line each."""
    messages, forwarding, protocols = [], set(), set()
    others = dict.fromkeys(REMAINING, 0)
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package).as_posix()
        package_name = module.partition("/")[0]
        for one in functions(module, path.read_text("utf-8")):
            where, what = READS
            forwarding.add(f"{module}:{one.name}")
            if f"{module}:{one.name}" in ALLOWED:
                continue
            if package_name in others:
                others[package_name] += 1
            elif not (module.startswith(where) and one.to.startswith(what)):
                messages.append(f"{module}:{one.line}: {one.name} only forwards to {one.to}: let callers use that")
    for name, protocol in single_class_protocols(classes(package)):
        protocols.add(f"{protocol.module}:{name}")
        if f"{protocol.module}:{name}" not in PROTOCOLS:
            messages.append(
                f"{protocol.module}:{protocol.line}: {name} is implemented by one class of its package at most: use "
                f"that class"
            )
    for package_name, count in others.items():
        if count != REMAINING[package_name]:
            advice = (
                "lower the number in REMAINING"
                if count < REMAINING[package_name]
                else "let callers use what the new one forwards to"
            )
            messages.append(
                f"{package_name}: {count} functions that only forward, not {REMAINING[package_name]}: {advice}"
            )
    unneeded = [*sorted(ALLOWED.keys() - forwarding), *sorted(PROTOCOLS.keys() - protocols)]
    return messages + [f"{each}: it matches nothing any more: remove it from the list" for each in unneeded]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
