"""Changing text or window size while a screen is open and changing it back leaves it as before, and like a new one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from PySide6.QtCore import QSize

from tests.e2e import screens
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.helpers.control_position_comparison import Places, differences, places

SMALL, LARGE = QSize(1024, 700), QSize(1600, 1000)
START = (100, SMALL)
CHANGES = {"larger text": (150, SMALL), "a larger window": (100, LARGE)}
"""Changes made while a screen is open, and reverted: text size in percent and window size."""
ALL = os.environ.get("ATELIER_FIT") == "all"
FEW = ("start", "user-guide", "settings-general", "settings-usage")

pytestmark = pytest.mark.timeout(1800)  # most of the time is waiting for layouts to settle


def selected_screens(app: AppDriver, folder: Path) -> Iterator[tuple[str, screens.Opener, bool]]:
    """Each screen with its name, its opener, and whether it can be opened again; few of them without
    ``ATELIER_FIT=all``.
    """
    again = dict(screens.plain())
    for name, opener in chain(again.items(), screens.at_work(app, folder) if ALL else ()):
        if ALL or name in FEW:
            yield name, opener, name in again or name.startswith("pane-")


def change(app: AppDriver, language: str, old: tuple[int, QSize], new: tuple[int, QSize]) -> None:
    """Apply language, text size and window size, only where they differ, so that a window that grew with its text is
    noticed.
    """
    if new[0] != old[0]:
        screens.set_style(app, language, new[0])
    if new[1] != old[1]:
        screens.resize(app, new[1], dialogs=False)


def opened(app: AppDriver, opener: screens.Opener, size: QSize) -> Places:
    opener(app)
    screens.resize(app, size, dialogs=False)
    return places(screens.windows())


@pytest.mark.parametrize("language", ["en", "fr"] if ALL else ["fr"])
def test_a_change_of_size_leaves_nothing_behind(open_app: OpenApp, tmp_path: Path, language: str) -> None:
    app = open_app(screens.STEPS)
    screens.set_style(app, language, START[0])
    screens.resize(app, SMALL)
    wrong: list[str] = []
    for name, opener, reopens in selected_screens(app, tmp_path):
        at_first = opened(app, opener, SMALL)
        for name_of_change, state in CHANGES.items():
            change(app, language, START, state)
            changed = places(screens.windows())
            change(app, language, state, START)
            if name.startswith("pane-"):
                opened(
                    app, opener, SMALL
                )  # a drawer over the conversation is closed when the window is wide enough for the panes
            wrong += [
                f"{name}, {name_of_change} and back: {each}"
                for each in differences(at_first, places(screens.windows()))
            ]
            if reopens:
                screens.close(app)
                change(app, language, START, state)
                wrong += [
                    f"{name}, {name_of_change}: {each}" for each in differences(opened(app, opener, state[1]), changed)
                ]
                screens.close(app)
                change(app, language, state, START)
                opened(app, opener, SMALL)
        screens.close(app)
    assert not wrong, "\n".join(wrong)


def test_a_changed_text_size_looks_as_after_a_restart(open_app: OpenApp) -> None:
    app = open_app(["Done."])
    screens.resize(app, SMALL)
    app.send("Hello")
    app.until_reply("Done.")
    app.wait_done()
    screens.set_style(app, "fr", 150)
    screens.resize(app, SMALL)
    changed = places([app.window])
    app.close()
    app = open_app()
    app.until_reply("Done.")
    screens.resize(app, SMALL)
    # The reply's note names the model once the models are known.
    app.until(lambda: not differences(places([app.window]), changed), "it looks as before the restart")
