"""Choose the grammar for a file.

Each language module registers its reader with ``@grammar``; the grammar is loaded when the first file of its language
is read.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tree_sitter import Language, Parser, Query

if TYPE_CHECKING:
    from atelier_desk.knowledge.parsing.syntax_captures import Source

MODULES = ("bash", "c", "csharp", "css", "go", "html", "java", "javascript", "php", "python", "ruby", "rust", "sql")


@dataclass(frozen=True)
class Grammar:
    """How one language is parsed.

    Attributes:
        module, function: of the grammar's package, such as ``tree_sitter_php`` and ``language_php``.
        query: its captures; see ``source.Source`` for the names that mean the same in all languages.
        read: fills ``source.parsed``.
    """

    language: str
    module: str
    query: str
    read: Callable[[Source], None]
    function: str = "language"
    extensions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


_grammars: dict[str, Grammar] = {}
_of_thread = threading.local()


def grammar(
    language: str,
    module: str,
    query: str,
    *,
    extensions: tuple[str, ...],
    function: str = "language",
    names: tuple[str, ...] = (),
    programs: tuple[str, ...] = (),
) -> Callable[[Callable[[Source], None]], Callable[[Source], None]]:
    """Register the reader of a language.

    File extensions (lower case, with the dot), file names, and programs of ``#!`` lines.
    """

    def register(read: Callable[[Source], None]) -> Callable[[Source], None]:
        _grammars[language] = Grammar(language, module, query, read, function, extensions, names, programs)
        return read

    return register


@cache
def grammars() -> dict[str, Grammar]:
    """Return the grammars by language."""
    for name in MODULES:
        importlib.import_module(f"atelier_desk.knowledge.parsing.languages.{name}")
    return _grammars


def loaded(language: str) -> tuple[Parser, Query]:
    """Return the parser of a language, one per thread (it is stateless between files), and its compiled query."""
    compiled, query = _compiled(language)
    parsers: dict[str, Parser] = _of_thread.__dict__
    if language not in parsers:
        parsers[language] = Parser(compiled)
    return parsers[language], query


@cache
def _compiled(language: str) -> tuple[Language, Query]:
    wanted = grammars()[language]
    compiled = Language(getattr(importlib.import_module(wanted.module), wanted.function)())
    return compiled, Query(compiled, wanted.query)


@cache
def by_extension() -> dict[str, str]:
    return {extension: each.language for each in grammars().values() for extension in each.extensions}


@cache
def by_name() -> dict[str, str]:
    return {name: each.language for each in grammars().values() for name in each.names}


@cache
def by_program() -> dict[str, str]:
    return {program: each.language for each in grammars().values() for program in each.programs}
