"""The history of a small team: a root run, a sub-agent, twelve seconds of work, and a request to the model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from atelier_desk.domain.model_messages import ChatMessage, Role, ToolSpec
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Workflow
from atelier_desk.engine.services.request.sent_request_data import (
    Omitted,
    OmittedEntry,
    PartSize,
    RequestSummary,
    SentItem,
    SentRequest,
)
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import (
    AgentNode,
    Span,
    SpanKind,
    Timeline,
    TimelineMark,
    TimelineRun,
    Turn,
)
from atelier_desk.engine.services.team.replay import Snapshot
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from tests.helpers.fake_bridge import FakeAtelier

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
WORKFLOW = Workflow(id="w1", name="First", head_run_id="root")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def span(run: str, kind: SpanKind, start: float, end: float | None, label: str = "", seq: int = 1, **more: Any) -> Span:
    return Span(run, kind, at(start), at(end) if end is not None else None, label, seq=seq, event_seq=seq, **more)


def timeline(*, over: bool = True) -> Timeline:
    """The root asks its model, starts a sub-agent and waits for it; the sub-agent runs a tool that fails; then nothing
    for an hour.
    """
    late = 3600
    root = (
        span("root", "model", 0, 2, "gpt", seq=3),
        span("root", "wait", 2, 8, "children", seq=5),
        span("root", "wait", 8, 8 + late, "user", seq=12),
        span("root", "model", 8 + late, 10 + late if over else None, "gpt", seq=14, status="ok" if over else "running"),
    )
    child = (
        span("child", "model", 2, 5, "gpt", seq=7),
        span("child", "tool", 5, 8, "read_file", seq=9, status="error", call_id="c1"),
    )
    kinds = (
        "run_started",
        "user_message",
        "model_replied",
        "tool_call_started",
        "child_started",
        "run_started",
        "model_replied",
    )
    marks = tuple(
        TimelineMark(seq, at(seq), "child" if seq in (6, 7) else "root", kind, "Helper")
        for seq, kind in enumerate(kinds, 1)
    )
    return Timeline(
        "w1",
        "root",
        START,
        at(10 + late) if over else None,
        runs=(
            TimelineRun("root", "Ada", 0, None, "", "completed" if over else "processing", START, None, root),
            TimelineRun("child", "Helper", 1, "root", "c0", "completed", at(2), at(8), child),
        ),
        marks=marks,
    )


def tree() -> AgentNode:
    child = AgentNode(
        "child", "Helper", "w1", "root", depth=1, parent_run_id="root", parent_call_id="c0", started_at=at(2)
    )
    return AgentNode("root", "Ada", "w1", "root", started_at=START, children=(child,))


def message(
    key: str, run: str, content: str, role: MessageRole = MessageRole.ASSISTANT, seq: int = 1
) -> TranscriptEntry:
    return TranscriptEntry(
        Message(id=key, workflow_id="w1", run_id=run, seq=seq, role=role, content=content, agent_name="Ada")
    )


def snapshot(_workflow_id: str, _root: str, seq: int) -> Snapshot:
    """One more message after each event; sub-agent and task exist from the fifth on."""
    entries = tuple(
        message(
            f"m{number}", "root", f"text {number}", MessageRole.USER if number == 1 else MessageRole.ASSISTANT, number
        )
        for number in range(1, seq + 1)
    )
    late = seq >= 5
    node = tree() if late else AgentNode("root", "Ada", "w1", "root", started_at=START)
    tasks = (Task(id="t1", workflow_id="w1", name="Read"),) if late else ()
    below: dict[str, tuple[TranscriptEntry, ...]] = (
        {"child": (message("c1", "child", "from the helper"),)} if late else {}
    )
    return Snapshot("w1", "root", seq, timeline().marks[seq - 1], entries, node, tasks, below)


def summaries(run_id: str = "root") -> list[RequestSummary]:
    common: dict[str, Any] = {
        "model": "gpt",
        "provider": "p",
        "dialect": "native",
        "estimated": False,
        "cost": 0.0,
        "duration_ms": 10,
    }
    return [
        RequestSummary(
            run_id, 3, 4, at(2), "Ada", tokens_input=100, tokens_output=5, window=1000, calls=("read_file",), **common
        ),
        RequestSummary(run_id, 8, 14, at(9), "Ada", tokens_input=400, tokens_output=5, window=1000, **common),
    ]


def request(run_id: str, seq: int) -> SentRequest:
    summary = next(each for each in summaries(run_id) if each.seq == seq)
    messages = (
        ChatMessage(role=Role.SYSTEM, content="You are Ada."),
        ChatMessage(role=Role.USER, content="Read it"),
        ChatMessage(role=Role.TOOL, content="the file", name="read_file", tool_call_id="c1"),
    )
    items = (
        SentItem(0, "", "system", "system", 50, can_pin=False),
        SentItem(1, "root:2", "user", "message", 20, pinned=True),
        SentItem(2, "root:6", "result", "results", 30, tool="read_file", cut=True),
    )
    left = Omitted(
        "root:7", at(3), "cut_results",
        (OmittedEntry("root:6", "result", "read_file", "the whole file", "the file", 400, 30),),
        tokens_before=900, tokens_after=500, window=1000, can_undo=True,
    )  # fmt: skip
    return SentRequest(
        summary,
        messages,
        (ToolSpec(name="read_file", description="Reads a file.", parameters={"type": "object"}),),
        None,
        0.7,
        4096,
        1000,
        summary.tokens_input,
        (
            PartSize("system", 50, 50, 0.5),
            PartSize("results", 30, 30, 0.3),
            PartSize("message", 20, 20, 0.2),
            PartSize("images", 0, 0, 0.0),
        ),
        items,
        (left,),
    )


def turns(*run_ids: str) -> list[Turn]:
    """Turns with these root runs."""
    return [Turn(run_id, number, START) for number, run_id in enumerate(run_ids, 1)]


def engine(**services: dict[str, Any]) -> FakeAtelier:
    """A fake engine with this history; ``services`` adds or replaces answers."""
    known: dict[str, dict[str, Any]] = {
        "workflows": {"list": [WORKFLOW], "get": WORKFLOW},
        "teams": {
            "timeline": timeline(),
            "tree": tree(),
            "at": snapshot,
            "turns": turns("root"),
            "root_of": lambda run_id: run_id,
        },
        "inspector": {"requests": summaries, "request": request},
    }
    results: dict[str, Any]
    for name, results in services.items():
        known.setdefault(name, {}).update(results)
    return FakeAtelier(**known)
