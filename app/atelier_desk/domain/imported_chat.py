"""Chats exported by other programs: message trees, and previews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal

SOURCES: Mapping[str, str] = MappingProxyType(
    {"chatgpt": "ChatGPT", "claude": "Claude", "openwebui": "Open WebUI", "librechat": "LibreChat"}
)
"""Supported programs by short name."""


@dataclass(frozen=True, slots=True)
class ChatMessageNode:
    """A message. ``parent`` is the id of the previous message, empty for the first of a chat."""

    id: str
    parent: str
    role: Literal["user", "assistant"]
    text: str
    reasoning: str = ""
    model: str = ""
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """An exported chat.

    Attributes:
        source: one of ``SOURCES``; ``id`` is that program's own.
        nodes: each after its parent; versions of a message share a parent.
        current: id of the last message of the displayed version; empty if unknown.
    """

    source: str
    id: str
    title: str
    nodes: tuple[ChatMessageNode, ...]
    current: str = ""

    @property
    def key(self) -> str:
        """Identifies the chat across files: ``chatgpt:ID``."""
        return f"{self.source}:{self.id}"


@dataclass(frozen=True, slots=True)
class ChatPreview:
    """One chat of a file, or a workflow that Atelier exported.

    Attributes:
        key: see ``Chat.key``; the path of a workflow's file.
        source: empty for a workflow; importing one that exists makes a copy.
        messages: number of messages.
        first, last: times of its first and last message; None if unknown.
        there: id of the workflow it was imported as; empty if not imported. ``deleted``: that workflow is in the bin.
        new_turns: number of turns that the workflow lacks.
    """

    key: str
    source: str
    title: str
    messages: int
    first: datetime | None
    last: datetime | None
    there: str = ""
    deleted: bool = False
    new_turns: int = 0


@dataclass(frozen=True, slots=True)
class ChatFilePreview:
    """Content of a file, newest chats first.

    Attributes:
        chats: importable chats.
        skipped: number of other entries by reason: ``unknown``, ``damaged``, ``too_large``, ``empty``, ``cut_off``.
    """

    chats: Sequence[ChatPreview]
    skipped: Mapping[str, int]

    @property
    def new(self) -> tuple[ChatPreview, ...]:
        """The chats with something new."""
        return tuple(each for each in self.chats if each.new_turns)


@dataclass(frozen=True, slots=True)
class ImportedChats:
    """Result of an import.

    Ids of new and extended workflows, number of unchanged chats, and skipped entries as in ``ChatFilePreview``.
    """

    created: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    unchanged: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
