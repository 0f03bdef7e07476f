"""Entries of a conversation for the model, and what is asked of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.model_messages import ChatMessage, ImagePart, Role, ToolCall
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.domain.skill import SkillUse
from atelier_desk.llm.token_and_cost_estimates import message_tokens


class EntryKind(StrEnum):
    USER = "user"
    REPLY = "reply"
    RESULT = "result"
    NOTE = "note"
    SUMMARY = "summary"


@dataclass(frozen=True)
class ContextEntry:
    """One entry of the conversation for the model. What follows from it alone is computed once: turns share entries.

    Attributes:
        seq: number of its event in its own run; events of a run name entries by ``RunState.numbers``.
        cut: the text was shortened to make room; ``full`` is the original, ``cut_by`` the newest compaction that did
            it.
        origin: permanent id of the entry, also in later runs: run and number of its event, joined by a colon (and
            ``#n`` for the nth of several).
        pinned: a person wants it always sent in full.
        skill: the skill whose instructions it contains: shortened only as a last resort.
        message_id: the transcript message that shows it; empty if none does.
        provider_data: data that the model's server sent with a reply and expects back.
        attachments: attachments of a message; its text contains the part given to the model.
        refused: models (``provider/model``) whose server did not accept the images: they are not sent to it again.
        replaced: for a summary, the entries it replaces; ``order``: origins of the whole conversation before it. Both
            are missing in a conversation from a snapshot; see ``complete``.
        earlier: for a summary, non-image attachments of those entries.
    """

    seq: int
    kind: EntryKind
    text: str
    reasoning: str = ""
    provider_data: ProviderData | None = None
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool: str = ""
    success: bool = True
    images: tuple[ImagePart, ...] = ()
    cut: bool = False
    full: str = ""
    cut_by: str = ""
    origin: str = ""
    pinned: bool = False
    skill: SkillUse | None = None
    message_id: str = ""
    replaced: tuple[ContextEntry, ...] = ()
    earlier: tuple[Attachment, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    order: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether it is exempt from cutting and summarising."""
        return self.pinned or self.skill is not None

    @cached_property
    def tokens(self) -> int:
        """The estimated tokens of its text, calls, and data sent back to the server."""
        return message_tokens(self.text, self.calls, self.provider_data)

    @cached_property
    def message(self) -> ChatMessage:
        """The chat message that it is for the model."""
        if self.kind is EntryKind.RESULT:
            return ChatMessage(
                role=Role.TOOL,
                content=self.text,
                tool_call_id=self.call_id,
                name=self.tool,
                success=self.success,
                images=self.shown_images,
            )
        if self.kind is EntryKind.REPLY:
            return ChatMessage(
                role=Role.ASSISTANT,
                content=self.text,
                reasoning=self.reasoning,
                tool_calls=self.calls,
                provider_data=self.provider_data,
            )
        if self.kind is EntryKind.SUMMARY:
            return ChatMessage(role=Role.USER, content=f"[Summary of the conversation so far]\n{self.text}")
        if self.kind is EntryKind.NOTE:
            return ChatMessage(role=Role.USER, content=f"[Note from the program]\n{self.text}")
        return ChatMessage(role=Role.USER, content=self.text, images=self.images)

    @property
    def shown_images(self) -> tuple[ImagePart, ...]:
        """The images to send: a shortened result has lost them."""
        return () if self.cut and self.kind is EntryKind.RESULT else self.images

    @cached_property
    def plain(self) -> bool:
        """Whether it is a text and nothing more, whatever model it is sent to."""
        return not (
            self.calls
            or self.call_id
            or self.images
            or self.attachments
            or self.earlier
            or self.replaced
            or self.provider_data is not None
            or self.skill is not None
            or self.kind is EntryKind.RESULT
        )


class History(tuple[ContextEntry, ...]):
    """Entries of a conversation, oldest first. What each request asks of all of them is kept, and continued with those
    of the next turn: a long conversation is not looked through again.
    """

    @cached_property
    def tokens(self) -> int:
        """The sum of the entries' ``tokens``."""
        return sum([entry.tokens for entry in self])

    @cached_property
    def not_plain(self) -> tuple[int, ...]:
        """Positions of the entries that are more than a text."""
        return tuple([position for position, entry in enumerate(self) if not entry.plain])

    @cached_property
    def in_turn(self) -> bool:
        """Whether the user and the model speak in turn, the user first, with texts and nothing more."""
        return not self.not_plain and _in_turn(self, 0)

    @property
    def with_more(self) -> list[ContextEntry]:
        """The entries that are more than a text."""
        return [self[position] for position in self.not_plain]

    def followed_by(self, entries: Iterable[ContextEntry]) -> History:
        """Return these entries and then the given ones."""
        new = History(entries)
        longer = History(self + new)
        longer.tokens = self.tokens + new.tokens
        longer.not_plain = (*self.not_plain, *(len(self) + position for position in new.not_plain))
        longer.in_turn = self.in_turn and _in_turn(new, len(self))
        return longer


def _in_turn(entries: Iterable[ContextEntry], first: int) -> bool:
    """Whether entries go on in turn from this position, at which the user speaks if it is even."""
    return all(
        entry.plain and entry.text.strip() and (entry.kind is EntryKind.REPLY) == bool(position % 2)
        for position, entry in enumerate(entries, first)
    )


NO_HISTORY = History()


def attachments_of(entries: Iterable[ContextEntry]) -> dict[str, Attachment]:
    """Return the attachments of a conversation by text hash, newest last, including those of summarised entries."""
    found: dict[str, Attachment] = {}
    for entry in entries:
        found |= {each.text_sha256: each for each in entry.earlier}
        found |= {each.text_sha256: each for each in entry.attachments if not each.picture}
    return found


def complete(entries: Iterable[ContextEntry]) -> bool:
    """Whether every summary, including nested ones, still has its replaced entries, so that it can be undone."""
    return all(bool(entry.order) and complete(entry.replaced) for entry in entries if entry.kind is EntryKind.SUMMARY)


def without_replaced(entries: Iterable[ContextEntry]) -> tuple[ContextEntry, ...]:
    """Return a conversation as sent: without the entries that summaries replace."""
    return tuple(
        replace(entry, replaced=(), order=()) if entry.kind is EntryKind.SUMMARY else entry for entry in entries
    )


def without_reasoning(entries: Iterable[ContextEntry]) -> tuple[ContextEntry, ...]:
    """Return entries as a run's history has them."""
    return tuple([replace(entry, reasoning="") if entry.reasoning else entry for entry in entries])


def renumbered(entries: Iterable[ContextEntry], numbers: Iterable[int]) -> tuple[ContextEntry, ...]:
    """Return entries with these numbers as ``seq``, for compactions: they name entries by ``RunState.numbers``."""
    return tuple(replace(entry, seq=number) for entry, number in zip(entries, numbers, strict=True))
