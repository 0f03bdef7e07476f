"""What goes with a message: a file, a folder's list, a picture, a text from the clipboard, or something of Atelier that was mentioned."""

from __future__ import annotations

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.base import Model
from atelier_desk.domain.result_parts import ArtefactPart

FILES = frozenset({"file", "folder", "clipboard", "input"})
"""Where attachments come from that are no mentions."""

OUTSIDE = frozenset({"mcp"})
"""Where attachments come from that others wrote: who reads one has read from outside."""


class Attachment(Model):
    """One thing that goes with a message; its bytes are kept with the workflow and found by their SHA-256.

    Attributes:
        name: what people call it: a file's name without its folder, a task's or an agent's name.
        source: where it came from: one of ``FILES``, or the kind of what was mentioned (``agent``, ``memory``, ``task``, ``report`` …).
        path: of a file or folder in a granted folder its place there, for the file tools; else empty.
        size: bytes that are kept.
        width, height: of a picture, in pixels.
        pages: of a PDF.
        text_sha256, text_size: the whole text in UTF-8, kept likewise; empty for a picture. Often the file itself.
        characters: of the whole text.
        text: what the model is given of it; shorter than the whole when the model's window has no room for more.
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
        """The model is given an excerpt."""
        return len(self.text) < self.characters

    @property
    def kept(self) -> tuple[ArtefactPart, ...]:
        """The files of the workflow it needs: its bytes, and its text where that is another one."""
        own = ArtefactPart(name=self.name, media_type=self.media_type, size=self.size, sha256=self.sha256)
        if self.text_sha256 in ("", self.sha256):
            return (own,)
        text = ArtefactPart(name=self.name, media_type="text/plain", size=self.text_size, sha256=self.text_sha256)
        return own, text
