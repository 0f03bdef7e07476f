"""Actions on one message: pinning, and continuing from it in a new workflow."""

from __future__ import annotations

from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.events.run import RunFinished
from atelier_desk.domain.workflow import Message, MessageRole, Workflow
from atelier_desk.engine.services.common.service import Service
from atelier_desk.support.i18n import N_


class MessageService(Service):
    """Messages of root runs; a sub-agent's belong to its own run."""

    async def get(self, message_id: str) -> Message:
        """Return a message; ``NotFoundError`` if there is none."""
        return await self._context.repos.messages.get(message_id)

    async def set_pinned(self, message_id: str, pinned: bool = True) -> Message:
        """Pin or unpin a message: it is listed, and always sent to the model in full.

        Raises:
            NotFoundError: there is no such message.
            UsageError: it is a notice.
        """
        message = await self.get(message_id)
        if message.role is MessageRole.NOTICE:
            raise UsageError(N_("Only messages from you or an agent can be pinned."))
        if message.pinned is not pinned:
            await self._context.runs.editing.pin_message(message, pinned)
        return await self.get(message_id)

    async def pinned(self, workflow_id: str) -> list[Message]:
        """Return the pinned messages of a workflow, on all branches that were not deleted, oldest first."""
        await self._context.repos.workflows.get(workflow_id)
        pinned = await self._context.repos.messages.pinned(workflow_id)
        if not pinned:
            return []  # reading the turns of a long workflow takes 0.1 s
        there = {link.id for link in await self._context.repos.runs.links(workflow_id)}
        return [message for message in pinned if message.run_id in there]

    async def branch_here(self, message_id: str) -> Workflow:
        """Create a workflow that continues after a message, with everything up to the end of its turn, or up to the
        message in an unfinished turn.

        The original is unchanged.

        Raises:
            NotFoundError: there is no such message.
        """
        message = await self.get(message_id)
        events = self._context.repos.journal.of_runs
        finished = await events([message.run_id], types=["run_finished"])
        ends = [event.stream_from for event in finished if isinstance(event.body, RunFinished)]
        run = await self._context.repos.runs.get(message.run_id)
        if run.deleted_at is not None:
            raise NotFoundError(N_("The branch of this message was deleted."))
        at = max((end for end in ends if end > message.seq), default=message.seq)
        return await self._context.runs.fork(message.workflow_id, at)
