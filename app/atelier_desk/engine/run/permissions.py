# ruff: noqa: PTH111, PTH112, PTH118
"""What a call touches, as the rules see it, and the refusal that a model reads when the verdict is no.

The verdict itself is pure (``policy.permissions``); only here are links of the machine followed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path as File
from typing import NamedTuple
from urllib.parse import urlsplit

from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call import Subjects
from atelier_desk.domain.errors import ToolError, UsageError
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.paths import within
from atelier_desk.domain.permission import Action, Grounds, PermissionRule, Verdict
from atelier_desk.domain.text import shorten
from atelier_desk.engine.run import repositories
from atelier_desk.engine.run.carried import carried
from atelier_desk.engine.run.marked_files import read_by_call
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.approvals import risk_of
from atelier_desk.policy.permissions import denying, pattern, taint
from atelier_desk.policy.permissions.decide import Level, bars, decide, narrowest
from atelier_desk.policy.permissions.facts import Command, Concern, Facts, Host, Path, Target
from atelier_desk.policy.permissions.grounds import grounds
from atelier_desk.policy.permissions.protected import protected
from atelier_desk.policy.permissions.scope import of_agent
from atelier_desk.tools.base import Call, Effect, Tool
from atelier_desk.tools.reach import WHOLE_FOLDERS
from atelier_desk.tools.sections import FILE_READERS, PAGE_READER, WEB
from atelier_desk.tools.shell import protected_names
from atelier_desk.tools.shell.running import same_with_files
from atelier_desk.workspace.alike import Patterns, TooManyError
from atelier_desk.workspace.checkpoints.taint_marks import TaintMarks
from atelier_desk.workspace.commands import git_denied, places
from atelier_desk.workspace.commands.judge import File as NamedFile
from atelier_desk.workspace.commands.judge import Judgement, Kind, judge
from atelier_desk.workspace.commands.packages import installs
from atelier_desk.workspace.commands.prefix_rules import spelled_out
from atelier_desk.workspace.denials import Denials
from atelier_desk.workspace.denied import work_tree
from atelier_desk.workspace.skills.find import folders_of

log = logging.getLogger(__name__)


class Judged(NamedTuple):
    """What was decided about a call, and from what.

    Attributes:
        reads: what it reads from outside: a host, a server, a path, a command; empty for nothing.
        always: the narrowest rules that would allow it from now on; none where one asks each time, or for what could not be looked into.
    """

    verdict: Verdict
    grounds: Grounds
    reads: str
    always: tuple[str, ...] = ()


PLAN_REFUSAL = (
    "Refused: this run only reads (profile Plan), and this call would change something or send something out. "
    "Say what you would do instead of doing it."
)


REPOSITORY_REFUSAL = (
    "Refused: settings of this git repository may run programs or use files elsewhere, and this run only reads (profile Plan). "
    "Go on without git here, or tell the user, who can allow these settings under another profile."
)


def settings_allowed(state: RunState, rule: str) -> bool:
    """Whether a person said yes to a repository's settings, by the text of the rule for it."""
    return any(each.text == rule and each.action is Action.ALLOW for each in rules(state))


class Judge:
    """Decides about the calls of one run.

    One level is enough: a sub-agent starts with its parent's rules and the stricter of both modes.
    """

    def __init__(self, own: Sequence[str] = (), marks: TaintMarks | None = None) -> None:
        """``own`` are the program's own folders, ``marks`` the files that were written after reading from outside."""
        self._own = own
        self._marks = marks
        self._granted: tuple[PermissionRule, ...] = ()
        self._agent_id = ""
        self._level: Level | None = None
        self._looked: repositories.Looked = {}
        self._denials = Denials()

    def begin(self) -> None:
        """The calls that are judged from here on are judged at one moment: a repository is looked at once for all of them."""
        self._looked.clear()

    def denials(self, state: RunState) -> Denials:
        """What the rules of the run deny on the disk."""
        level = self._level_of(state)
        if self._denials.roots != tuple(map(_slashed, state.workspace)):
            self._denials = denials(state, level.rules)
        return self._denials

    def judged(self, state: RunState, intent: ToolCallStarted, described: Call, *, repaired: bool, tainted: Sequence[str] = ()) -> Judged:
        """What is decided; ``tainted`` is what the team read from outside.

        A call that cannot be looked into, for whatever reason, is asked about as one that could not be read.
        """
        try:
            level = self._level_of(state)
            about = facts(
                state, intent, described,
                repaired=repaired, own=self._own, tainted=tainted, looked=self._looked, denials=self.denials(state), marks=self._marks,
            )  # fmt: skip
            said = decide([level], about)
            # What a rule asks about, and what asks each time, no other rule allows.
            always = narrowest(about) if said.action is Action.ASK and said.reason != "rule" and not about.concerns else ()
            if said.action is Action.ASK and said.reason == Concern.REPOSITORY:
                always = about.settings
            return Judged(said, grounds(about, level), about.reads, always)
        except Exception:
            log.exception("a call of %s could not be looked into", intent.tool)
            acts = described.effect is not Effect.READ
            unread = Facts(tool=intent.tool, kind=described.kind, changes=acts, concerns=(Concern.UNPARSED,))
            level = Level((), state.approvals)
            return Judged(decide([level], unread), grounds(unread, level, unread=True), intent.tool)

    def _level_of(self, state: RunState) -> Level:
        """The rules of the run, read again only when it has other ones: what a state holds never changes, so being the same is enough."""
        level = self._level
        same = level is not None and level.policy is state.approvals and self._granted is state.granted and self._agent_id == state.agent_id
        if level is None or not same:
            level = self._level = Level(rules(state), state.approvals)
            self._granted, self._agent_id = state.granted, state.agent_id
            self._denials = denials(state, level.rules)
        return level


def denials(state: RunState, held: Iterable[PermissionRule]) -> Denials:
    """What these rules of a run deny on its disk; false without a rule that denies a path."""
    return Denials(denying.bans(held), state.workspace, _slashed(_home()))


def verdict(
    state: RunState, intent: ToolCallStarted, described: Call, *, repaired: bool, own: Sequence[str] = (), tainted: Sequence[str] = ()
) -> Verdict:
    """What is decided about one call, as ``Judge`` says it."""
    return Judge(own).judged(state, intent, described, repaired=repaired, tainted=tainted).verdict


def unreachable(state: RunState, tool: Tool, described: Call) -> ToolError | None:
    """Why a call cannot run in the granted folders, whatever the rules and the profile say; None for one that may, and without folders."""
    skills = map(str, folders_of(state.skills_used)) if described.effect is Effect.READ else ()
    return tool.out_of_reach(described, [File(folder) for folder in (*state.workspace, *skills)]) if state.workspace else None


def rules(state: RunState) -> tuple[PermissionRule, ...]:
    """The rules of a run: those it started with, and those that came with a person's yes, but for those of other agents. One that cannot
    be read, from a file of another version, allows nothing."""
    return readable(of_agent((*state.approvals.rules, *state.granted), state.agent_id))


def host_arguments(state: RunState, tool: str, section: str) -> tuple[str, ...]:
    """The arguments about hosts of the rules that allow calls of a tool: ``domain:nas.lan:80``. Rules for names of tools do not count."""
    named = Facts(tool=tool, section=section)
    read = (pattern.parse(rule.text) for rule in rules(state) if rule.action is Action.ALLOW)
    return tuple(each.argument for each in read if each.argument and pattern.is_about_hosts(each.argument) and each.names(named))


def barred_host(state: RunState, tool: str, section: str, host: str) -> str:
    """What a rule about hosts says of a host that a call comes to only on its way, by a redirect or a program of a page: ``deny``, ``ask``,
    or nothing. Rules about the tool as a whole were held against the call itself."""
    named = Facts(tool=tool, section=section)
    for action in (Action.DENY, Action.ASK):
        for rule in rules(state):
            if rule.action is not action:
                continue
            if not _is_readable(rule.text):
                return action.value
            read = pattern.parse(rule.text)
            if read.argument and pattern.is_about_hosts(read.argument) and read.names(named) and pattern.covers_host(read.argument, host):
                return action.value
    return ""


def telling(state: RunState, tool: str, section: str) -> Callable[[str], bool]:
    """Says of a file (absolute) or a page (its address) whether a result may tell of it: no rule forbids or asks about reading it, by this
    tool or by the one that reads such things. Rules are read at the first question; when one cannot be, nothing may be told."""

    @cache
    def known() -> tuple[Level | None, _Disk, Denials]:
        found = tuple(rule for rule in rules(state) if rule.action is not Action.ALLOW)
        if not all(_is_readable(rule.text) for rule in found):
            return None, _Disk(()), Denials()
        about = tuple(rule for rule in found if pattern.parse(rule.text).argument)
        return Level(about, state.approvals), _Disk(state.workspace), denials(state, found)

    @lru_cache(maxsize=4096)
    def tells(place: str) -> bool:
        level, disk, denied = known()
        if level is None or not level.rules:
            return level is not None
        if "://" in place:
            return not bars(level, Facts(tool=PAGE_READER, section=WEB, hosts=(Host(urlsplit(place).hostname or place),)))
        path = disk.path(place)
        also = _renamed((path,), denied) if denied else ()
        named = Facts(tool=tool, section=section, paths=(path,), path_tools=FILE_READERS, reached=also, home=_slashed(_home()))
        return not bars(level, named)

    return tells


def readable(rules: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Without those that cannot be read and would allow something; others make every call ask."""
    return tuple(rule for rule in rules if _is_readable(rule.text) or rule.action is not Action.ALLOW)


def _is_readable(text: str) -> bool:
    try:
        pattern.parse(text)
    except UsageError:
        return False
    return True


def facts(
    state: RunState,
    intent: ToolCallStarted,
    described: Call,
    *,
    repaired: bool,
    own: Sequence[str] = (),
    tainted: Sequence[str] = (),
    looked: repositories.Looked | None = None,
    denials: Denials | None = None,
    marks: TaintMarks | None = None,
) -> Facts:
    """The facts of a call, from what its tool says of it; ``looked``: see ``repositories.unknown``. ``denials``: what the rules deny on
    the disk."""
    disk = _Disk(state.workspace)
    home = _slashed(_home())
    risk = risk_of(state.approvals, intent.tool, described.risk.value)
    paths = tuple(disk.path(text) for text in described.subjects.paths)
    judgement = judge(described.subjects.command, home) if described.subjects.command else None
    unparsed = described.unread or (judgement is not None and judgement.line is None)
    about = {Concern.UNPARSED: described.subjects.command} if unparsed else {}
    if not unparsed and judgement is not None and judgement.asks_always:
        about[Concern.OPAQUE] = next(pattern.command_text(one.command.arguments) for one in judgement.commands if one.wraps)
    asks_git = repositories.unknown(intent.tool, judgement, described.details, state.workspace, {} if looked is None else looked)
    if asks_git:
        about[Concern.REPOSITORY] = "; ".join(each.about for each in asks_git)
    changes = described.effect is not Effect.READ
    redirected: tuple[Path, ...] = ()
    changed, unseen = paths, ""
    if judgement is not None:
        written, unseen = _changed(described.subjects.writes, disk)
        changed = tuple(dict.fromkeys(path for found in written for path in found))
        by_output = (found for file, found in zip(judgement.writes, written, strict=False) if file in judgement.redirected)
        redirected = tuple(dict.fromkeys(path for found in by_output for path in found))
    if unseen:
        about.setdefault(Concern.UNPARSED, unseen)
    guarded = (protected(changed, own) or carried(changed, own)) if changes else ""
    if not guarded and changes and judgement is not None:
        guarded = protected_names.named(judgement, str(described.details.get("cwd") or ""), state.workspace, own).about
    if guarded:
        about[Concern.PROTECTED] = guarded
    if judgement is not None and any(installs(judged.command.arguments) for judged in judgement.commands):
        about[Concern.INSTALLS] = described.subjects.command
    if described.subjects.sandbox in UNCONFINED:
        about[Concern.UNCONFINED] = described.subjects.sandbox
    if described.altered:
        about[Concern.ALTERED] = intent.tool
    if repaired and changes:
        about[Concern.REPAIRED] = ""
    reached: tuple[Path, ...] = ()
    taken: tuple[Path, ...] = ()
    if denials:
        reached = (*_renamed((*paths, *changed), denials), *_named(judgement, described, denials, disk))
        taken = _taken(intent.tool, paths, denials, disk)
        if judgement is not None and (open_to := denials.unkept(judgement)):
            about[Concern.DENIED] = open_to
    leaves = described.effect is Effect.NETWORK or (changes and any(not path.inside for path in changed))
    if tainted and leaves:
        about[Concern.TAINTED] = ", ".join(tainted)
    return Facts(
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
        reached=reached,
        taken=taken,
        commands=_commands(judgement, described.subjects.folder, disk),
        hosts=tuple(_hosts(described.subjects)),
        agents=tuple(Target(name) for name in described.subjects.agents),
        home=home,
        concerns=tuple(about),
        about=tuple(about.items()),
        settings=tuple(each.rule for each in asks_git),
        reads=_reads(state, intent, described, paths, disk, marks, judgement),
    )


def _reads(
    state: RunState,
    intent: ToolCallStarted,
    described: Call,
    paths: Sequence[Path],
    disk: _Disk,
    marks: TaintMarks | None,
    judgement: Judgement | None,
) -> str:
    """What comes into the conversation from outside with the call's result. Source: the specification, "Taint".

    A call that changes a file tells at most a few lines of what stands there, and does not count; but one that brings a file from outside
    into a trusted folder does: nothing tells later that what is read there came from elsewhere.
    """
    subjects = described.subjects
    if intent.server or described.effect is Effect.NETWORK:
        return intent.server or next((host.name for host in _hosts(subjects)), intent.tool)
    if subjects.sandbox in UNCONFINED:
        # Not to be taken for the name of a file, which may come to be trusted.
        return shorten(f"$ {subjects.command}" if taint.is_path(subjects.command) else subjects.command, limits.TAINT)
    if marks and (found := read_by_call(marks, intent.tool, intent.section, described, judgement, state.workspace)):
        return found
    # A skill that was taken up is one that its user put there, or of a trusted folder.
    trusted = disk.granted((*state.trusted, *map(str, folders_of(state.skills_used))))
    if described.effect is Effect.WRITE and not subjects.command and not any(replace(path, roots=trusted).inside for path in paths):
        return ""
    # A command reads the folder it runs in, whatever it names.
    here = (disk.path("."),) if subjects.command and state.workspace else ()
    outside = (path for path in (*paths, *here) if not replace(path, roots=trusted).inside)
    return next((shorten(path.spellings[0], limits.TAINT) for path in outside), "")


def refusal(said: Verdict) -> str:
    """What the model is told of a forbidden call."""
    if said.reason == Concern.REPOSITORY:
        return f"{REPOSITORY_REFUSAL} It is about {said.about}."
    if said.reason != "rule":
        return PLAN_REFUSAL
    what = f" It is about {said.about}." if said.about else ""
    return (
        f"Refused by the permission rule “{said.rule}”.{what} Do not try to reach the same in another way: "
        "go on without it, or ask the user."
    )


def _acts(described: Call, risk: str) -> bool:
    """Whether the call does more than read.

    An agent's own notes (tasks, memories) and sub-agents, which act no more freely, do not count.
    """
    if described.effect in (Effect.READ, Effect.INTERACT, Effect.SPAWN):
        return False
    return not (described.effect is Effect.WRITE and described.kind is ApprovalKind.TOOL and risk == "low")


def really(folders: Sequence[str]) -> tuple[str, ...]:
    """The folders with every link followed: a rule of a folder must not go along when a link is turned to another one."""
    return tuple(os.path.realpath(folder) for folder in folders)


class _Disk:
    """Where the paths of one call really lie; each is looked up once."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._real: dict[str, str] = {}
        self.start = folders[0] if folders else ""
        self.roots = self.granted(folders)

    def path(self, text: str) -> Path:
        """A path as a call names it."""
        at_home = text == "~" or text.startswith("~/")
        written = os.path.join(self.start, _home() + text[1:] if at_home else text)
        whole = os.path.normpath(written)
        whole = "/" + whole.lstrip("/") if whole.startswith("/") else whole  # normpath keeps two slashes at the start
        # A file tool takes ".." away as it is written, a command goes up from where a link led to: both are looked at.
        spellings = (_slashed(whole), self._real_of(whole), self._real_of(written if ".." in written else whole))
        return Path(tuple(dict.fromkeys(spellings)), self.roots)

    def folder(self, text: str) -> str | None:
        """A folder from the first granted one on, links followed: empty for that one, absolute outside.

        None where ``..`` goes up from a link: a shell goes back to where the link is, a program to where it leads.
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
        """For each word of a command the other ways to say the file it names, links followed: from the workspace on, and whole."""
        found: list[tuple[str, ...]] = []
        for word in words:
            written = os.path.join(folder, word) if word and not word.startswith("-") and len(word) < limits.RULE_TEXT else ""
            if not written or not os.path.lexists(written):
                found.append(())
                continue
            spellings = (_slashed(os.path.normpath(written)), self._real_of(written))
            below = [path[len(root.rstrip("/")) + 1 :] for path in spellings for root in self.roots if within(root, path)]
            found.append(tuple(each for each in dict.fromkeys((*spellings, *below)) if each and each != word))
        return tuple(found) if any(found) else ()

    def granted(self, folders: Sequence[str]) -> tuple[str, ...]:
        """Folders as they are spelled, and with every link followed: a granted folder may itself be reached through one."""
        return tuple(dict.fromkeys([*map(_slashed, folders), *map(self._real_of, folders)]))

    def _real_of(self, path: str) -> str:
        found = self._real.get(path)
        if found is None:
            found = self._real[path] = _slashed(os.path.realpath(path))
        return found


def _home() -> str:
    return os.path.expanduser("~")


def _slashed(path: str) -> str:
    return File(path).as_posix() if os.sep != "/" else path


def _commands(judgement: Judgement | None, folder: str, disk: _Disk) -> tuple[Command, ...]:
    """The simple commands of a line that runs in this folder; none when it could not be taken apart."""
    found = []
    for one in judgement.commands if judgement is not None else ():
        words = one.command.arguments
        # A file outside must be named by the rule itself, which cannot name one that the command is fed.
        named = [file for file in (*one.reads, *one.writes) if file not in (*one.fed, *one.redirected)]
        if _away(one.fed, folder, disk):
            spelled = len(words) + 1
        else:
            starts = (File(disk.start, folder, each) for each in judgement.folders(one)) if judgement is not None else ()
            led_out = one.kind is Kind.RUNS and any(places.led_out(one.command, start, disk.roots) for start in starts)
            spelled = len(words) if led_out or _away(named, folder, disk) else spelled_out(one.command)
        there = None if one.folder is None else disk.folder(os.path.join(folder, one.folder))
        also = disk.also(words, os.path.join(disk.start, folder, one.folder or ""))
        found.append(Command(words, one.contained, there, spelled, also))
    return tuple(found)


def _away(files: Iterable[NamedFile], folder: str, disk: _Disk) -> bool:
    """Whether any of these files may lie outside the granted folders."""
    named, unseen = _changed(tuple(os.path.join(folder, file.name) for file in files), disk)
    return bool(unseen) or any(not path.inside for each in named for path in each)


def _renamed(paths: Sequence[Path], denials: Denials) -> tuple[Path, ...]:
    """The paths as rules spell them that begin with a link."""
    other = ((path.roots, name) for path in paths for name in denials.other_names(path.spellings[-1]))
    return tuple(Path((name,), roots) for roots, name in other)


def _named(judgement: Judgement | None, described: Call, denials: Denials, disk: _Disk) -> tuple[Path, ...]:
    """Denied paths that a command names without its files being known: the revisions of git, and words of programs that may do anything."""
    if judgement is None:
        return ()
    cwd = str(described.details.get("cwd") or "")
    found: list[Path] = []
    for one in judgement.commands:
        folder = os.path.join(cwd, one.folder or "")
        program, *words = one.command.arguments
        if program.rpartition("/")[2] == "git":
            # A revision's path starts at the top of the repository, or with ./ at the folder it runs in.
            top = os.path.relpath(work_tree(File(disk.start, folder)) or disk.start, disk.start)
            found += [disk.path(os.path.join(start, name)) for name in git_denied.named(words) for start in (top, folder)]
        if one.kind is Kind.RUNS:
            said = [word.partition("=")[2] if word.startswith("-") else word for word in words]
            paths = [disk.path(os.path.join(folder, word)) for word in said if word and len(word) < limits.RULE_TEXT]
            found += [path for path in paths if any(denials.covers(each) and os.path.lexists(each) for each in path.spellings)]
    return tuple(dict.fromkeys(found))


def _taken(tool: str, paths: Sequence[Path], denials: Denials, disk: _Disk) -> tuple[Path, ...]:
    """What a call takes along with a folder, and where it puts something into one."""
    if tool not in WHOLE_FOLDERS:
        return ()
    found = [Path((each,), path.roots) for path in paths if os.path.isdir(path.spellings[-1]) for each in denials.taken(path.spellings[-1])]
    if len(paths) == 2 and os.path.isdir(paths[1].spellings[-1]):
        found.append(disk.path(os.path.join(paths[1].spellings[0], paths[0].spellings[0].rpartition("/")[2])))
    return tuple(found)


def _changed(names: tuple[str, ...], disk: _Disk) -> tuple[list[tuple[Path, ...]], str]:
    """The files that each name of what a command changes stands for; and the first pattern that nobody can be sure of, where it ends."""
    patterns = Patterns(disk.start, _ALIKE)
    found: list[tuple[Path, ...]] = []
    for name in names:
        if "[" in name:
            # bash reads classes and negations otherwise than Python does.
            return found, name
        try:
            alike = patterns.names(name) if any(mark in name for mark in "*?") else []
        except TooManyError:
            return found, name
        found.append(tuple(disk.path(each) for each in (name, *alike)))
    return found, ""


_ALIKE = 1_000
"""Names that one pattern of a written file may stand for."""
UNCONFINED = frozenset({"network", "none"})
"""What a person says yes to each time: ``Subjects.sandbox``."""


def _hosts(subjects: Subjects) -> Iterator[Host]:
    for text in subjects.hosts:
        yield Host((urlsplit(text).hostname or text) if "://" in text else text)
