"""Repositories in which a call uses git, and their settings that need approval."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path

from atelier_desk.tools.shell.git_tools import GitDiff, GitStatus
from atelier_desk.workspace import repository_inspection
from atelier_desk.workspace.commands.judge import Judgement, Kind
from atelier_desk.workspace.processes import command_environment
from atelier_desk.workspace.repository_inspection import Repository

TOOLS = frozenset({GitStatus.name, GitDiff.name})


def unknown(
    tool: str,
    judgement: Judgement | None,
    details: dict[str, object],
    workspace: Sequence[str],
    found: MutableMapping[tuple[str, bool], Repository],
) -> tuple[Repository, ...]:
    """Return the repositories with settings not known to be harmless, each once, in the order of the call.

    Blocks. ``found`` caches findings of this moment by folder and whether git only reads there; it is extended.
    """
    candidates = list(dict.fromkeys(_places(tool, judgement, str(details.get("cwd") or "")))) if workspace else []
    if not candidates:
        return ()
    roots = [Path(each) for each in workspace]
    git = command_environment.program("git", roots[0], roots[0], system=True) or command_environment.program(
        "git", roots[0], roots[0]
    )
    for folder, reading in candidates if git else ():
        if (folder, reading) not in found:
            found[folder, reading] = repository_inspection.inspect(git, roots[0] / folder, roots, reading=reading)
    there = (found[place] for place in candidates if place in found)
    return tuple({each.rule: each for each in there if each.rule}.values())


def _places(tool: str, judgement: Judgement | None, cwd: str) -> Iterator[tuple[str, bool]]:
    """Yield the folders in which a call runs git, relative to the workspace, and whether it only reads there."""
    if tool in TOOLS:
        yield "", True
    if judgement is None:
        return
    for one in judgement.commands:
        if one.command.arguments[0].rpartition("/")[2] != "git":
            continue
        reading = one.kind is not Kind.RUNS
        yield from ((str(Path(cwd) / folder), reading) for folder in judgement.folders(one))
        if not reading and one.folder:
            # If "cd" may have failed, it could be the previous folder.
            yield cwd, reading
