"""Events of one run for tests of the activity pane."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.presentation.rows.activity_log import ActivityLog

START = datetime(2026, 1, 1, tzinfo=UTC)


def event(seq: int, kind: ChunkType, /, run_id: str = "r1", **data: Any) -> StreamEvent:
    """An event of Ada's run, ``seq`` seconds after ``START``."""
    parent = data.pop("parent_run_id", None)
    return StreamEvent(
        seq=seq, time=START + timedelta(seconds=seq), workflow_id="w", run_id=run_id, parent_run_id=parent,
        agent_name="Ada",
        chunk_type=kind, durable=kind not in (ChunkType.TOKEN, ChunkType.TOOL_PROGRESS), data=data,
    )  # fmt: skip


def one_run() -> list[StreamEvent]:
    """A complete run with one successful and one failed tool call."""
    return [
        event(1, ChunkType.WORKFLOW_START),
        event(
            2,
            ChunkType.TOOL_START,
            call_id="c1",
            tool="CalculatorTool",
            arguments={"expression": "12*7"},
            section="core_ops",
        ),
        event(2, ChunkType.TOOL_PROGRESS, call_id="c1", progress=40),
        event(
            3,
            ChunkType.TOOL_END,
            call_id="c1",
            tool="CalculatorTool",
            success=True,
            result={"result": 84},
            duration_ms=12,
        ),
        event(
            4,
            ChunkType.USAGE,
            tokens_input=100,
            tokens_output=20,
            cost=0.5,
            own={"tokens_input": 100, "tokens_output": 20, "cost": 0.5},
        ),
        event(5, ChunkType.TOOL_START, call_id="c2", tool="TodoTool", arguments={}),
        event(6, ChunkType.TOOL_END, call_id="c2", tool="TodoTool", success=False, error="no such task", duration_ms=3),
        event(7, ChunkType.TOKEN, content="hi"),
        event(8, ChunkType.WORKFLOW_COMPLETE, status="completed"),
    ]


def feed(log: ActivityLog, events: Iterable[StreamEvent]) -> None:
    """Apply events one after another."""
    for each in events:
        log.feed(each)
