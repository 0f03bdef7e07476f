"""Recompute the verdicts of a journal from stored facts: under the rules of the time, and under today's."""

from __future__ import annotations

from collections.abc import AsyncIterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from atelier_desk.domain.approval import ApprovalPolicy, ApprovalRequest, ApprovalSettings
from atelier_desk.domain.audit import cut, detail_of
from atelier_desk.domain.events.run import ApprovalRequested, RunEvent, ToolCallStarted
from atelier_desk.domain.permission import Action, RuleScope, Verdict
from atelier_desk.engine.run.permission_rules import readable, rules
from atelier_desk.engine.run.reducer.reduce import reduce
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.llm.secrets import redact
from atelier_desk.policy.permissions.decide import VERSION, Level
from atelier_desk.policy.permissions.decision_record import NamedFact, again
from atelier_desk.policy.permissions.rule_scope import for_run, handed_down, of_agent


@dataclass(frozen=True, slots=True)
class Replayed:
    """One past verdict.

    Attributes:
        detail: one-line summary of the call, without secrets.
        said: the original verdict; requests for approval have no ``rule_id``.
        again: recomputed from the journal; None if decided by a version without stored facts, or differently.
        today: under today's rules and settings, in the run's own mode; None where ``again`` is.
        answered: a person had approved the call: this is the check when it began to run.
    """

    time: datetime
    run_id: str
    call_id: str
    agent_name: str
    tool: str
    detail: str
    recorded: Verdict
    again: Verdict | None = None
    today: Verdict | None = None
    answered: bool = False

    @property
    def same(self) -> bool:
        """Whether it was reproduced, by the same rule and for the same reason."""
        return self.again is not None and _plain(self.again) == _plain(self.recorded)

    @property
    def differs(self) -> bool:
        """Whether today's rules would act differently."""
        return self.today is not None and self.today.action is not self.recorded.action


@dataclass(slots=True)
class _Run:
    """A run as far as it was read: its past policies by name, and the policy of today.

    ``chosen``: its policy if started today; ``now``: including its approvals.
    """

    state: RunState
    chosen: ApprovalPolicy
    level: Level = field(init=False)
    now: Level = field(init=False)
    known: dict[str, Level] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.learn()

    def learn(self) -> None:
        """Record that its rules have changed."""
        state = self.state
        self.level = Level(rules(state), state.approvals)
        self.known[self.level.name] = self.level
        # Approvals for the run apply independently of the rules; only they are allow rules of a run.
        given = [
            rule
            for rule in (*state.approvals.rules, *state.granted)
            if rule.scope is RuleScope.RUN and rule.action is Action.ALLOW
        ]
        mine = of_agent((*self.chosen.rules, *given), state.agent_id)
        self.now = Level(readable(mine), self.chosen)


async def replayed(events: AsyncIterable[RunEvent], chosen: ApprovalSettings) -> list[Replayed]:
    """Return every verdict of a workflow's journal, in order; ``chosen``: today's settings with all rules.

    An imported run with inconsistent events is included up to the inconsistency.
    """
    runs: dict[str, _Run] = {}
    broken: set[str] = set()
    found: list[Replayed] = []
    async for event in events:
        if not event.run_id or event.run_id in broken:
            continue
        run = runs.get(event.run_id)
        try:
            state = reduce(run.state if run is not None else None, event)
        except ValueError:
            broken.add(event.run_id)
            continue
        if run is None:
            runs[event.run_id] = _Run(state, _today(state, chosen, runs))
            continue
        if (
            isinstance(event.body, ToolCallStarted | ApprovalRequested)
            and (one := _one(event, event.body, run)) is not None
        ):
            found.append(one)
        before, run.state = run.state, state
        if before.granted is not run.state.granted or before.approvals is not run.state.approvals:
            run.learn()
    return found


def _today(state: RunState, chosen: ApprovalSettings, runs: dict[str, _Run]) -> ApprovalPolicy:
    """Return the policy of a run if started today."""
    parent = runs.get(state.lineage[-1].run_id) if state.lineage else None
    if parent is None:
        return for_run(
            chosen,
            state.approvals.mode,
            run_id=state.run_id,
            workflow_id=state.workflow_id,
            agent_id=state.agent_id,
            workspace=state.workspace,
        )
    root = state.root_run_id
    rules = handed_down(parent.chosen.rules, parent.state.agent_id, state.agent_id, root)
    return parent.chosen.model_copy(update={"mode": state.approvals.mode, "rules": rules})


def _one(event: RunEvent, body: ToolCallStarted | ApprovalRequested, run: _Run) -> Replayed | None:
    call: ToolCallStarted | ApprovalRequest
    if isinstance(body, ApprovalRequested):
        call = body.approval
        recorded = Verdict(action=Action.ASK, reason=call.reason, rule=call.rule, about=call.about)
        answered = False
    else:
        if body.verdict is None:
            return None
        call, recorded = body, body.verdict
        before = run.state.call(call.call_id)
        answered = before is not None and before.allowed
    # No rule or setting applies outside the granted folders: it would be refused today as well.
    verdict_now = today = recorded if recorded.reason == "outside" else None
    if body.grounds is not None and body.grounds.version == VERSION:
        named = NamedFact(call.tool, call.section, call.server, call.risk)
        risk = run.now.policy.risks.get(call.tool, call.risk)
        with suppress(ValueError, IndexError):  # foreign content of an imported file may be invalid
            verdict_now = again(body.grounds, named, run.known.get(body.grounds.level, run.level))
            today = again(body.grounds, named._replace(risk=risk), run.now)
    return Replayed(
        time=event.time,
        run_id=event.run_id,
        call_id=call.call_id,
        agent_name=run.state.agent.name,
        tool=call.tool,
        detail=cut(redact(detail_of(call.subjects, call.arguments))),
        recorded=recorded,
        again=verdict_now,
        today=today,
        answered=answered,
    )


def _plain(verdict: Verdict) -> tuple[str, ...]:
    return verdict.action, verdict.reason, verdict.rule, verdict.about
