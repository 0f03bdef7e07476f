"""Convert HTML to Markdown: its article, or the full page."""

from __future__ import annotations

import copy
import re
from contextlib import suppress
from typing import Any
from urllib.parse import urldefrag, urljoin

import lxml.html
import trafilatura
from lxml import etree
from lxml.etree import ParserError
from markdownify import MarkdownConverter

LINKS = 500
ARTICLE = 300
"""Characters of main text that make an article; with fewer the full page is used."""
SHARE = 0.15
"""Minimum share of the page's words for an article.

Lists and indexes have their text elsewhere.
"""
_DECLARED = re.compile(r"^\s*<\?xml[^>]*\?>")
_GONE = (
    "script",
    "style",
    "template",
    "svg",
    "iframe",
    "object",
    "form",
    "nav",
    "footer",
    "aside",
    "noscript",
    "dialog",
    "button",
    "select",
)
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])", re.IGNORECASE
)
_NEEDS = re.compile(
    r"(enable|requires?|activez?|need)\W.{0,40}javascript|javascript.{0,40}(required|disabled|désactivé)",
    re.IGNORECASE | re.DOTALL,
)


def html_page(text: str, url: str, most: int) -> dict[str, object]:
    """Title, text and links of a page in HTML; see ``page_text``. The text has at most ``most`` characters."""
    source = _DECLARED.sub("", text).replace("\0", "")
    try:
        tree = lxml.html.document_fromstring(source)
    except (ParserError, ValueError):
        return {"form": "page", "markdown": "", "links": [], "scripts": False, "total": 0}
    scripts = len(tree.xpath("//script"))
    asks = " ".join(tree.xpath("//noscript//text()"))[:2_000]
    base = (tree.xpath("string(//base/@href)") or "").strip()
    at = urljoin(url, base) if base else url
    language = (tree.get("lang") or "").strip()[:20]
    _drop_hidden(tree)
    links = _links(tree, at)
    blocks = _set_aside(tree)
    whole_text = " ".join(tree.xpath("string(//body)").split())
    article, about = _article(tree, url)
    form = "article" if len(article) >= max(ARTICLE, SHARE * len(whole_text)) else "page"
    markdown = article if form == "article" else _full_page(tree, at)
    markdown = _put_back(re.sub(r"\n{3,}", "\n\n", markdown).strip(), blocks)
    bare = len(markdown) < ARTICLE and scripts > 0 and (bool(_NEEDS.search(asks)) or len(markdown) < 80)
    title = about.get("title") or " ".join(tree.xpath("string(//title)").split())
    return {
        "title": str(title)[:500],
        "author": str(about.get("author") or "")[:200],
        "date": str(about.get("date") or "")[:40],
        "site": str(about.get("sitename") or "")[:200],
        "language": language,
        "form": form,
        "markdown": markdown[:most],
        "links": links,
        "scripts": bare,
        "total": len(markdown),
    }


def _drop_hidden(tree: Any) -> None:
    """Remove hidden elements: readers do not see them, and they may hide instructions."""
    for element in list(tree.iter()):
        if not isinstance(element.tag, str):
            _remove(element)
            continue
        unseen = (
            element.get("hidden") is not None
            or element.get("aria-hidden") == "true"
            or _HIDDEN.search(element.get("style") or "")
        )
        if element.tag != "body" and (unseen or (element.tag == "input" and element.get("type") == "hidden")):
            _remove(element)


def _remove(element: Any) -> None:
    parent = element.getparent()
    if parent is not None:
        element.drop_tree() if hasattr(element, "drop_tree") else parent.remove(element)


def _set_aside(tree: Any) -> list[str]:
    """Replace code blocks with markers, because the libraries lose their empty lines."""
    blocks: list[str] = []
    for element in list(tree.iter("pre")):
        code = element.text_content().strip("\r\n")
        if not code.strip() or element.getparent() is None:
            continue
        names = " ".join(each.get("class") or "" for each in (element, *element.iter("code")))
        named = re.search(r"(?:language|lang|highlight-source|brush:?)[-\s]([\w+#.-]{1,20})", names)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", code)), default=0))
        tail, mark = element.tail, tree.makeelement("p")
        element.getparent().replace(element, mark)
        mark.text, mark.tail = _MARK.format(len(blocks)), tail
        blocks.append(f"{fence}{named[1] if named else ''}\n{code}\n{fence}")
    return blocks


_MARK = "atelierblock{}end"


def _put_back(markdown: str, blocks: list[str]) -> str:
    return re.sub(
        _MARK.format(r"(\d+)"),
        lambda found: blocks[int(found[1])] if int(found[1]) < len(blocks) else found[0],
        markdown,
    )


def _links(tree: Any, at: str) -> list[dict[str, str]]:
    found: dict[str, str] = {}
    for element in tree.iter("a"):
        href = (element.get("href") or "").strip()
        if not href or href.startswith(("#", "javascript:", "mailto:", "tel:", "data:")):
            continue
        with suppress(ValueError):
            where = urldefrag(urljoin(at, href))[0]
            if where.startswith(("http://", "https://")) and len(where) <= 2_000:
                label = " ".join(element.text_content().split())[:200]
                found[where] = found.get(where) or label
        if len(found) >= LINKS:
            break
    return [{"url": url, "text": text} for url, text in found.items()]


def _article(tree: object, url: str) -> tuple[str, dict[str, object]]:
    """The main text and its metadata."""
    about: dict[str, object] = {}
    with suppress(Exception):  # if the library fails, the full page is used
        found = trafilatura.extract_metadata(copy.deepcopy(tree), default_url=url)
        about = found.as_dict() if found is not None else {}
    with suppress(Exception):
        text = trafilatura.extract(
            copy.deepcopy(tree), url=url, output_format="markdown", include_links=True, include_tables=True,
            include_formatting=True,
            include_comments=False, with_metadata=False,
        )  # fmt: skip
        return text or "", about
    return "", about


def _full_page(tree: Any, at: str) -> str:
    """The full page without navigation that every page of a site has."""
    for name in _GONE:
        for element in list(tree.iter(name)):
            _remove(element)
    for element in tree.iter("img"):
        element.attrib.pop("src", None)
    with suppress(ValueError):
        tree.make_links_absolute(at, resolve_base_href=False)
    body = tree.find("body")
    html = lxml.html.tostring(body if body is not None else tree, encoding="unicode")
    etree.clear_error_log()
    return str(MarkdownConverter(heading_style="ATX", strip=["img"], bullets="-").convert(html))
