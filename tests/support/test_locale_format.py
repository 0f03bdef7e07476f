"""Numbers, durations and amounts in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.desktop.widgets import date_format
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import set_language


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    set_language("en")


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("en", "1,234,567|0.5|2|12 ms|0.8 s|12 s|3 min 05 s|2 h 10 min|$1.25|$0.0032|$0.00"),
        ("fr", "1~234~567|0,5|2|12 ms|0,8 s|12 s|3 min 05 s|2 h 10 min|1,25 $|0,0032 $|0,00 $"),
    ],
)
def test_figures_are_rounded_and_in_the_readers_format(language: str, written: str) -> None:
    set_language(language)
    shown = [
        locale_format.number(1234567), locale_format.number(0.5, 2, trim=True), locale_format.number(2.0, 4, trim=True),
        *map(locale_format.duration, (12, 840, 12_300, 185_000, 7_800_000)),
        *map(locale_format.cost, (1.25, 0.0032, 0)),
    ]  # fmt: skip
    assert shown == re.sub(r"(?<=\d) (?=\D)|~", locale_format.NARROW, written).split("|")


def test_counts_of_tokens_are_short() -> None:
    assert [locale_format.tokens(count) for count in (850, 12_400, 999_999)] == [
        "850",
        "12.4\u202fk",
        "1.0\u202fM",
    ]
    set_language("fr")
    assert locale_format.tokens(1_240_000) == "1,2\u202fM"


def test_the_rest_of_a_text_is_counted_in_singular_and_plural() -> None:
    assert [locale_format.more_characters(count) for count in (1, 2000)] == [
        "… 1 more character",
        "… 2,000 more characters",
    ]


def test_sizes_are_in_the_reader_s_language() -> None:
    counts = (0, 1, 2, 1023, 1024, 1536, 1024 * 1024 - 1, 12 * 1024**2, 5 * 1024**3, 3000 * 1024**4)

    def shown() -> list[str]:
        return [locale_format.size(count).replace(locale_format.NARROW, " ") for count in counts]

    assert shown() == [
        "0 bytes",
        "1 byte",
        "2 bytes",
        "1023 bytes",
        "1 kB",
        "1.5 kB",
        "1 MB",
        "12 MB",
        "5 GB",
        "3,000 TB",
    ]
    set_language("fr")
    assert shown() == [
        "0 octet",
        "1 octet",
        "2 octets",
        "1023 octets",
        "1 ko",
        "1,5 ko",
        "1 Mo",
        "12 Mo",
        "5 Go",
        "3 000 To",
    ]


@pytest.mark.parametrize(
    ("language", "written"), [("en", "2026-11-26 22:33|2026-11-26"), ("fr", "26/11/2026 à 22:33|26/11/2026")]
)
def test_dates_have_one_form_in_the_window_and_the_terminal(language: str, written: str) -> None:
    set_language(language)
    at = datetime(2026, 11, 26, 22, 33).astimezone()
    assert [locale_format.moment(at), locale_format.day(at)] == written.split("|")
    assert date_format.moment is locale_format.moment


def test_a_new_language_needs_only_a_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    translations = {
        "1,234.5": "1'234.5",
        "{year}-{month}-{day}": "{day}.{month}.{year}",
        "{day} {time}": "{day}, {time}",
        "${amount}": "USD {amount}",
    }
    monkeypatch.setattr(locale_format, "_", lambda text, **values: str(translations.get(text, text)).format(**values))
    at = datetime(2026, 11, 26, 22, 33).astimezone()
    assert [
        locale_format.number(1234567.25, 2),
        locale_format.moment(at),
        locale_format.cost(1234.5),
    ] == [
        "1'234'567.25",
        "26.11.2026, 22:33",
        "USD 1'234.50",
    ]


def test_no_code_for_people_checks_for_french() -> None:
    """Prompts of small models have separate rules, tested elsewhere."""
    root = Path(locale_format.__file__).parent.parent
    read = [
        *root.glob("*.py"),
        *(each for name in ("desktop", "cli", "tools", "engine") for each in (root / name).rglob("*.py")),
    ]
    assert [path.name for path in read if re.search(r"""[!=]= ["']fr["']""", path.read_text("utf-8"))] == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 10**400, None, "x", []])
def test_a_value_that_cannot_be_written_is_a_question_mark(value: Any) -> None:
    f = locale_format
    writers = (f.number, f.duration, f.tokens, f.size, f.cost, f.percent, partial(f.cost_bound, up=True))
    for write in writers:
        assert f.UNKNOWN in write(value)
    for at in (datetime.min, datetime.max):
        for hours in (14, -12):
            zoned = at.replace(tzinfo=timezone(timedelta(hours=hours)))
            assert f.day(zoned)
            assert f.moment(zoned)
