"""Results and cards about held and protected files after a command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from atelier_desk.domain.result_parts import TextPart
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import ToolResult
from atelier_desk.workspace.checkpoints.protected_file_guard import Settled
from atelier_desk.workspace.processes.command_process import Guarded

_NAMED = 20
"""Maximum names of one kind in a result."""
_NOTES = {
    "put_back": "It changed what git runs outside the sandbox; that is as it was before. A change of git's settings "
    "that is needed is "
    "a command of its own (git config, git remote, git branch -u, git submodule): the user is asked, and it stays.",
    "held": "What it left that git would run outside the sandbox is held out of reach and waits for the user. "
    "Tell them if it is needed; "
    "do not make it again.",
    "gone": "It deleted or replaced what belongs to a repository, and that cannot be restored. Tell the user.",
    "not_restored": (
        "Some of what git runs could not be restored. Tell the user not to use git in this folder before they "
        "looked at it."
    ),
}
_TITLES = (
    ("not_restored", N_("Not restored: check these before you use git here")),
    ("gone", N_("Deleted or replaced; cannot be restored")),
    ("held", N_("Held for review: with these files, git could run programs outside the sandbox")),
    ("put_back", N_("Restored: with these changes, git could have run programs outside the sandbox")),
)
_PROTECTED_NOTES = {
    "held": "These files are obeyed by agents or run by programs, so they were moved out of the workspace until "
    "the user keeps them. "
    "Tell the user; to write one yourself, use write_file: the user is asked.",
    "restored": (
        "These protected files were changed without a question: they are as they were, the new versions are held."
    ),
    "not_restored": "These protected files were changed, and could not be put back. Tell the user.",
}
_READ_ONLY_ERRORS = ("Read-only file system", "EROFS", "Device or resource busy", "EBUSY", "Operation not permitted")
"""Messages of programs about read-only files (Linux, node, macOS)."""
_READ_ONLY_NAMED = 5
UNCHECKED = (
    "What the command left in repositories was not checked, because its launcher was killed. Tell the user to look "
    "at .git."
)


_OF_GIT = re.compile(rf"^.*\.git(?:modules)?\b.*(?:{'|'.join(_READ_ONLY_ERRORS)})", re.MULTILINE)


def git_read_only(output: str, box: Mapping[str, Any] | None) -> dict[str, str]:
    """Tell the model that git's settings and hooks were read-only, if the output shows that a command failed because of
    it.

    It may have succeeded otherwise, like ``git push -u`` and package scripts. ``box``: its sandbox.
    """
    fixed = [path for path in (*(box or {}).get("keep", ()), *(box or {}).get("pinned", ())) if "/.git" in path]
    if not fixed or not _OF_GIT.search(output):
        return {}
    return {
        "git_read_only": "It could not change .git/config, .git/hooks or the place of .git: they are read-only for "
        "programs "
        "here, also for "
        "scripts that it calls (as npm's prepare). To change git's settings, run that git command (git config KEY "
        "VALUE, git remote, "
        "git branch -u, git submodule) as a command of its own: the user is asked, and then it may. Write a hook "
        "with write_file. To "
        "install packages meanwhile, leave their scripts out (npm install --ignore-scripts)."
    }


_NO_NETWORK = re.compile(
    r"Could not resolve host|Temporary failure in name resolution|Name or service not known|Network is "
    r"unreachable|ENETUNREACH|ENOTFOUND"
    r"|EAI_AGAIN|getaddrinfo|nodename nor servname|No address associated with hostname|failed to lookup address",
    re.IGNORECASE,
)
"""Messages of programs without network (curl, git, Python, node, Rust, macOS)."""


def no_network(output: str, box: Mapping[str, object] | None) -> dict[str, str]:
    """Tell the model that a command had no network, if its output shows that it needed it. ``box``: its sandbox."""
    if box is None or box.get("kind") == "network" or not _NO_NETWORK.search(output):
        return {}
    return {
        "no_network": "It ran without the network. If it needs it, "
        'call it again with sandbox "network": the user is asked.'
    }


def of_repositories(guarded: Guarded) -> dict[str, object]:
    """Tell the model what was done to repositories; empty if nothing."""
    message: dict[str, object] = {}
    for name in _NOTES:
        names = _names(guarded, name)
        if names:
            message |= {name: names[:_NAMED], **({f"{name}_total": len(names)} if len(names) > _NAMED else {})}
    notes = [UNCHECKED] if guarded.unchecked else []
    notes += [note for name, note in _NOTES.items() if name in message]
    return {**message, "note": " ".join(notes)} if notes else {}


def parts(guarded: Guarded) -> tuple[TextPart, ...]:
    """Return the card parts for held files."""
    found: list[TextPart] = []
    if guarded.unchecked:
        found.append(
            TextPart(
                title=N_(
                    "The process supervising the command was killed, so this was not checked. Check it "
                    "before you use git here"
                ),
                text=".git",
            )
        )
    for name, title in _TITLES:
        names = (
            [f"{each['path']}\n    {each['file']}" for each in guarded.held]
            if name == "held"
            else _names(guarded, name)
        )
        if names:
            found.append(TextPart(title=title, text="\n".join(names[:_NAMED])))
    return tuple(found)


def of_protected(settled: Settled, guarded: Sequence[str], result: ToolResult) -> dict[str, object]:
    """Tell the model which protected files were held, restored or left; keep what ``result`` says of repositories.

    ``guarded``: those the command must not change, named if it failed because of them.
    """
    fields: dict[str, object] = {}
    names = {"held": [each.path for each in settled.held], "restored": settled.restored, "not_restored": settled.left}
    for name, found in names.items():
        if found:
            before = result.data.get(name, []) if name != "restored" else []
            fields |= {name: [*before, *found[:_NAMED]], f"{name}_note": _PROTECTED_NOTES[name]}
    if settled.partly:
        fields["protected_note"] = "The workspace is too large to look everywhere for protected files. Tell the user."
    if (
        guarded
        and not result.success
        and any(words in str(result.data.get("output", "")) for words in _READ_ONLY_ERRORS)
    ):
        more = f" and {len(guarded) - _READ_ONLY_NAMED} others" if len(guarded) > _READ_ONLY_NAMED else ""
        listed = f"{', '.join(guarded[:_READ_ONLY_NAMED])}{more}"
        fields["read_only"] = (
            f"Read-only for programs here: {listed}. To change one, use edit_file or write_file: the user is asked."
        )
    return fields


def _names(guarded: Guarded, name: str) -> list[str]:
    return [each["path"] for each in guarded.held] if name == "held" else list(getattr(guarded, name))
