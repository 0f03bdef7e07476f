"""Documents whose text is extracted: which files, by which process, and why one is not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import N_

READER: Final = "atelier_desk.workspace.documents.extraction_process"
"""The child process that extracts text; its module documents request and answer."""

PDF, MAIL, OLD = "pdf", "eml", "ole"
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "docx": (".docx", ".docm", ".dotx", ".dotm"),
    "xlsx": (".xlsx", ".xlsm", ".xltx", ".xltm"),
    "pptx": (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
    "odt": (".odt", ".ott"),
    "ods": (".ods", ".ots"),
    "odp": (".odp", ".otp"),
    "epub": (".epub",),
    "rtf": (".rtf",),
    MAIL: (".eml",),
    OLD: (".doc", ".dot", ".xls", ".xlt", ".ppt", ".pps", ".msg"),
}
ENDINGS: Final = {ending: kind for kind, endings in _KINDS.items() for ending in endings}
"""Kind of a document by file extension; a PDF is recognised by its first bytes."""
DOCUMENTS: Final = frozenset((PDF, *_KINDS))
COMPOUND: Final = b"\xd0\xcf\x11\xe0"
"""First bytes of files of older Office programs, and of newer ones with a password."""
_HEADS: Final = {"rtf": (b"{\\rtf",), MAIL: (b"",), OLD: (COMPOUND,)}
_ARCHIVE: Final = (b"PK", COMPOUND)
_NEW: Final = {".msg": ".eml", ".x": ".xlsx", ".p": ".pptx"}

NOT_READ: Final = {
    "encrypted": N_("{name} has a password or copy protection. Save it without protection, and use the new file."),
    "old_format": N_("{name} is in an older format that is not supported. Save it as {new}, and use the new file."),
    "timeout": N_("{name} could not be read within {seconds} seconds. Split it, or ask for a part of it."),
    "too_large": N_("{name} expands to {size} MB; the maximum is {most} MB. Split it into smaller files."),
    "no_text": N_("{name} has no text: its pages are images, as in a scan. Use an image of each page instead."),
    "broken": N_(
        "{name} is damaged or needs too much memory, so its text was not read. Open it in the program that made it "
        "and save it again."
    ),
}
"""Messages by failure code. ``too_large`` has ``size`` and ``most`` in MB."""

Error = TypeVar("Error", bound=AtelierError)


def kind_of(name: str, head: bytes) -> str:
    """Return the kind of a document by extension and first bytes (1 024 suffice), empty if it is none.

    ``pdf`` regardless of the name, otherwise one of ``ENDINGS``.
    """
    if is_pdf(head):
        return PDF
    kind = ENDINGS.get(_ending(name), "")
    return kind if kind and head.startswith(_HEADS.get(kind, _ARCHIVE)) else ""


def is_pdf(data: bytes) -> bool:
    """Whether it is a PDF; some programs write spaces or a byte order mark first."""
    return data[:1_024].lstrip(b"\xef\xbb\xbf\0 \t\r\n\f").startswith(b"%PDF-")


def not_read(error: type[Error], code: str, name: str, **values: object) -> Error:
    """Return the error for people why ``name`` is not read and what to do; ``broken`` for an unknown code."""
    code = code if code in NOT_READ else "broken"
    ending = _ending(name)
    new = next((new for start, new in _NEW.items() if ending.startswith(start)), ".docx")
    params: dict[str, Any] = {"name": name, "new": new, **values}
    return error(NOT_READ[code], code=code, **params)


def _ending(name: str) -> str:
    dot = name.rfind(".")
    return name[dot:].lower() if dot >= 0 else ""
