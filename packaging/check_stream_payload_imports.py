"""Allow the classes of stream payloads in the window only in its router and in the modules listed here with a reason.

    python packaging/check_stream_payload_imports.py

Fails for any other module of ``desktop`` that imports one or reads the ``payload`` of an event, and for a listed one
that no longer does. Connect to a signal of ``desktop/bridge/stream_router``, or show rows of ``presentation/rows``.
Parts of payloads that are rows themselves (``ROWS``) may be named everywhere.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "atelier_desk"
ROUTER = "desktop/bridge/stream_router.py"
LISTED: dict[str, str] = {}
"""Modules of the window that know payloads, and why."""
PAYLOADS = "atelier_desk.domain.stream.payloads"
ROWS = {"Attachment", "UsageTotals", "Waiting"}


def payloads(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that import payloads or read that of an event, with the names."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=module, names=names) if module == PAYLOADS:
                found = {each.name for each in names} - ROWS
            case ast.ImportFrom(module=module, names=names):
                found = {each.name for each in names if f"{module}.{each.name}" == PAYLOADS}
            case ast.Import(names=names):
                found = {each.name for each in names} & {PAYLOADS}
            case ast.Attribute(attr="payload"):
                found = {"payload"}
            case _:
                continue
        yield from ((node.lineno, each) for each in sorted(found))


def problems(package: Path = PACKAGE, listed: Mapping[str, str] = LISTED) -> list[str]:
    """What is wrong, a line each."""
    messages, used = [], set()
    for path in sorted((package / "desktop").rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name == ROUTER:
            continue
        for line, what in payloads(path.read_text("utf-8")):
            used.add(name)
            if name not in listed:
                messages.append(
                    f"{name}:{line}: {what}: connect to desktop/bridge/stream_router, or show rows of presentation/rows"
                )
    return messages + [
        f"{name}: it knows no payload any more: remove it from LISTED" for name in sorted(set(listed) - used)
    ]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
