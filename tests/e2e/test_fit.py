"""Every screen in both languages, at two sizes of text and in windows of three sizes: all of it can be read and reached. What changes while
a screen is open looks as if the program had started with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from itertools import chain, product
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QWidget

from tests.e2e import screens
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk
from tests.support.fit import misfits, shapes

SMALL, LAPTOP, LARGE = QSize(1024, 700), QSize(1366, 768 - 37), QSize(1600, 1000)
"""A laptop's screen of 1366 × 768 has a title bar."""

CHANGED = (
    "start", "command-palette", "search-everywhere", "first-steps-2", "user-guide", "quick-ask", "projects", "settings-general",
    "settings-providers", "settings-agents", "settings-approvals", "settings-usage", "settings-memory",
)  # fmt: skip
"""Screens that are open while the text changes its size: one of each kind."""
pytestmark = pytest.mark.timeout(900)  # most of the time is waiting for the windows to come to rest


@pytest.fixture(autouse=True)
def _still_caret() -> Iterator[None]:
    flash = QApplication.cursorFlashTime()
    QApplication.setCursorFlashTime(0)
    yield
    QApplication.setCursorFlashTime(flash)


def states() -> list[tuple[str, int, QSize]]:
    """All of them where ``ATELIER_FIT=all``, which takes minutes; else each language, size of text and of window once."""
    if os.environ.get("ATELIER_FIT") == "all":
        return list(product(("en", "fr"), (100, 150), (SMALL, LAPTOP, LARGE)))
    return [("fr", 150, SMALL), ("en", 100, LAPTOP)]


def does_not_fit(part: QWidget, size: QSize) -> list[str]:
    too_large = part.isWindow() and part.size().boundedTo(size) != part.size()
    return [*([f"{part.objectName()} is {part.width()} × {part.height()}"] if too_large else []), *misfits(part)]


def at_rest(desk: Desk, wrong: Callable[[], list[str]]) -> list[str]:
    """What stays wrong once the layouts have settled."""
    with contextlib.suppress(AssertionError):
        desk.until(lambda: not wrong(), timeout_ms=1500)
    return wrong()


@pytest.mark.parametrize(("language", "scale", "size"), states())
def test_every_screen_fits(open_desk: OpenDesk, tmp_path: Path, language: str, scale: int, size: QSize) -> None:
    desk = open_desk(screens.STEPS)
    screens.dress(desk, language, scale)
    wrong: list[str] = []
    for name, opener in chain(screens.plain(), screens.at_work(desk, tmp_path)):
        opener(desk)
        screens.resize(desk, size)
        wrong += at_rest(desk, lambda name=name: [f"{name}: {each}" for part in screens.parts(desk) for each in does_not_fit(part, size)])
        for part in screens.parts(desk):
            screens.keep(part, f"{name}-{language}-{scale}-{size.width()}")
        screens.close(desk)
    assert not wrong, "\n".join(wrong)


def test_what_changes_while_a_screen_is_open_leaves_nothing_over(open_desk: OpenDesk) -> None:
    """From small to large and back, and the same from a start in the other size: every widget has one place in each, every pixel one
    colour."""
    states = {"small": ("en", 100, SMALL), "large": ("fr", 150, LARGE)}
    seen: dict[tuple[str, str], tuple[dict[str, tuple[int, int, int, int]], bytes]] = {}
    wrong: list[str] = []
    for order in (("small", "large", "small"), ("large", "small", "large")):
        desk = open_desk([])
        for name, opener in ((name, opener) for name, opener in screens.plain() if name in CHANGED):
            for number, state in enumerate(order):
                language, scale, size = states[state]
                screens.dress(desk, language, scale)
                if not number:
                    opener(desk)
                screens.resize(desk, size)
                part = screens.parts(desk)[-1]
                found = shapes(part), screens.pixels(part)
                before = seen.setdefault((name, state), found)
                was, now = before[0], found[0]
                keys = (each for each in was.keys() | now.keys() if was.get(each) != now.get(each))
                moved = [f"{each}: {was.get(each)}, {now.get(each)}" for each in keys]
                if moved or before[1] != found[1]:
                    what = "\n   ".join(sorted(moved)[:6]) or "other pixels"
                    wrong.append(f"{name}, {state}, {' → '.join(order[: number + 1])}: {what}")
                    screens.keep(part, f"left-{name}-{state}-{order[0]}-{number}")
            screens.close(desk)
        desk.close()
    assert not wrong, "\n".join(wrong)
