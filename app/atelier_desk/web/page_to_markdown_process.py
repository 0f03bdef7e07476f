"""Convert a page to Markdown in a process of its own.

Input: ``[url, media type, charset]`` and the page.

Pages are untrusted: one that takes unlimited time or memory must end this process and not Atelier. Output:
``{"title", "author", "date", "site", "language", "form", "markdown", "links": [{"url", "text"}],
"scripts"}``.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

from atelier_desk.domain.encoding_detection import guessed
from atelier_desk.support.worker.child import serve

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 20
"""Seconds of CPU time."""
TEXT = 400_000
"""Characters of Markdown; the rest is cut."""
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE)
_KNOWN = re.compile(
    r"(utf_?8|utf_?16|utf_?32|ascii|latin|iso_?8859|iso_?2022|cp\d|windows|koi8|gb|big5|euc|shift_?jis|sjis|mac|hz|johab|tis)"
)
"""Beginnings of text encodings' names; Python's other codecs are not encodings."""
_WIDER = {"iso8859_1": "cp1252", "iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030",
"shift_jis": "cp932",
          "euc_kr": "cp949", "iso8859-9": "cp1254"}  # fmt: skip
"""The encoding that the web means by a name (WHATWG, Encoding)."""


def decoded(data: bytes, said: str = "") -> str:
    """Decode a page.

    Tried in order: byte order mark, what the server or page declares, UTF-8, Western European; then the most
    likely one.
    """
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(name, "replace")
    start = data[:4096]
    found = _META.search(start) or _XML.search(start)
    for name in (said, found[1].decode("ascii", "replace") if found else ""):
        codec = _codec(name)
        if codec.startswith(("utf_16", "utf-16")) and b"\0" not in start:
            continue  # declared in single bytes, so not UTF-16
        if codec:
            return data.decode(codec, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 4:
            return data.decode("utf-8", "replace")  # cut within a character
    return data.decode(guessed(data))


def _codec(name: str) -> str:
    plain = name.strip().strip("\"'").lower().replace("-", "_")
    plain = {
        "x_sjis": "shift_jis",
        "windows_31j": "cp932",
        "ks_c_5601_1987": "cp949",
        "x_gbk": "gb18030",
        "unicode": "utf_16",
    }.get(plain, plain)
    if not _KNOWN.match(plain):
        return ""
    try:
        codec = codecs.lookup(plain).name
    except LookupError:
        return ""
    return _WIDER.get(codec, codec)


def page(data: bytes, url: str, media_type: str, charset: str) -> dict[str, Any]:
    """Title, text and links of a page."""
    text = decoded(data, charset)
    if not _is_html(media_type, text):
        return {"form": "text", "markdown": text[:TEXT], "links": [], "scripts": False, "total": len(text)}
    from atelier_desk.web.html_to_markdown import html_page

    return html_page(text, url, TEXT)


def _is_html(media_type: str, text: str) -> bool:
    if media_type in ("text/html", "application/xhtml+xml"):
        return True
    return media_type in ("", "application/octet-stream") and bool(
        re.match(r"\s*(<\?xml[^>]*>\s*)?<(!doctype html|html)", text[:500], re.IGNORECASE)
    )


if __name__ == "__main__":
    serve(lambda request, data, _tell: page(data, *request), memory=MEMORY, cpu_s=SECONDS, once=True)
