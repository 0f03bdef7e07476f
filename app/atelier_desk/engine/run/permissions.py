"""What a call touches, as the rules see it, and the refusal that a model reads when the verdict is no.

The verdict itself is pure (``policy.permissions``); only here are links of the machine followed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from glob import iglob
from itertools import islice
from pathlib import Path as File
from typing import NamedTuple
from urllib.parse import urlsplit

from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call import Subjects
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope, Verdict
from atelier_desk.domain.text import shorten
from atelier_desk.engine.run.carried import carried
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.approvals import risk_of
from atelier_desk.policy.permissions import pattern
from atelier_desk.policy.permissions.decide import Level, decide, narrowest
from atelier_desk.policy.permissions.facts import Command, Concern, Facts, Host, Path, Target
from atelier_desk.policy.permissions.protected import protected
from atelier_desk.tools.base import Call, Effect
from atelier_desk.tools.shell.running import same_with_files
from atelier_desk.workspace.commands.judge import Judgement, judge
from atelier_desk.workspace.commands.packages import installs

log = logging.getLogger(__name__)


class Judged(NamedTuple):
    """What was decided about a call, and what it reads from outside: a host, a server, a path, a command; empty for nothing."""

    verdict: Verdict
    reads: str


PLAN_REFUSAL = (
    "Refused: this run only reads (profile Plan), and this call would change something or send something out. "
    "Say what you would do instead of doing it."
)


class Judge:
    """Decides about the calls of one run.

    One level is enough: a sub-agent starts with its parent's rules and the stricter of both modes.
    """

    def __init__(self, own: Sequence[str] = ()) -> None:
        """``own`` are the program's own folders."""
        self._own = own
        self._granted: tuple[PermissionRule, ...] = ()
        self._agent_id = ""
        self._level: Level | None = None

    def judged(self, state: RunState, intent: ToolCallStarted, described: Call, *, repaired: bool, tainted: Sequence[str] = ()) -> Judged:
        """What is decided; ``tainted`` is what the team read from outside.

        A call that cannot be looked into, for whatever reason, is asked about as one that could not be read.
        """
        try:
            about = facts(state, intent, described, repaired=repaired, own=self._own, tainted=tainted)
            return Judged(decide([self._level_of(state)], about), about.reads)
        except Exception:
            log.exception("a call of %s could not be looked into", intent.tool)
            acts = described.effect is not Effect.READ
            unread = Facts(tool=intent.tool, kind=described.kind, changes=acts, concerns=(Concern.UNPARSED,))
            return Judged(decide([Level((), state.approvals)], unread), intent.tool)

    def _level_of(self, state: RunState) -> Level:
        """The rules of the run, read again only when it has other ones: what a state holds never changes, so being the same is enough."""
        level = self._level
        same = level is not None and level.policy is state.approvals and self._granted is state.granted and self._agent_id == state.agent_id
        if level is None or not same:
            level = self._level = Level(rules(state), state.approvals)
            self._granted, self._agent_id = state.granted, state.agent_id
        return level


def verdict(
    state: RunState, intent: ToolCallStarted, described: Call, *, repaired: bool, own: Sequence[str] = (), tainted: Sequence[str] = ()
) -> Verdict:
    """What is decided about one call, as ``Judge`` says it."""
    return Judge(own).judged(state, intent, described, repaired=repaired, tainted=tainted).verdict


def always(
    state: RunState, intent: ToolCallStarted, described: Call, *, own: Sequence[str] = (), tainted: Sequence[str] = ()
) -> tuple[str, ...]:
    """The narrowest rules that would allow a call from now on; none where one asks each time, or for what could not be looked into."""
    try:
        about = facts(state, intent, described, repaired=False, own=own, tainted=tainted)
    except Exception:
        log.exception("no rule for a call of %s", intent.tool)
        return ()
    return () if about.concerns else narrowest(about)


def rules(state: RunState) -> tuple[PermissionRule, ...]:
    """The rules of a run: those it started with, and those that came with a person's yes, but for those of other agents. One that cannot
    be read, from a file of another version, allows nothing."""
    mine = (
        rule for rule in (*state.approvals.rules, *state.granted) if rule.scope is not RuleScope.AGENT or rule.scope_id == state.agent_id
    )
    return tuple(rule for rule in mine if _is_readable(rule.text) or rule.action is not Action.ALLOW)


def _is_readable(text: str) -> bool:
    try:
        pattern.parse(text)
    except UsageError:
        return False
    return True


def facts(
    state: RunState, intent: ToolCallStarted, described: Call, *, repaired: bool, own: Sequence[str] = (), tainted: Sequence[str] = ()
) -> Facts:
    """The facts of a call, from what its tool says of it."""
    home = File.home().as_posix()
    risk = risk_of(state.approvals, intent.tool, described.risk.value)
    roots = tuple(_slashed(root) for root in state.workspace)
    paths = tuple(_path(text, roots, state.workspace) for text in described.subjects.paths)
    judgement = judge(described.subjects.command, home) if described.subjects.command else None
    unparsed = described.unread or (judgement is not None and judgement.asks_always)
    about = {Concern.UNPARSED: described.subjects.command} if unparsed else {}
    changes = described.effect is not Effect.READ
    redirected: tuple[Path, ...] = ()
    if judgement is not None:
        named = zip(judgement.writes, described.subjects.writes, strict=False)
        redirected, _unseen = _changed(tuple(name for file, name in named if file in judgement.redirected), roots, state.workspace)
    changed, unseen = (paths, "") if judgement is None else _changed(described.subjects.writes, roots, state.workspace)
    if unseen:
        about.setdefault(Concern.UNPARSED, unseen)
    if changes and (guarded := protected(changed, own) or carried(changed, own)):
        about[Concern.PROTECTED] = guarded
    if judgement is not None and any(installs(judged.command.arguments) for judged in judgement.commands):
        about[Concern.INSTALLS] = described.subjects.command
    if described.subjects.sandbox in UNCONFINED:
        about[Concern.UNCONFINED] = described.subjects.sandbox
    if repaired and changes:
        about[Concern.REPAIRED] = ""
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
        commands=_commands(judgement),
        hosts=tuple(_hosts(described.subjects)),
        agents=tuple(Target(name) for name in described.subjects.agents),
        home=home,
        concerns=tuple(about),
        about=tuple(about.items()),
        reads=_reads(state, intent, described, paths),
    )


def _reads(state: RunState, intent: ToolCallStarted, described: Call, paths: Sequence[Path]) -> str:
    """What comes into the conversation from outside with the call's result. Source: the specification, "Taint".

    A call that changes a file tells at most a few lines of what stands there, and does not count.
    """
    subjects = described.subjects
    if intent.server or described.effect is Effect.NETWORK:
        return intent.server or next((host.name for host in _hosts(subjects)), intent.tool)
    if subjects.sandbox in UNCONFINED:
        return shorten(subjects.command, limits.TAINT)
    if described.effect is Effect.WRITE and not subjects.command:
        return ""
    trusted = _granted(state.trusted)
    # A command reads the folder it runs in, whatever it names.
    here = (_path(".", (), state.workspace),) if subjects.command and state.workspace else ()
    outside = (path for path in (*paths, *here) if not replace(path, roots=trusted).inside)
    return next((shorten(path.spellings[0], limits.TAINT) for path in outside), "")


def refusal(said: Verdict) -> str:
    """What the model is told of a forbidden call."""
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


def _path(text: str, roots: tuple[str, ...], folders: tuple[str, ...]) -> Path:
    start = folders[0] if folders else ""
    written = File(start) / _at_home(text)
    whole = os.path.normpath(written)
    whole = "/" + whole.lstrip("/") if whole.startswith("/") else whole  # normpath keeps two slashes at the start
    # A file tool takes ".." away as it is written, a command goes up from where a link led to: both are looked at.
    spellings = (_slashed(whole), _slashed(os.path.realpath(whole)), _slashed(os.path.realpath(written)))
    return Path(tuple(dict.fromkeys(spellings)), tuple(dict.fromkeys([*roots, *_granted(folders)])))


def _granted(folders: Sequence[str]) -> tuple[str, ...]:
    """Folders as they are spelled, and with every link followed: a granted folder may itself be reached through one."""
    return tuple(dict.fromkeys([*map(_slashed, folders), *(_slashed(os.path.realpath(folder)) for folder in folders)]))


def _at_home(text: str) -> File:
    return File.home() / text[2:] if text == "~" or text.startswith("~/") else File(text)


def _slashed(path: str) -> str:
    return File(path).as_posix()


def _commands(judgement: Judgement | None) -> tuple[Command, ...]:
    """The simple commands of a line; none when it could not be taken apart."""
    return tuple(Command(one.command.arguments, one.contained) for one in judgement.commands) if judgement is not None else ()


def _changed(names: tuple[str, ...], roots: tuple[str, ...], folders: tuple[str, ...]) -> tuple[tuple[Path, ...], str]:
    """The files that a command changes, patterns of names filled in; and the first pattern that nobody can be sure of."""
    start = folders[0] if folders else ""
    found: list[Path] = []
    for name in names:
        if "[" in name:
            # bash reads classes and negations otherwise than Python does.
            return tuple(found), name
        alike = list(islice(iglob(name, root_dir=start), _ALIKE + 1)) if any(mark in name for mark in "*?") else []  # noqa: PTH207
        if len(alike) > _ALIKE:
            return tuple(found), name
        found += [_path(each, roots, folders) for each in (name, *alike)]
    return tuple(found), ""


_ALIKE = 1_000
"""Names that one pattern of a written file may stand for."""
UNCONFINED = frozenset({"network", "none"})
"""What a person says yes to each time: ``Subjects.sandbox``."""


def _hosts(subjects: Subjects) -> Iterator[Host]:
    for text in subjects.hosts:
        yield Host((urlsplit(text).hostname or text) if "://" in text else text)
