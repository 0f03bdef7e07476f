"""What events of the stream mean, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.desktop.bridge.stream_router import StreamRouter
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.stream.payloads import UsageTotals, Waiting
from atelier_desk.presentation.rows.waiting_runs import ParentQuestion, StoppedRun
from tests.helpers.fake_bridge import FakeBridge

MEANINGS = (
    "turn_began",
    "turn_ended",
    "run_changed",
    "child_asked",
    "child_closed",
    "limit_reached",
    "queue_changed",
    "usage_changed",
    "pins_changed",
    "key_refused",
)
SUB_AGENT: dict[str, Any] = {"depth": 1, "parent_run_id": "r0", "correlation_id": "r0"}
WHEN = StreamEvent(workflow_id="w", chunk_type=ChunkType.TOKEN).time


def event(kind: ChunkType, data: dict[str, Any], workflow: str = "w", **more: Any) -> StreamEvent:
    return StreamEvent(
        workflow_id=workflow, run_id="r", agent_name="Ada", chunk_type=kind, data=data, time=WHEN, **more
    )


def heard(router: StreamRouter) -> list[tuple[Any, ...]]:
    """Name and arguments of the signals that say what events mean."""
    found: list[tuple[Any, ...]] = []
    for name in MEANINGS:
        getattr(router, name).connect(lambda *args, name=name: found.append((name, *args)))
    return found


@pytest.mark.parametrize(
    ("kind", "data", "more", "said"),
    [
        (ChunkType.WORKFLOW_START, {}, {}, ("turn_began", "w")),
        (ChunkType.WORKFLOW_START, {}, SUB_AGENT, None),
        (ChunkType.WORKFLOW_COMPLETE, {"status": "limited"}, {}, ("turn_ended", "w", "limited")),
        (ChunkType.WORKFLOW_COMPLETE, {"status": "completed"}, SUB_AGENT, None),
        (ChunkType.RUN_STATUS, {"status": "paused"}, SUB_AGENT, ("run_changed", "r", "paused")),
        (
            ChunkType.SUB_AGENT_QUESTION,
            {"sub_agent_id": "c", "sub_agent_name": "Bea", "question": "Which?"},
            {},
            ("child_asked", ParentQuestion("c", "w", "Bea", "Which?", ("Ada",), WHEN)),
        ),
        (
            ChunkType.SUB_AGENT_QUESTION,
            {"sub_agent_id": "c"},
            SUB_AGENT,
            ("child_asked", ParentQuestion("c", "w", "", "", ("Ada",), WHEN, "r0")),
        ),
        (ChunkType.SUB_AGENT_ANSWER, {"sub_agent_id": "c"}, {}, ("child_closed", "c")),
        (ChunkType.SUB_AGENT_COMPLETE, {"sub_agent_id": "c"}, {}, ("child_closed", "c")),
        (ChunkType.SUB_AGENT_ERROR, {"sub_agent_id": "c"}, {}, ("child_closed", "c")),
        (
            ChunkType.LIMIT_REACHED,
            {"reason": "cost", "details": {"value": 1, "cap": 2, "needed": 3}},
            {},
            ("limit_reached", StoppedRun("r", "w", "Ada", "cost", 1, 2, {"needed": 3, "left": 0}, WHEN)),
        ),
        (
            ChunkType.QUEUE,
            {"messages": [{"message_id": "m", "content": "Next"}]},
            {},
            ("queue_changed", (Waiting(message_id="m", content="Next"),)),
        ),
        (
            ChunkType.USAGE,
            {"context_tokens": 1, "context_window": 10, "workflow": {"tokens_input": 5}},
            {},
            ("usage_changed", UsageTotals(tokens_input=5), (1, 10)),
        ),
        (
            ChunkType.USAGE,
            {"context_tokens": 1, "context_window": 10, "workflow": {"tokens_input": 5}},
            SUB_AGENT,
            ("usage_changed", UsageTotals(tokens_input=5), None),
        ),
        (ChunkType.USAGE, {"tokens_input": 5}, SUB_AGENT, ("usage_changed", None, None)),
        (ChunkType.CONTEXT_CHANGED, {"reason": "pinned", "message_id": "m"}, {}, ("pins_changed",)),
        (ChunkType.CONTEXT_CHANGED, {"reason": "undone"}, {}, None),
        (ChunkType.ERROR, {"code": "auth", "provider": "p"}, {}, ("key_refused", "p")),
        (ChunkType.ERROR, {"code": "timeout", "provider": "p"}, {}, None),
        (ChunkType.TOKEN, {"content": "x"}, {}, None),
    ],
)
def test_an_event_says_what_it_means(
    kind: ChunkType, data: dict[str, Any], more: dict[str, Any], said: tuple[Any, ...] | None
) -> None:
    bridge = FakeBridge()
    found = heard(bridge.stream)
    bridge.stream_event.emit(event(kind, data, **more))
    assert found == ([said] if said is not None else [])


def test_rows_receive_an_event_before_anybody_is_told_what_it_means() -> None:
    bridge = FakeBridge()
    found = heard(bridge.stream)
    bridge.stream.received.connect(lambda each: found.append(("received", each.run_id)))
    bridge.stream_event.emit(event(ChunkType.WORKFLOW_START, {}))
    assert found == [("received", "r"), ("turn_began", "w")]


def test_a_view_follows_the_workflow_it_shows_alone() -> None:
    bridge = FakeBridge()
    shown = ["w"]
    router = StreamRouter(bridge.stream_event, bridge, lambda: shown[0])
    found = heard(router)
    for workflow in ("other", "w"):
        bridge.stream_event.emit(event(ChunkType.WORKFLOW_START, {}, workflow))
    shown[0] = ""
    bridge.stream_event.emit(event(ChunkType.WORKFLOW_START, {}))
    assert found == [("turn_began", "w")]
