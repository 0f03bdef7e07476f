"""Base of the media tools."""

from __future__ import annotations

from atelier_desk.domain.errors import ToolError
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import ToolContext
from atelier_desk.tools.files.file_tool_base import ChangingTool, FileTool
from atelier_desk.tools.registry.sections import MEDIA
from atelier_desk.workspace.path_resolution import WorkspacePath

PICTURE = 40 * 1024 * 1024
"""Maximum bytes of an image file."""


class MediaTool(FileTool):
    """Reads files of the workspace."""

    section = MEDIA
    icon = "image"

    async def content(self, where: WorkspacePath, context: ToolContext, most: int) -> bytes:
        """Return the bytes of a file; raises ``ToolError`` if it is missing or larger than ``most``."""
        return await in_tool_thread(self._content, where, context, most)

    def _content(self, where: WorkspacePath, context: ToolContext, most: int) -> bytes:
        root = self.root(where, context)
        there = root.inspect(where.path)
        if there is None:
            raise self.missing(where, context)
        if there.size > most:
            raise ToolError(
                "{path} has {size} MB; up to {most} MB are read.",
                code="too_large",
                path=where.shown,
                size=there.size >> 20,
                most=most >> 20,
            )
        return root.read(where.path, most)


class MakingTool(ChangingTool):
    """Writes files of the workspace."""

    section = MEDIA
    icon = "image"
