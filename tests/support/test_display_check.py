"""Checking whether a window can be opened, without loading Qt."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.support.display_check import desktop_problem, missing_library, qt_folder


def test_a_missing_display_is_reported() -> None:
    problem = desktop_problem({})
    assert problem is not None
    assert problem.code == "no_display"


def test_a_display_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":987")
    problem = desktop_problem({"DISPLAY": ":987"})
    assert problem is not None
    assert problem.code in ("no_display", "library")
    if problem.code == "no_display":
        assert problem.params == {"display": ":987"}


def test_a_platform_without_screen_needs_no_display() -> None:
    assert desktop_problem({"QT_QPA_PLATFORM": "offscreen"}) is None


def test_without_qt_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    problem = desktop_problem({"DISPLAY": ":0"})
    assert problem is not None
    assert problem.code == "no_qt"
    assert "pip install" in problem.template


def test_a_library_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    folder = qt_folder()
    assert folder is not None
    assert missing_library(folder) is None
    broken = tmp_path / "Qt" / "lib" / "libQt6Widgets.so.6"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no library")
    assert missing_library(tmp_path) == str(broken)
