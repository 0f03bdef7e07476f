"""Read attachments: images, documents and text as text, a folder as its listing and texts.

Attaching is a person's own act, like writing: it taints nothing, wherever the file is. Taint is for what agents read
through tools.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.document_formats import PDF, not_read
from atelier_desk.domain.document_formats import kind_of as kind_of_document
from atelier_desk.domain.encoding_detection import marked
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.domain.image_limits import JPEG, PNG
from atelier_desk.engine.attachments.folder_text import folder_text
from atelier_desk.engine.attachments.image_headers import Picture, picture_of
from atelier_desk.engine.attachments.names_and_decoding import binary, decode, is_secret_name, shown_name
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.media.image_headers import kind_of
from atelier_desk.media.picture_preparation import UnusablePicture, prepared
from atelier_desk.support.i18n import N_
from atelier_desk.support.locale_format import number
from atelier_desk.support.visible_and_shortened_text import readable_name
from atelier_desk.tools.files.document_text import extracted, shown_pages, text_of

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff")
_ENDINGS = {JPEG: (".jpg", ".jpeg"), PNG: (".png",)}
"""File extensions of converted images."""
_UNSUPPORTED = N_(
    "{name} cannot be attached: it is not a text file, image (PNG, JPEG, GIF, WebP, BMP, TIFF) or document (PDF, "
    "Word, Excel, PowerPoint, OpenDocument, RTF, EPUB, email)."
)
_HEAD = 32
"""Leading bytes by which an image is recognised."""
PDF_PAGES = 500
PDF_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class PreparedAttachments:
    """An attachment that was read but not stored yet. Fields as in ``Attachment``.

    ``text`` is the full text, None for an image; ``left_out`` names files of a folder that were excluded as possible
    secrets; ``encoding`` is the guessed one for text that is not UTF-8 and has no mark, else empty.
    """

    name: str
    media_type: str
    data: bytes
    source: str = "file"
    path: str = ""
    width: int = 0
    height: int = 0
    pages: int = 0
    text: str | None = None
    left_out: tuple[str, ...] = ()
    encoding: str = ""

    @property
    def secret(self) -> bool:
        """Whether its name suggests secrets: a person is warned before it is sent."""
        return self.source in ("file", "folder") and is_secret_name(self.name)


def read(path: Path, granted: tuple[str, ...] = ()) -> PreparedAttachments:
    """Read a file or folder to attach it. Blocks: call it in a thread.

    Args:
        granted: folders that agents may use; ``PreparedAttachments.path`` is set for files inside them.

    Raises:
        UsageError: it cannot be read, is damaged, or is neither an image nor text nor a document.
        LimitError: it is larger than allowed for its kind.
    """
    shown = shown_name(path.name or str(path))
    inside = readable_name(_inside(path, granted))
    try:
        found = path.stat()  # follow a link: the person named it
        if stat.S_ISDIR(found.st_mode):
            return _folder(path, shown, inside)
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(N_("{path} is not a file: it cannot be attached."), path=shown)
        with path.open("rb") as file:
            most = _most(file.read(_HEAD))
            if found.st_size > most:
                raise too_large(shown, most)
            file.seek(0)
            content = file.read(most + 1)
    except OSError as error:
        raise UsageError(N_("{path} cannot be read: {reason}"), path=shown, reason=error.strerror or error) from None
    except ValueError:  # a null byte in the name
        raise UsageError(N_("{path} cannot be read: {reason}"), path=shown, reason="?") from None
    return of_bytes(path.name, content, path=inside)


def of_bytes(name: str, content: bytes, *, source: str = "file", path: str = "") -> PreparedAttachments:
    """Prepare the content of a file. Raises as ``read``."""
    shown = shown_name(name)
    if len(content) > _most(content[:_HEAD]):
        raise too_large(shown, _most(content[:_HEAD]))
    picture = picture_of(shown, content)
    if picture is not None:
        return _picture(shown, content, picture, source, path)
    if kind := kind_of_document(shown, content[:1_024]):
        return _document(kind, shown, content, source, path)
    if shown.lower().endswith(_PICTURES):
        # Its text would be sent without notice, while the person expects an image.
        raise UsageError(
            N_(
                "{name} has the extension of an image but could not be opened as one (PNG, JPEG, GIF, WebP, BMP, TIFF)."
            ),
            name=shown,
        )
    text, encoding = decode(content)
    if binary(text):
        raise UsageError(_UNSUPPORTED, name=shown)
    guess = "" if encoding == "utf-8" or marked(content) else encoding
    return PreparedAttachments(shown, "text/plain", content, source, path, text=sanitized(text), encoding=guess)


def text_file(name: str, text: str, source: str = "input") -> PreparedAttachments:
    """Prepare text under a name.

    Raises:
        UsageError: it is not text.
        LimitError: it is longer than a file may be.
    """
    if binary(text):
        raise UsageError(_UNSUPPORTED, name=name)
    text = sanitized(text)
    data = text.encode()
    if len(data) > limits.ATTACHED_FILE:
        raise too_large(name, limits.ATTACHED_FILE)
    return PreparedAttachments(shown_name(name), "text/plain", data, source, text=text)


def too_large(name: str, most: int) -> LimitError:
    return LimitError(N_("{path} is too large to attach: at most {most} MB."), path=name, most=most // 1024**2)


def _most(head: bytes) -> int:
    """Return the maximum bytes of a file by its beginning; images are scaled down."""
    return limits.PICTURE_FILE if kind_of(head) else limits.ATTACHED_FILE


def _inside(path: Path, granted: tuple[str, ...]) -> str:
    """Return the path of a file in the granted folders, as in file tools; empty if outside."""
    real = Path(os.path.realpath(path))
    for index, folder in enumerate(granted):
        try:
            place = real.relative_to(os.path.realpath(folder))
        except ValueError:
            continue
        return place.as_posix() if index == 0 else real.as_posix()
    return ""


def _picture(name: str, content: bytes, picture: Picture, source: str, path: str) -> PreparedAttachments:
    if picture.width * picture.height > limits.PICTURE_PIXELS:
        raise LimitError(
            N_("The image {name} is {width} × {height} pixels; images of at most {most} million pixels can be opened."),
            name=name,
            width=number(picture.width),
            height=number(picture.height),
            most=limits.PICTURE_PIXELS // 10**6,
        )
    if not picture.complete:
        raise UsageError(N_("The image {name} is damaged: its end is missing. Save or export it again."), name=name)
    try:
        ready = prepared(content)
    except UnusablePicture as unfit:
        match unfit.code:
            case "too_large":
                raise too_large(name, limits.ATTACHED_PICTURE) from None
            case "timeout":
                say = N_("The image {name} takes too long to open. Make it smaller and attach it again.")
                raise UsageError(say, name=name) from None
        raise UsageError(
            N_("The image {name} is damaged: it cannot be opened. Save or export it again."), name=name
        ) from None
    endings = _ENDINGS.get(ready.media_type, ())
    if ready.data is not content and not name.lower().endswith(endings):
        name = shown_name(Path(name).stem[: limits.ATTACHED_NAME - 5] + endings[0])
    return PreparedAttachments(name, ready.media_type, ready.data, source, path, ready.width, ready.height)


def _document(kind: str, name: str, content: bytes, source: str, path: str) -> PreparedAttachments:
    found = extracted(UsageError, kind, name, content, 1, PDF_PAGES, PDF_CHARACTERS)
    if kind != PDF:
        return PreparedAttachments(name, "text/plain", content, source, path, text=sanitized(text_of(found)))
    texts = [str(each) for each in found["pages"]]
    if not any(texts) and not found.get("fields"):
        raise not_read(UsageError, "no_text", name)
    total = int(found["total"])
    shown = shown_pages(found)
    if len(texts) < total:
        shown.append(f"[Pages {len(texts) + 1} to {total} were not read.]")
    return PreparedAttachments(
        name, "application/pdf", content, source, path, pages=total, text=sanitized("\n\n".join(shown))
    )


def _folder(path: Path, name: str, inside: str) -> PreparedAttachments:
    text, left_out = folder_text(path, name)
    return PreparedAttachments(name, "text/plain", text.encode(), "folder", inside, text=text, left_out=left_out)
