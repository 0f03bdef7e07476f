"""Answers to questions and approvals: by an option, in the terminal, or later."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable
from typing import Generic, Protocol, TypeVar

from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.errors import AtelierError, ConflictError, UsageError
from atelier_desk.domain.question import UserQuestion
from atelier_desk.support.i18n import _

Asked = TypeVar("Asked", UserQuestion, ApprovalRequest)


class AnsweringService(Protocol[Asked]):
    """The service that stores one kind of question."""

    async def get(self, id: str, /) -> Asked: ...

    async def pending(self, workflow_id: str | None = None) -> list[Asked]: ...


class Asker(ABC, Generic[Asked]):
    """Answers one kind of question.

    Attributes:
        given: ids of the questions answered by this command.
        how: what to type to answer later, with ``{workflow}``.
    """

    how: str

    def __init__(self, out: Output, service: AnsweringService[Asked]) -> None:
        self._out = out
        self._service: AnsweringService[Asked] = service
        self.given: set[str] = set()

    async def settle(self, asked_id: str) -> bool:
        """Answer; False leaves it open. One that was answered elsewhere counts as answered."""
        asked = await self._service.get(asked_id)
        try:
            done = await self._by_option(asked)
            if done is not None or not self._out.interactive:
                return bool(done)
            self._show(asked)
            async with self._in_sight(asked):
                while True:
                    try:
                        return await self._by_person(asked)
                    except ConflictError:
                        raise
                    except UsageError as error:
                        self._out.note(error.localized(_), "warn")
        except ConflictError:
            return True

    async def pending(self, workflow_id: str) -> list[str]:
        """Ids of a workflow's open questions, oldest first."""
        return [asked.id for asked in await self._service.pending(workflow_id)]

    async def show_pending(self, workflow_id: str) -> int:
        """List a workflow's open questions and how to answer them; returns their number."""
        pending = await self._service.pending(workflow_id)
        for asked in pending:
            self._out.note(self._in_a_line(asked), "warn")
        if pending:
            self._out.note(_(self.how, workflow=workflow_id))
        return len(pending)

    @abstractmethod
    async def _by_option(self, asked: Asked) -> bool | None:
        """Answer as an option says; True when answered, None when a person must be asked."""

    @abstractmethod
    async def _by_person(self, asked: Asked) -> bool:
        """Ask a person in the terminal and submit the answer; False leaves it open.

        Raises:
            UsageError: the answer is not valid; the person sees why and is asked again.
        """

    @abstractmethod
    def _show(self, asked: Asked) -> None:
        """Show the question before asking."""

    @abstractmethod
    def _in_a_line(self, asked: Asked) -> str:
        """One line that says what is waiting."""

    @contextlib.asynccontextmanager
    async def _in_sight(self, asked: Asked) -> AsyncIterator[None]:
        """Active while the question is visible in the terminal."""
        yield

    async def _typed(self, prompt: str) -> str:
        return ((await self._out.ask(prompt)) or "").strip()

    async def _give(self, asked: Asked, giving: Awaitable[object]) -> None:
        self.given.add(asked.id)
        try:
            await giving
        except AtelierError:
            self.given.discard(asked.id)
            raise
