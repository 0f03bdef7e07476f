# ruff: noqa: PTH112, PTH118
"""Determine what a call affects, for the rules.

From its arguments, resolving links and asking git about repositories.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from urllib.parse import urlsplit

from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.path_containment import within
from atelier_desk.domain.protected_names import ProtectedTargets
from atelier_desk.engine.run import unknown_git_settings
from atelier_desk.engine.run.protected_folder_contents import made_repository, protected_inside
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.tainted_file_reads import read_by_call
from atelier_desk.policy.approval_strictness_and_grouping import risk_of
from atelier_desk.policy.permissions import rule_pattern, taint_sources
from atelier_desk.policy.permissions.call_facts import (
    CallFacts,
    CommandFact,
    Concern,
    HostFact,
    Path,
    TargetFact,
    protected,
)
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.base import Call, Effect
from atelier_desk.tools.registry.access_groups import FOLDER_WIDE
from atelier_desk.tools.shell import protected_names_in_commands
from atelier_desk.tools.shell.command_execution import same_with_files
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMarks
from atelier_desk.workspace.commands import git_denied_paths, link_resolution
from atelier_desk.workspace.commands.judge import File as NamedFile
from atelier_desk.workspace.commands.judge import Judgement, Kind, judge
from atelier_desk.workspace.commands.package_install_detection import installs
from atelier_desk.workspace.commands.prefix_rules import spelled_out
from atelier_desk.workspace.denied_file_search import home_folder, slashed, work_tree
from atelier_desk.workspace.glob_expansion import Patterns, TooManyError
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.repository_inspection import Repository
from atelier_desk.workspace.skills.skill_discovery import folders_of

_MAX_NAMES = 1_000
"""Maximum names that a pattern of written files may match."""
UNCONFINED = frozenset({"network", "none"})
"""Values of ``Subjects.sandbox`` that need approval each time."""


@dataclass(slots=True)
class DiskFindings:
    """Findings on disk for calls judged at the same moment, so that each is looked up once.

    Attributes:
        repositories: git's findings by folder, and whether git only reads there.
        protected: by call id, the protected names that its command names or rewrites.
    """

    repositories: dict[tuple[str, bool], Repository] = field(default_factory=dict)
    protected: dict[str, ProtectedTargets] = field(default_factory=dict)


def reads_disk(tool: str, described: Call, *, denials: Denials, marks: TaintMarks | None) -> bool:
    """Whether determining the facts requires more than resolving links of paths.

    Running a program, reading files, walking folders.
    """
    subjects = described.subjects
    if subjects.command or tool in unknown_git_settings.TOOLS:
        return True
    return bool(subjects.paths) and (described.effect is not Effect.READ or bool(denials) or bool(marks))


def facts(
    state: RunState,
    intent: ToolCallStarted,
    described: Call,
    *,
    repaired: bool,
    own: Sequence[str] = (),
    tainted: Sequence[str] = (),
    findings: DiskFindings | None = None,
    denials: Denials | None = None,
    marks: TaintMarks | None = None,
) -> CallFacts:
    """Return the facts of a call, from its tool's description. Blocks where ``reads_disk`` is True.

    Args:
        findings: findings for calls of the same moment; extended.
        denials: what the rules deny on disk.
    """
    findings = findings or DiskFindings()
    disk = Disk(state.workspace)
    home = home_folder()
    risk = risk_of(state.approvals, intent.tool, described.risk.value)
    subjects = described.subjects
    paths = tuple(disk.path(text) for text in subjects.paths)
    judgement = judge(subjects.command, home) if subjects.command else None
    unparsed = described.unread or (judgement is not None and judgement.line is None)
    about = {Concern.UNPARSED: subjects.command} if unparsed else {}
    if not unparsed and judgement is not None and judgement.asks_always:
        about[Concern.OPAQUE] = next(
            rule_pattern.command_text(one.command.arguments) for one in judgement.commands if one.wraps
        )
    asks_git = unknown_git_settings.unknown(
        intent.tool, judgement, described.details, state.workspace, findings.repositories
    )
    if asks_git:
        about[Concern.REPOSITORY] = "; ".join(each.about for each in asks_git)
    changes = described.effect is not Effect.READ
    redirected: tuple[Path, ...] = ()
    changed, unseen = paths, ""
    if judgement is not None:
        written, unseen = _changed(subjects.writes, disk)
        changed = tuple(dict.fromkeys(path for found in written for path in found))
        by_output = (
            found for file, found in zip(judgement.writes, written, strict=False) if file in judgement.redirected
        )
        redirected = tuple(dict.fromkeys(path for found in by_output for path in found))
    if unseen:
        about.setdefault(Concern.UNPARSED, unseen)
    if changes and (guarded := _protected(intent, described, judgement, changed, state.workspace, own, findings)):
        about[Concern.PROTECTED] = guarded
    if judgement is not None and any(installs(judged.command.arguments) for judged in judgement.commands):
        about[Concern.INSTALLS] = subjects.command
    if subjects.sandbox in UNCONFINED:
        about[Concern.UNCONFINED] = subjects.sandbox
    if described.altered:
        about[Concern.ALTERED] = intent.tool
    if repaired and changes:
        about[Concern.REPAIRED] = ""
    revealed: tuple[Path, ...] = ()
    contained: tuple[Path, ...] = ()
    if denials:
        revealed = (*other_spellings((*paths, *changed), denials), *_named(judgement, described, denials, disk))
        contained = _in_folders(intent.tool, paths, denials, disk)
        if judgement is not None and (open_to := denials.exposed(judgement)):
            about[Concern.DENIED] = open_to
    leaves = described.effect is Effect.NETWORK or (changes and any(not path.inside for path in changed))
    if tainted and leaves:
        about[Concern.TAINTED] = ", ".join(tainted)
    return CallFacts(
        tool=intent.tool,
        kind=described.kind,
        risk=risk,
        section=intent.section,
        server=intent.server,
        changes=_acts(described, risk),
        sends=described.effect is Effect.NETWORK,
        writes=described.effect is Effect.WRITE and described.kind is ApprovalKind.FILE_OP,
        paths=(*paths, *(path for path in changed if path not in paths)),
        redirected=redirected,
        path_tools=same_with_files(judgement) if judgement is not None else (),
        revealed=revealed,
        contained=contained,
        commands=_commands(judgement, subjects.folder, disk),
        hosts=tuple(_hosts(subjects)),
        agents=tuple(TargetFact(name) for name in subjects.agents),
        home=home,
        concerns=tuple(about),
        about=tuple(about.items()),
        settings=tuple(each.rule for each in asks_git),
        reads=_reads(state, intent, described, paths, disk, marks, judgement),
    )


def _protected(
    intent: ToolCallStarted,
    described: Call,
    judgement: Judgement | None,
    changed: Sequence[Path],
    workspace: Sequence[str],
    own: Sequence[str],
    findings: DiskFindings,
) -> str:
    """Return the protected names that a call changes, or that its command names or rewrites; empty for none."""
    targets = ProtectedTargets()
    if judgement is not None:
        targets = protected_names_in_commands.targets(
            judgement, str(described.details.get("cwd") or ""), workspace, own
        )
        findings.protected[intent.call_id] = targets
    return protected(changed, own) or protected_inside(changed, own) or made_repository(changed) or targets.about


def _reads(
    state: RunState,
    intent: ToolCallStarted,
    described: Call,
    paths: Sequence[Path],
    disk: Disk,
    marks: TaintMarks | None,
    judgement: Judgement | None,
) -> str:
    """Return the outside source that the call's result brings into the conversation. See docs/permissions.md.

    A call that changes a file reveals at most a few lines of its content, and does not count; but one that brings an
    outside file into a trusted folder does, because its origin is not visible later.
    """
    subjects = described.subjects
    if intent.server or described.effect is Effect.NETWORK:
        return intent.server or next((host.name for host in _hosts(subjects)), intent.tool)
    if subjects.sandbox in UNCONFINED:
        # Must not look like a file path, which might become trusted.
        return shorten(
            f"$ {subjects.command}" if taint_sources.is_path(subjects.command) else subjects.command, limits.TAINT
        )
    if marks and (found := read_by_call(marks, intent.tool, intent.section, described, judgement, state.workspace)):
        return found
    # A used skill was put there by its user, or belongs to a trusted folder.
    trusted = disk.granted((*state.trusted, *map(str, folders_of(state.skills_used))))
    if (
        described.effect is Effect.WRITE
        and not subjects.command
        and not any(replace(path, roots=trusted).inside for path in paths)
    ):
        return ""
    # A command reads its working folder, whatever it names.
    here = (disk.path("."),) if subjects.command and state.workspace else ()
    outside = (path for path in (*paths, *here) if not replace(path, roots=trusted).inside)
    return next((shorten(path.spellings[0], limits.TAINT) for path in outside), "")


def _acts(described: Call, risk: str) -> bool:
    """Whether the call does more than read.

    An agent's own notes (tasks, memories) and sub-agents, which have no further rights, do not count.
    """
    if described.effect in (Effect.READ, Effect.INTERACT, Effect.SPAWN):
        return False
    return not (described.effect is Effect.WRITE and described.kind is ApprovalKind.TOOL and risk == "low")


class Disk:
    """Resolves the paths of one call; each is looked up once."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._real: dict[str, str] = {}
        self.start = folders[0] if folders else ""
        self.roots = self.granted(folders)

    def path(self, text: str) -> Path:
        """Resolve a path as named by a call."""
        at_home = text == "~" or text.startswith("~/")
        written = os.path.join(self.start, home_folder() + text[1:] if at_home else text)
        whole = os.path.normpath(written)
        whole = "/" + whole.lstrip("/") if whole.startswith("/") else whole  # normpath keeps two leading slashes
        # File tools resolve ".." textually, commands from a link's target: check both.
        spellings = (slashed(whole), self._real_of(whole), self._real_of(written if ".." in written else whole))
        return Path(tuple(dict.fromkeys(spellings)), self.roots)

    def folder(self, text: str) -> str | None:
        """Return a folder relative to the first granted one, links resolved: empty for that one, absolute outside.

        None where ``..`` follows a link: a shell returns to the link's parent, a program to its target's.
        """
        home = self._real_of(self.start)
        written = os.path.join(self.start, text)
        real = self._real_of(written)
        if real != self._real_of(os.path.normpath(written)):
            return None
        if real == home:
            return ""
        return real[len(home.rstrip("/")) + 1 :] if within(home, real) else real

    def also(self, words: Sequence[str], folder: str) -> tuple[tuple[str, ...], ...]:
        """Return, for each word of a command, other spellings of the file it names, links resolved.

        Relative to the workspace, and absolute.
        """
        found: list[tuple[str, ...]] = []
        for word in words:
            written = (
                os.path.join(folder, word) if word and not word.startswith("-") and len(word) < limits.RULE_TEXT else ""
            )
            if not written or not os.path.lexists(written):
                found.append(())
                continue
            spellings = (slashed(os.path.normpath(written)), self._real_of(written))
            below = [
                path[len(root.rstrip("/")) + 1 :] for path in spellings for root in self.roots if within(root, path)
            ]
            found.append(tuple(each for each in dict.fromkeys((*spellings, *below)) if each and each != word))
        return tuple(found) if any(found) else ()

    def granted(self, folders: Sequence[str]) -> tuple[str, ...]:
        """Return folders as spelled and with links resolved: a granted folder may itself be reached through one."""
        return tuple(dict.fromkeys([*map(slashed, folders), *map(self._real_of, folders)]))

    def _real_of(self, path: str) -> str:
        found = self._real.get(path)
        if found is None:
            found = self._real[path] = slashed(os.path.realpath(path))
        return found


def _commands(judgement: Judgement | None, folder: str, disk: Disk) -> tuple[CommandFact, ...]:
    """Return the simple commands of a line in this folder; empty if it could not be parsed."""
    found = []
    for one in judgement.commands if judgement is not None else ():
        words = one.command.arguments
        # The rule itself must name an outside file, which is impossible for the command's input.
        named = [file for file in (*one.reads, *one.writes) if file not in (*one.fed, *one.redirected)]
        if _away(one.fed, folder, disk):
            spelled = len(words) + 1
        else:
            starts = (
                (File(disk.start, folder, each) for each in judgement.folders(one)) if judgement is not None else ()
            )
            led_out = one.kind is Kind.RUNS and any(
                link_resolution.led_out(one.command, start, disk.roots) for start in starts
            )
            spelled = len(words) if led_out or _away(named, folder, disk) else spelled_out(one.command)
        there = None if one.folder is None else disk.folder(os.path.join(folder, one.folder))
        also = disk.also(words, os.path.join(disk.start, folder, one.folder or ""))
        found.append(CommandFact(words, one.contained, there, spelled, also))
    return tuple(found)


def _away(files: Iterable[NamedFile], folder: str, disk: Disk) -> bool:
    """Whether any of these files may be outside the granted folders."""
    named, unseen = _changed(tuple(os.path.join(folder, file.name) for file in files), disk)
    return bool(unseen) or any(not path.inside for each in named for path in each)


def other_spellings(paths: Sequence[Path], denials: Denials) -> tuple[Path, ...]:
    """Return the paths in spellings of rules that begin with a link."""
    other = ((path.roots, name) for path in paths for name in denials.other_names(path.spellings[-1]))
    return tuple(Path((name,), roots) for roots, name in other)


def _named(judgement: Judgement | None, described: Call, denials: Denials, disk: Disk) -> tuple[Path, ...]:
    """Return denied paths named by a command whose files are unknown: git revisions, and words of unknown programs."""
    if judgement is None:
        return ()
    cwd = str(described.details.get("cwd") or "")
    found: list[Path] = []
    for one in judgement.commands:
        folder = os.path.join(cwd, one.folder or "")
        program, *words = one.command.arguments
        if program.rpartition("/")[2] == "git":
            # A revision's path is relative to the top of the repository, or with ./ to the working folder.
            top = os.path.relpath(work_tree(File(disk.start, folder)) or disk.start, disk.start)
            found += [
                disk.path(os.path.join(start, name))
                for name in git_denied_paths.named(words)
                for start in (top, folder)
            ]
        if one.kind is Kind.RUNS:
            values = [word.partition("=")[2] if word.startswith("-") else word for word in words]
            paths = [disk.path(os.path.join(folder, word)) for word in values if word and len(word) < limits.RULE_TEXT]
            found += [
                path for path in paths if any(denials.covers(each) and os.path.lexists(each) for each in path.spellings)
            ]
    return tuple(dict.fromkeys(found))


def _in_folders(tool: str, paths: Sequence[Path], denials: Denials, disk: Disk) -> tuple[Path, ...]:
    """Return what a call includes with a folder, and where it puts something into one."""
    if tool not in FOLDER_WIDE:
        return ()
    folders = [path for path in paths if os.path.isdir(path.spellings[-1])]
    found = [Path((each,), path.roots) for path in folders for each in denials.denied_in(path.spellings[-1])]
    if len(paths) == 2 and os.path.isdir(paths[1].spellings[-1]):
        found.append(disk.path(os.path.join(paths[1].spellings[0], paths[0].spellings[0].rpartition("/")[2])))
    return tuple(found)


def _changed(names: tuple[str, ...], disk: Disk) -> tuple[list[tuple[Path, ...]], str]:
    """Return the files for each name that a command changes, and the first pattern that cannot be expanded reliably,
    where it ends.
    """
    patterns = Patterns(disk.start, _MAX_NAMES)
    found: list[tuple[Path, ...]] = []
    for name in names:
        if "[" in name:
            # bash interprets classes and negations differently from Python.
            return found, name
        try:
            alike = patterns.names(name) if any(mark in name for mark in "*?") else []
        except TooManyError:
            return found, name
        found.append(tuple(disk.path(each) for each in (name, *alike)))
    return found, ""


def _hosts(subjects: Subjects) -> Iterator[HostFact]:
    for text in subjects.hosts:
        yield HostFact((urlsplit(text).hostname or text) if "://" in text else text)
