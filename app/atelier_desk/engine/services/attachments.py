"""What goes with messages before they are sent: reading files, finding what can be mentioned, keeping what a draft has."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.errors import AtelierError, NotFoundError
from atelier_desk.engine.mentions.source import Mention, MentionScope
from atelier_desk.engine.services.common.context import ServiceContext
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    from atelier_desk.engine.attachments import PreparedAttachments

log = logging.getLogger(__name__)

EACH = 6
"""Things that each source offers at once."""


class AttachmentService:
    """Attachments. What is read is kept with a workflow when the message is sent, or when its draft is kept."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    async def read(self, path: Path, folders: tuple[str, ...] = ()) -> PreparedAttachments:
        """A file or folder; see ``engine.attachments.read``, whose errors it raises."""
        from atelier_desk.engine import attachments

        return await in_tool_thread(attachments.read, path, folders)

    async def of_bytes(self, name: str, content: bytes) -> PreparedAttachments:
        """The content of a file that was pasted or made here; see ``engine.attachments.of_bytes``."""
        from atelier_desk.engine import attachments

        return await in_tool_thread(lambda: attachments.of_bytes(name, content, source="clipboard"))

    async def keep(self, workflow_id: str, prepared: PreparedAttachments) -> Attachment:
        """Keep it with the workflow, for a draft.

        Raises:
            NotFoundError: no such workflow.
            StorageError: it cannot be written.
        """
        from atelier_desk.engine.runs.attachments import keep

        await self._context.repos.workflows.get(workflow_id)
        return await keep(self._context.repos.artefacts, workflow_id, prepared, tentative=True)

    async def drop(self, workflow_id: str, attachment: Attachment) -> None:
        """A draft no longer has it: what was kept for it goes, unless a message or a call has the same bytes."""
        repos = self._context.repos
        async with self._context.runs.live.beginning(workflow_id):  # no message that may name it is being sent meanwhile
            draft = (await repos.workflows.get(workflow_id)).draft_attachments
            needed = {part.sha256 for each in draft if each != attachment for part in each.kept}
            hashes = {part.sha256 for part in attachment.kept}
            needed |= {each for each in hashes - needed if await repos.workflows.names_file(workflow_id, each)}
            await repos.artefacts.give_up(workflow_id, hashes, needed)

    async def data(self, workflow_id: str, attachment: Attachment) -> bytes:
        """Its bytes.

        Raises:
            StorageError: ``damaged_file``, they are missing or damaged.
        """
        return await self._context.repos.artefacts.read(workflow_id, attachment.kept[0])

    async def text(self, workflow_id: str, attachment: Attachment) -> str:
        """Its whole text, empty for a picture. Raises as ``data`` does."""
        from atelier_desk.engine.runs.attachments import whole_text

        return await whole_text(self._context.repos.artefacts, workflow_id, attachment)

    async def find(self, query: str, workflow_id: str = "", folders: tuple[str, ...] = ()) -> list[Mention]:
        """What can be mentioned whose name has the words of ``query``, by source. A source that fails finds nothing."""
        from atelier_desk.engine.mentions.source import sources

        where, found = MentionScope(self._context, workflow_id, folders), list[Mention]()
        for each in sources():
            try:
                found += await each.find(where, query, EACH)
            except AtelierError as error:
                log.warning("the mentions of %s cannot be searched: %s", each.kind, error.code)
        return found

    async def mention(self, mention: Mention, workflow_id: str = "", folders: tuple[str, ...] = ()) -> PreparedAttachments:
        """What the model is given of something that was chosen.

        Raises:
            NotFoundError, UsageError: it is not there any more, or cannot be read.
        """
        from atelier_desk.engine.mentions.source import source

        found = source(mention.kind)
        if found is None:
            raise NotFoundError(N_("Nothing of the kind {kind} can be mentioned."), kind=mention.kind)
        return await found.read(MentionScope(self._context, workflow_id, folders), mention.key)
