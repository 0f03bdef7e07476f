"""Attachments before a message is sent: reading files, searching mentions, storing draft attachments."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.errors import AtelierError, NotFoundError
from atelier_desk.engine.attachments import reading as attachments
from atelier_desk.engine.mentions.mention_source import Mention, MentionScope, source, sources
from atelier_desk.engine.runs.message_attachments import full_text, store
from atelier_desk.engine.services.common.service import Service
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    from atelier_desk.engine.attachments.reading import PreparedAttachments

log = logging.getLogger(__name__)

EACH = 6
"""Maximum results per source at once."""


class AttachmentService(Service):
    """Attachments. They are stored with a workflow when the message is sent, or its draft is saved."""

    async def read(self, path: Path, folders: tuple[str, ...] = ()) -> PreparedAttachments:
        """Read a file or folder; see ``engine.attachments.reading.read``, including errors."""
        return await in_tool_thread(attachments.read, path, folders)

    async def of_bytes(self, name: str, content: bytes) -> PreparedAttachments:
        """Read pasted or generated content; see ``engine.attachments.reading.of_bytes``."""
        return await in_tool_thread(lambda: attachments.of_bytes(name, content, source="clipboard"))

    async def store(self, workflow_id: str, prepared: PreparedAttachments) -> Attachment:
        """Store an attachment of a draft with the workflow.

        Raises:
            NotFoundError: no such workflow.
            StorageError: it cannot be written.
        """
        await self._context.repos.workflows.get(workflow_id)
        return await store(self._context.repos.artefacts, workflow_id, prepared, tentative=True)

    async def drop(self, workflow_id: str, attachment: Attachment) -> None:
        """Remove an attachment of a draft: its bytes are deleted unless a message or call uses them."""
        repos = self._context.repos
        # no message that may name it is being sent meanwhile
        async with self._context.runs.live.beginning(workflow_id):
            draft = (await repos.workflows.get(workflow_id)).draft_attachments
            needed = {part.sha256 for each in draft if each != attachment for part in each.stored_parts}
            hashes = {part.sha256 for part in attachment.stored_parts}
            needed |= {each for each in hashes - needed if await repos.workflows.names_file(workflow_id, each)}
            await repos.artefacts.give_up(workflow_id, hashes, needed)

    async def data(self, workflow_id: str, attachment: Attachment) -> bytes:
        """Return its bytes.

        Raises:
            StorageError: ``damaged_file``: they are missing or damaged.
        """
        return await self._context.repos.artefacts.read(workflow_id, attachment.stored_parts[0])

    async def text(self, workflow_id: str, attachment: Attachment) -> str:
        """Return its full text, empty for an image. Raises as ``data``."""
        return await full_text(self._context.repos.artefacts, workflow_id, attachment)

    async def find(self, query: str, workflow_id: str = "", folders: tuple[str, ...] = ()) -> list[Mention]:
        """Return items to mention that match the words of ``query``, by source. A failing source gives nothing."""
        where, found = MentionScope(self._context, workflow_id, folders), list[Mention]()
        for each in sources():
            try:
                found += await each.find(where, query, EACH)
            except AtelierError as error:
                log.warning("the mentions of %s cannot be searched: %s", each.kind, error.code)
        return found

    async def mention(
        self, mention: Mention, workflow_id: str = "", folders: tuple[str, ...] = ()
    ) -> PreparedAttachments:
        """Return a chosen item prepared for the model.

        Raises:
            NotFoundError, UsageError: it no longer exists, or cannot be read.
        """
        found = source(mention.kind)
        if found is None:
            raise NotFoundError(N_("Unknown type of mention: {kind}."), kind=mention.kind)
        return await found.read(MentionScope(self._context, workflow_id, folders), mention.key)
