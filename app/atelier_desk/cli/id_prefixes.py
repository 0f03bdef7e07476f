"""Shortened ids on the command line: any beginning that only one thing has."""

from __future__ import annotations

import argparse
import re
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.storage.repositories.base_repository import Repository

BEGINNING = re.compile(r"[0-9a-f]{4,31}")
"""A possible beginning of an id (``domain.base_model.new_id``)."""
SHOWN = 5


def add_id(parser: argparse._ActionsContainer, name: str, of: str, **options: object) -> None:
    """Add an argument that takes an id or its beginning.

    ``of`` is ``workflow``, ``memory``, ``deleted memory``, ``question`` or ``approval``.
    """
    options.setdefault("metavar", "ID")
    action = parser.add_argument(name, **options)  # type: ignore[arg-type]
    action.id_of = of  # type: ignore[attr-defined]


def ids_of(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Kinds of ids a parser's arguments take, by the argument's name in the namespace."""
    return {action.dest: action.id_of for action in parser._actions if hasattr(action, "id_of")}


async def complete_ids(atelier: Atelier, arguments: Namespace) -> None:
    """Replace shortened ids with complete ones; an id without a match stays as it is.

    Raises:
        UsageError: several things match; the error names some of them.
    """
    repositories: dict[str, Repository[Any]] = {
        "workflow": atelier.repos.workflows,
        "memory": atelier.repos.memories,
        "deleted memory": atelier.repos.memory_bin,
        "question": atelier.repos.questions,
        "approval": atelier.repos.approvals,
    }
    for name, of in getattr(arguments, "ids", {}).items():
        given = getattr(arguments, name, None)
        if isinstance(given, list):
            setattr(arguments, name, [await _completed(repositories[of], each) for each in given])
        elif isinstance(given, str):
            setattr(arguments, name, await _completed(repositories[of], given))


async def _completed(repository: Repository[Any], given: str) -> str:
    if not BEGINNING.fullmatch(given.lower()):
        return given
    found = await repository.beginning_with(given.lower(), limit=SHOWN + 1)
    if len(found) > 1:
        names = ", ".join(found[:SHOWN]) + (" …" if len(found) > SHOWN else "")
        raise UsageError(N_("{text} matches several ids: {names}. Type more characters."), text=given, names=names)
    return found[0] if found else given
