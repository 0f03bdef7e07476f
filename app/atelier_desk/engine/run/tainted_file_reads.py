# ruff: noqa: PTH111, PTH112, PTH118
"""Whether a call, or the start of a turn, reads a file that a run wrote after reading outside content
(``TaintMarks``)."""

from __future__ import annotations

import asyncio
import os
import posixpath
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from atelier_desk.domain.folder_instructions import FolderInstructions
from atelier_desk.domain.skill import SkillFacts
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Effect, Tool, ToolContext
from atelier_desk.tools.registry.access_groups import CHECKED_LATER, NAMES_ONLY, WORKSPACE_WIDE
from atelier_desk.tools.registry.mcp_tool import McpTool
from atelier_desk.tools.user_tools.user_tool import FileTool
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMarks
from atelier_desk.workspace.commands.judge import JudgedCommand, Judgement, Kind

_SECTION_CHECKED_LATER = "project_ops"
_PROGRAMS_OF_NAMES = frozenset(
    {
        "basename", "cd", "date", "df", "dirname", "du", "echo", "false", "find", "id", "ls", "mkdir", "nproc",
        "printf", "pwd", "readlink",
        "realpath", "rm", "rmdir", "seq", "stat", "touch", "tree", "true", "tty", "uname", "wc", "which", "whoami",
    }
)  # fmt: skip
"""Programs whose output contains only names and numbers, and which write nothing from another file."""
_GIT_OF_NAMES = frozenset(
    {"branch", "describe", "ls-files", "ls-tree", "remote", "rev-parse", "status", "tag", "version"}
)
_SEARCH_HERE = frozenset({"rg", "grep", "egrep", "fgrep"})
"""Programs that search the working folder if no file is named."""
_IMPORT = re.compile(r"@([\w.\-/]*[\w\-])")


def read_by_call(
    marks: TaintMarks, tool: str, section: str, described: Call, judgement: Judgement | None, workspace: Sequence[str]
) -> str:
    """Return the first source of a marked file that a call reads; empty for none.

    Programs outside the table of commands may read the whole workspace, as may unparsable lines.
    """
    if not marks or not workspace:
        return ""
    paths = [_absolute(path, workspace[0]) for path in described.subjects.paths]
    if tool in WORKSPACE_WIDE or (described.subjects.command and judgement is None):
        found = _below(marks, workspace)
    elif judgement is not None:
        found = _by_commands(marks, judgement, paths, workspace)
    elif tool in NAMES_ONLY:
        found = ()
    elif tool in CHECKED_LATER or section == _SECTION_CHECKED_LATER:
        found = next(filter(None, (marks.of(path) for path in paths if not os.path.isdir(path))), ())
    else:
        found = _below(marks, paths)
    return next(iter(found), "")


def read_at_start(
    marks: TaintMarks, instructions: Iterable[FolderInstructions], skills: Iterable[SkillFacts]
) -> tuple[str, ...]:
    """Return the sources for a turn's prompt: instructions of folders, and the skill catalogue. Blocks."""
    if not marks:
        return ()
    found: list[str] = []
    for each in instructions:
        found += marks.of(os.path.join(each.folder, each.path))
        if posixpath.basename(each.path) == "CLAUDE.md" and (imported := _IMPORT.findall(each.text)):
            found += marks.below(each.folder, {posixpath.basename(name) for name in imported})
    for skill in skills:
        found += marks.of(os.path.join(skill.folder, "SKILL.md"))
    return tuple(dict.fromkeys(found))


@asynccontextmanager
async def marking(marks: TaintMarks | None, tool: Tool, context: ToolContext) -> AsyncIterator[None]:
    """Enclose a call of a program that writes files itself (a local MCP server or an own tool) and mark what it writes.

    Applies to granted folders of runs that had read outside content. Atelier's own tools mark by themselves.
    """
    by_itself = (
        tool.is_program if isinstance(tool, McpTool) else isinstance(tool, FileTool) and tool.effect is not Effect.READ
    )
    if marks is None or not by_itself or not context.tainted or not context.roots:
        yield
        return
    command = await in_tool_thread(partial(marks.begin, context.roots, context.tainted, whole=False))
    try:
        yield
    finally:
        await asyncio.shield(in_tool_thread(marks.end, command))


def _by_commands(
    marks: TaintMarks, judgement: Judgement, paths: Sequence[str], workspace: Sequence[str]
) -> tuple[str, ...]:
    if judgement.line is None:
        return _below(marks, workspace)
    if len(judgement.files) != len(paths):
        return _below(marks, workspace)
    named = dict(zip(judgement.files, paths, strict=True))
    for index, one in enumerate(judgement.commands):
        name = one.command.arguments[0].rpartition("/")[2]
        if one.kind is not Kind.RUNS and (name in _PROGRAMS_OF_NAMES or (name == "git" and _of_names(one))):
            files = one.redirected  # appending keeps the present content
        elif one.kind is Kind.RUNS or name == "git" or _searches_here(judgement, index):
            return _below(marks, workspace)
        else:
            files = (*one.reads, *one.writes)
        for file in files:
            path = named[file] if not file.globs else posixpath.dirname(named[file][: _first_glob(named[file])])
            if found := marks.below(path):
                return found
    return ()


def _searches_here(judgement: Judgement, place: int) -> bool:
    """Whether a command searches its working folder, because it names no file and has no piped input."""
    one = judgement.commands[place]
    name, *words = one.command.arguments
    if one.reads or judgement.line is None:
        return False
    piped = (
        place > 0
        and judgement.line.operators[place - 1].startswith("|")
        and judgement.line.operators[place - 1] != "||"
    )
    deep = any(word == "--recursive" or (word[:1] == "-" != word[1:2] and {*word} & {*"rR"}) for word in words)
    return name.rpartition("/")[2] in _SEARCH_HERE and (deep or (name.endswith("rg") and not piped))


def _of_names(one: JudgedCommand) -> bool:
    words = one.command.arguments[1:]
    operand = next((word for word in words if not word.startswith("-")), "")
    shows = operand == "status" and any(
        word == "--verbose" or (word[:1] == "-" != word[1:2] and "v" in word) for word in words
    )
    return operand in _GIT_OF_NAMES and not shows


def _first_glob(path: str) -> int:
    return min((index for mark in "*?[" if (index := path.find(mark)) >= 0), default=len(path))


def _below(marks: TaintMarks, paths: Iterable[str]) -> tuple[str, ...]:
    return next(filter(None, map(marks.below, paths)), ())


def _absolute(path: str, start: str) -> str:
    return os.path.join(start, os.path.expanduser(path))
