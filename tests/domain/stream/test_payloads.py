"""Each kind of stream event has its own class, and missing fields have defaults."""

from __future__ import annotations

import pytest

from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import ChunkType, StreamEvent


def test_each_kind_has_one_class() -> None:
    assert set(payloads.Payload.by_chunk) == set(ChunkType)
    assert len(set(payloads.Payload.by_chunk.values())) == len(ChunkType)


@pytest.mark.parametrize("kind", list(ChunkType))
def test_an_empty_event_can_be_read(kind: ChunkType) -> None:
    said = StreamEvent(workflow_id="w", chunk_type=kind).payload
    assert type(said) is payloads.Payload.by_chunk[kind]
    assert said.model_dump(exclude_unset=True) == {}


def test_a_payload_is_sent_unchanged_even_after_it_was_parsed() -> None:
    data = {"tool": "x", "call_id": "c", "result": {"b": [1, None], "a": 1.5}, "of_a_newer_engine": True}
    event = StreamEvent(workflow_id="w", chunk_type=ChunkType.TOOL_END, data=data)
    said = event.payload
    assert isinstance(said, payloads.ToolEnd)
    assert (said.tool, said.result, said.success) == ("x", {"b": [1, None], "a": 1.5}, False)
    assert list(event.wire().items())[-4:] == list(data.items())


def test_a_payload_is_parsed_once_and_a_changed_copy_again() -> None:
    event = StreamEvent(workflow_id="w", chunk_type=ChunkType.TOKEN, data={"content": "a"})
    fresh = event.model_copy()
    assert event.payload is event.payload
    assert event == fresh
    assert event.wire() == fresh.wire()
    changed = event.model_copy(update={"data": {"content": "ab"}})
    assert changed.payload == payloads.Token(content="ab")


def test_a_field_is_sent_always_or_only_when_it_is_set() -> None:
    quiet = payloads.ToolEnd(call_id="c", tool="x", result={"a": None})
    empty = {"result": {"a": None}, "duration_ms": 0, "truncated": False}
    assert quiet.json_fields() == {"call_id": "c", "tool": "x", "success": False, "status": "", **empty}
    assert quiet.model_copy(update={"error": "no"}).json_fields() == {**quiet.json_fields(), "error": "no"}
    assert payloads.Reasoning(content="a").json_fields() == {"content": "a", "message_id": ""}
    assert payloads.Attachment(name="a", media_type="text/plain", text="").json_fields() == {
        "media_type": "text/plain",
        "name": "a",
        "text": "",
    }
