"""Stream events, as printed by ``run --json`` and used by the window.

Their format, version 1, is fixed: docs/events.md.
"""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from atelier_desk.domain.base_model import Model, Timestamp, utc_now
from atelier_desk.domain.stream.change_topics import Topic
from atelier_desk.domain.stream.payloads import ChunkType, Payload

__all__ = ["ChunkType", "StreamEvent", "Topic"]


class StreamEvent(Model):
    """One event of the stream; fields beyond the envelope depend on ``chunk_type``: ``payload`` has them typed,
    ``data`` raw.

    ``wire()`` returns the flat JSON object of docs/events.md. A durable event has the next number of its workflow;
    others carry the number of the last durable event before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: int = 1
    seq: int = 0
    time: Timestamp = Field(default_factory=utc_now)
    workflow_id: str
    run_id: str = ""
    parent_run_id: str | None = None
    correlation_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    depth: int = 0
    durable: bool = True
    chunk_type: ChunkType
    data: dict[str, Any] = {}

    @property
    def payload(self) -> Payload:
        """``data`` as an object of its ``chunk_type``'s class, cached because every part of a window reads it."""
        known: tuple[dict[str, object], Payload] | None = self.__dict__.get("_payload")
        if known is None or known[0] is not self.data:  # a changed copy carries the cached payload of the old data
            known = self.data, Payload.by_chunk[self.chunk_type].model_validate(self.data)
            self.__dict__["_payload"] = known
        return known[1]

    def wire(self) -> dict[str, object]:
        """Return the flat object for other processes."""
        envelope = self.model_dump(mode="json", exclude={"data"})
        return {**envelope, **self.data}

    @classmethod
    def from_wire(cls, obj: dict[str, Any]) -> StreamEvent:
        """Inverse of ``wire``; fields outside the envelope become ``data``."""
        envelope = {key: value for key, value in obj.items() if key in cls.model_fields and key != "data"}
        return cls(**envelope, data={key: value for key, value in obj.items() if key not in cls.model_fields})
