"""The effects of approvals, sub-agents and a person's changes of the conversation on a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from atelier_desk.domain.agent import ApprovalMode, Budget
from atelier_desk.domain.approval import (
    ApprovalFlags,
    ApprovalPolicy,
    ApprovalRequest,
    ApprovalScope,
    ApprovalSettings,
    ApprovalStatus,
)
from atelier_desk.domain.events.run import (
    ApprovalAskedAgain,
    ApprovalDecided,
    ApprovalRequested,
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    ChildrenJoined,
    ChildrenPlanned,
    ChildStarted,
    CompactionUndone,
    ContextCompacted,
    EntryPinned,
    EventBody,
    LimitKind,
    LimitsRaised,
    MemoryExtractionDone,
    ParentAnswered,
    ParentAsked,
    PictureDescribed,
    RightsNarrowed,
    TitleGenerated,
    ToolCallFinished,
)
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.permission import Action, PermissionRule, snapshot
from atelier_desk.domain.sub_agent import ChildPlan, ChildStatus, TeamCall
from atelier_desk.engine.run.reducer.state import RunState
from tests.helpers.runs_without_driver import Script, advance, agent, call, finished, reply, started

USED = Usage(tokens_input=3, tokens_output=4, cost=0.5)
ALLOW, DENY = (PermissionRule(id=name, text=name, action=Action(name)) for name in ("allow", "deny"))


def request(id: str, call_id: str = "a", tool: str = "CalculatorTool") -> ApprovalRequest:
    return ApprovalRequest(id=id, workflow_id="w", run_id="r", call_id=call_id, tool=tool, seen_ms=500)


def asking(*requests: ApprovalRequest, name: str = "CalculatorTool") -> Script:
    """A run with the calls ``a`` and ``b``, and approval requests."""
    script = Script().add(reply("", call("a", name, x=1), call("b", x=2)))
    return script.add(*(ApprovalRequested(approval=each) for each in requests))


def decided(id: str = "one", call_id: str = "a", **more: Any) -> ApprovalDecided:
    return ApprovalDecided(**{"approval_id": id, "call_id": call_id, "status": ApprovalStatus.APPROVED, **more})


def calls(state: RunState) -> list[tuple[str, bool, bool, dict[str, Any]]]:
    return [(each.status, each.allowed, each.edited, each.call.arguments) for each in state.calls]


@pytest.mark.parametrize("body", [
    TitleGenerated(title="t", usage=USED), PictureDescribed(call_id="a", usage=USED), MemoryExtractionDone(usage=USED),
    ContextCompacted(method="cut_results", usage=USED),
])  # fmt: skip
def test_requests_next_to_the_conversation_count_too(body: EventBody) -> None:
    before = Script().add(reply("done")).state
    after = advance(before, body)
    used = (after.usage.tokens_input, after.usage.tokens_output, after.usage.cost)
    assert used == (before.usage.tokens_input + 3, before.usage.tokens_output + 4, before.usage.cost + 0.5)
    assert (after.entries, after.status) == (before.entries, before.status)


def test_an_entry_is_pinned_and_a_compaction_undone() -> None:
    script = Script().add(reply("one"))
    origin = script.state.entries[0].origin
    pinned = script.add(EntryPinned(origin=origin)).state
    assert [entry.pinned for entry in pinned.entries] == [True, False]
    assert not any(entry.pinned for entry in advance(pinned, EntryPinned(origin=origin, pinned=False)).entries)
    seqs = tuple(entry.seq for entry in pinned.entries)
    short = advance(pinned, ContextCompacted(method="summary", dropped=seqs, summary="short"))
    assert [entry.text for entry in short.conversation] == ["short"]
    back = advance(short, CompactionUndone(origin=short.conversation[0].origin))
    assert [entry.text for entry in back.conversation] == ["hello", "one"]


def test_a_request_blocks_its_call_and_an_approval_releases_only_it() -> None:
    script = asking(request("one"), request("two", "b"))
    assert calls(script.state) == [("asked", False, False, {"x": 1}), ("asked", False, False, {"x": 2})]
    state = script.add(decided()).state
    assert calls(state) == [("planned", True, False, {"x": 1}), ("asked", False, False, {"x": 2})]
    assert [each.id for each in state.requests] == ["two"]


@pytest.mark.parametrize("status", [each for each in ApprovalStatus if each is not ApprovalStatus.APPROVED])
def test_anything_but_an_approval_allows_nothing(status: ApprovalStatus) -> None:
    state = (
        asking(request("one"))
        .add(decided(status=status, scope=ApprovalScope.RUN, rules=(ALLOW,), arguments={"x": 9}))
        .state
    )
    assert (state.requests, state.granted) == ((), ())
    assert calls(state)[0] == ("asked", False, False, {"x": 1})


def test_a_decision_on_an_unknown_or_finished_call_changes_nothing() -> None:
    script = asking(request("one"))
    assert advance(script.state, decided("other", scope=ApprovalScope.RUN, rules=(ALLOW,))).granted == ()
    assert calls(advance(script.state, decided("other"))) == calls(script.state)
    gone = advance(script.state, decided(call_id="gone", scope=ApprovalScope.RUN, rules=(ALLOW,)))
    assert (gone.requests, gone.granted, calls(gone)) == (script.state.requests, (), calls(script.state))
    unknown = asking(request("one", "gone")).state
    assert (unknown.requests, [each.status for each in unknown.calls]) == ((), ["planned", "planned"])


REQUEST, OTHER = ApprovalRequested(approval=request("one")), ApprovalRequested(approval=request("one", "b"))
FORGED: dict[str, tuple[EventBody, ...]] = {
    "the request names no call": (ApprovalRequested(approval=request("one", "nobody")), decided()),
    "the request names another call": (OTHER, decided()),
    "the decision names another request": (REQUEST, decided("two")),
    "the decision names no call": (REQUEST, decided(call_id="nobody")),
    "the decision precedes the request": (decided(), REQUEST),
    "a decision for each call, one request": (OTHER, decided(call_id="b"), decided()),
    "a new request after the decision": (REQUEST, decided(), REQUEST),
    "the request is of an earlier reply": (REQUEST, reply("", call("a", "run_command")), decided()),
    "the call has ended": (REQUEST, finished("a"), decided()),
}


@pytest.mark.parametrize("events", FORGED.values(), ids=FORGED)
def test_a_decision_allows_only_the_call_that_its_request_names(events: tuple[EventBody, ...]) -> None:
    state = asking().add(*events).state
    assert not state.calls[0].allowed
    assert (state.calls[0].status == "done") is any(isinstance(each, ToolCallFinished) for each in events)


def test_of_two_requests_with_one_id_a_decision_releases_the_call_it_names() -> None:
    state = asking().add(OTHER, REQUEST, decided()).state
    assert [(each.status, each.allowed) for each in state.calls] == [("planned", True), ("asked", False)]
    assert [each.call_id for each in state.requests] == ["b"]


@pytest.mark.parametrize(("scope", "granted"), [
    (ApprovalScope.ONCE, ()), (ApprovalScope.RUN, (ALLOW,)), (ApprovalScope.ALWAYS, (ALLOW,)),
])  # fmt: skip
def test_rules_of_an_approval_apply_from_then_on_unless_it_is_for_once(
    scope: ApprovalScope, granted: tuple[PermissionRule, ...]
) -> None:
    assert asking(request("one")).add(decided(scope=scope, rules=(ALLOW,))).state.granted == granted


def test_arguments_edited_by_a_person_replace_those_of_the_model() -> None:
    state = asking(request("one")).add(decided(arguments={"x": 9})).state
    assert calls(state)[0] == ("planned", True, True, {"x": 9})
    through = asking(request("one", tool="CalculatorTool"), name="invoke_tool").add(decided(arguments={"x": 9})).state
    assert calls(through)[0] == ("planned", True, True, {"tool_name": "CalculatorTool", "arguments": {"x": 9}})
    broken = Script().add(
        reply("", call("a").model_copy(update={"error": "not JSON"})), ApprovalRequested(approval=request("one"))
    )
    assert broken.add(decided(arguments={"x": 9})).state.calls[0].call.error is None


def test_only_the_call_asked_about_again_starts_over() -> None:
    state = asking(request("one"), request("two", "b")).add(ApprovalAskedAgain(approval_id="one", call_id="a")).state
    assert [(each.id, each.round, each.seen_ms) for each in state.requests] == [("one", 2, 0), ("two", 1, 500)]


def test_removed_rights_are_gone_and_none_are_added() -> None:
    other = PermissionRule(id="other", text="other", action=Action.ALLOW)
    policy = ApprovalPolicy(rules=(ALLOW, DENY, other), mode=ApprovalMode.SELECTIVE)
    script = Script(approvals=policy, workspace=("/a", "/b"), trusted=("/a", "/b"))
    script.add(reply("", call("a"), call("b")), started("a"))
    script.add(
        ApprovalRequested(approval=request("one", "b")),
        decided(call_id="b", scope=ApprovalScope.RUN, rules=(ALLOW, other)),
    )
    new = PermissionRule(id="new", text="new", action=Action.ASK)
    smuggled = PermissionRule(id="smuggled", text="*", action=Action.ALLOW)
    narrowing = RightsNarrowed(rules=(new, smuggled), withdrawn=("allow", "deny"), folders=("/a",))
    state = script.add(narrowing).state
    assert state.approvals.rules == (DENY, other, new)
    assert state.approvals.snapshot == snapshot((DENY, other, new))
    assert state.granted == (other,)
    assert (state.workspace, state.trusted) == (("/b",), ("/b",))
    assert [each.narrowed for each in state.calls] == [True, False], "one that has begun was judged by what held before"
    assert state.approvals.mode is ApprovalMode.SELECTIVE
    once_more = advance(state, RightsNarrowed())
    assert ([each.narrowed for each in once_more.calls], once_more.approvals.rules) == (
        [True, False],
        state.approvals.rules,
    )


def test_mode_and_settings_only_become_stricter() -> None:
    script = Script(approvals=ApprovalPolicy(mode=ApprovalMode.SELECTIVE, auto_approve_low=True))
    strict = ApprovalSettings(auto_approve_low=False, always_confirm_high=True, flags=ApprovalFlags())
    state = script.add(RightsNarrowed(mode=ApprovalMode.MANUAL, settings=strict)).state
    held = state.approvals
    assert (held.mode, held.auto_approve_low, held.always_confirm_high) == (ApprovalMode.MANUAL, False, True)
    loose = RightsNarrowed(mode=ApprovalMode.AUTO, settings=ApprovalSettings(auto_approve_low=True))
    assert advance(state, loose).approvals == held
    assert advance(state, RightsNarrowed()).approvals == held


def team() -> Script:
    """A run whose call ``c`` waits for the sub-agent ``k``."""
    script = Script(config=agent(budget=Budget(max_tokens=100)))
    script.add(
        reply("", call("c", "plan_actions"), call("d", "join")), started("c", "plan_actions"), started("d", "join")
    )
    plan = ChildPlan(id="k", name="k", agent=agent(), prompt="x")
    return script.add(ChildrenPlanned(call_id="c", kind=TeamCall.PLAN, children=(plan,)))


def test_a_sub_agent_is_planned_works_asks_and_ends() -> None:
    script = team()
    assert [(each.id, each.status) for each in script.state.children] == [("k", ChildStatus.PLANNED)]
    assert (script.state.calls[0].status, script.state.calls[0].waits_for) == ("waiting", "children")
    state = script.add(ChildStarted(child_id="k", share=Budget(max_tokens=50))).state
    assert (state.children[0].status, state.children[0].share.max_tokens, state.plans) == (ChildStatus.RUNNING, 50, ())
    state = script.add(LimitsRaised(child_id="k", raise_limits={LimitKind.TOKENS: 40})).state
    assert (state.children[0].share.max_tokens, state.raised_limits) == (90, {LimitKind.TOKENS: 40})
    told = state.children[0].model_copy(update={"question_told": True})
    asked = advance(team_of(state, told), ChildAsked(child_id="k", message="Which?")).children[0]
    assert (asked.status, asked.question, asked.question_told) == (ChildStatus.ASKING, "Which?", False)
    told = asked.model_copy(update={"question_told": True})
    answered = advance(team_of(state, told), ChildAnswered(child_id="k", text="That.")).children[0]
    assert (answered.status, answered.question, answered.question_told) == (ChildStatus.RUNNING, "", False)
    joined = advance(state, ChildrenJoined(call_id="d", kind=TeamCall.JOIN, child_ids=("k",)))
    assert [(each.status, each.waits_for, each.children) for each in joined.calls] == [
        ("waiting", "children", ("k",))
    ] * 2
    state = script.add(ChildFinished(child_id="k", status=ChildStatus.COMPLETED, report="done")).state
    assert (state.children[0].status, state.children[0].report) == (ChildStatus.COMPLETED, "done")


def team_of(state: RunState, *children: Any) -> RunState:
    return replace(state, children=children)


def test_a_question_to_the_parent_is_open_until_it_is_answered() -> None:
    script = Script().add(reply("", call("a"), call("b")), started("a"), ParentAsked(call_id="a", message="May I?"))
    state = script.state
    assert (state.asked_parent, [(each.status, each.waits_for) for each in state.calls]) == (
        "May I?",
        [("waiting", "parent"), ("planned", "")],
    )
    assert advance(state, ParentAnswered(call_id="a", text="Yes.")).asked_parent == ""
    gone = Script().add(ParentAsked(call_id="gone", message="May I?")).state
    assert (gone.asked_parent, gone.calls) == ("May I?", ())
