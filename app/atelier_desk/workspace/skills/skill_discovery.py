"""Find skills and commands in a granted folder and in the user's own places, whether or not they are used.

Source: agentskills.io for skills (the folders of Claude Code and goose are read too); for commands, the places of
Claude Code, Codex, opencode, Cursor, Copilot and Cline.
"""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from atelier_desk.domain.errors import AtelierError, ToolError, UsageError
from atelier_desk.domain.skill import Scope, SkillUse
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.skills import skill_file
from atelier_desk.workspace.skills.skill_file import Text
from atelier_desk.workspace.text_files import decode

Kind = Literal["skill", "command"]

OWN = ".agents/skills"
"""The user's place to which skills are added; other programs read it too."""
PROJECT = (OWN, ".atelier/skills", ".claude/skills")
USER = (OWN, ".config/agents/skills", ".claude/skills")
PROJECT_COMMANDS = {
    ".agents/commands": ".md",
    ".atelier/commands": ".md",
    ".claude/commands": ".md",
    ".opencode/commands": ".md",
    ".cursor/commands": ".md",
    ".github/prompts": ".prompt.md",
    ".clinerules/workflows": ".md",
}
"""Places by the suffix of their files."""
USER_COMMANDS = {
    ".agents/commands": ".md",
    ".claude/commands": ".md",
    ".config/opencode/commands": ".md",
    ".codex/prompts": ".md",
}
DEPTH = 4
"""Maximum depth below a place."""
FOLDERS = 2_000
FILES = 500
"""Maximum skills or commands per place."""
BYTES = 256 * 1024
"""Maximum bytes of a file; useful instructions are far shorter."""
SECONDS = 2.0
READ_S = 10.0
"""Time limit in seconds per folder: untrusted headers must not delay a turn."""
_LEFT_OUT = frozenset({"node_modules", ".git", "__pycache__", ".venv"})


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A skill or command file.

    Attributes:
        place: its place relative to ``root``: the granted folder, or the user's home, absolute.
        path: its file, relative to ``root``.
        text: its content; None if unusable, and ``problem`` says why.
    """

    kind: Kind
    scope: Scope
    root: str
    place: str
    path: str
    text: Text | None = None
    problem: AtelierError | None = None

    @property
    def name(self) -> str:
        return self.text.name if self.text is not None else self.called

    @property
    def called(self) -> str:
        """The name of its folder or file."""
        if self.kind == "skill":
            return posixpath.basename(posixpath.dirname(self.path))
        return command_name(self.path.removeprefix(f"{self.place}/"))

    @property
    def file(self) -> str:
        return posixpath.join(self.root, self.path)

    @property
    def folder(self) -> str:
        """The skill's own folder; for a command, its parent."""
        return posixpath.dirname(self.file)


def home() -> Path:
    """Return where the user's places are: ``ATELIER_HOME``, otherwise the home folder."""
    return Path(os.environ.get("ATELIER_HOME") or Path.home())


def in_project(root: ConfinedRoot) -> list[FoundSkill]:
    """Return those of a granted folder, in the order of places and paths."""
    return [*_skills(root, "project", PROJECT), *_commands(root, "project", PROJECT_COMMANDS)]


def of_user(root: ConfinedRoot) -> list[FoundSkill]:
    """Return those of the user, whose home is ``root``."""
    return [*_skills(root, "user", USER), *_commands(root, "user", USER_COMMANDS)]


def folders_of(uses: Iterable[SkillUse]) -> tuple[Path, ...]:
    """Return the folders of used skills.

    A folder that became a link, or lies behind one, is skipped: its target was not approved.
    """
    return tuple(Path(each.folder) for each in uses if each.folder and os.path.realpath(each.folder) == each.folder)


def again(root: ConfinedRoot, found: FoundSkill) -> FoundSkill:
    """Read the same one again."""
    return _read(root, replace(found, text=None, problem=None))


def files(root: ConfinedRoot, found: FoundSkill, most: int = 200) -> list[str]:
    """Return at most ``most`` other files of a skill, relative to its folder, without links."""
    here = posixpath.dirname(found.path)
    if found.kind != "skill":
        return []
    return [path for path in _walked(root, here, most + 1) if path != skill_file.FILE][:most]


def _walked(root: ConfinedRoot, start: str, most: int) -> list[str]:
    out: list[str] = []
    waiting = [""]
    until = time.monotonic() + SECONDS
    while waiting and len(out) < most and time.monotonic() < until:
        folder = waiting.pop(0)
        try:
            names = root.names(posixpath.join(start, folder) if folder else start)
        except ToolError:
            continue
        for name, info in names:
            path = posixpath.join(folder, name)
            if info.kind == "file":
                out.append(path)
            elif info.kind == "folder" and name not in _LEFT_OUT and path.count("/") < DEPTH and len(waiting) < FOLDERS:
                waiting.append(path)
    return sorted(out)[:most]


def _skills(root: ConfinedRoot, scope: Scope, places: Sequence[str]) -> list[FoundSkill]:
    out: list[FoundSkill] = []
    seen: set[str] = set()
    until = time.monotonic() + READ_S
    for place in places:
        for path, problem in _folders(root, place, scope):
            real = os.path.realpath(root.folder / path)
            if real in seen and not problem:
                continue  # one place is a link to another
            seen.add(real)
            found = FoundSkill("skill", scope, str(root.folder), place, f"{path}/{skill_file.FILE}", problem=problem)
            out.append(found if problem else _read(root, found))
            if len(out) >= FILES or time.monotonic() > until:
                return out
    return out


def _folders(root: ConfinedRoot, place: str, scope: Scope) -> Iterator[tuple[str, AtelierError | None]]:
    """Yield the folders of a place with a ``SKILL.md``, and the links that lead to unreadable places."""
    waiting = [(place, 0)]
    until, looked_at = time.monotonic() + SECONDS, 0
    while waiting and looked_at < FOLDERS and time.monotonic() < until:
        path, depth = waiting.pop(0)
        looked_at += 1
        try:
            names = root.names(path)
        except ToolError as error:
            if error.code == "outside":
                yield path, _OUTSIDE
            continue
        if depth and any(name == skill_file.FILE for name, _info in names):
            yield path, None
            continue
        for name, info in names:
            below = f"{path}/{name}"
            if name in _LEFT_OUT or depth >= DEPTH:
                continue
            if info.kind == "folder":
                waiting.append((below, depth + 1))
            elif info.kind == "link" and (target := _linked(root, below, scope)) is not None:
                waiting.append((target, depth + 1))


def _linked(root: ConfinedRoot, path: str, scope: Scope) -> str | None:
    """Return the target of a link to a folder.

    Itself, as ``ConfinedRoot`` follows or refuses it; for a user's own, its place in their home.
    """
    real = os.path.realpath(root.folder / path)
    if not os.path.isdir(real):  # noqa: PTH112
        return None
    if f"{os.path.realpath(root.folder / path.rpartition('/')[0])}/".startswith(f"{real}/"):
        return None  # to a folder above: circular
    top = os.path.realpath(root.folder)
    if scope == "user" and real.startswith(f"{top}/"):
        return real.removeprefix(f"{top}/")
    return path


def _commands(root: ConfinedRoot, scope: Scope, places: dict[str, str]) -> list[FoundSkill]:
    out: list[FoundSkill] = []
    until = time.monotonic() + READ_S
    for place, end in places.items():
        for name in _walked(root, place, FILES):
            if time.monotonic() > until:
                return out
            if name.endswith(end) and not posixpath.basename(name).startswith("."):
                out.append(_read(root, FoundSkill("command", scope, str(root.folder), place, f"{place}/{name}")))
    return out


def command_name(path: str) -> str:
    """Return the name of a command: ``review:security`` for ``review/security.md``."""
    return path.removesuffix(".md").removesuffix(".prompt").replace("/", ":")


_OUTSIDE = UsageError(N_("A link leads outside the folder."), code="outside")


def _read(root: ConfinedRoot, found: FoundSkill) -> FoundSkill:
    try:
        data = root.read(found.path, BYTES)
    except ToolError as error:
        return replace(found, problem=_problem(error))
    text = decode(data)
    if text is None:
        return replace(found, problem=UsageError(N_("The file is not text."), code="binary"))
    try:
        said = (
            skill_file.skill(text.text, found.called)
            if found.kind == "skill"
            else skill_file.command(text.text, found.called)
        )
    except UsageError as error:
        return replace(found, problem=error)
    if text.encoding != "utf-8":
        odd = UsageError(
            N_("The file is not written in UTF-8 but in {encoding}."), code="encoding", encoding=text.encoding
        )
        said = replace(said, warnings=(odd, *said.warnings))
    return replace(found, text=said)


def _problem(error: ToolError) -> AtelierError:
    match error.code:
        case "outside":
            return _OUTSIDE
        case "too_large":
            message = N_("The file is {size} bytes; the maximum is {most}.")
            return UsageError(message, code="too_large", size=error.params.get("size", 0), most=BYTES)
        case "closed":
            return UsageError(N_("The file is part of Atelier's own data."), code="closed")
        case _:
            return UsageError(N_("The file cannot be read: {detail}"), code=error.code, detail=str(error))
