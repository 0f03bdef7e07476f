"""Events during the loading of a transcript are neither lost nor shown twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
from atelier_desk.desktop.team.model import TeamModel
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Message, MessageRole, Workflow
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.presentation.rows.transcript import Transcript
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


def message_event(seq: int, content: str, run_id: str = "r1", depth: int = 0) -> StreamEvent:
    data = {"message_id": f"m{seq}", "role": "user", "content": content, "strategy": "queue"}
    return StreamEvent(seq=seq, workflow_id="w1", run_id=run_id, depth=depth, chunk_type=ChunkType.MESSAGE, data=data)


def word(content: str, run_id: str = "r1", depth: int = 0) -> StreamEvent:
    data = {"content": content, "message_id": "reply"}
    return StreamEvent(
        workflow_id="w1", run_id=run_id, depth=depth, durable=False, chunk_type=ChunkType.TOKEN, data=data
    )


def stored(seq: int, content: str, run_id: str = "r1") -> TranscriptEntry:
    return TranscriptEntry(
        Message(id=f"m{seq}", workflow_id="w1", run_id=run_id, seq=seq, role=MessageRole.USER, content=content)
    )


class Reads:
    """Pages of an engine whose loads end when the test says so."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.engine = FakeAtelier(
            workflows={
                "get": lambda key: Workflow(id=key, name="W", stream_seq=2 if key == "w1" else 0),
                "transcript": self._read_workflow,
            },
            teams={"transcript": self._read_agent},
        )
        self.bridge = FakeBridge(self.engine)
        self.pages = TranscriptPages(self.bridge, TeamModel(self.bridge))

    async def _read_workflow(self, key: str, **_options: Any) -> list[TranscriptEntry]:
        rows = [stored(1, "one"), stored(2, "two")] if key == "w1" else []
        await self.gate.wait()
        return rows

    async def _read_agent(self, _run_id: str) -> list[TranscriptEntry]:
        rows = [stored(1, "task", "dot")]
        await self.gate.wait()
        return rows

    def happen(self, *events: StreamEvent) -> None:
        for event in events:
            self.bridge.stream_event.emit(event)


@pytest.fixture
def reads(qtbot: QtBot) -> Reads:
    return Reads()


def texts(transcript: Transcript | None) -> list[str]:
    assert transcript is not None
    return [entry.content for entry in transcript.entries]


async def test_events_during_loading_a_workflow_follow_the_loaded_ones(reads: Reads) -> None:
    opening = asyncio.ensure_future(reads.pages.open("w1"))
    await settle()
    reads.happen(message_event(2, "two"), message_event(3, "three"), word("Wor"))
    reads.gate.set()
    await opening
    reads.happen(word("ds"), message_event(2, "two"))
    assert texts(reads.pages.current) == ["one", "two", "three", "Words"]


async def test_events_during_loading_a_sub_agent_follow_the_loaded_ones(reads: Reads) -> None:
    opening = asyncio.ensure_future(reads.pages.open_agent("dot"))
    await settle()
    reads.happen(message_event(3, "mind the edge", "dot", 1), word("Yes", "dot", 1))
    reads.gate.set()
    assert texts(await opening) == ["task", "mind the edge", "Yes"]


async def test_a_second_load_preserves_events_during_the_first(reads: Reads) -> None:
    first = asyncio.ensure_future(reads.pages.open("w1"))
    await settle()
    reads.happen(message_event(3, "three"))
    second = asyncio.ensure_future(reads.pages.open("w1"))
    await settle()
    reads.happen(word("Words"))
    reads.gate.set()
    await asyncio.gather(first, second)
    assert texts(reads.pages.current) == ["one", "two", "three", "Words"]


async def test_a_cancelled_or_failed_load_loses_no_streaming_text(reads: Reads) -> None:
    opening = asyncio.ensure_future(reads.pages.open("w1"))
    await settle()
    start = StreamEvent(seq=3, workflow_id="w1", run_id="r1", chunk_type=ChunkType.WORKFLOW_START)
    reads.happen(start, word("Wor"))
    reads.gate.set()
    await reads.pages.open("w2")
    await opening
    reads.happen(word("ds"))
    assert texts(reads.pages.current) == []
    reads.engine.answers["workflows.transcript"] = RuntimeError("no")
    with pytest.raises(RuntimeError):
        await reads.pages.open("w1")
    reads.happen(word("."))
    reads.engine.answers["workflows.transcript"] = reads._read_workflow
    await reads.pages.open("w1")
    assert texts(reads.pages.current) == ["one", "two", "Words."]


async def test_a_run_that_ends_after_a_failed_load_is_announced(reads: Reads) -> None:
    reads.gate.set()
    reads.engine.answers["workflows.transcript"] = RuntimeError("no")
    with pytest.raises(RuntimeError):
        await reads.pages.open("w1")
    announced: list[str] = []
    reads.pages.run_changed.connect(lambda: announced.append(reads.pages.running("w1")))
    reads.happen(StreamEvent(seq=3, workflow_id="w1", run_id="r1", chunk_type=ChunkType.WORKFLOW_START))
    reads.happen(
        StreamEvent(
            seq=4, workflow_id="w1", run_id="r1", chunk_type=ChunkType.WORKFLOW_COMPLETE, data={"status": "completed"}
        )
    )
    assert announced[-1] == ""


async def test_a_run_that_ends_while_its_workflow_loads_has_ended(reads: Reads) -> None:
    reads.happen(StreamEvent(seq=1, workflow_id="w1", run_id="r1", chunk_type=ChunkType.WORKFLOW_START))
    opening = asyncio.ensure_future(reads.pages.open("w1"))
    await settle()
    reads.happen(
        StreamEvent(
            seq=2, workflow_id="w1", run_id="r1", chunk_type=ChunkType.WORKFLOW_COMPLETE, data={"status": "completed"}
        )
    )
    reads.gate.set()
    await opening
    assert reads.pages.running("w1") == ""


async def test_the_state_of_the_run_in_view_is_announced_once_a_change(reads: Reads) -> None:
    reads.gate.set()
    await reads.pages.open("w1")
    states: list[tuple[str, str]] = []

    def note() -> None:
        assert reads.pages.current is not None
        states.append((reads.pages.current.live_run, reads.pages.current.status))

    reads.pages.run_changed.connect(note)

    def status(seq: int, name: str, workflow_id: str = "w1", durable: bool = True) -> None:
        reads.happen(
            StreamEvent(
                seq=seq,
                workflow_id=workflow_id,
                run_id="r1",
                durable=durable,
                chunk_type=ChunkType.RUN_STATUS,
                data={"status": name},
            )
        )

    reads.happen(StreamEvent(seq=3, workflow_id="w1", run_id="r1", chunk_type=ChunkType.WORKFLOW_START))
    status(4, "processing")
    reads.happen(word("Words"))
    status(5, "processing", "w2")
    status(6, "interrupted", durable=False)
    assert states == [("r1", "processing"), ("", "interrupted")]


async def test_a_sub_agent_that_ends_while_it_loads_has_ended(reads: Reads) -> None:
    working = {"status": "processing"}
    reads.happen(
        StreamEvent(seq=1, workflow_id="w1", run_id="dot", depth=1, chunk_type=ChunkType.RUN_STATUS, data=working)
    )
    opening = asyncio.ensure_future(reads.pages.open_agent("dot"))
    await settle()
    over = {"status": "completed"}
    reads.happen(
        StreamEvent(seq=2, workflow_id="w1", run_id="dot", depth=1, chunk_type=ChunkType.RUN_STATUS, data=over)
    )
    reads.gate.set()
    transcript = await opening
    assert transcript is not None
    assert transcript.live_run == ""
