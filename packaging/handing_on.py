"""Functions that only hand on their parameters, and protocols that one class alone implements: neither is to be
written.

    python packaging/handing_on.py

A caller reaches the part that does the work itself. A ``Protocol`` is for what a lower room needs of a higher one, or
for several classes; with one class in its own room, that class is named. What is listed here stands with its reason,
and goes from the list with what it names.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "atelier_desk"
HANDING = {
    "engine/gateways/direct_call.py:DirectCallGateway.learned": "a gateway around another, which has all that one has",
    "engine/services/mcp.py:McpService.sign_in": "stands with sign_out, which announces what it did",
    "engine/services/own_tools.py:OwnToolService.aclose": "every service ends by a method of this name",
    "engine/services/projects.py:ProjectService.aclose": "every service ends by a method of this name",
    "engine/services/projects.py:ProjectService.stop": "tools know the projects as tools/registry/services.py says",
    "tools/teams/base.py:preview": "says how long a preview is",
}
"""Functions by module and name, and why they stay."""
READING = ("engine/services/", ("self._context.repos.", "self._repo."))
"""What a service tells of stored rows: a repository writes as well, so the window reaches none, and a service says what
may be read.
"""
OTHERS = {
    "cli": 3,
    "desktop": 46,
    "domain": 3,
    "knowledge": 3,
    "llm": 15,
    "mcp": 2,
    "policy": 2,
    "storage": 10,
    "web": 1,
}
"""By room that was not gone through yet, how many there are; the numbers only go down."""
_CONTEXT = "services reach each other through the context, which all of them import"
PROTOCOLS = {
    "desktop/widgets/scrim.py:InFront": "the question dialog and the message box, which have most of it from Qt",
    "mcp/listing.py:ListResult": "the SDK's pages, of several kinds",
    "desktop/chat/transcript/host.py:MessageMenu": "messages know what makes their menus, which knows the messages",
    "desktop/system/notification.py:Notifier": "tests have another",
    "domain/clock.py:Clock": "tests have another",
    "engine/maintenance/doctor.py:Opened": "an open engine has the check-up, which looks at it",
    "engine/services/common/context.py:McpAccess": _CONTEXT,
    "engine/services/common/context.py:MemoryVectors": _CONTEXT,
    "engine/services/common/context.py:ProjectVectors": _CONTEXT,
    "engine/services/common/context.py:ProviderAccess": _CONTEXT,
    "engine/services/common/context.py:RuleAccess": _CONTEXT,
    "engine/services/common/context.py:ServiceContext": "the open engine has the services, which get it",
    "engine/services/common/mcp_sign_in.py:Servers": (
        "the service of servers has the sign-ins, which connect its servers"
    ),
    "engine/team/team_port.py:TeamPort": "drivers know the team, and the team sets drivers going",
    "storage/integrity.py:Store": "the store has its check, which reads the store",
    "storage/writing/writer.py:CommitCounter": "the writer counts its commits where the store says",
}
"""Protocols by module and name, and why they stay: most keep two files from importing each other."""
_BUILTIN = {*dir(dict), *dir(list), *dir(set), *dir(str), "close", "is_set", "set"}
"""Methods of what a class or module keeps for itself: a container, a text, an event, a stream."""


class Function(NamedTuple):
    """A function that only hands on its parameters."""

    module: str
    line: int
    name: str
    to: str


def functions(module: str, source: str) -> Iterator[Function]:
    """Those of a module. Functions inside others, those that a decorator hands to somebody, and special methods are
    what others call.
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
            and (to := handed_to(function, method=method))
        ):
            yield Function(module, function.lineno, owner + function.name, to)


def handed_to(function: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> str:
    """What gets the parameters of a function as they are, when nothing else is done; empty when something is."""
    body = [each for each in function.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return ""
    value = body[0].value
    if isinstance(function, ast.AsyncFunctionDef):
        # One that awaits nothing makes a plain function known to those who can only await.
        value = value.value if isinstance(value, ast.Await) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute | ast.Name):
        return ""
    target = ast.unparse(value.func)
    owner, _dot, called = target.removeprefix("self.").rpartition(".")
    if owner.startswith("_") and "." not in owner and called in _BUILTIN:
        return ""
    said = function.args
    wanted = [each.arg for each in (*said.posonlyargs, *said.args, *said.kwonlyargs)][method:]
    given = [ast.unparse(each) for each in value.args] + [
        ast.unparse(each.value) for each in value.keywords if each.arg
    ]
    named = all(each.arg is None or each.arg == ast.unparse(each.value) for each in value.keywords)
    wanted += [f"*{said.vararg.arg}"] if said.vararg else []
    rest = [ast.unparse(each.value) for each in value.keywords if each.arg is None]
    # a name for one use of a method of several
    own = target.startswith("self.") and target.count(".") == 1 and bool(value.keywords)
    if not method and not wanted:
        return ""
    return (
        target
        if named and not own and sorted(given) == sorted(wanted) and rest == ([said.kwarg.arg] if said.kwarg else [])
        else ""
    )


class Class(NamedTuple):
    """A class: its room and module, what it has, and its bases."""

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


def lonely(known: Mapping[str, list[Class]]) -> Iterator[tuple[str, Class]]:
    """The protocols that at most one class has the methods of, none of them in another room."""

    def has(name: str, above: tuple[str, ...] = ()) -> frozenset[str]:
        own = frozenset().union(*(each.has for each in known[name]))
        bases = {
            base for each in known[name] for base in each.bases if base in known and base != name and base not in above
        }
        return own.union(*(has(base, (*above, name)) for base in bases))

    every = {name: has(name) for name in known}
    for name, places in known.items():
        for one in places:
            if "Protocol" not in one.bases or every[name] <= {"__call__"}:
                continue
            having = [
                each
                for other, each_of in known.items()
                if every[name] <= every[other]
                for each in each_of
                if "Protocol" not in each.bases
            ]
            room = one.module.partition("/")[0]
            if len(having) <= 1 and all(each.module.partition("/")[0] == room for each in having):
                yield name, one


def problems(package: Path = PACKAGE) -> list[str]:
    """What is wrong, a line each."""
    said, handing, protocols = [], set(), set()
    others = dict.fromkeys(OTHERS, 0)
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package).as_posix()
        room = module.partition("/")[0]
        for one in functions(module, path.read_text("utf-8")):
            where, what = READING
            handing.add(f"{module}:{one.name}")
            if room in others:
                others[room] += 1
            elif f"{module}:{one.name}" not in HANDING and not (module.startswith(where) and one.to.startswith(what)):
                said.append(f"{module}:{one.line}: {one.name} only hands on to {one.to}: let callers reach that")
    for name, protocol in lonely(classes(package)):
        protocols.add(f"{protocol.module}:{name}")
        if f"{protocol.module}:{name}" not in PROTOCOLS:
            said.append(
                f"{protocol.module}:{protocol.line}: {name} is implemented by one class of its room at most: name "
                f"that class"
            )
    for room, count in others.items():
        if count != OTHERS[room]:
            advice = (
                "lower the number in OTHERS"
                if count < OTHERS[room]
                else "let callers reach what the new one hands on to"
            )
            said.append(f"{room}: {count} functions only hand on their parameters, not {OTHERS[room]}: {advice}")
    gone = [*sorted(HANDING.keys() - handing), *sorted(PROTOCOLS.keys() - protocols)]
    return said + [f"{each}: it is no longer so: take it off the list" for each in gone]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
