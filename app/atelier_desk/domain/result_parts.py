"""Parts of a tool result besides its data: shown on the call's card, and to the model where possible."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from atelier_desk.domain.base_model import Model
from atelier_desk.domain.model_messages import ImagePart


class TextPart(Model):
    """Literal text.

    ``title`` may be an English ``N_`` text. ``language`` selects highlighting (``python``, ``diff`` …; ``ansi`` is
    command output with colour sequences). The model reads the result's data, not this.
    """

    type: Literal["text"] = "text"
    title: str = ""
    text: str
    language: str = ""


class PicturePart(Model):
    """An image, shown to the person and to vision models."""

    type: Literal["image"] = "image"
    title: str = ""
    image: ImagePart


class ArtefactPart(Model):
    """A file stored with the workflow under its SHA-256 (hexadecimal). ``size`` is in bytes."""

    type: Literal["artefact"] = "artefact"
    name: str
    media_type: str = "application/octet-stream"
    size: int
    sha256: str


FileAction = Literal["created", "changed", "deleted", "moved"]


class FileChange(Model):
    """A file changed by a call.

    Attributes:
        path: as named by the call; ``moved_to``: its new path, for ``moved``.
        diff: unified diff, empty for non-text files.
        added, removed: lines.
        before, after: SHA-256 of the bytes, empty without a file.
        files, size: number and bytes of affected files if there is no diff; 0 if not counted.
    """

    type: Literal["file_change"] = "file_change"
    action: FileAction
    path: str
    moved_to: str = ""
    diff: str = ""
    added: int = 0
    removed: int = 0
    before: str = ""
    after: str = ""
    files: int = 0
    size: int = 0


class HeldPart(Model):
    """A protected file made by a command, held until a person keeps or discards it.

    ``replaces``: a file of that name exists, and stays unchanged until then.
    """

    type: Literal["held"] = "held"
    id: str
    path: str
    replaces: bool = False


class ReportPart(Model):
    """A report of the workflow that the call wrote. ``text``: the beginning of its Markdown, for the card."""

    type: Literal["report"] = "report"
    name: str
    text: str = ""


class SourcePart(Model):
    """A web page that the call read or found, shown below the answer.

    Attributes:
        date: stated by the page; empty if missing.
        read: its text was read; otherwise only listed by a search.
    """

    type: Literal["source"] = "source"
    url: str
    title: str = ""
    date: str = ""
    read: bool = True


ShownPart = TextPart | PicturePart | ArtefactPart | FileChange | HeldPart | ReportPart
"""Parts shown on a call's card."""
ResultPart = Annotated[
    TextPart | PicturePart | ArtefactPart | FileChange | HeldPart | ReportPart | SourcePart,
    Field(discriminator="type"),
]
