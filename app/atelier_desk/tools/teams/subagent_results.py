"""Results of the planning tools: sub-agents that have ended, ask something, or run in the background.

All functions are pure, so results are the same after a restart. Reports are cut one by one until the whole JSON fits:
the model always reads the beginning and end of each report, never half an object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.domain.sub_agent import ChildState, ChildStatus, TeamCall
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.calls.result_limits import as_json, capped, cut_middle

WAITING = "waiting_for_you"
RUNNING = "running"
REPORT_HINT = "Join one child_id alone to read more of its report; what it stored can be read with ReportTool."
_TWICE = 8_000
"""Maximum characters of a batch's reports to appear both with their results and in the aggregated report.

Longer ones only in the latter.
"""
_EXCERPT = 160
_ELSEWHERE = "… (whole in aggregated_report)"
_SHORTEST = 60
_LABEL = 300
"""Characters of a prompt, description or error location that identify a sub-agent in a result."""

_TIMEOUT = re.compile(r"\b(?:timed?[ -]?out|inactiv\w*|no activity|no sign of life)\b", re.IGNORECASE)
_EXHAUSTED = re.compile(r"\b(?:\d+ attempts|retr(?:y|ies) exhausted)\b", re.IGNORECASE)


def compose(
    kind: TeamCall,
    arguments: Mapping[str, object],
    children: Sequence[ChildState],
) -> ToolResult:
    """Return the result of a call that waited for ``children``, in request order.

    Depends on their states: background sub-agents give how to join them; waiting ones give their questions (``status:
    "waiting_for_you"``) with the others' reports; if all ended, the form is specific to the kind.
    """
    if not children:
        empty = ToolResult.ok(results=[], message="There is no sub-agent whose report you do not have already.")
        return capped(empty, REPORT_HINT)

    def build(limit: int) -> dict[str, object]:
        return _data(kind, arguments, children, limit)

    data, truncated = _fitted(build, children)
    return capped(ToolResult(data, truncated=truncated), REPORT_HINT)


EARLIER = 12_000
"""Total characters of earlier results given to a later action of a plan."""


def with_earlier(prompt: str, earlier: Sequence[ChildState]) -> str:
    """Add earlier results to a later action's prompt, because a sub-agent knows only its prompt.

    ``earlier`` are the ended ones in plan order; their reports share ``EARLIER`` characters. Stays within the limit of
    a message.
    """
    ended = [child for child in earlier if child.status.over and child.status is not ChildStatus.NOT_RUN]
    if not ended:
        return prompt
    room = min(EARLIER, limits.MESSAGE - len(prompt) - 100 * len(ended))
    each = room // len(ended)
    if each < _SHORTEST:
        return prompt
    lines = [prompt, "", "RESULTS OF EARLIER ACTIONS:"]
    for child in ended:
        text = child.report if succeeded(child) else f"It failed: {error_text(child)}"
        lines += ["", f"## {_cut(child.title or child.name, 60)}", "", _cut(text, each - _SHORTEST)]
    whole = "\n".join(lines)
    return whole if len(whole) <= limits.MESSAGE else prompt


def _data(
    kind: TeamCall, arguments: Mapping[str, object], children: Sequence[ChildState], limit: int
) -> dict[str, object]:
    if kind is TeamCall.ANSWER:
        return _answer(arguments, children, limit)
    if any(
        child.status is ChildStatus.RUNNING or (child.status is ChildStatus.PLANNED and child.background)
        for child in children
    ):
        return _running(kind, children)
    if any(child.status is ChildStatus.ASKING for child in children):
        return _waiting(children, limit)
    if not all(child.status.over for child in children):
        return _running(kind, children)
    match kind:
        case TeamCall.SPAWN:
            return _single(children[0], limit, child_id=children[0].id, name=children[0].name)
        case TeamCall.DELEGATE:
            return _single(
                children[0], limit, agent_id=children[0].agent_id, child_id=children[0].id, name=children[0].name
            )
        case TeamCall.PARALLEL:
            return _parallel(children, limit)
        case TeamCall.PLAN:
            return _plan(arguments, children, limit)
        case _:
            return _joined(children, limit)


def _fitted(
    build: Callable[[int], dict[str, object]], children: Sequence[ChildState]
) -> tuple[dict[str, object], bool]:
    """Return the result, and whether a report was cut.

    Complete if it fits, otherwise with the maximum report length that does.
    """
    longest = max(max(len(child.report), len(child.error), len(child.question)) for child in children)
    if longest <= limits.RESULT_TO_MODEL:
        data = build(max(longest, _SHORTEST))
        if len(as_json(data)) <= limits.RESULT_TO_MODEL:
            return data, False
    low, high = _SHORTEST, min(longest, limits.RESULT_TO_MODEL)
    data = build(low)
    while high - low > _SHORTEST:
        middle = (low + high) // 2
        tried = build(middle)
        if len(as_json(tried)) <= limits.RESULT_TO_MODEL:
            low, data = middle, tried
        else:
            high = middle
    return data, True


def succeeded(child: ChildState) -> bool:
    return child.status is ChildStatus.COMPLETED


def error_text(child: ChildState) -> str:
    """Return why a sub-agent did not complete, in words for the model."""
    given = child.error.strip()
    match child.status:
        case ChildStatus.CANCELLED:
            return given or "It was stopped before it was finished."
        case ChildStatus.ABANDONED:
            return given or "It gave its task up."
        case ChildStatus.NOT_RUN:
            return given or "Not run: an earlier action failed."
        case _:
            return given or "It failed without saying why."


def error_code(child: ChildState) -> str:
    """Return ``cancelled``, ``abandoned``, ``not_run``, ``timeout``, ``retries_exhausted`` or ``child_failed``."""
    if child.status in (ChildStatus.CANCELLED, ChildStatus.ABANDONED, ChildStatus.NOT_RUN):
        return child.status.value
    if _EXHAUSTED.search(child.error):
        return "retries_exhausted"
    return "timeout" if _TIMEOUT.search(child.error) else "child_failed"


_TITLES = {
    "cancelled": "Sub-Agent Cancelled",
    "abandoned": "Sub-Agent Abandoned",
    "not_run": "Sub-Agent Not Run",
    "timeout": "Sub-Agent Timeout",
    "retries_exhausted": "Sub-Agent Retry Exhausted",
    "child_failed": "Sub-Agent Error",
}


def error_report(child: ChildState, limit: int = limits.RESULT_TO_MODEL) -> str:
    """Return the report of a failed sub-agent: which one, why, and its partial result."""
    head = (
        f"# {_TITLES[error_code(child)]}\n\n**Sub-agent**: {child.name}\n\n**Error**: {_cut(error_text(child), limit)}"
    )
    partial = child.report.strip()
    return f"{head}\n\n## Partial report\n\n{_cut(partial, limit)}" if partial else head


def _cut(text: str, limit: int) -> str:
    """Cut the middle of ``text`` to about ``limit`` characters; very short limits keep only the beginning."""
    if len(text) <= limit:
        return text
    if limit < 3 * _SHORTEST:
        return shorten(text, limit)
    return cut_middle(text, limit, REPORT_HINT)


def _single(child: ChildState, limit: int, **ids: str) -> dict[str, object]:
    withheld = {"withheld_tools": list(child.withheld)} if child.withheld else {}
    if succeeded(child):
        return {"success": True, **ids, "report": _cut(child.report, limit), **withheld, "metrics": child.metrics}
    return {
        "success": False,
        **ids,
        "error": _cut(error_text(child), limit),
        "code": error_code(child),
        "report": error_report(child, limit),
        **withheld,
        "metrics": child.metrics,
    }


def _entry(child: ChildState, limit: int, **ids: str) -> dict[str, object]:
    """Return one sub-agent's entry in a list of results."""
    entry: dict[str, object] = {**ids, "success": succeeded(child)}
    if succeeded(child) or child.report:
        entry["report"] = _cut(child.report, limit)
    if not succeeded(child):
        entry["error"] = _cut(error_text(child), limit)
    return {**entry, "metrics": child.metrics}


def _listed(child: ChildState, limit: int) -> dict[str, object]:
    return _entry(child, limit, child_id=child.id, name=child.name)


def _failures(done: Sequence[bool], what: str, code: str) -> dict[str, object]:
    failed = done.count(False)
    if not failed:
        return {"success": True}
    return {
        "success": False,
        "error": f"{failed} of {len(done)} {what} did not succeed; see the results.",
        "code": code,
    }


def _parallel(children: Sequence[ChildState], limit: int) -> dict[str, object]:
    completed = sum(succeeded(child) for child in children)
    fits = sum(min(len(child.report), limit) for child in children) <= _TWICE
    results = [_entry(child, limit, agent_id=child.agent_id, child_id=child.id, name=child.name) for child in children]
    if not fits:
        for entry, child in zip(results, children, strict=True):
            if len(child.report) > _EXCERPT:
                entry["report"] = child.report[:_EXCERPT] + _ELSEWHERE
    return {
        **_failures([succeeded(child) for child in children], "tasks", "tasks_failed"),
        "completed": completed,
        "failed": len(children) - completed,
        "results": results,
        "aggregated_report": aggregated_report(children, limit),
    }


def aggregated_report(children: Sequence[ChildState], limit: int = limits.MESSAGE) -> str:
    """Return one Markdown document of a batch, in task order; each report in at most about ``limit`` characters."""
    completed = sum(succeeded(child) for child in children)
    lines = [
        "# Parallel Execution Report",
        "",
        f"**Batch ID**: {children[0].call_id if children else ''}",
        f"**Total Duration**: {wall_ms(children)} ms",
        f"**Completed**: {completed} / {len(children)}",
        f"**Failed**: {len(children) - completed}",
        "",
        "---",
    ]
    for child in children:
        label = child.agent_id or child.id
        if succeeded(child):
            lines += [
                "",
                f"## Agent: {label}",
                "",
                f"**Name**: {child.name}",
                "",
                _cut(child.report, limit) or "(no report)",
            ]
        else:
            lines += ["", f"## Agent: {label} (ERROR)", "", f"**Name**: {child.name}", ""]
            lines.append(f"Execution failed: {_cut(error_text(child), limit)}")
            if child.report.strip():
                lines += ["", "Partial report:", "", _cut(child.report, limit)]
    return "\n".join(lines)


def wall_ms(children: Sequence[ChildState]) -> int:
    """Return milliseconds from the first start to the last end; 0 if none started."""
    spans = [
        (child.started_at.timestamp() * 1000, child.duration_ms or 0)
        for child in children
        if child.started_at is not None
    ]
    if not spans:
        return max((child.duration_ms or 0 for child in children), default=0)
    return round(max(start + took for start, took in spans) - min(start for start, _ in spans))


def _plan(arguments: Mapping[str, object], children: Sequence[ChildState], limit: int) -> dict[str, object]:
    actions = arguments.get("actions")
    given = (
        list(actions)
        if isinstance(actions, Sequence) and not isinstance(actions, str) and len(actions) == len(children)
        else None
    )
    results = []
    for index, child in enumerate(children):
        action = given[index] if given is not None and isinstance(given[index], Mapping) else {}
        description = action.get("description")
        label = description if isinstance(description, str) and description else child.title or child.name
        entry: dict[str, Any] = {"action": _cut(label, min(_LABEL, max(limit, _SHORTEST))), "success": succeeded(child)}
        if succeeded(child) or child.report.strip():
            entry["result"] = _result(child, limit) if action.get("tool") else _cut(child.report, limit)
        refused = action.get("tool") and _refused(entry.get("result"))
        if refused:
            entry |= {
                "success": False,
                "error": _cut(str(entry["result"].get("error") or "The call failed."), limit),
                "code": "call_failed",
            }
        elif not succeeded(child):
            entry |= {"error": _cut(error_text(child), limit), "code": error_code(child)}
        results.append(entry)
    # The summary repeats the labels, so it shares the limit with the reports.
    summary = _cut(_summary(results), max(limit, 3 * _SHORTEST))
    return {
        **_failures([bool(entry["success"]) for entry in results], "actions", "actions_failed"),
        "results": results,
        "summary": summary,
    }


def _refused(result: object) -> bool:
    """Whether a call was made and failed."""
    return isinstance(result, dict) and result.get("success") is False


def _result(child: ChildState, limit: int) -> object:
    """Return the called tool's result as an object; as text if it is too long."""
    if len(child.report) <= limit and child.report.lstrip().startswith("{"):
        try:
            return json.loads(child.report)
        except (ValueError, RecursionError):
            return child.report
    return _cut(child.report, limit)


def _summary(results: Sequence[Mapping[str, object]]) -> str:
    done = sum(bool(entry["success"]) for entry in results)
    not_run = [str(entry["action"]) for entry in results if entry.get("code") == ChildStatus.NOT_RUN.value]
    failed = [
        str(entry["action"])
        for entry in results
        if not entry["success"] and entry.get("code") != ChildStatus.NOT_RUN.value
    ]
    text = f"Executed {done}/{len(results)} actions successfully."
    if failed:
        text += " Failed: " + "; ".join(failed) + "."
    if not_run:
        text += " Not run: " + "; ".join(not_run) + "."
    return text


def _joined(children: Sequence[ChildState], limit: int) -> dict[str, object]:
    results = [_listed(child, limit) for child in children]
    return {**_failures([succeeded(child) for child in children], "sub-agents", "children_failed"), "results": results}


def _questions(children: Sequence[ChildState], limit: int) -> list[dict[str, object]]:
    asking = [child for child in children if child.status is ChildStatus.ASKING]
    return [
        {"child_id": child.id, "name": child.name, "question": _cut(child.question, max(limit, _LABEL))}
        for child in asking
    ]


def _waiting(children: Sequence[ChildState], limit: int) -> dict[str, object]:
    over = [child for child in children if child.status.over]
    planned = [child for child in children if child.status is ChildStatus.PLANNED]
    data: dict[str, object] = {"success": True, "status": WAITING, "questions": _questions(children, limit)}
    if over:
        data["results"] = [_listed(child, limit) for child in over]
    if planned:
        data["not_started"] = [{"child_id": child.id, "name": child.name, "title": child.title} for child in planned]
    data["message"] = (
        "These sub-agents stand still until you answer: call answer_child with child_id and message for each; it "
        "gives you that "
        "sub-agent's report. Ask the user first when you do not know."
    )
    return data


def _answer(arguments: Mapping[str, object], children: Sequence[ChildState], limit: int) -> dict[str, object]:
    """Return the answered sub-agent's report, or its next question, with other open questions."""
    wanted = arguments.get("child_id")
    child = next((one for one in children if one.id == wanted), children[0])
    others = [one for one in children if one is not child]
    if child.status.over:
        data = _single(child, limit, child_id=child.id, name=child.name)
        asking = _questions(others, limit)
        if asking:
            data |= {"status": WAITING, "questions": asking}
        news = [one for one in others if one.status.over and not one.told]
        if news:
            data["results"] = [_listed(one, limit) for one in news]
        return data
    if child.status is ChildStatus.ASKING:
        return _waiting([child, *(one for one in others if not one.told)], limit)
    return _running(TeamCall.ANSWER, [child])


_JOINS = {TeamCall.PARALLEL: "ParallelTasksTool", TeamCall.PLAN: "SpawnAgentTool"}


def _running(kind: TeamCall, children: Sequence[ChildState]) -> dict[str, object]:
    """Return the entry of background sub-agents."""
    ids = [child.id for child in children]
    join = f'{_JOINS.get(kind, "SpawnAgentTool")} {{"operation": "join", "child_ids": {json.dumps(ids)}}}'
    note = (
        f"Go on with your own work. {join} waits for the reports; reports you do not fetch are handed to you when "
        f"you would end."
    )
    if len(children) == 1:
        return {"success": True, "child_id": ids[0], "name": children[0].name, "status": RUNNING, "how_to_join": note}
    listed = [
        {
            "child_id": child.id,
            "agent_id": child.agent_id,
            "name": child.name,
            "status": RUNNING if not child.status.over else child.status.value,
        }
        for child in children
    ]
    return {"success": True, "child_ids": ids, "status": RUNNING, "children": listed, "how_to_join": note}
