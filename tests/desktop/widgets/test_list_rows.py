"""Rows of lists: visible content, height, and clicks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QTextCharFormat, QTextLayout
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListWidget, QListWidgetItem
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import list_rows, row_paint
from atelier_desk.desktop.widgets.list_rows import ListRow, RowAction, RowDelegate, RowRole, show_row
from atelier_desk.desktop.widgets.row_paint import LEFT, Face
from atelier_desk.desktop.widgets.text_matching import found_places
from tests.helpers.pixel_colours import colours

Make = Callable[..., QListWidget]
STAR = RowAction("star", "star")
MENU = RowAction("menu", "ellipsis", on_hover=True)
OVERRIDE = "\u202e"
"""Reverses the text after it."""


@pytest.fixture
def listed(qtbot: QtBot) -> Make:
    def make(*rows: ListRow, width: int = 300) -> QListWidget:
        view = QListWidget()
        qtbot.addWidget(view)
        view.setItemDelegate(RowDelegate(view))
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.resize(width, 300)
        for row in rows:
            show_row(QListWidgetItem(view), row)
        view.show()
        return view

    return make


def height(view: QListWidget, row: int) -> int:
    return view.visualItemRect(view.item(row)).height()


def picture(view: QListWidget, row: int) -> QImage:
    return view.viewport().grab(view.visualItemRect(view.item(row))).toImage()


def has(image: QImage, role: str) -> bool:
    return theme().colour(role).name() in colours(image)


TITLE = ListRow("Title")
HIGHER = [
    pytest.param(ListRow("Title", facts="facts"), id="facts"),
    pytest.param(ListRow("Title", lines=("an excerpt",)), id="excerpt"),
    pytest.param(ListRow("Title", note="score 0.6"), id="note"),
    pytest.param(ListRow("Title", heading="Monday"), id="heading"),
    pytest.param(ListRow("A title of many words " * 9, wrap=2), id="second line"),
]


@pytest.mark.parametrize("row", HIGHER)
def test_lines_above_and_below_the_title_have_space(listed: Make, row: ListRow) -> None:
    view = listed(TITLE, row)
    assert height(view, 1) >= height(view, 0) + 12


def test_parts_beside_a_title_do_not_heighten_the_row_and_a_title_wraps_to_a_limit(listed: Make) -> None:
    words = "A title of many words " * 9
    view = listed(
        TITLE,
        ListRow(words, trailing="what it is", end="Ctrl+N", badge="2", icon="bot", marks=("eye",), actions=(STAR,)),
        ListRow(heading="Heading"),
        ListRow(words, wrap=2),
        ListRow(words * 9, wrap=2),
    )
    assert height(view, 0) == height(view, 1) == height(view, 2)
    assert height(view, 3) == height(view, 4)


SEEN = [
    pytest.param(ListRow("Title", badge="2"), "warn_soft", id="badge"),
    pytest.param(ListRow("Title", dot="ok"), "ok", id="dot"),
    pytest.param(ListRow("Title", marked=True), "accent_soft", id="marked"),
    pytest.param(ListRow("Title", lines=("no note",), needle="note"), "warn_soft", id="searched word"),
    pytest.param(
        ListRow("Title", lines=(("before " * 60) + "note",), needle="note"), "warn_soft", id="searched word far behind"
    ),
    pytest.param(ListRow("Title", icon="", picture=QImage()), "warn", id="picture with its dot"),
]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(("row", "role"), SEEN)
def test_each_part_of_a_row_is_visible(listed: Make, row: ListRow, role: str, mode: str) -> None:
    theme().set_mode(mode)  # type: ignore[arg-type]
    if row.picture is not None:
        image = QImage(16, 16, QImage.Format.Format_RGB32)
        image.fill(QColor("white"))
        row = ListRow(row.title, icon="plug", role="warn", picture=image)
    view = listed(ListRow("Title"), row)
    assert has(picture(view, 1), role)
    assert not has(picture(view, 0), role)


def test_an_unmarked_row_stays_unmarked_when_selected(listed: Make) -> None:
    view = listed(ListRow("Title", marked=False), ListRow("Title"))
    for row, marked in ((0, False), (1, True)):
        view.setCurrentRow(row)
        assert has(picture(view, row), "accent_soft") is marked


CLICKS = [
    pytest.param(ListRow("Title", icon="circle", icon_action="status"), 18, "status", id="icon"),
    pytest.param(ListRow("Title", icon="circle"), 18, "", id="icon that does nothing"),
    pytest.param(
        ListRow("Title", icon="circle", icon_action="status", depth=2), 18, "", id="before the icon of a row below"
    ),
    pytest.param(
        ListRow("Title", icon="circle", icon_action="status", depth=2), 46, "status", id="icon of a row below"
    ),
    pytest.param(ListRow("Title", actions=(STAR,)), -18, "star", id="action"),
    pytest.param(ListRow("Title", actions=(STAR, MENU)), -42, "menu", id="second action"),
    pytest.param(ListRow("Title", actions=(STAR,)), 100, "", id="title"),
]


@pytest.mark.parametrize(("row", "offset", "action"), CLICKS)
def test_a_click_on_an_icon_performs_its_action(listed: Make, row: ListRow, offset: int, action: str) -> None:
    view = listed(TITLE, row)
    done: list[tuple[int, str]] = []
    delegate = view.itemDelegate()
    assert isinstance(delegate, RowDelegate)
    delegate.acted.connect(lambda index, name: done.append((index.row(), name)))
    rect = view.visualItemRect(view.item(1))
    point = QPoint(offset if offset > 0 else rect.right() + offset, rect.center().y())
    assert delegate.action_at(view.indexAt(point), point) == action
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert done == ([(1, action)] if action else [])
    QTest.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=point)
    assert len(done) == bool(action)


@pytest.mark.parametrize("part", ["title", "trailing", "end", "facts", "note", "heading", "badge", "lines"])
def test_hidden_characters_are_escaped(listed: Make, part: str) -> None:
    def row(text: str) -> ListRow:
        values = {"title": "Title", part: (text,) if part == "lines" else text}
        return ListRow(**values)  # type: ignore[arg-type]

    view = listed(row(f"a{OVERRIDE}b"), row("a⟨U+202E⟩b"))
    assert picture(view, 0) == picture(view, 1)
    item = view.item(0)
    for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
        assert OVERRIDE not in item.data(role)
    assert item.data(RowRole) == row(f"a{OVERRIDE}b")


def test_a_screen_reader_gets_all_texts_or_the_accessible_one(listed: Make) -> None:
    row = ListRow("Title", trailing="what it is", facts="facts", end="Ctrl+N")
    view = listed(row, ListRow("Title", facts="facts", accessible_text="Said"))
    assert [view.item(at).data(Qt.ItemDataRole.AccessibleTextRole) for at in (0, 1)] == [
        "Title, what it is, facts, Ctrl+N",
        "Said",
    ]


@pytest.mark.parametrize(
    ("needle", "text", "bold"),
    [
        ("tas", "Show tasks", ["tas"]),
        ("tasks show", "Show tasks", ["Show", "tasks"]),
        ("memoire", "Afficher la Mémoire", ["Mémoire"]),
        ("ss s", "Straße, so", ["S", "ß", "s"]),
        ("abc bcd", "xabcdx", ["abcd"]),
        ("xyz", "Show tasks", []),
        ("", "Show tasks", []),
    ],
)
def test_searched_letters_of_a_title(needle: str, text: str, bold: list[str]) -> None:
    assert [text[start:end] for start, end in found_places(needle, text)] == bold


@pytest.mark.parametrize(
    ("row", "needle", "bold"),
    [
        pytest.param(ListRow("Show tasks"), "tasks", ["tasks"], id="title"),
        pytest.param(ListRow("Title", lines=("some words",)), "words", ["words"], id="excerpt"),
        pytest.param(
            ListRow("Title", lines=("so war es: der große Brief",)),
            "große brief",
            ["große", "Brief"],
            id="several words",
        ),
        pytest.param(
            ListRow("Title", lines=("\U0001f600 some words",)), "words", ["words"], id="after a letter of two units"
        ),
    ],
)
def test_searched_text_is_bold(
    listed: Make, monkeypatch: pytest.MonkeyPatch, row: ListRow, needle: str, bold: list[str]
) -> None:
    found: list[str] = []

    class Layout(QTextLayout):
        FormatRange = QTextLayout.FormatRange

        def setFormats(self, formats: Sequence[QTextLayout.FormatRange]) -> None:
            units = self.text().encode("utf-16-le")
            for each in formats:
                if each.format.fontWeight() == QFont.Weight.DemiBold:
                    found.append(units[2 * each.start : 2 * (each.start + each.length)].decode("utf-16-le"))
            super().setFormats(formats)

    monkeypatch.setattr(row_paint, "QTextLayout", Layout)
    picture(listed(replace(row, needle=needle)), 0)
    assert found == bold


def test_a_narrow_excerpt_shown_from_its_beginning_has_no_ellipsis_there(
    listed: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted: list[str] = []
    draw = row_paint._draw_formed

    def drawing(
        painter: QPainter,
        line: QRect,
        text: str,
        shape: Face,
        marked: Sequence[tuple[int, int]],
        form: QTextCharFormat,
        role: str,
    ) -> None:
        painted.append(text)
        draw(painter, line, text, shape, marked, form, role)

    monkeypatch.setattr(row_paint, "_draw_formed", drawing)
    for excerpt, beginning in (("Near the harbour in spring", "Near"), ("x" * 30 + " harbour", "…x")):
        view = listed(ListRow("Title", lines=(excerpt,), needle="harbour"))
        view.resize(150, view.height())
        painted.clear()
        picture(view, 0)
        assert painted[0].startswith(beginning)


@pytest.mark.parametrize("width", [130, 200, 270])
@pytest.mark.parametrize(
    "excerpt",
    [
        "…et assure-toi de la formule des lettres de la semaine passée, avec la date",
        "Souviens-toi de la formule des lettres",
        "…" + "x" * 60 + " lettres de la semaine",
    ],
)
def test_the_found_word_of_an_excerpt_is_visible_and_bold_at_150_percent(
    listed: Make, monkeypatch: pytest.MonkeyPatch, excerpt: str, width: int
) -> None:
    painted: list[tuple[str, list[str]]] = []

    def drawing(
        painter: QPainter,
        line: QRect,
        text: str,
        shape: Face,
        marked: Sequence[tuple[int, int]],
        form: QTextCharFormat,
        role: str,
    ) -> None:
        painted.append((text, [text[start:end] for start, end in marked]))

    monkeypatch.setattr(row_paint, "_draw_formed", drawing)
    theme().set_scale(150)
    picture(listed(ListRow("Title", lines=(excerpt,), needle="lettre"), width=width), 0)
    [(text, bold)] = painted
    assert bold == ["lettres"], text


def test_a_title_that_does_not_fit_is_elided_at_its_end_and_a_name_in_its_middle(
    listed: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted: list[str] = []
    paint = row_paint.paint_text

    def painting(
        painter: QPainter,
        place: QRect,
        text: str,
        shape: Face,
        role: str,
        align: int = LEFT,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        painted.append(text)
        paint(painter, place, text, shape, role, align, mode)

    monkeypatch.setattr(list_rows, "paint_text", painting)
    title = "Sent a message to the agent that is responsible for the translation.md"
    picture(listed(ListRow(title, trailing="a value")), 0)
    assert painted[0].endswith("…")
    assert title.startswith(painted[0][:-1])
    painted.clear()
    picture(listed(ListRow(title, name=True, trailing="a value")), 0)
    assert (painted[0][:4], painted[0][-3:]) == ("Sent", ".md")
