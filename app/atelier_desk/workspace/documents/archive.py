"""Documents that are archives of XML: opened within limits, and parsed without anything from outside of the file."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Any

from atelier_desk.domain.documents import COMPOUND
from atelier_desk.support.worker.errors import Refused

UNFOLDED = 64 << 20
"""Bytes of all its parts but those below: a small file may unfold to gigabytes."""
ROWS = 256 << 20
"""Bytes of the sheets of a workbook, which are read row by row."""
PICTURES = 256 << 20
"""Bytes of its pictures and fonts, which are unfolded as well though nobody looks at them."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".emf", ".wmf", ".svg", ".webp", ".ttf", ".otf", ".woff", ".woff2",
             ".odttf", ".mp3", ".mp4", ".m4a", ".m4v", ".mov", ".wav", ".avi", ".bin", ".ole")  # fmt: skip
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def opened(data: bytes) -> zipfile.ZipFile:
    """The archive, whose parts were unfolded once.

    Raises:
        Refused: ``encrypted``, ``old_format``, or ``too_large`` with ``size`` and ``most`` in MB.
        zipfile.BadZipFile: it is none, a part is damaged, or is not folded as documents are.
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
    # The sizes are what the file says of itself: only piece by piece it cannot unfold to more. What office programs do not write cannot
    # be unfolded so.
    if any(each.compress_type not in _METHODS for each in parts) or archive.testzip() is not None:
        raise zipfile.BadZipFile
    return archive


def tree(data: bytes) -> Any:
    """The root of an XML file. Entities are not replaced, nothing is fetched.

    Raises:
        lxml.etree.XMLSyntaxError: it is none.
    """
    from lxml import etree

    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False))


def local(element: Any) -> str:
    """The name of an element without its namespace, empty for comments, entities and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """The value of an attribute whatever its namespace, empty where there is none."""
    return next((str(value) for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")
