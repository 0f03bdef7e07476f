"""Chats that other programs exported: their messages as a tree, and what a preview says of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal

SOURCES: Mapping[str, str] = MappingProxyType(
    {"chatgpt": "ChatGPT", "claude": "Claude", "openwebui": "Open WebUI", "librechat": "LibreChat"}
)
"""By short name, the programs whose exports are read."""


@dataclass(frozen=True, slots=True)
class ChatMessageNode:
    """A message. ``parent`` is the id of the message it follows, empty for the first of a chat."""

    id: str
    parent: str
    role: Literal["user", "assistant"]
    text: str
    reasoning: str = ""
    model: str = ""
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat as its program exported it.

    Attributes:
        source: one of ``SOURCES``; ``id`` is that program's own.
        nodes: each after the one it follows; versions of a message follow the same one.
        current: id of the last message of the version that was shown; empty when the export does not say.
    """

    source: str
    id: str
    title: str
    nodes: tuple[ChatMessageNode, ...]
    current: str = ""

    @property
    def key(self) -> str:
        """Names the chat whichever file it comes from: ``chatgpt:ID``."""
        return f"{self.source}:{self.id}"


@dataclass(frozen=True, slots=True)
class ChatPreview:
    """One chat of a file.

    Attributes:
        key: as of ``Chat.key``.
        messages: how many it has.
        first, last: when its messages were written; None when the export does not say.
        there: the id of the workflow it was imported as; empty when it was not. ``deleted``: that one is in the bin.
        new_turns: how many turns the workflow does not have yet.
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
    """What a file holds, newest chats first.

    Attributes:
        chats: those that can be imported.
        skipped: how many entries cannot, by why: ``unknown``, ``damaged``, ``too_large``, ``empty``, ``cut_off``.
    """

    chats: Sequence[ChatPreview]
    skipped: Mapping[str, int]

    @property
    def new(self) -> tuple[ChatPreview, ...]:
        """Those of which something is not here yet."""
        return tuple(each for each in self.chats if each.new_turns)


@dataclass(frozen=True, slots=True)
class ImportedChats:
    """What an import did: ids of the workflows it made and of those it added turns to, how many chats were there already, and why entries
    were skipped, as in ``ChatFilePreview``."""

    created: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    unchanged: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
