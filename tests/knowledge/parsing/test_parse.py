"""From bytes to a parsed file: language, refusals, and hostile files."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.knowledge.parsing import parse as module
from atelier_desk.knowledge.parsing.languages import registry
from atelier_desk.knowledge.parsing.parse import CODE_LIMIT, DEEPEST, ParseError, language_of, parse, parse_image
from atelier_desk.knowledge.parsing.parsed_file import Parsed
from atelier_desk.knowledge.parsing.relation_resolution import Resolver
from atelier_desk.knowledge.parsing.symbols import symbols

EXTENSIONS = sorted({f"a{each}" for each in registry.by_extension()} | {"a.md", "a.txt", "a.rst"})
WORDS = [
    "class ", "def f(", "(", ")", "{", "}", "[", "]", "<", ">", ";", ":", "\n", "\n    ", "\"", "'", "\"\"\"",
    "import a",
    "from . import *", "x = ", "a.b.c(", "fn ", "func ", "struct ", "impl ", "#", "//", "/*", "*/", "é", "\0", "\\",
    "=> ",
    "function ", "use a::{b, c};", "namespace ", "CREATE TABLE t", "<h1>", "</h1>", "# T", "self.", "::", "->", "$x",
    "@", "lambda",
    "```", "[a](b)", "return ", "#include <a>",
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("src/a.py", b"", "python"),
        ("A.TSX", b"", "tsx"),
        ("Rakefile", b"", "ruby"),
        ("tool", b"#!/usr/bin/env -S python3.11 -u\n", "python"),
        ("tool", b"#!/bin/sh\n", "bash"),
        ("tool", b"#!/opt/strange\n", "text"),
        ("README", b"Hello", "text"),
        ("a.unknown", b"words", "text"),
        ("a.unknown", b"\0\1", None),
        ("a.png", b"\x89PNG\r\n\x1a\n\0", None),
        ("a.bin", b"%PDF-1.7", "pdf"),
        ("a.docx", b"PK\3\4", "docx"),
        ("a.docx", b"no", None),
        ("a.xls", b"\xd0\xcf\x11\xe0", "ole"),
        ("a.eml", b"From: a", "eml"),
        ("a\\b.go", b"", "go"),
        ("notes.md", b"# A", "markdown"),
        ("a.ipynb", b"{}", "notebook"),
    ],
)
def test_the_language_of_a_file(path: str, head: bytes, language: str | None) -> None:
    assert language_of(path, head) == language


def test_a_file_that_is_not_parsed_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParseError, match="not a text file"):
        parse("a.py", b"\0\1\2")
    monkeypatch.setattr(module, "TEXT_LIMIT", 1 << 20)
    with pytest.raises(ParseError, match="is 2 MB; the maximum is 1 MB"):
        parse("a.txt", b"a" * (2 << 20))


def test_large_and_minified_code_is_a_file_without_scopes() -> None:
    minified = parse("a.js", b"function a(){}" * 3_000)
    assert (minified.kind, minified.language, minified.lines, minified.scopes) == ("code", "javascript", 1, [])
    large = parse("a.py", b"def f(): pass\n" * (CODE_LIMIT // 14 + 1))
    assert large.scopes == []
    assert large.lines == CODE_LIMIT // 14 + 1
    assert parse("a.py", b"x=1\n" * 101_000).scopes == []


@pytest.mark.parametrize(
    "data",
    [
        b"(" * 200_000,
        b"x = " + b"[" * 50_000 + b"]" * 50_000,
        b"(\n" * 100_000,
        b"{'a':\n" * 50_000,
        b"not\n" * 60_000,
        b"lambda:\n" * 30_000,
        b"if x:\n" * 20_000,
        b"def f(:\n" * 20_000,
        b"\xff\xfe(" * 30_000,
        b"'''" * 60_000,
    ],
)
def test_hostile_files_are_parsed_in_bounded_time(data: bytes) -> None:
    """The slowest of them would take minutes in the grammar's search, which is quadratic."""
    began = time.process_time()
    assert parse("a.py", data).kind == "code"
    assert time.process_time() - began < 60


def test_deep_nesting_is_distinguished_from_wide_files() -> None:
    assert (
        parse("a.py", b"x = " + b"[" * 100 + b"]" * 100 + b"\ndef f(): ...\n" + b"a = (1,)\n" * 2_000).scopes[1].name
        == "f"
    )
    deep = b"(" * (DEEPEST + 20) + b"a" + b")" * (DEEPEST + 20)
    assert parse("a.py", b"def f(): ...\n" + deep + b"\n" * 100).scopes == []


def test_syntax_errors_have_line_numbers() -> None:
    assert parse("a.py", b"x = 1\ndef f(:\n    pass\n").error_lines == [2]
    assert len(parse("a.c", b"int = ;\n" * 100).error_lines) <= 20


def test_a_file_in_another_encoding_has_the_same_names() -> None:
    source = "def été():\n    'Café.'\n"
    for encoding in ("utf-8", "utf-16", "cp1252", "utf-8-sig"):
        found = parse("a.py", source.encode(encoding))
        assert [(each.name, each.docstring) for each in found.scopes] == [("été", "Café.")]


def test_an_image_is_found_by_its_text() -> None:
    assert parse_image("Total: 5\nSum") == Parsed("image", "image", lines=2, text="Total: 5\nSum")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(EXTENSIONS), st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=40))
def test_no_input_makes_a_parser_fail(path: str, words: list[str]) -> None:
    try:
        found = parse(path, "".join(words).encode("utf-8", "surrogatepass"))
    except ParseError:
        return
    scopes, sections = len(found.scopes), len(found.sections)
    assert len({scope.qualified for scope in found.scopes}) == scopes
    for index, scope in enumerate(found.scopes):
        assert -1 <= scope.parent < scopes
        assert scope.parent != index
        assert 1 <= scope.start_line <= scope.end_line <= max(1, found.lines + 1)
        assert 0 <= scope.start <= scope.end
        assert len(scope.signature) <= 500
        assert "\n" not in scope.signature
    for within in (
        *(each.scope for each in found.imports),
        *(each.scope for each in found.references),
        *(each.scope for each in found.bindings),
    ):
        assert -1 <= within < scopes
    for reference in found.references:
        assert reference.chain
        assert reference.chain[-1]
    for number, section in enumerate(found.sections):
        assert -1 <= section.parent < number
    for link in found.links:
        assert -1 <= link.section < sections
    resolver = Resolver([symbols(path, found)])
    for relation in resolver.resolution().relations:
        assert -1 <= relation.source_index < max(scopes, sections, 1)
        assert 0 < relation.confidence <= 1


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(EXTENSIONS), st.binary(max_size=300))
def test_any_bytes_are_parsed_or_refused(path: str, data: bytes) -> None:
    try:
        code = parse(path, data).kind
    except ParseError as error:
        code = error.code
    assert code in {"code", "document", "binary", "broken"}
