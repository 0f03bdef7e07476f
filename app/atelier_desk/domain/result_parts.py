"""The parts of a tool's result besides its data: what a person sees in the call's card, and the model as far as it can."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from atelier_desk.domain.base import Model
from atelier_desk.domain.model_messages import ImagePart


class TextPart(Model):
    """A text to be read as it is. ``title`` may be an English ``N_`` text. ``language`` colours it (``python``, ``diff`` …;
    ``ansi`` is what a command printed, with the sequences of its colours).

    The model reads the result's data, not this.
    """

    type: Literal["text"] = "text"
    title: str = ""
    text: str
    language: str = ""


class PicturePart(Model):
    """A picture: shown to the person, and to a model that sees pictures."""

    type: Literal["image"] = "image"
    title: str = ""
    image: ImagePart


class ArtefactPart(Model):
    """A file that is kept with the workflow; its bytes are found by their SHA-256 (hexadecimal digits). ``size`` is in bytes."""

    type: Literal["artefact"] = "artefact"
    name: str
    media_type: str = "application/octet-stream"
    size: int
    sha256: str


class FileChange(Model):
    """A file that a call changed.

    Attributes:
        path: as the call named it; ``moved_to`` where it is now, for ``moved``.
        diff: unified diff, empty for a file that is no text.
        added, removed: lines.
        before, after: SHA-256 of the bytes, empty where there was or is no file.
        files, size: what a call would take along, in files and bytes, where no diff says it; 0 when that was not counted.
    """

    type: Literal["file_change"] = "file_change"
    action: Literal["created", "changed", "deleted", "moved"]
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
    """A file with a protected name that a command made, held until a person keeps or discards it. ``replaces``: a file is there by that
    name, which stays as it is until then."""

    type: Literal["held"] = "held"
    id: str
    path: str
    replaces: bool = False


class SourcePart(Model):
    """A page of the web that the call read or found: shown under the answer that it was used for.

    Attributes:
        date: of the page, as it says itself; empty when it does not.
        read: its text was read; else a search named it.
    """

    type: Literal["source"] = "source"
    url: str
    title: str = ""
    date: str = ""
    read: bool = True


ShownPart = TextPart | PicturePart | ArtefactPart | FileChange | HeldPart
"""What a call's card shows."""
ResultPart = Annotated[TextPart | PicturePart | ArtefactPart | FileChange | HeldPart | SourcePart, Field(discriminator="type")]
