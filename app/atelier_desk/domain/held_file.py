"""A file that waits outside of the workspace until a person says that it may lie there."""

from __future__ import annotations

from atelier_desk.domain.base import Model, Timestamp
from atelier_desk.support.text import name_on_disk


class HeldFile(Model):
    """A file, link or folder with a protected name that a program made or changed, and that nobody was asked about.

    Attributes:
        id: sorts by time.
        workflow_id: empty for what no workflow did alone: an MCP server.
        author: who made it, when it was no agent: the name of an MCP server.
        root: the granted folder, absolute; ``path`` is relative to it, as ``readable_name`` shows it.
        raw: names of the path are not UTF-8: they are written otherwise on the disk, see ``on_disk``.
        replaces: hash of what stands at the path and would be replaced; empty when nothing stood there.
        content: hash of what is held, as ``transfer.digest_of`` says it.
    """

    id: str
    workflow_id: str
    run_id: str = ""
    call_id: str = ""
    agent_name: str = ""
    author: str = ""
    at: Timestamp
    root: str
    path: str
    raw: bool = False
    folder: bool = False
    replaces: str = ""
    content: str = ""

    @property
    def on_disk(self) -> str:
        """The path as the file system takes it."""
        return name_on_disk(self.path) if self.raw else self.path
