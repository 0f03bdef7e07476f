"""Which repositories a call asks git about, and what of their settings a person must say yes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from atelier_desk.tools.shell.git_tools import GitDiff, GitStatus
from atelier_desk.workspace import repository
from atelier_desk.workspace.commands.judge import Judgement, Kind
from atelier_desk.workspace.processes import environment
from atelier_desk.workspace.repository import Repository

_TOOLS = frozenset({GitStatus.name, GitDiff.name})


def unknown(tool: str, judgement: Judgement | None, details: dict[str, Any], workspace: Sequence[str]) -> tuple[Repository, ...]:
    """Those in which git would find settings that are not known to be harmless, each once, in the order of the call."""
    folders = list(dict.fromkeys(_folders(tool, judgement, str(details.get("cwd") or "")))) if workspace else []
    if not folders:
        return ()
    roots = [Path(each) for each in workspace]
    git = environment.program("git", roots[0], roots[0], system=True) or environment.program("git", roots[0], roots[0])
    found = (repository.look(git, roots[0] / folder, roots) for folder in folders) if git else ()
    return tuple({each.rule: each for each in found if each.rule}.values())


def _folders(tool: str, judgement: Judgement | None, cwd: str) -> Iterator[str]:
    """The folders in which a call runs git, relative to the workspace."""
    if tool in _TOOLS:
        yield ""
    for one in judgement.commands if judgement is not None else ():
        if one.command.arguments[0].rpartition("/")[2] != "git":
            continue
        yield str(Path(cwd) / one.folder)
        if one.kind is Kind.RUNS and one.folder:
            # Where "cd" may have failed, it is the folder before.
            yield cwd
