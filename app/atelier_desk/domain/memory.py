"""Memories of agents and users."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now


class MemoryType(StrEnum):
    USER_PREF = "user_pref"
    CONTEXT = "context"
    KNOWLEDGE = "knowledge"
    DECISION = "decision"


class MemoryScope(StrEnum):
    """Where to search or write: this workflow's memories, those of all workflows, or both."""

    WORKFLOW = "workflow"
    GENERAL = "general"
    BOTH = "both"


DEFAULT_IMPORTANCE: dict[MemoryType, float] = {
    MemoryType.USER_PREF: 0.8,
    MemoryType.DECISION: 0.7,
    MemoryType.KNOWLEDGE: 0.6,
    MemoryType.CONTEXT: 0.3,
}
DEFAULT_SCOPE: dict[MemoryType, MemoryScope] = {
    MemoryType.USER_PREF: MemoryScope.GENERAL,
    MemoryType.KNOWLEDGE: MemoryScope.GENERAL,
    MemoryType.CONTEXT: MemoryScope.WORKFLOW,
    MemoryType.DECISION: MemoryScope.WORKFLOW,
}
EMBEDDING_OFFER = "embedding-offer"
"""Announced in place of a memory's id: texts wait for vectors that may cost something."""
REEMBED = "reembed"
"""Id under which re-embedding progress is announced on topic ``memory``: no memory changes."""
RETRIEVED_MAX = 50
"""Maximum runs stored per memory that retrieved it."""


def expiry(type: MemoryType, now: datetime) -> datetime | None:
    """Return when a memory stored now expires; None for never."""
    return now + timedelta(days=limits.MEMORY_CONTEXT_DAYS) if type is MemoryType.CONTEXT else None


class Memory(Model):
    """One memory with its provenance. ``workflow_id`` None means general.

    Attributes:
        source: its author: ``agent``, ``user`` or ``import``; ``agent_source`` and ``run_id`` say which.
        turn_id: the root run whose team stored it; empty if it was no agent.
        proposed: an agent wants it to apply to all workflows. It stays in its workflow until a person approves.
        origin: hash of the words an agent stored it with; empty if it was no agent. ``edited``: a person changed it
            since.
        retrieved_by: ids of the runs that retrieved it, newest last, at most ``RETRIEVED_MAX``.
        tainted: outside sources that its author's team had read; reading it counts as reading them.
        embedder: id of the embedder of the stored vector, empty if it has none. The repository stores the vector.
    """

    id: str = Field(default_factory=new_id)
    type: MemoryType
    content: str = Field(min_length=1, max_length=limits.MEMORY_CONTENT)
    workflow_id: str | None = None
    importance: float = Field(default=0.5, ge=0, le=1)
    priority: float | None = Field(default=None, ge=0, le=1)
    tags: tuple[str, ...] = Field(default=(), max_length=limits.MEMORY_TAGS)
    source: str = "agent"
    agent_source: str = ""
    run_id: str = ""
    turn_id: str = ""
    proposed: bool = False
    origin: str = ""
    edited: bool = False
    retrieved_by: tuple[str, ...] = ()
    tainted: tuple[str, ...] = ()
    embedder: str = ""
    created_at: Timestamp = Field(default_factory=utc_now)
    updated_at: Timestamp = Field(default_factory=utc_now)
    expires_at: Timestamp | None = None

    @property
    def turn(self) -> bool:
        """Whether it is a turn of a conversation: context of a run with a known speaker.

        Answers to questions about such a memory are often in the neighbouring turns.
        """
        return self.type is MemoryType.CONTEXT and bool(self.run_id and self.agent_source)


class MergedInto(Model):
    """Data to undo a merge: the remaining memory before (``kept``) and after (``made``); whether a pin moved to it."""

    kept: Memory
    made: Memory
    pinned: bool


class DeletedMemory(Memory):
    """A deleted memory that can be restored.

    Attributes:
        merged: it was deleted because it was merged into another.
    """

    deleted_at: Timestamp
    merged: MergedInto | None = None


@dataclass(frozen=True)
class MemoryFilter:
    """Filter of a list or search.

    Attributes:
        scope: ``workflow``: those of ``workflow_id``; ``general``: those of none; ``both``: either; None: every memory.
        tags: all of them must be present.
    """

    workflow_id: str | None = None
    scope: MemoryScope | None = MemoryScope.BOTH
    type: MemoryType | None = None
    tags: tuple[str, ...] = ()

    def accepts_home(self, workflow_id: str | None) -> bool:
        """Whether memories of this workflow (None: general ones) are included."""
        if self.scope is None:
            return True
        if workflow_id is None:
            return self.scope is not MemoryScope.WORKFLOW
        return self.scope is not MemoryScope.GENERAL and workflow_id == self.workflow_id


class MemoryHit(Model):
    """A search result with every part of its score, each 0–1. ``certainty`` is compared with the threshold."""

    memory: Memory
    score: float
    relevance: float
    lexical: float
    cosine: float | None = None
    certainty: float = 1.0
    importance: float
    recency: float
