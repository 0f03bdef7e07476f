"""Documents that are zip archives of XML: opened within limits, parsed without external entities."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Protocol

from lxml import etree

from atelier_desk.domain.document_formats import COMPOUND
from atelier_desk.support.worker.errors import Refused

UNFOLDED = 64 << 20
"""Maximum uncompressed bytes of all other parts: a small file may expand to gigabytes."""
ROWS = 256 << 20
"""Maximum uncompressed bytes of a workbook's sheets, which are read row by row."""
PICTURES = 256 << 20
"""Maximum uncompressed bytes of images and fonts, which are decompressed although unused."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".emf", ".wmf", ".svg", ".webp", ".ttf", ".otf",
".woff", ".woff2",
             ".odttf", ".mp3", ".mp4", ".m4a", ".m4v", ".mov", ".wav", ".avi", ".bin", ".ole")  # fmt: skip
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


class Element(Protocol):
    """The part of lxml's elements that documents are read with: lxml has no types."""

    tag: object
    text: str | None
    tail: str | None

    @property
    def attrib(self) -> Mapping[str, str]: ...

    def __iter__(self) -> Iterator[Element]: ...

    def iter(self, *tags: str) -> Iterator[Element]: ...

    def iterancestors(self, *tags: str) -> Iterator[Element]: ...

    def findall(self, path: str) -> list[Element]: ...

    def getprevious(self) -> Element | None: ...


def opened(data: bytes) -> zipfile.ZipFile:
    """Open an archive after decompressing all its parts once.

    Raises:
        Refused: ``encrypted``, ``old_format``, or ``too_large`` with ``size`` and ``most`` in MB.
        zipfile.BadZipFile: it is not a zip, a part is damaged, or its compression is not one that documents use.
    """
    if data.startswith(COMPOUND):
        raise Refused("encrypted" if _ENCRYPTED in data else "old_format")
    archive = zipfile.ZipFile(BytesIO(data))
    parts = archive.infolist()
    if any(each.flag_bits & 1 for each in parts):
        raise Refused("encrypted")
    pictures = sum(each.file_size for each in parts if each.filename.lower().endswith(_PICTURES))
    rows = sum(each.file_size for each in parts if each.filename.startswith("xl/worksheets/"))
    text = sum(each.file_size for each in parts) - pictures - rows
    for size, most in ((text, UNFOLDED), (rows, ROWS), (pictures, PICTURES)):
        if size > most:
            raise Refused("too_large", size=-(-size >> 20), most=most >> 20)
    # The sizes are declared by the file itself: only stepwise decompression guarantees them, which exists for the
    # methods that office programs write.
    if any(each.compress_type not in _METHODS for each in parts) or archive.testzip() is not None:
        raise zipfile.BadZipFile
    return archive


def tree(data: bytes) -> Element:
    """Return the root of an XML file. Entities are not expanded, nothing is fetched.

    Raises:
        lxml.etree.XMLSyntaxError: it is not XML.
    """
    root: Element = etree.fromstring(
        data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    )
    return root


def local(element: Element) -> str:
    """Return the local name of an element, empty for comments, entities and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """Return the value of an attribute in any namespace, empty if missing."""
    return next((str(value) for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")
