"""Documents made of HTML: books (EPUB) by chapter, and mails including forwarded ones."""

from __future__ import annotations

import email
import email.policy
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from email.message import EmailMessage, MIMEPart
from typing import Any
from urllib.parse import unquote

import lxml.html
from markdownify import MarkdownConverter

from atelier_desk.support.worker.errors import Refused
from atelier_desk.workspace.documents.markdown_output import Lines, one_line
from atelier_desk.workspace.documents.xml_archive import Element, attribute, opened, tree

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_GONE = ("script", "style", "template", "svg", "iframe", "object", "noscript", "head")
_FONTS = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")
"""Obfuscation of fonts in books that are not encrypted otherwise."""
FORWARDED = 5
"""Maximum nesting of mails; deeper ones are only named."""
PART = 2_000_000
"""Maximum characters of one chapter or mail."""


def epub(data: bytes) -> Lines:
    with opened(data) as archive:
        names = set(archive.namelist())
        if "META-INF/encryption.xml" in names:
            ways = re.findall(rb'Algorithm="([^"]*)"', archive.read("META-INF/encryption.xml"))
            if any(each not in _FONTS for each in ways):
                raise Refused("encrypted")
        place = next(
            attribute(each, "full-path") for each in tree(archive.read("META-INF/container.xml")).iter("{*}rootfile")
        )
        package = tree(archive.read(place))
        for name in ("title", "creator"):
            for each in package.iter(f"{{http://purl.org/dc/elements/1.1/}}{name}"):
                yield f"{name.title()}: {one_line(each.text or '')}"
        yield ""
        items = {attribute(each, "id"): attribute(each, "href") for each in package.iter("{*}item")}
        for each in package.iter("{*}itemref"):
            target = posixpath.normpath(
                posixpath.join(posixpath.dirname(place), unquote(items.get(attribute(each, "idref"), "")))
            )
            if target in names:
                yield from _markdown(archive.read(target)).split("\n")
            yield ""


def mail(data: bytes) -> Lines:
    """Yield sender, date and subject, the decoded text, and the names of attachments.

    A broken mail is read as far as possible.
    """
    yield from _mail(email.message_from_bytes(data, policy=email.policy.default), 0)


def _mail(message: Any, deep: int) -> Lines:
    yield from (f"{name}: {value}" for name in _HEADERS if (value := _header(message, name)))
    yield ""
    body = None
    with suppress(Exception):  # malformed parts
        body = message.get_body(("plain", "html"))
    if body is not None:
        text = _content(body)
        yield from (
            _markdown(text.encode("utf-8", "replace")) if body.get_content_type() == "text/html" else text
        ).splitlines()
    elif not message.is_multipart():
        yield "[It has no text.]" if message.get_content_maintype() != "text" else ""
    names: list[str] = []
    for part in _attached(message):
        inner = part.get_payload()
        if part.get_content_type() == "message/rfc822" and isinstance(inner, list) and inner and deep < FORWARDED:
            yield ""
            yield "--- Attached mail ---"
            yield from _mail(inner[0], deep + 1)
        else:
            names.append(one_line(_named(part)) or "?")
    if names:
        yield ""
        yield f"[Attached and not read: {', '.join(names)}]"


def _attached(message: EmailMessage) -> Iterator[MIMEPart]:
    with suppress(Exception):  # malformed parts
        yield from message.iter_attachments()


def _named(part: MIMEPart) -> str:
    with suppress(Exception):
        return str(part.get_filename() or part.get_content_type())
    return "?"


def _header(message: EmailMessage, name: str) -> str:
    try:
        return one_line(str(message[name] or ""))
    except Exception:  # a malformed header
        return ""


def _content(part: MIMEPart) -> str:
    try:
        return str(part.get_content())
    except Exception:  # an unknown character set, or a malformed encoding
        raw = part.get_payload(decode=True)
        return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(part.get_payload())


def _markdown(page: bytes) -> str:
    """Convert a page of HTML to Markdown, without invisible content and images."""
    parser = lxml.html.HTMLParser(
        encoding=None if re.search(rb"charset|encoding=", page[:2_000]) else "utf-8", no_network=True
    )
    root = lxml.html.document_fromstring(page, parser=parser) if page.strip() else None
    if root is None:
        return ""
    for element in list(root.iter(*_GONE)):
        if (above := element.getparent()) is not None:
            _move_tail(element, above)
            above.remove(element)
    html = lxml.html.tostring(root, encoding="unicode")[: 4 * PART]
    return str(MarkdownConverter(heading_style="ATX", strip=["img"], bullets="-").convert(html))[:PART]


def _move_tail(element: Element, above: Element) -> None:
    before = element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        above.text = (above.text or "") + (element.tail or "")
