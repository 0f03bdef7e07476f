"""Numbers, durations and amounts in both languages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from atelier_desk.cli import figures
from atelier_desk.i18n import set_language


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    set_language("en")


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("en", ["1,234,567", "0.5", "2", "12 ms", "0.8 s", "12 s", "3 min 5 s", "2 h 10 min", "$1.25", "$0.0032", "$0.00"]),
        ("fr", ["1\u202f234\u202f567", "0,5", "2", "12 ms", "0,8 s", "12 s", "3 min 5 s", "2 h 10 min", "1,25 $", "0,0032 $", "0,00 $"]),
    ],
)
def test_figures_are_rounded_and_in_the_reader_s_language(language: str, written: list[str]) -> None:
    set_language(language)
    assert [
        figures.number(1234567), figures.number(0.5, 2), figures.number(2.0, 4),
        *map(figures.duration, (12, 840, 12_300, 185_000, 7_800_000)),
        *map(figures.dollars, (1.25, 0.0032, 0)),
    ] == written  # fmt: skip
