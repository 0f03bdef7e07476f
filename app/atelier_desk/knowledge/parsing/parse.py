"""Parse the bytes of a file."""

from __future__ import annotations

import re
import time
from operator import attrgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tree_sitter import QueryCursor

from atelier_desk.domain.document_formats import DOCUMENTS, ENDINGS, PDF, kind_of
from atelier_desk.knowledge.parsing.charset import decode, is_binary
from atelier_desk.knowledge.parsing.documents import markdown, notebook, office, pdf, plain_text
from atelier_desk.knowledge.parsing.errors import ParseError as ParseError
from atelier_desk.knowledge.parsing.languages import registry
from atelier_desk.knowledge.parsing.parsed_file import Parsed
from atelier_desk.knowledge.parsing.syntax_captures import Source
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, Tree

GRAMMARS_VERSION = "2"
"""Change it whenever the same bytes would give another result, so that files are read again."""
CODE_LIMIT = 1 << 20
"""Maximum bytes of code to parse with a grammar: a syntax tree takes about 50 times as much memory, and nobody writes
such files by hand.

Larger files, and files with a mean line length of ``MEAN_LINE`` (minified), become one entity without scopes.
"""
TEXT_LIMIT = 32 << 20
"""Maximum bytes of any other file.

Its text, sections and vectors are held in memory and in the database several times.
"""
MEAN_LINE = 500
MOST_PARTS = 100_000
"""Maximum top-level statements: querying a tree with about 300 000 takes minutes."""
DEADLINE_S = 5.0
"""Time limit in seconds for the tree of one file: a hundred times what a large file takes."""
DEEPEST = 500
"""Maximum nesting of brackets; tree queries slow down with depth."""
WIDEST = 10_000
"""Maximum adjacent unparsed nodes: querying such a tree takes quadratic time."""
_MANIFESTS = {
    "Cargo.toml": r"^\[package\][^\[]*?^name\s*=\s*\"([\w-]+)\"",
    "go.mod": r"^module\s+(\S+)",
    "package.json": r"^\s{0,4}\"name\"\s*:\s*\"([^\"]+)\"",
}
"""Files that name the package of their folder."""
_SIGNS = bytes(sign for sign in range(256) if sign not in b"()[]{}")
_EXTENSIONS = {".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".mkd": "markdown",
".ipynb": "notebook"}  # fmt: skip
_TEXTS = frozenset((
    ".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".log", ".csv", ".tsv", ".json", ".json5", ".jsonl",
    ".ndjson", ".yaml",
    ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml", ".xsd", ".xsl", ".svg", ".tex", ".bib", ".srt", ".vtt", ".po",
    ".pot",
    ".properties", ".gradle", ".cmake", ".mk", ".mak", ".diff", ".patch", ".env", ".lock", ".proto", ".graphql", ".gql",
    ".lua", ".kt",
    ".kts", ".swift", ".scala", ".dart", ".r", ".jl", ".pl", ".pm", ".hs", ".ml", ".mli", ".ex", ".exs", ".erl", ".clj",
    ".lisp",
    ".el", ".vim", ".bat", ".cmd", ".ps1", ".tf", ".hcl", ".nix", ".zig", ".v", ".vhd", ".f90", ".f", ".asm", ".s",
    ".less", ".sass",
    ".vue", ".svelte", ".astro", ".jinja", ".j2", ".tmpl", ".tpl", ".ejs", ".hbs", ".textile", ".wiki", ".mediawiki",
    ".ics", ".vcf",
))  # fmt: skip
_NAMES = frozenset((
    "readme", "license", "licence", "copying", "authors", "contributors", "changelog", "changes", "news", "todo",
    "install",
    "makefile", "dockerfile", "containerfile", "procfile", "codeowners", "notice", "manifest", "jenkinsfile",
    "justfile",
    "cmakelists.txt", ".gitignore", ".gitattributes", ".editorconfig", ".dockerignore",
))  # fmt: skip
_START = attrgetter("start_byte")
_PROGRAM = re.compile(rb"#!\s*(?:\S*/)?([\w.+-]+)(?:[ \t]+(?:-\S+[ \t]+)*([\w.+-]+))?")


def language_of(path: str, head: bytes) -> str | None:
    """Return the language of a file by its name and beginning (8 192 bytes suffice).

    ``text`` for other text; None for files that are not parsed: binaries and also images, whose text comes through
    ``parse_image``.
    """
    name = PurePosixPath(path.replace("\\", "/")).name
    extension = PurePosixPath(name.lower()).suffix
    if kind := kind_of(name, head):
        return kind
    if extension in (".pdf", *ENDINGS) or is_binary(head):
        return None
    found = _EXTENSIONS.get(extension) or registry.by_extension().get(extension) or registry.by_name().get(name)
    if (
        found == "c"
        and extension == ".h"
        and re.search(rb"^\s*(class|namespace|template|public:|using)\b", head, re.MULTILINE)
    ):
        return "cpp"
    if found:
        return found
    if extension in _TEXTS or name.lower() in _NAMES:
        return "text"
    match = _PROGRAM.match(head)
    if match is not None:
        program = (match[2] or match[1] if match[1] == b"env" else match[1]).decode()
        return (
            registry.by_program().get(re.sub(r"[\d.]+$", "", program)) or registry.by_program().get(program) or "text"
        )
    return "text"


def parse(path: str, data: bytes) -> Parsed:
    """Parse a file. Deterministic: the same bytes give the same result.

    Raises:
        ParseError: it is binary, too large, encrypted or broken.
    """
    language = language_of(path, data[:8_192])
    if language is None:
        raise ParseError(N_("This is not a text file."), code="binary")
    if len(data) > TEXT_LIMIT:
        raise ParseError(
            N_("The file is {size} MB; the maximum is {most} MB."),
            code="too_large",
            size=len(data) >> 20,
            most=TEXT_LIMIT >> 20,
        )
    name = PurePosixPath(path).name
    if language == PDF:
        return pdf.read(name, data)
    if language in DOCUMENTS:
        return office.read(name, language, data)
    written = decode(data)
    if language == "notebook":
        return notebook.read(written, code)
    manifest = _MANIFESTS.get(name)
    if language == "markdown":
        return markdown.read(written)
    if language == "text":
        parsed = plain_text.read(written)
        if manifest is not None and (match := re.search(manifest, written[:100_000], re.MULTILINE)):
            parsed.package = match[1]
        return parsed
    return code(language, written)


def code(language: str, written: str) -> Parsed:
    """Parse source code with a grammar."""
    parsed = Parsed("code", language, lines=_lines(written))
    data = written.encode("utf-8", "replace")
    if len(data) > CODE_LIMIT or len(data) > MEAN_LINE * parsed.lines + 20_000 or _deep(data):
        return parsed
    parser, query = registry.loaded(language)
    tree = _tree(parser, data)
    if tree is None:
        return parsed
    root = tree.root_node
    if root.child_count > MOST_PARTS:
        return parsed
    if root.has_error:
        parsed.error_lines = _errors(root)
        if any(node.is_error and node.child_count > WIDEST for node in (root, *root.children[:WIDEST])):
            return parsed
    found = _captures(query, root)
    registry.grammars()[language].read(Source(data, tree, found, parsed))
    return parsed


def _tree(parser: Parser, data: bytes) -> Tree | None:
    if len(data) < 100_000:
        return parser.parse(data)
    until = time.monotonic() + DEADLINE_S
    try:
        return parser.parse(
            lambda place, _point: data[place : place + 65_536],
            encoding="utf8",
            progress_callback=lambda _place, _error: time.monotonic() > until,
        )
    except ValueError:
        parser.reset()
        return None


def _captures(query: Query, root: Node) -> dict[str, list[Node]]:
    found = QueryCursor(query).captures(root)
    for nodes in found.values():
        nodes.sort(key=_START)  # captures come unordered
    return found


def _lines(written: str) -> int:
    return written.count("\n") + (not written.endswith("\n") and bool(written))


def _deep(data: bytes) -> bool:
    """Whether brackets are nested deeper than any person writes; brackets in strings count too."""
    signs = data.translate(None, _SIGNS)
    if len(signs) < 2 * DEEPEST:
        return False
    for _layer in range(8):
        for pair in (b"()", b"[]", b"{}"):
            signs = signs.replace(pair, b"")
        if len(signs) < DEEPEST:
            return False
    depth = deepest = 0
    for sign in signs:
        depth = depth + 1 if sign in b"([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
        if deepest > DEEPEST:
            return True
    return False


def _errors(root: Node) -> list[int]:
    """Return the lines of the first 20 syntax errors."""
    found: list[int] = []
    waiting, visited = [root], 0
    while waiting and len(found) < 20 and visited < 5_000:
        node = waiting.pop()
        visited += 1
        if node.is_error or node.is_missing:
            line = node.start_point[0] + 1
            if line not in found:
                found.append(line)
            if node is not root:
                continue
        if node.child_count <= WIDEST:
            waiting.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return sorted(found)


def parse_image(said: str) -> Parsed:
    """Return the result for an image from its recognised text."""
    return Parsed("image", "image", lines=_lines(said), text=said[:200_000])
