"""Extract the text of a PDF by page.

The answer is ``{"total", "pages": [text], "cut", "fields": [[name, value]], "files": [name]}``, or a refusal with
``encrypted``, ``past_end`` (and ``total``) or ``broken``. A page without readable text is an empty string. ``fields``
are filled-in form fields, ``files`` the names of embedded files; both come with the first page. ``cut`` is the number
of characters missing from the last page.
"""

from __future__ import annotations

import re
import time
import unicodedata
from contextlib import suppress
from io import BytesIO

from pypdf import PasswordType, PdfReader
from pypdf.errors import DependencyError

from atelier_desk.support.worker.errors import Refused
from atelier_desk.workspace.documents.markdown_output import ENOUGH_S, clean

MOST_FIELDS = 500
"""Maximum number of form fields and embedded files listed."""


def pages(data: bytes, first: int, most: int, characters: int) -> dict[str, object]:
    """Return the text of pages from ``first`` on (counted from 1), limited in pages and characters.

    At least one page.
    """
    until = time.monotonic() + ENOUGH_S
    reader = PdfReader(BytesIO(data))
    try:
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise Refused("encrypted")
    except DependencyError:
        raise Refused("encrypted") from None
    total = len(reader.pages)
    if first > max(1, total):
        raise Refused("past_end", total=total)
    found: list[str] = []
    cut = left = 0
    failed = False
    for number in range(first - 1, min(total, first - 1 + most)):
        read = _text(reader, number)
        failed, text = failed or read is None, read or ""
        if found and (len(text) > characters - left or time.monotonic() > until):
            break
        cut = max(0, len(text) - characters)
        found.append(text[:characters])
        left += len(text)
    if failed and not any(found):
        raise Refused("broken")
    more = {"fields": _fields(reader), "files": _files(reader)} if first == 1 else {}
    return {"total": total, "pages": found, "cut": cut, **more}


def _text(reader: PdfReader, number: int) -> str | None:
    try:
        text = reader.pages[number].extract_text()
    except MemoryError:
        raise
    except Exception:  # one broken page does not affect the others
        return None
    plain = _ARABIC_FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return clean(plain).strip()


_ARABIC_FORMS = re.compile("[\ufb50-\ufdfb\ufe70-\ufefc]")
"""Presentation forms of Arabic letters (initial, medial, final): nobody writes or searches them."""


def _fields(reader: PdfReader) -> list[list[str]]:
    with suppress(Exception):
        found = reader.get_fields() or {}
        values = [(str(name), field.get("/V")) for name, field in found.items()]
        filled = [
            [clean(name).strip()[:200], clean(str(value)).strip()[:2_000]]
            for name, value in values
            if value not in (None, "", "/Off")
        ]
        return filled[:MOST_FIELDS]
    return []


def _files(reader: PdfReader) -> list[str]:
    with suppress(Exception):
        return [clean(str(name)).strip()[:200] for name in list(reader.attachments)[:MOST_FIELDS]]
    return []
