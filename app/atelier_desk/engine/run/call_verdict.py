"""The verdict about a call of a run, and the refusal for the model.

The verdict is pure (``policy.permissions``); its facts are collected in ``call_facts``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, DecisionRecord, PermissionRule, Verdict
from atelier_desk.engine.run.call_facts import Disk, DiskFindings, facts, other_spellings, reads_disk
from atelier_desk.engine.run.permission_rules import is_readable, rules
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.policy.permissions.call_facts import CallFacts, Concern, HostFact
from atelier_desk.policy.permissions.decide import Level, bars, decide, narrowest
from atelier_desk.policy.permissions.decision_record import grounds
from atelier_desk.policy.permissions.path_denials import bans
from atelier_desk.tools.base import Call, Effect, Tool
from atelier_desk.tools.registry.sections import FILE_READERS, PAGE_READER, WEB
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMarks
from atelier_desk.workspace.denied_file_search import home_folder
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.skills.skill_discovery import folders_of

log = logging.getLogger(__name__)


class JudgedCall(NamedTuple):
    """Decision about a call, and its basis.

    Attributes:
        reads: the outside source it reads: a host, server, path or command; empty for none.
        always: the narrowest rules that would allow it permanently; none if it always asks, or could not be inspected.
    """

    verdict: Verdict
    grounds: DecisionRecord
    reads: str
    always: tuple[str, ...] = ()


PLAN_REFUSAL = (
    "Refused: this run only reads (profile Plan), and this call would change something or send something out. "
    "Say what you would do instead of doing it."
)


REPOSITORY_REFUSAL = (
    "Refused: settings of this git repository may run programs or use files elsewhere, and this run only reads "
    "(profile Plan). "
    "Go on without git here, or tell the user, who can allow these settings under another profile."
)


class Judge:
    """Decides about the calls of one run.

    One level suffices: a sub-agent starts with its parent's rules and the stricter of both modes.

    Attributes:
        findings: findings on disk since ``begin``.
    """

    def __init__(self, own: Sequence[str] = (), marks: TaintMarks | None = None) -> None:
        """``own``: the program's own folders; ``marks``: files written after reading outside content."""
        self._own = own
        self._marks = marks
        self.findings = DiskFindings()
        self._rules: _RunRules | None = None

    def begin(self) -> None:
        """Begin a moment of judgement: each repository is inspected once for all calls of it."""
        # Replaced rather than cleared: a thread of a stopped call may still use the old one.
        self.findings = DiskFindings()

    def denials(self, state: RunState) -> Denials:
        """Return what the rules of the run deny on disk."""
        return self._of(state).denials

    def blocks(self, state: RunState, tool: str, described: Call) -> bool:
        """Whether ``judged`` runs programs or scans folders for this call, and so must run in a thread."""
        try:
            return reads_disk(tool, described, denials=self.denials(state), marks=self._marks)
        except Exception:
            return True  # ``judged`` encounters it again, and asks

    def judged(
        self, state: RunState, intent: ToolCallStarted, described: Call, *, repaired: bool, tainted: Sequence[str] = ()
    ) -> JudgedCall:
        """Return the decision; ``tainted``: outside sources the team has read. See ``blocks``.

        A call that cannot be inspected, for whatever reason, asks like an unparsable one.
        """
        try:
            held = self._of(state)
            about = facts(
                state, intent, described, repaired=repaired,
                own=self._own, tainted=tainted, findings=self.findings, denials=held.denials, marks=self._marks,
            )  # fmt: skip
            verdict = decide([held.level], about)
            # No other rule allows what a rule asks about, or what always asks.
            always = (
                narrowest(about)
                if verdict.action is Action.ASK and verdict.reason != "rule" and not about.concerns
                else ()
            )
            if verdict.action is Action.ASK and verdict.reason == Concern.REPOSITORY:
                always = about.settings
            return JudgedCall(verdict, grounds(about, held.level), about.reads, always)
        except Exception:
            log.exception("a call of %s could not be looked into", intent.tool)
            acts = described.effect is not Effect.READ
            unread = CallFacts(tool=intent.tool, kind=described.kind, changes=acts, concerns=(Concern.UNPARSED,))
            level = Level((), state.approvals)
            return JudgedCall(decide([level], unread), grounds(unread, level, unread=True), intent.tool)

    def _of(self, state: RunState) -> _RunRules:
        """Return the run's rules, cached by identity because states are immutable."""
        held = self._rules
        if held is None or not held.are_of(state):
            level = Level(rules(state), state.approvals)
            held = self._rules = _RunRules(
                level, Denials(bans(level.rules), state.workspace), state.granted, state.agent_id, state.workspace
            )
        return held


class _RunRules(NamedTuple):
    """The rules of a run, and the state they came from."""

    level: Level
    denials: Denials
    granted: tuple[PermissionRule, ...]
    agent_id: str
    workspace: tuple[str, ...]

    def are_of(self, state: RunState) -> bool:
        same = (
            self.level.policy is state.approvals and self.granted is state.granted and self.agent_id == state.agent_id
        )
        return same and self.workspace == state.workspace


def verdict(
    state: RunState,
    intent: ToolCallStarted,
    described: Call,
    *,
    repaired: bool,
    own: Sequence[str] = (),
    tainted: Sequence[str] = (),
) -> Verdict:
    """Return the verdict about one call, like ``Judge``; blocks."""
    return Judge(own).judged(state, intent, described, repaired=repaired, tainted=tainted).verdict


def unreachable(state: RunState, tool: Tool, described: Call) -> ToolError | None:
    """Return why a call cannot run in the granted folders, regardless of rules and profile.

    None if it can, or without folders.
    """
    skills = map(str, folders_of(state.skills_used)) if described.effect is Effect.READ else ()
    return (
        tool.out_of_reach(described, [Path(folder) for folder in (*state.workspace, *skills)])
        if state.workspace
        else None
    )


def disclosure_filter(state: RunState, tool: str, section: str) -> Callable[[str], bool]:
    """Return a predicate: may a result reveal a file (absolute path) or page (address)?

    True unless a rule denies or asks about reading it, by this tool or the one for such content. Rules are parsed at
    the first question; if one is invalid, nothing may be revealed.
    """

    @cache
    def known() -> tuple[Level | None, Disk, Denials]:
        found = tuple(rule for rule in rules(state) if rule.action is not Action.ALLOW)
        if not all(is_readable(rule.text) for rule in found):
            return None, Disk(()), Denials()
        about = tuple(rule for rule in found if rule_pattern.parse(rule.text).argument)
        return Level(about, state.approvals), Disk(state.workspace), Denials(bans(found), state.workspace)

    @lru_cache(maxsize=4096)
    def tells(place: str) -> bool:
        level, disk, denied = known()
        if level is None or not level.rules:
            return level is not None
        if "://" in place:
            return not bars(
                level, CallFacts(tool=PAGE_READER, section=WEB, hosts=(HostFact(urlsplit(place).hostname or place),))
            )
        path = disk.path(place)
        also = other_spellings((path,), denied) if denied else ()
        named = CallFacts(
            tool=tool, section=section, paths=(path,), path_tools=FILE_READERS, revealed=also, home=home_folder()
        )
        return not bars(level, named)

    return tells


def refusal(said: Verdict) -> str:
    """Return the text for the model about a denied call."""
    if said.reason == Concern.REPOSITORY:
        return f"{REPOSITORY_REFUSAL} It is about {said.about}."
    if said.reason != "rule":
        return PLAN_REFUSAL
    what = f" It is about {said.about}." if said.about else ""
    return (
        f"Refused by the permission rule “{said.rule}”.{what} Do not try to reach the same in another way: "
        "go on without it, or ask the user."
    )
