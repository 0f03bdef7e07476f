"""Skills and commands: available ones, used ones, the catalogue of a run, and adding one."""

from __future__ import annotations

import builtins
import logging
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, ToolError, UsageError
from atelier_desk.domain.permission import RuleScope
from atelier_desk.domain.skill import Invocation, SkillFacts, SkillUse
from atelier_desk.engine.attachments.names_and_decoding import is_secret_name
from atelier_desk.engine.services.common.service import Service
from atelier_desk.policy.permissions.path_denials import bans
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.registry.tool_services import OpenedSkill
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.diffs import digest
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.resolved_folders import resolved_paths
from atelier_desk.workspace.skills import argument_placeholders, file_references, skill_discovery
from atelier_desk.workspace.skills.skill_discovery import FoundSkill
from atelier_desk.workspace.skills.skill_file import FILE, Text

log = logging.getLogger(__name__)

PROMPT = re.compile(r"/([A-Za-z0-9][\w-]{0,31}):(\S+)(?:\s+(.*))?\Z", re.DOTALL)
"""Message that calls a prompt of an MCP server: ``/server:prompt``, then its arguments."""
CALLED = re.compile(r"/(\w[\w.:-]*)(?:\s+(.*))?\Z", re.DOTALL)
"""Message that calls something: ``/name``, then its arguments."""
OFF_MOST = 2_000
MOST_FOLDERS = 50
"""Maximum workflow folders whose skills are shown together."""
ADDED_FILES = 2_000
ADDED_BYTES = 50 * 1024 * 1024
"""Maximum bytes of an added skill."""


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill or command and its state.

    Attributes:
        trusted: whether its folder is trusted; None if nobody was asked. The user's own places are always trusted.
        on: it is enabled.
        shadowed_by: the file used instead under its name; empty if none.
    """

    found: FoundSkill
    trusted: bool | None = True
    on: bool = True
    shadowed_by: str = ""

    @property
    def name(self) -> str:
        return self.found.name

    @property
    def usable(self) -> bool:
        """Whether it can be called; its text says by whom."""
        return self.found.text is not None and bool(self.trusted) and self.on and not self.shadowed_by


@dataclass(frozen=True, slots=True)
class SkillView:
    """A skill with its instructions and the names of its other files."""

    listed: ListedSkill
    body: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillLocation:
    """Skills of the user (``folder`` is empty), or of one folder."""

    folder: str
    rows: tuple[ListedSkill, ...]
    trusted: bool | None = True


class SkillService(Service):
    """Skills and commands of the user and of granted folders.

    Changes are announced as ``file`` without an id, like trust.
    """

    async def list(self, folders: Sequence[str] = ()) -> builtins.list[ListedSkill]:
        """Return all skills: of the folders first, in order of precedence, then of the user.

        Among equal names the first usable one is used; disabled or untrusted ones hide none.
        """
        decided = await self._context.files.trusted(folders)
        off = set((await self._context.settings.get()).skills_off)
        found = await in_tool_thread(self._find, tuple(folders))
        order = {"skill": 0, "command": 1}
        taken: dict[str, str] = {}
        rows = []
        for each in sorted(found, key=lambda each: order[each.kind]):
            row = ListedSkill(
                each, trusted=decided.get(each.root) if each.scope == "project" else True, on=each.file not in off
            )
            if row.usable:
                winner = taken.setdefault(each.name, each.file)
                row = row if winner == each.file else ListedSkill(each, trusted=row.trusted, shadowed_by=winner)
            rows.append(row)
        return rows

    async def callable(self, folders: Sequence[str]) -> builtins.list[ListedSkill]:
        """Return what a person can call with ``/``, by name."""
        rows = [
            row
            for row in await self.list(folders)
            if row.usable and row.found.text is not None and row.found.text.by_person
        ]
        return sorted(rows, key=lambda row: row.name)

    async def files_by_name(self, folders: Sequence[str] | None = None) -> dict[str, str]:
        """Return the file that each ``/`` name calls, taking precedence over prompts.

        None: of every workflow folder.
        """
        if folders is not None:
            rows = await self.callable(folders)
        else:
            found = [row for place in await self.overview() for row in place.rows]
            rows = [row for row in found if row.usable and row.found.text is not None and row.found.text.by_person]
        return {row.name: row.found.file for row in reversed(rows)}

    async def catalogue(self, folders: Sequence[str]) -> tuple[SkillFacts, ...]:
        """Return the catalogue of a run; unreadable places are skipped."""
        try:
            rows = await self.list(folders)
        except (AtelierError, OSError):
            log.warning("skills could not be listed", exc_info=True)
            return ()
        return tuple(
            SkillFacts(
                name=row.name, description=_skill_text(row.found.text), folder=row.found.folder, scope=row.found.scope
            )
            for row in rows
            if row.usable and row.found.text is not None and row.found.kind == "skill" and row.found.text.by_model
        )

    async def withdrawn(self, uses: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
        """Return skill folders, as named and with links resolved, that are neither the user's nor in a trusted one of
        ``folders``.

        A used skill stays even if its file is gone.
        """
        settings = await self._context.settings.get()
        try:
            mine = [row.found.folder for row in await self.list()]
        except (AtelierError, OSError):
            log.warning("skills could not be listed", exc_info=True)
            mine = []

        def look() -> tuple[str, ...]:
            real = os.path.realpath
            trusted = [each for each in map(real, folders) if settings.trusts(Path(each))]
            places = [
                real(each) for each in (*(str(skill_discovery.home() / place) for place in skill_discovery.USER), *mine)
            ]
            where = ((path, real(path)) for path in uses)
            gone = (each for each in where if not _within(each[1], places))
            gone = (each for each in gone if not (_within(each[1], trusted) and settings.trusts(Path(each[1]))))
            return tuple(dict.fromkeys(path for both in gone for path in both))

        return await in_tool_thread(look)

    async def show(self, name: str, folders: Sequence[str] = ()) -> SkillView:
        """Return a skill by name or file, by precedence.

        Raises:
            NotFoundError: there is none; the error lists the skills.
        """
        rows = await self.list(folders)
        named = [row for row in rows if name in (row.name, row.found.file, row.found.folder)]
        if not named:
            known = ", ".join(dict.fromkeys(row.name for row in rows)) or "-"
            raise NotFoundError(
                N_("There is no skill or command {name}. Skills and commands: {known}."), name=name, known=known
            )
        row = next((row for row in named if row.usable), named[0])
        body = row.found.text.body if row.found.text is not None else ""
        root = self._context.workspace_files.root(row.found.root)
        return SkillView(row, body, tuple(await in_tool_thread(skill_discovery.files, root, row.found)))

    async def switch(self, file: str, on: bool) -> None:
        """Enable or disable a skill, by file."""
        if on is (file in (await self._context.settings.get()).skills_off):
            last = () if on else (file,)
            await self._context.settings.update(
                skills_off=lambda off: (*(each for each in off if each != file), *last)[-OFF_MOST:]
            )
            self._context.bus.changed("file", "")

    async def add(self, folder: str) -> FoundSkill:
        """Copy a skill's folder to the user's own place, which other programs read too.

        Raises:
            UsageError: the folder contains no usable skill, or is too large.
            ConflictError: there is one of that name.
        """
        added = await in_tool_thread(_add, Path(folder))
        self._context.bus.changed("file", "")
        return added

    async def overview(self) -> builtins.list[SkillLocation]:
        """Return the user's own first, then those of each workflow folder; empty folders are omitted."""
        workflows = await self._context.repos.workflows.list()
        folders = builtins.list(dict.fromkeys(folder for workflow in workflows for folder in workflow.workspace))[
            :MOST_FOLDERS
        ]
        decided = await self._context.files.trusted(folders)
        places = [SkillLocation("", tuple(await self.list()))]
        for folder in folders:
            rows = tuple(row for row in await self.list((folder,)) if row.found.scope == "project")
            if rows:
                places.append(SkillLocation(folder, rows, decided[folder]))
        return places

    async def invoked(self, content: str, folders: Sequence[str]) -> Invocation | None:
        """Return what a message calls with ``/name arguments``: a skill or command, else a person's prompt, else an MCP
        server's.

        None if it calls nothing.

        Raises:
            UsageError, LimitError: the prompt has variables without a value, or is too long with them.
            NotFoundError, UsageError, McpError: the server cannot make the prompt; the error names it.
        """
        return await self._called(content, folders) or await self._own(content) or await self._prompted(content)

    async def _own(self, content: str) -> Invocation | None:
        called = CALLED.match(content.strip())
        return await self._context.prompts.called(called[1], called[2] or "") if called is not None else None

    async def _prompted(self, content: str) -> Invocation | None:
        called = PROMPT.match(content.strip())
        if called is None:
            return None
        server, given = called[1], called[3] or ""
        made = await self._context.mcp.content.prompt(server, called[2], given)
        if made is None:
            return None
        prompt, text = made
        use = SkillUse(name=f"{server}:{prompt.call}", digest=digest(text.encode()))
        return Invocation(kind="prompt", use=use, source=server, text=text, arguments=given.strip())

    async def _called(self, content: str, folders: Sequence[str]) -> Invocation | None:
        called = CALLED.match(content.strip())
        if called is None:
            return None
        try:
            rows = await self.callable(folders)
        except (AtelierError, OSError):
            log.warning("skills could not be listed", exc_info=True)
            return None
        row = next((row for row in rows if row.name == called[1]), None)
        if row is None or row.found.text is None:
            return None
        found, said = row.found, row.found.text
        given = called[2] or ""
        text = filled(said, given, found)
        where = ([found.folder] if found.kind == "skill" else []) + list(folders)
        # Rules of any workflow and agent: the message is read by all that answer it.
        here = resolved_paths(tuple(folders))
        await self._context.repos.settings.refuse_damaged()
        held = [
            rule
            for rule in await self._context.repos.rules.list()
            if rule.scope is not RuleScope.FOLDER or rule.scope_id in here
        ]
        denials = Denials(bans(held), folders)
        roots = [self._context.workspace_files.root(each) for each in where]
        text = _bounded(
            await in_tool_thread(file_references.included, text, roots, is_secret_name, denials), found.file
        )
        use = SkillUse(name=row.name, folder=await _folder(found), digest=digest(said.body.encode()))
        read = await in_tool_thread(self._context.workspace_files.marks.of, found.file)
        return Invocation(
            kind=found.kind, use=use, source=found.file, text=text, arguments=given.strip(), read=next(iter(read), "")
        )

    async def activate(self, name: str, folders: Sequence[str]) -> OpenedSkill:
        """Return a skill's present instructions for a model.

        Raises:
            ToolError: it is not a skill, disabled, untrusted, or unreadable; in words for the model.
        """
        rows = [row for row in await self.list(folders) if row.found.kind == "skill"]
        row = next(
            (
                row
                for row in rows
                if row.name == name and row.usable and row.found.text is not None and row.found.text.by_model
            ),
            None,
        )
        if row is None:
            raise _refused(name, rows)
        found = row.found
        assert found.text is not None
        names = await in_tool_thread(
            lambda: skill_discovery.files(self._context.workspace_files.root(found.root), found)
        )
        text = filled(found.text, "", found)
        use = SkillUse(name=name, folder=await _folder(found), digest=digest(found.text.body.encode()))
        return OpenedSkill(use, text, tuple(names), found.scope)

    def _find(self, folders: tuple[str, ...]) -> builtins.list[FoundSkill]:
        out: builtins.list[FoundSkill] = []
        for folder in folders:
            out += skill_discovery.in_project(self._context.workspace_files.root(folder))
        home = skill_discovery.home()
        # Even if the home folder is granted as a project, its own places are the user's.
        mine = skill_discovery.of_user(self._context.workspace_files.root(str(home)))
        files = {each.file for each in mine}
        return [*(each for each in out if each.file not in files), *mine]


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


def _skill_text(said: Text) -> str:
    """Return the description for models, with the file patterns it is for."""
    return (
        f"{said.description} (Only for work on files like {', '.join(said.paths)}.)" if said.paths else said.description
    )


async def _folder(found: FoundSkill) -> str:
    """Return the real folder of a skill: later links give no access. A command has none."""
    return await in_tool_thread(os.path.realpath, found.folder) if found.kind == "skill" else ""


def filled(said: Text, given: str, found: FoundSkill) -> str:
    """Fill arguments and the skill's own folder into the instructions."""
    body = argument_placeholders.filled(said.body, given, said.names)
    return re.sub(r"\$\{(?:CLAUDE|ATELIER)_SKILL_DIR\}", lambda _match: found.folder, body)


def _bounded(text: str, file: str) -> str:
    most = limits.RESULT_TO_MODEL
    return text if len(text) <= most else f"{text[:most]}\n[… {len(text) - most} characters more in {file}]"


def _refused(name: str, rows: Sequence[ListedSkill]) -> ToolError:
    row = next((row for row in rows if row.name == name), None)
    names = (
        ", ".join(row.name for row in rows if row.usable and row.found.text is not None and row.found.text.by_model)
        or "none"
    )
    if row is None:
        why, code = "There is no skill {name}.", "unknown_skill"
    elif row.found.text is None:
        why, code = "The skill {name} cannot be used: {problem}", "broken_skill"
    elif not row.trusted:
        why, code = "The skill {name} lies in a folder that the user does not trust: it cannot be used.", "not_trusted"
    elif not row.on:
        why, code = "The user switched the skill {name} off.", "switched_off"
    else:
        why, code = "Only the user can call the skill {name}.", "not_yours"
    problem = row.found.problem if row is not None else None
    return ToolError(
        why + " Skills: {names}. Go on without it.", code=code, name=name, names=names, problem=str(problem or "")
    )


def _add(source: Path) -> FoundSkill:
    source = source.expanduser()
    source = source.parent if source.name == FILE else source
    if not (source / FILE).is_file():
        raise UsageError(N_("There is no {file} in {folder}."), file=FILE, folder=str(source))
    source = source.resolve()
    root = ConfinedRoot(source.parent)
    place = skill_discovery.FoundSkill("skill", "user", str(source.parent), "", f"{source.name}/{FILE}")
    found = skill_discovery.again(root, place)
    if found.text is None:
        raise UsageError(N_("This skill cannot be used. {problem}"), problem=found.problem)
    target = skill_discovery.home() / skill_discovery.OWN / found.name
    if target.exists() or target.is_symlink():
        raise ConflictError(N_("There is already a skill in {folder}."), folder=str(target))
    names = [FILE, *skill_discovery.files(root, found, ADDED_FILES + 1)]
    size = sum((source / name).lstat().st_size for name in names)
    if len(names) > ADDED_FILES or size > ADDED_BYTES:
        message = N_("This is not a skill folder: it has more than {files} files, or more than {most} MB.")
        raise UsageError(message, files=ADDED_FILES, most=ADDED_BYTES // 1024**2)
    try:
        for name in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name, follow_symlinks=False)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise UsageError(
            N_("The skill cannot be copied to {folder}: {detail}"), folder=str(target), detail=error.strerror or error
        ) from None
    home = ConfinedRoot(skill_discovery.home())
    return skill_discovery.again(
        home,
        FoundSkill(
            "skill",
            "user",
            str(skill_discovery.home()),
            skill_discovery.OWN,
            f"{skill_discovery.OWN}/{found.name}/{FILE}",
        ),
    )
