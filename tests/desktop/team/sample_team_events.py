"""A small running team as the engine reports it.

Ada has Bea and Cid do a batch in parallel, and Bea has Dot check the types.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.sub_agent import Spending
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode

START = datetime(2026, 1, 1, tzinfo=UTC)
PARENTS = {"ada": None, "bea": "ada", "cid": "ada", "dot": "bea"}
DEPTHS = {"ada": 0, "bea": 1, "cid": 1, "dot": 2}
TASKS = [{"agent_id": "Bea", "prompt": "Review"}, {"agent_id": "Cid", "prompt": "Test"}]


def event(seq: int, kind: str, run_id: str = "ada", /, **data: Any) -> StreamEvent:
    """An event of one of the four, ``seq`` seconds after the start."""
    return StreamEvent(
        seq=seq,
        time=START + timedelta(seconds=seq),
        workflow_id="w1",
        run_id=run_id,
        parent_run_id=PARENTS[run_id],
        correlation_id="ada",
        agent_name=run_id.title(),
        depth=DEPTHS[run_id],
        durable=kind not in {"token", "reasoning", "sub_agent_progress"},
        chunk_type=ChunkType(kind),
        data=data,
    )


def sub_agent_event(seq: int, run_id: str, /, **data: Any) -> StreamEvent:
    """A parent's event about one of its sub-agents; ``kind`` of it is ``sub_agent_start`` unless ``what`` says
    otherwise.
    """
    parent = PARENTS[run_id]
    assert parent is not None
    what = data.pop("what", "sub_agent_start")
    return event(seq, what, parent, sub_agent_id=run_id, sub_agent_name=run_id.title(), **data)


FIRST = {"tokens_input": 100, "tokens_output": 20, "cost": 0.5}


def started() -> list[StreamEvent]:
    """Events up to the point where all four run: Dot with its calculator."""
    return [
        event(1, "workflow_start"),
        event(2, "message", message_id="u1", role="user", content="Make it so"),
        event(3, "message", message_id="m1", role="assistant", content="I share the work."),
        event(4, "usage", own=FIRST, workflow=FIRST),
        event(
            5,
            "tool_start",
            call_id="p1",
            tool="ParallelTasksTool",
            arguments={"operation": "execute_batch", "tasks": TASKS},
        ),
        sub_agent_event(
            6, "bea", call_id="p1", task_description="Review the types", kind="parallel", stage=0, background=False
        ),
        sub_agent_event(
            6, "cid", call_id="p1", task_description="Write the tests", kind="parallel", stage=0, background=False
        ),
        event(7, "run_status", status="awaiting_children"),
        event(8, "run_status", "bea", status="processing"),
        event(8, "run_status", "cid", status="processing"),
        event(
            9,
            "tool_start",
            "bea",
            call_id="s1",
            tool="SpawnAgentTool",
            arguments={"operation": "spawn", "name": "Dot", "prompt": "Check"},
        ),
        sub_agent_event(
            10, "dot", call_id="s1", task_description="Run the type checker", kind="spawn", stage=0, background=False
        ),
        event(11, "run_status", "bea", status="awaiting_children"),
        event(12, "run_status", "dot", status="processing"),
        event(13, "tool_start", "dot", call_id="c1", tool="CalculatorTool", arguments={"expression": "12*7"}),
    ]


def tree(**changes: dict[str, Any]) -> AgentNode:
    """The same moment as the engine's tree; ``changes`` by run id."""

    def node(run_id: str, *children: AgentNode, **fields: Any) -> AgentNode:
        facts: dict[str, Any] = {
            "run_id": run_id,
            "name": run_id.title(),
            "workflow_id": "w1",
            "root_run_id": "ada",
            "depth": DEPTHS[run_id],
            "parent_run_id": PARENTS[run_id],
            "started_at": START,
            "elapsed_ms": 1_000,
            "children": children,
        }
        return AgentNode(**{**facts, **fields, **changes.get(run_id, {})})

    def usage_of(tokens: int, calls: int = 0) -> dict[str, Any]:
        usage = Usage(tokens_input=tokens)
        return {"usage": usage, "tool_calls": calls, "total": Spending(usage=usage, tool_calls=calls)}

    dot = node(
        "dot",
        title="Run the type checker",
        parent_call_id="s1",
        call_kind="spawn",
        current_tool="CalculatorTool",
        **usage_of(10, 1),
    )
    bea = node(
        "bea",
        dot,
        title="Review the types",
        parent_call_id="p1",
        call_kind="parallel",
        status="awaiting_children",
        **usage_of(40, 1),
    )
    cid = node("cid", title="Write the tests", parent_call_id="p1", call_kind="parallel", **usage_of(50))
    return node(
        "ada", bea, cid, status="awaiting_children", budget=Budget(max_tokens=1_000, max_cost=2.0), **usage_of(120, 1)
    )
