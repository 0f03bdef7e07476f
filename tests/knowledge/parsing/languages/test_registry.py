"""Grammars: all are found, and each thread has its own parsers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from atelier_desk.knowledge.parsing.languages import registry
from atelier_desk.knowledge.parsing.parse import code


def test_all_languages_have_a_grammar_and_a_query_that_compiles() -> None:
    wanted = {
        "python",
        "javascript",
        "typescript",
        "tsx",
        "rust",
        "go",
        "java",
        "c",
        "cpp",
        "csharp",
        "ruby",
        "php",
        "bash",
        "html",
        "css",
        "sql",
    }
    assert set(registry.grammars()) == wanted
    for language in wanted:
        parser, query = registry.loaded(language)
        assert parser.language is not None
        assert query.pattern_count > 0


def test_no_two_languages_claim_an_extension() -> None:
    claimed = [extension for each in registry.grammars().values() for extension in each.extensions]
    assert len(claimed) == len(set(claimed))


def test_threads_parse_at_once() -> None:
    sources = [f"def f{number}():\n    return g({number})\n" * 50 for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda source: code("python", source), sources))
    assert together == [code("python", source) for source in sources]
