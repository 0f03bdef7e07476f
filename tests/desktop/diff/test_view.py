"""The diff view: one column or two, numbers, colours, and going from change to change."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.diff.diff_text import DiffText
from atelier_desk.desktop.diff.view import DiffView
from atelier_desk.desktop.theme import theme

DIFF = "\n".join(
    [
        "--- a/a.py",
        "+++ b/a.py",
        "@@ -1,3 +1,4 @@",
        " import os",
        "-timeout = 10  # seconds",
        "+timeout = 30  # seconds",
        "+retries = 'two'",
        " print(timeout)",
        "@@ -90,2 +91,1 @@ def last():",
        "-    return 1",
        "     pass",
    ]
)


@pytest.fixture
def view(qtbot: QtBot) -> DiffView:
    made = DiffView()
    qtbot.addWidget(made)
    made.resize(900, 400)
    made.show_diff(DIFF, "src/a.py")
    made.show()
    qtbot.waitUntil(lambda: not made.busy and bool(made._syntax))
    return made


def grounds(text: DiffText, line: int) -> list[tuple[str, str]]:
    """The words of a line with a background of their own, and that background."""
    block = text.document().findBlockByNumber(line)
    return [
        (block.text()[each.start : each.start + each.length], each.format.background().color().name().upper())
        for each in block.layout().formats()
        if each.format.hasProperty(each.format.Property.BackgroundBrush)
    ]


def colours(text: DiffText, line: int) -> dict[str, str]:
    block = text.document().findBlockByNumber(line)
    found = block.layout().formats()
    return {
        block.text()[each.start : each.start + each.length]: each.format.foreground().color().name().upper()
        for each in found
    }


def test_the_one_column_view_marks_changed_words_and_colours_syntax(view: DiffView) -> None:
    assert view.inline.isVisible()
    lines = view.text.split("\n")
    assert lines[:4] == ["Line 1", "import os", "timeout = 10  # seconds", "timeout = 30  # seconds"]
    assert lines[6] == "Line 91 · def last():"
    tokens = theme().tokens
    assert grounds(view.inline, 2) == [("10", tokens.err_strong)]
    assert grounds(view.inline, 3) == [("30", tokens.ok_strong)]
    assert colours(view.inline, 1)["import"] == tokens.keyword
    assert colours(view.inline, 4)["two"] == tokens.ok_text


def test_the_heading_of_a_deleted_or_new_file_names_its_first_line(view: DiffView) -> None:
    for diff in ("@@ -1 +0,0 @@\n-old", "@@ -0,0 +1 @@\n+new"):
        view.show_diff(diff)
        view.set_mode("inline")
        assert view.text.split("\n")[0] == "Line 1"
        view.set_mode("side")
        assert [text.toPlainText().split("\n")[0] for text in (view.left, view.right)] == ["Line 1", "Line 1"]


def test_side_by_side_matching_lines_are_level(view: DiffView, qtbot: QtBot) -> None:
    view.set_mode("side")
    assert (view.inline.isVisible(), view.left.isVisible()) == (False, True)
    assert view.left.toPlainText().split("\n")[1:5] == ["import os", "timeout = 10  # seconds", "", "print(timeout)"]
    assert view.right.toPlainText().split("\n")[1:5] == [
        "import os",
        "timeout = 30  # seconds",
        "retries = 'two'",
        "print(timeout)",
    ]
    assert grounds(view.right, 2) == [("30", theme().tokens.ok_strong)]
    view.resize(360, 400)
    qtbot.waitUntil(lambda: not view.left.isVisible())
    assert view.mode == "side", "the choice is remembered for a wider one"


def test_f7_goes_from_change_to_change(view: DiffView, qtbot: QtBot) -> None:
    view.activateWindow()
    view.inline.setFocus()

    def at() -> int:
        return view.inline.textCursor().blockNumber()

    view.go(1)
    assert at() == 2
    view.go(1)
    assert at() == 7
    view.go(1)
    assert at() == 2, "round again"
    view.go(-1)
    assert at() == 7
    assert view.inline.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_in_a_card_its_height_fits_its_text(qtbot: QtBot) -> None:
    view = DiffView(scrolls=False)
    qtbot.addWidget(view)
    view.show_diff(DIFF, "a.py")
    small = view.fit(700)
    assert view.inline.text_height == small
    view.show_diff(DIFF + "\n     more" * 1, "a.py")
    view.set_mode("side")
    assert view.fit(700) > 0
    assert view.left.verticalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    assert QColor(theme().tokens.ok_soft).isValid()
