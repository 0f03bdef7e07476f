"""Import the rules of other programs line by line: the resulting rules, or why there is none.

Supported: ``.claude/settings.json`` and ``settings.local.json`` (``permissions`` with ``allow``, ``ask`` and ``deny``),
and ``opencode.json`` (``permission``, where the last matching rule wins).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from atelier_desk.domain import jsonc
from atelier_desk.domain.call_presentation_and_subjects import CallText
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.permissions import rule_pattern, word_patterns
from atelier_desk.support.i18n import N_

LINES = 5_000
"""Maximum rules read from one file."""

_WRITES = ("write_file", "edit_file", "delete_path", "move_file", "copy_file", "create_directory")
_READS = ("read_file", "search_files", "get_file_info", "copy_file")
_TOOLS = {
    "Bash": ("run_command",), "Shell": ("run_command",), "Read": ("read_file",), "Write": ("write_file",),
    "Edit": ("edit_file", "write_file"),
    "MultiEdit": ("edit_file",), "NotebookEdit": ("edit_file",), "Glob": ("glob_files",), "Grep": ("search_files",),
    "LS": ("list_directory",),
    "WebFetch": ("fetch_web_page",), "WebSearch": ("search_web",), "Task": ("SpawnAgentTool",),
    "Agent": ("SpawnAgentTool",),
    "TodoWrite": ("TodoTool",), "AskUserQuestion": ("UserQuestionTool",), "Skill": ("activate_skill",),
}  # fmt: skip
_STRICT = {"Read": _READS, "Edit": _WRITES, "Write": _WRITES}
"""Rules that forbid reading or writing a file there forbid it for all tools here."""

_OPENCODE = {
    "bash": "Bash", "edit": "Edit", "read": "Read", "glob": "Glob", "grep": "Grep", "list": "LS",
    "webfetch": "WebFetch",
    "websearch": "WebSearch", "task": "Task", "skill": "Skill", "todowrite": "TodoWrite",
}  # fmt: skip


_COPILOT: dict[str, tuple[str, ...]] = {
    "search": ("Grep", "Glob", "LS"), "codebase": ("Grep", "Glob"), "usages": ("Grep",), "textsearch": ("Grep",),
    "grep_search": ("Grep",),
    "filesearch": ("Glob",), "file_search": ("Glob",), "findfiles": ("Glob",), "findtestfiles": ("Glob",),
    "listdirectory": ("LS",),
    "list_dir": ("LS",), "readfile": ("Read",), "notebookread": ("Read",), "editfiles": ("Edit",),
    "editnotebook": ("Edit",),
    "insert_edit_into_file": ("Edit",), "replace_string_in_file": ("Edit",), "multi_replace_string_in_file": ("Edit",),
    "apply_patch": ("Edit",), "createfile": ("Write",), "create_file": ("Write",), "new": ("Write",),
    "execute": ("Bash",), "runcommands": ("Bash",), "runcommand": ("Bash",), "runinterminal": ("Bash",),
    "run_in_terminal": ("Bash",),
    "terminal": ("Bash",), "powershell": ("Bash",), "runtasks": ("Bash",), "runtask": ("Bash",),
    "createandruntask": ("Bash",),
    "runtests": ("Bash",), "getterminaloutput": ("Bash",), "web": ("WebFetch", "WebSearch"), "fetch": ("WebFetch",),
    "fetch_webpage": ("WebFetch",), "todo": ("TodoWrite",), "todos": ("TodoWrite",), "manage_todo_list": ("TodoWrite",),
    "runsubagent": ("Agent",), "custom-agent": ("Agent",), "askquestions": ("AskUserQuestion",),
}  # fmt: skip
"""Tools and tool sets of Copilot's agents in VS Code and on GitHub, in older and newer spelling."""
_COPILOT_SETS = frozenset(
    {"search", "edit", "read", "execute", "runcommands", "runtasks", "web", "todo", "agent", "vscode", "new"}
)
"""Prefixes before a slash that are not MCP servers."""


def agent_tools_for(name: str) -> tuple[str, ...]:
    """Like ``tools_for``, including Copilot names that occur in agent files but not in rules.

    ``search``, ``edit/editFiles``.
    """
    of, slash, own = name.casefold().rpartition("/")
    if slash and of not in _COPILOT_SETS:
        return ()
    known = _COPILOT.get(own)
    found = (
        tools_for(name if not slash else own) if known is None else (tool for each in known for tool in tools_for(each))
    )
    return tuple(dict.fromkeys(found))


def tools_for(name: str) -> tuple[str, ...]:
    """Return our equivalents of another program's tool (Claude Code or opencode spelling); empty if unknown."""
    spelled = _OPENCODE.get(name.casefold(), name)
    known = {each.casefold(): tools for each, tools in _TOOLS.items()}
    return _TOOLS.get(spelled) or known.get(spelled.casefold(), ())


@dataclass(frozen=True, slots=True)
class Line:
    """One rule of the file as written, the resulting rule, or why there is none, or why it never matches."""

    source: str
    rules: tuple[PermissionRule, ...] = ()
    problem: CallText | None = None
    warning: CallText | None = None


def read(text: str) -> tuple[Line, ...]:
    """Return every rule of a file; ``UsageError`` if it contains none. Stores nothing."""
    try:
        whole = jsonc.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(N_("The file is not JSON: {error}"), error=str(error)) from error
    if isinstance(whole, dict) and isinstance(found := whole.get("permissions"), dict):
        lines = _claude(found)
    elif isinstance(whole, dict) and isinstance(found := whole.get("permission"), dict | str):
        lines = _opencode(found if isinstance(found, dict) else {"*": found})
    else:
        raise UsageError(
            N_(
                "No rules were found. The file must contain the key “permissions”, as in "
                ".claude/settings.json, or “permission”, as in opencode.json."
            )
        )
    read_lines: list[Line] = []
    for line in lines:
        if len(read_lines) == LINES:
            raise UsageError(N_("The file has more than {most} rules."), most=LINES)
        read_lines.append(line)
    return tuple(read_lines)


def _claude(found: dict[str, object]) -> Iterator[Line]:
    for action in Action:
        entries = found.get(action.value, [])
        for entry in entries if isinstance(entries, list) else [entries]:
            source = f"{action.value}: {entry}"
            yield _line(source, action, entry) if isinstance(entry, str) else _nothing(source, N_("not text"))


def _line(source: str, action: Action, entry: str) -> Line:
    name, bracket, rest = entry.strip().partition("(")
    if bracket and not rest.endswith(")"):
        return _nothing(source, N_("its parenthesis is not closed"))
    argument = rest[:-1] if bracket else None
    if name.startswith("mcp__"):
        return _rules(source, action, [entry.strip()])
    tools = _TOOLS.get(name, ())
    if action is not Action.ALLOW:
        tools = _STRICT.get(name, tools)
    if not tools:
        return _nothing(source, N_("Atelier has no corresponding tool"))
    if argument is None or argument.strip() in ("", "*", "**"):
        return _rules(source, action, list(tools))
    if name in ("Task", "Agent") and action is Action.ALLOW:
        tools = ("DelegateTaskTool",)
    return _rules(source, action, [f"{tool}({argument})" for tool in tools])


def _opencode(found: dict[str, object]) -> Iterator[Line]:
    """Convert opencode rules.

    There the last matching rule wins, here the strictest: what a later rule relaxes must be written by hand.
    """
    for key, value in found.items():
        if isinstance(value, str):
            yield _opencode_line(f"{key}: {value}", key, None, value)
        elif isinstance(value, dict):
            yield from _opencode_table(key, value)
        else:
            yield _nothing(str(key), N_("the action must be “allow”, “ask” or “deny”"))


def _opencode_table(key: str, said: dict[str, Any]) -> Iterator[Line]:
    entries = [(str(wanted), action) for wanted, action in said.items()]
    for index, (wanted, action) in enumerate(entries):
        source = f"{key} {wanted}: {action}"
        loosened = [
            other
            for other, later in entries[index + 1 :]
            if _known(action)
            and _known(later)
            and Action(later).strictness < Action(action).strictness
            and word_patterns.word_covers(wanted, other)
        ]
        if loosened and Action(action) is Action.ASK and wanted == "*":
            yield _nothing(source, N_("such calls need approval anyway, even without a rule"))
        elif loosened:
            yield _nothing(
                source,
                N_("a later rule makes an exception, but in Atelier the strictest rule wins: write this rule by hand"),
            )
        else:
            yield _opencode_line(source, key, wanted, action)


def _known(action: object) -> bool:
    return isinstance(action, str) and action in tuple(Action)


def _opencode_line(source: str, key: str, wanted: str | None, action: object) -> Line:
    if not _known(action):
        return _nothing(source, N_("the action must be “allow”, “ask” or “deny”"))
    chosen = Action(str(action))
    if key == "*" and wanted is None:
        return _rules(source, chosen, ["*"])
    name = _OPENCODE.get(key, "")
    if not name:
        return _nothing(source, N_("Atelier has no corresponding tool"))
    argument = f"({wanted})" if wanted not in (None, "*", "**") else ""
    return _line(source, chosen, f"{name}{argument}")


def _rules(source: str, action: Action, texts: list[str]) -> Line:
    rules: list[PermissionRule] = []
    for text in texts:
        try:
            rule_pattern.parse(text)
            rules.append(PermissionRule(text=text, action=action))
        except AtelierError as error:
            return Line(source, problem=CallText(text=error.template, params=dict(error.params)))
        except ValueError:
            return _nothing(source, N_("it is too long"))
    return Line(source, tuple(rules))


def _nothing(source: str, why: str) -> Line:
    return Line(re.sub(r"\s+", " ", source)[:200], problem=CallText(text=why))
