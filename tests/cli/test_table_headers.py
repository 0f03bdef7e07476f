"""The heads of tables name what their cells show, in both languages."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Cli


def head(cli: Cli, *argv: str) -> list[str]:
    return re.split(r" {2,}", cli(*argv).out.splitlines()[0])


@pytest.mark.parametrize(
    ("argv", "english", "french"),
    [
        ("usage", "duration", "durée"),
        ("mcp list", "startup time", "temps de démarrage"),
        ("mcp list", "location", "emplacement"),
        ("projects list", "indexed", "indexé le"),
        ("commands list", "workflow id", "id du workflow"),
        ("memory pairs", "kind", "type"),
        ("files leftovers", "details", "détails"),
    ],
)
def test_a_caption_names_what_its_cells_show(cli: Cli, argv: str, english: str, french: str) -> None:
    for language, caption in (("en", english), ("fr", french)):
        assert caption in head(cli, "--lang", language, *argv.split())
