"""Attachments of messages: a file, a folder listing, an image, clipboard text, or a mentioned item of Atelier."""

from __future__ import annotations

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model
from atelier_desk.domain.result_parts import ArtefactPart

FILES = frozenset({"file", "folder", "clipboard", "input"})
"""Sources of attachments that are not mentions."""

OUTSIDE = frozenset({"mcp"})
"""Sources of attachments written by others: reading one counts as reading outside content."""


class Attachment(Model):
    """One attachment; its bytes are stored with the workflow under their SHA-256.

    Attributes:
        name: display name: a file name without folder, a task's or agent's name.
        source: one of ``FILES``, or the kind of the mentioned item (``agent``, ``memory``, ``task``, ``report`` …).
        path: path of a file or folder in a granted folder, for the file tools; otherwise empty.
        size: stored bytes.
        width, height: of an image, in pixels.
        pages: of a PDF.
        text_sha256, text_size: the stored full text in UTF-8; empty for an image. Often the file itself.
        characters: of the full text.
        text: the part given to the model; shorter if its context has no room for all.
    """

    name: str = Field(min_length=1, max_length=limits.ATTACHED_NAME)
    media_type: str
    source: str = "file"
    path: str = ""
    size: int
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    width: int = 0
    height: int = 0
    pages: int = 0
    text_sha256: str = Field(default="", pattern="^([0-9a-f]{64})?$")
    text_size: int = 0
    characters: int = 0
    text: str = ""

    @property
    def picture(self) -> bool:
        return not self.text_sha256

    @property
    def cut(self) -> bool:
        """Whether the model is given only an excerpt."""
        return len(self.text) < self.characters

    @property
    def stored_parts(self) -> tuple[ArtefactPart, ...]:
        """The stored files it needs: its bytes, and its text if different."""
        own = ArtefactPart(name=self.name, media_type=self.media_type, size=self.size, sha256=self.sha256)
        if self.text_sha256 in ("", self.sha256):
            return (own,)
        text = ArtefactPart(name=self.name, media_type="text/plain", size=self.text_size, sha256=self.text_sha256)
        return own, text
