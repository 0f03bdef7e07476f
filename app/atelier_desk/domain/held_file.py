"""A file held outside the workspace until a person accepts it."""

from __future__ import annotations

from atelier_desk.domain.base_model import Model, Timestamp
from atelier_desk.support.visible_and_shortened_text import name_on_disk


class HeldFile(Model):
    """A file, link or folder with a protected name that a program created or changed without approval.

    Attributes:
        id: sorts by time.
        workflow_id: empty for files that belong to no single workflow: of an MCP server.
        author: its author if not an agent: the name of an MCP server.
        root: the granted folder, absolute; ``path`` is relative to it, in the form of ``readable_name``.
        raw: the path is not UTF-8: its real form is ``on_disk``.
        replaces: hash of the file that it would replace; empty if there was none.
        content: hash of the held content, as in ``file_copying.digest_of``.
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
        """The path in the file system's form."""
        return name_on_disk(self.path) if self.raw else self.path
