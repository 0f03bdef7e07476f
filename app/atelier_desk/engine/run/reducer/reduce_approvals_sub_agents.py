"""Reducer: approvals, narrowed rights, sub-agents and their questions."""

from __future__ import annotations

from dataclasses import replace

from atelier_desk.domain.approval import ApprovalScope, ApprovalStatus
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
    LimitsRaised,
    ParentAnswered,
    ParentAsked,
    RightsNarrowed,
    RunEvent,
)
from atelier_desk.domain.permission import Action, snapshot
from atelier_desk.domain.sub_agent import ChildStatus
from atelier_desk.engine.run import sub_agent_state
from atelier_desk.engine.run.reducer.conversation_entries import History
from atelier_desk.engine.run.reducer.handler_registry import evolve, on, with_call
from atelier_desk.engine.run.reducer.state import RunState, without_called_skill, without_skills
from atelier_desk.policy.approval_strictness_and_grouping import stricter, stricter_settings
from atelier_desk.policy.permissions import taint_sources


@on(ApprovalRequested)
def _approval_requested(state: RunState, body: ApprovalRequested, event: RunEvent) -> RunState:
    call = state.call(body.approval.call_id)
    if call is None:
        return state
    state = evolve(state, requests=(*state.requests, body.approval))
    return with_call(state, replace(call, status="asked", allowed=False))


@on(ApprovalDecided)
def _approval_decided(state: RunState, body: ApprovalDecided, event: RunEvent) -> RunState:
    # A decision is valid only for the call that a person was shown: a workflow may come from a file.
    named = (body.approval_id, body.call_id)
    asked = next((request for request in state.requests if (request.id, request.call_id) == named), None)
    if asked is None:
        return state
    state = evolve(state, requests=tuple(request for request in state.requests if request is not asked))
    if body.status is not ApprovalStatus.APPROVED:
        return state
    if body.scope is not ApprovalScope.ONCE:
        state = evolve(state, granted=(*state.granted, *body.rules))
    call = state.call(body.call_id)
    if call is None or call.status != "asked":
        return state
    changed = call.call
    if body.arguments is not None:
        # A tool named inside invoke_tool is called through it again.
        wrapped = {"tool_name": asked.tool, "arguments": body.arguments}
        arguments = body.arguments if asked.tool == changed.name else wrapped
        changed = changed.model_copy(update={"arguments": arguments, "error": None})
    return with_call(
        state, replace(call, call=changed, status="planned", allowed=True, edited=body.arguments is not None)
    )


@on(ApprovalAskedAgain)
def _approval_asked_again(state: RunState, body: ApprovalAskedAgain, event: RunEvent) -> RunState:
    again = tuple(
        request.model_copy(update={"round": request.round + 1, "seen_ms": 0})
        if request.id == body.approval_id
        else request
        for request in state.requests
    )
    return evolve(state, requests=again)


@on(RightsNarrowed)
def _rights_narrowed(state: RunState, body: RightsNarrowed, event: RunEvent) -> RunState:
    held, gone = state.approvals, set(body.withdrawn)
    silent, lost = {*body.folders, *body.untrusted}, set(body.skills_withdrawn)
    # Ignore anything in the event that would allow more: a workflow may come from a file.
    forbid = (rule for rule in body.rules if rule.action is not Action.ALLOW)
    rules = (*(rule for rule in held.rules if rule.action is not Action.ALLOW or rule.id not in gone), *forbid)
    policy = held.model_copy(
        update={
            **(stricter_settings(held, body.settings) if body.settings is not None else {}),
            "mode": stricter(held.mode, body.mode or held.mode),
            "rules": rules,
            "snapshot": snapshot(rules),
        }
    )
    return evolve(
        state,
        approvals=policy,
        granted=tuple(rule for rule in state.granted if rule.id not in gone),
        workspace=tuple(each for each in state.workspace if each not in body.folders),
        trusted=tuple(each for each in state.trusted if each not in silent),
        instructions=tuple(each for each in state.instructions if each.folder not in silent),
        skills=tuple(each for each in state.skills if each.folder not in lost),
        skills_withdrawn=state.skills_withdrawn | lost,
        history=History(without_skills(state.history, lost)),
        entries=without_skills(state.entries, lost),
        queued=tuple(without_called_skill(each, lost) for each in state.queued),
        silent=tuple(without_called_skill(each, lost) for each in state.silent),
        tainted=taint_sources.merged(state.tainted, body.untrusted),
        calls=tuple(replace(call, narrowed=call.narrowed or call.intent is not None) for call in state.calls),
    )


@on(ChildrenPlanned)
def _children_planned(state: RunState, body: ChildrenPlanned, event: RunEvent) -> RunState:
    return sub_agent_state.planned(state, body)


@on(ChildStarted)
def _child_started(state: RunState, body: ChildStarted, event: RunEvent) -> RunState:
    return sub_agent_state.started(state, body, event)


@on(ChildFinished)
def _child_finished(state: RunState, body: ChildFinished, event: RunEvent) -> RunState:
    return sub_agent_state.finished(state, body)


@on(ChildAsked)
def _child_asked(state: RunState, body: ChildAsked, event: RunEvent) -> RunState:
    return sub_agent_state.with_child(
        state, body.child_id, status=ChildStatus.ASKING, question=body.message, question_told=False
    )


@on(ChildAnswered)
def _child_answered(state: RunState, body: ChildAnswered, event: RunEvent) -> RunState:
    return sub_agent_state.with_child(
        state, body.child_id, status=ChildStatus.RUNNING, question="", question_told=False
    )


@on(ChildrenJoined)
def _children_joined(state: RunState, body: ChildrenJoined, event: RunEvent) -> RunState:
    return sub_agent_state.joined(state, body)


@on(ParentAsked)
def _parent_asked(state: RunState, body: ParentAsked, event: RunEvent) -> RunState:
    call = state.call(body.call_id)
    state = evolve(state, asked_parent=body.message)
    return with_call(state, replace(call, status="waiting", waits_for="parent")) if call is not None else state


@on(ParentAnswered)
def _parent_answered(state: RunState, body: ParentAnswered, event: RunEvent) -> RunState:
    return evolve(state, asked_parent="")


@on(LimitsRaised)
def _limits_raised(state: RunState, body: LimitsRaised, event: RunEvent) -> RunState:
    return sub_agent_state.raised(state, body)
