"""HTML: a document with a section per heading, links and pictures, and a scope per element with an id."""

from __future__ import annotations

import html
import re

from atelier_desk.knowledge.parsing.documents.sections import Outline
from atelier_desk.knowledge.parsing.languages.registry import grammar
from atelier_desk.knowledge.parsing.syntax_captures import Definition, Source

QUERY = """
(start_tag) @tag
(self_closing_tag) @tag
(text) @text
(entity) @text
(comment) @comment
"""
_TAG = re.compile(r"<\s*([\w:-]+)")
_ATTRIBUTE = re.compile(r"([\w:@.-]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_ADDRESSES = {
    "a": "href",
    "img": "src",
    "script": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
}


@grammar("html", "tree_sitter_html", QUERY, extensions=(".html", ".htm", ".xhtml"))
def read(source: Source) -> None:
    parsed = source.parsed
    parsed.kind = "document"
    lines = [""] * (parsed.lines + 2)
    outline = Outline(parsed, lines)
    headings: list[tuple[int, int, int]] = []
    links: list[tuple[str, int, bool, int, int]] = []
    definitions = []
    for node in source.found.get("tag", ()):
        text = source.text(node)[:20_000]
        name = named[1].lower() if (named := _TAG.match(text)) else ""
        attributes = {
            match[1].lower(): html.unescape(match[2] or match[3] or match[4] or "")
            for match in _ATTRIBUTE.finditer(text[len(name) + 1 :])
        }
        around = node.parent
        row, end = node.start_point[0], around.end_byte if around is not None else node.end_byte
        if re.fullmatch(r"h[1-6]", name) and around is not None:
            headings.append((int(name[1]), node.start_byte, end))
        if address := attributes.get(_ADDRESSES.get(name, ""), ""):
            links.append((address, row, name == "img", node.start_byte, end))
            if name in {"script", "link"} and "://" not in address:
                source.imports(address if address.startswith(("/", ".")) else "./" + address, "", "", node)
        if attributes.get("id") and around is not None:
            definitions.append(
                Definition(around.start_byte, end, around, "element", attributes["id"], body=node.end_byte)
            )
        if name == "img" and attributes.get("alt"):
            lines[row] += " " + attributes["alt"]
    _texts(source, lines)
    for level, start, end in headings:
        title = html.unescape(re.sub(r"<[^>]*>", " ", source.slice(start, min(end, start + 2_000)))).strip()
        row = source.raw.count("\n", 0, start)
        last = source.raw.count("\n", 0, end)
        outline.heading(title, level, row, last + 1)
    outline.finish()
    for address, row, picture, start, end in links:
        words = "" if picture else html.unescape(re.sub(r"<[^>]*>", " ", source.slice(start, min(end, start + 1_000))))
        outline.link(address, words, row, picture)
    source.scopes(definitions)


def _texts(source: Source, lines: list[str]) -> None:
    """Collect the text of the page by line."""
    for node in source.found.get("text", ()):
        row = node.start_point[0]
        for offset, part in enumerate(html.unescape(source.text(node)).split("\n")):
            if part.strip() and row + offset < len(lines):
                lines[row + offset] += (" " if lines[row + offset] else "") + part.strip()
