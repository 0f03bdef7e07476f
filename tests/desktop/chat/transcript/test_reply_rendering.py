"""Rendering of replies beyond prose: formulas, task lists, diffs, diagrams, and pages for the browser."""

from __future__ import annotations

import html
import os
import re
import signal
import stat
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QColor, QDesktopServices, QGuiApplication, QTextCursor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton, QToolButton, QToolTip
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards import open_in_browser
from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.cards.diagram import DiagramPicture
from atelier_desk.desktop.chat.markdown import draw_client, formula
from atelier_desk.desktop.chat.markdown.document_writer import CHECKED
from atelier_desk.desktop.chat.markdown.draw_client import Drawings
from atelier_desk.desktop.chat.markdown.draw_process import draw
from atelier_desk.desktop.chat.markdown.formula import drawing_of, formulas
from atelier_desk.desktop.chat.transcript.allowed_images import ImageGate
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock, TableBlock, _formula_places
from atelier_desk.desktop.chat.transcript.reply_body import ReplyBody
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Mode
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.markdown.parser import parse
from atelier_desk.support import i18n
from atelier_desk.support.worker.errors import Ended
from atelier_desk.support.worker.requests_to_child import ask_once
from tests.helpers.child_widgets import child

MERMAID = "graph TD; A[Start] --> B[End]"


def body_of(qtbot: QtBot, text: str) -> ReplyBody:
    body = ReplyBody(ImageGate())
    qtbot.addWidget(body)
    body.set_text(text)
    body.resize(600, body.fit(600))
    body.show()
    return body


def prose(body: ReplyBody) -> ProseBlock:
    return next(part for part in body.parts if isinstance(part, ProseBlock))


def card_of(body: ReplyBody) -> CodeCard:
    return next(part for part in body.parts if isinstance(part, CodeCard))


def drawn(part: ProseBlock) -> list[str]:
    return [source for _start, _end, source, _form, picture in _formula_places(part.document()) if picture]


def test_formulas_are_drawn_in_a_process_and_show_their_source_until_then(qtbot: QtBot) -> None:
    body = body_of(qtbot, "So $q_7 = 1$ and $5, \\(r_7\\):\n\n$$\\frac{s_7}{2}$$\n")
    part = prose(body)
    assert "$q_7 = 1$" in part.toPlainText(), "its source, while it is made"
    heights = []
    body.height_changed.connect(lambda: heights.append(body.fit(600)))
    qtbot.waitUntil(lambda: len(drawn(part)) == 3, timeout=30_000)
    assert drawn(part) == ["$q_7 = 1$", "\\(r_7\\)", "$$\\frac{s_7}{2}$$"]
    assert heights, "the column is notified"
    assert "$5" in part.toPlainText(), "money stays money"
    assert part.accessibleDescription() == "$q_7 = 1$; \\(r_7\\); $$\\frac{s_7}{2}$$"
    cursor = part.textCursor()
    cursor.select(QTextCursor.SelectionType.Document)
    part.setTextCursor(cursor)
    assert body.selected_text() == "So $q_7 = 1$ and $5, \\(r_7\\):\n$$\\frac{s_7}{2}$$"
    assert part.createMimeDataFromSelection().text() == body.selected_text()
    body.redraw()
    assert drawn(prose(body)) == ["$q_7 = 1$", "\\(r_7\\)", "$$\\frac{s_7}{2}$$"], "a known drawing is shown at once"


def test_a_broken_formula_stays_as_it_was_written(qtbot: QtBot) -> None:
    body = body_of(qtbot, "It is $x^$ and $\\left( y$.")
    qtbot.waitUntil(lambda: all(formulas().want(each) for each in ("$x^$", "$\\left( y$")), timeout=30_000)
    assert prose(body).toPlainText() == "It is $x^$ and $\\left( y$."
    assert draw("formula", "$" + "x+" * 2000 + "$") is None


def test_formulas_have_the_themes_colour_and_sit_on_the_baseline() -> None:
    drawing = drawing_of(draw("formula", "$y$") or "")
    assert drawing is not None
    assert 0 < drawing.depth < drawing.height, "the tail of the y is below the line"
    assert "<use" not in drawing.svg, "QtSvg would draw only the bars"
    image = formula._paint(drawing, 1.0, "#ff0000", 2.0)
    dots = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    colours = {dot.name() for dot in dots if dot.alpha() == 255}
    assert colours == {"#ff0000"}


def test_task_lists_have_boxes_instead_of_marks(qtbot: QtBot) -> None:
    body = body_of(qtbot, "- [x] done\n- [ ] open\n- plain\n")
    part = prose(body)
    assert part.toPlainText() == "done\nopen\nplain"
    block = part.document().begin()
    found = []
    while block.isValid():
        found.append(block.blockFormat().property(CHECKED))
        block = block.next()
    assert found == [True, False, None]
    image = part.grab().toImage()
    accent = theme().tokens.accent
    assert any(image.pixelColor(x, y).name() == QColor(accent).name() for x in range(40) for y in range(30)), (
        "the checked box is painted"
    )


def test_a_diff_has_coloured_lines_and_changed_words(qtbot: QtBot) -> None:
    body = body_of(qtbot, "```diff\n-the old word\n+the new word\n same\n```\n")
    card = card_of(body)
    qtbot.waitUntil(lambda: not card._highlighter.busy)
    document = card._text.document()
    grounds = [document.findBlockByNumber(number).blockFormat().background().color().name() for number in range(2)]
    assert grounds == [QColor(theme().tokens.err_soft).name(), QColor(theme().tokens.ok_soft).name()]
    strong = QColor(theme().tokens.ok_strong)
    marks = [
        each for each in document.findBlockByNumber(1).layout().formats() if each.format.background().color() == strong
    ]
    assert [(each.start, each.length) for each in marks] == [(5, 3)]
    theme().set_mode("dark")
    qtbot.waitUntil(
        lambda: (
            document.findBlockByNumber(0).blockFormat().background().color().name()
            == QColor(theme().tokens.err_soft).name()
        )
    )


def picture_of(card: CodeCard) -> DiagramPicture | None:
    return card.findChild(DiagramPicture)


def test_a_diagram_is_a_picture_and_a_button_shows_its_source(qtbot: QtBot) -> None:
    body = body_of(qtbot, f"```mermaid\n{MERMAID}\n```\n")
    card = card_of(body)
    source = card.findChild(QToolButton, "code-source")
    field = card.findChild(QPlainTextEdit)
    assert source is not None
    assert field is not None
    qtbot.waitUntil(lambda: (shown := picture_of(card)) is not None and shown.isVisible(), timeout=20_000)
    picture = child(card, DiagramPicture)
    assert field.isHidden()
    assert picture.accessibleName() == "Diagram"
    body.resize(300, body.fit(300))
    assert picture.pixmap().deviceIndependentSize().width() <= 300, "no wider than its card"
    QTest.mouseClick(source, Qt.MouseButton.LeftButton)
    assert (field.isHidden(), picture.isHidden(), field.toPlainText()) == (False, True, MERMAID)
    copy = card.findChild(QPushButton, "code-copy")
    assert copy is not None
    QTest.mouseClick(source, Qt.MouseButton.LeftButton)
    QTest.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == MERMAID, "what is copied is always the source"
    card.highlight("start")
    assert not field.isHidden(), "the searched text is visible in the source"
    card.highlight("")
    assert field.isHidden()


def test_a_diagram_follows_the_theme(qtbot: QtBot) -> None:
    card = card_of(body_of(qtbot, f"```mermaid\n{MERMAID}\n```\n"))

    def paper() -> str:
        picture = picture_of(card)
        return picture.pixmap().toImage().pixelColor(0, 0).name() if picture is not None and picture.isVisible() else ""

    modes: list[tuple[Mode, str]] = [("light", "#ffffff"), ("dark", "#1e1f24"), ("light", "#ffffff")]
    for mode, ground in modes:
        theme().set_mode(mode)
        qtbot.waitUntil(partial(lambda expected: paper() == expected, ground), timeout=20_000)


def test_a_drawn_diagram_is_shown_at_once_when_its_card_is_recreated(qtbot: QtBot) -> None:
    body = body_of(qtbot, f"```mermaid\n{MERMAID}\n```\n")
    qtbot.waitUntil(lambda: picture_of(card_of(body)) is not None, timeout=20_000)
    body.redraw()
    picture = picture_of(card_of(body))
    assert picture is not None
    assert not picture.isHidden()


def test_a_diagram_that_cannot_be_drawn_shows_its_source(qtbot: QtBot) -> None:
    card = card_of(body_of(qtbot, "```mermaid\nnonsense\n```\n"))
    answers: list[str] = []
    draw_client.drawings().drawn.connect(
        lambda _kind, source, drawn: answers.append(drawn) if source == "nonsense" else None
    )
    draw_client.drawings().want("diagram", "nonsense")
    qtbot.waitUntil(lambda: answers == [""] or len(answers) == 2, timeout=20_000)
    field = card.findChild(QPlainTextEdit)
    assert field is not None
    assert (field.toPlainText(), field.isHidden()) == ("nonsense", False)
    source = card.findChild(QToolButton, "code-source")
    assert source is not None
    assert source.isHidden()


def test_open_in_the_browser_gives_a_private_page_without_scripts_or_network(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[QUrl] = []

    def open_url(url: QUrl) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    code = (
        '<link rel="dns-prefetch" href="//spy.example">\n<h1 class="a">Hi & '
        '"you"</h1><script>fetch("http://x")</script>'
    )
    body = body_of(qtbot, f"```html\n{code}\n```\n")
    button = card_of(body).findChild(QToolButton, "code-browser")
    assert button is not None
    assert not button.isHidden()
    assert button.accessibleName() == "Open in the browser"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    path = Path(opened[0].toLocalFile())
    text = path.read_text("utf-8")
    assert "default-src 'none'" in text
    assert 'sandbox=""' in text, "no script, no form, no other window"
    assert "script-src" not in text
    assert text.index("Content-Security-Policy") < text.index("<iframe")
    source = re.search(r'srcdoc="([^"]*)"', text)
    assert source is not None
    inside = html.unescape(source[1])
    assert '<h1 class="a">Hi & "you"</h1>' in inside
    assert "spy.example" not in inside, "not even its name is resolved"
    if os.name == "posix":
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_missing_browser_is_reported_at_once(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: False)
    monkeypatch.setattr(QToolTip, "showText", lambda _at, text, _on: messages.append(text))
    button = card_of(body_of(qtbot, "```html\n<p>Hi</p>\n```\n")).findChild(QToolButton, "code-browser")
    assert button is not None
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert messages == ["Could not open a browser"]
    assert button.accessibleName() == "Open in the browser", "it still does that"


def test_ordinary_code_has_no_such_button(qtbot: QtBot) -> None:
    button = card_of(body_of(qtbot, "```python\na = 1\n```\n")).findChild(QToolButton, "code-browser")
    assert button is not None
    assert button.isHidden()


def test_a_browser_page_of_a_diagram_has_its_picture_above_its_source() -> None:
    text = open_in_browser.page(MERMAID + "<b>", "mermaid", draw("diagram", MERMAID) or "")
    assert 'src="data:image/png;base64,iVBOR' in text
    assert "&lt;b&gt;" in text
    assert "<script" not in text
    assert "<img" not in open_in_browser.page(MERMAID, "mermaid")


def test_a_crashed_drawing_process_is_restarted_and_the_source_stays(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Drawings()
    with qtbot.waitSignal(made.drawn, timeout=30_000) as first:
        made.want("formula", "$x$")
    assert first.args[2].startswith("<svg")
    assert made._worker is not None
    os.kill(made._worker.pid, signal.SIGKILL)
    answers: list[str] = []
    made.drawn.connect(lambda _kind, _source, text: answers.append(text))
    made.want("formula", "$x$")
    made.want("formula", "$x$")
    qtbot.waitUntil(lambda: len(answers) == 2, timeout=30_000)
    assert answers[0] == ""
    assert answers[1].startswith("<svg")
    monkeypatch.setattr(draw_client, "IDLE_S", 0.01)
    made.want("formula", "$x$")
    qtbot.waitUntil(lambda: made._worker is None, timeout=30_000)


@pytest.mark.skipif(os.name != "posix", reason="the system has no such limits")
@pytest.mark.parametrize(
    ("action", "code"), [("any(0 for _ in iter(int, 1))", "timeout"), ("bytearray(2 << 30)", "memory")]
)
async def test_an_endless_drawing_is_ended_by_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, code: str
) -> None:
    served = (
        f"from atelier_desk.desktop.chat.markdown import draw_process as it\nit.CPU_S = 0\nit.draw = lambda *_: "
        f"{action}\nit.main()"
    )
    (tmp_path / "served.py").write_text(served)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(Ended) as caught:
        await ask_once("served", ("formula", "$x$"))
    assert caught.value.code == code


@pytest.mark.parametrize("source", ["\\rule{90000em}{90000em}", "a\\hspace{900000em}x", "\\rule{100em}{100em}"])
def test_a_formula_larger_than_a_window_stays_as_it_was_written(source: str) -> None:
    assert drawing_of(draw("formula", f"${source}$") or "") is None


def test_only_few_large_formula_pictures_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    made = formula.Formulas()
    made._store("formula", "$y$", draw("formula", "$y$") or "")
    monkeypatch.setattr(formula, "PICTURE_BYTES", 12_000)
    for px in range(16, 40):
        assert made.picture("$y$", px, "#000000", 1.0) is not None
    assert 1 <= len(made._pictures) < 20
    assert made._bytes() <= 12_000


def test_a_table_is_copied_as_cells_and_as_a_table(qtbot: QtBot) -> None:
    body = body_of(qtbot, "| a | b |\n|---|--:|\n| **one** | `2` |\n")
    table = next(part for part in body.parts if isinstance(part, TableBlock))
    button = table.findChild(QToolButton, "table-copy")
    assert button is not None
    assert button.accessibleName() == "Copy table"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    data = QGuiApplication.clipboard().mimeData()
    assert data.text() == "a\tb\none\t2"
    assert "<table" in data.html()


def test_a_wide_table_has_its_own_scroll_bar(qtbot: QtBot) -> None:
    cells = " | ".join(f"`a_very_long_identifier_{number}`" for number in range(8))
    body = body_of(qtbot, f"| {cells} |\n|{'---|' * 8}\n| {cells} |\n")
    table = next(part for part in body.parts if isinstance(part, TableBlock))
    assert table.width() == 600
    assert table.horizontalScrollBar().maximum() > 0
    assert table.viewport().height() >= table.document().size().height(), "no row is behind the scroll bar"


@pytest.mark.parametrize(
    ("code", "codes"),
    [
        ("rm -rf report\u202etxt.sh", "U+202E"),
        ("if is_admin\u2066 # \u200bcheck", "U+2066, U+200B"),
        ("a\xadb\r\n\tc", "U+00AD"),
        ("plain\r\n\tcode été 日本 👩\u200d💻 می\u200cخواهم", ""),
    ],
)
def test_a_code_card_warns_of_invisible_characters(qtbot: QtBot, code: str, codes: str) -> None:
    body = body_of(qtbot, f"Run this:\n\n```sh\n{code}\n```\n\nand `x{code}`")
    card = card_of(body)
    warning = card.findChild(QLabel, "code-hidden")
    assert warning is not None
    assert warning.isHidden() is not bool(codes)
    assert codes in warning.toolTip()
    assert [each for each in card._text.toPlainText() if f"U+{ord(each):04X}" in codes] == []
    assert all(f"⟨{each}⟩" in card._text.toPlainText() for each in filter(None, codes.split(", ")))
    card.copy()
    assert QGuiApplication.clipboard().text() == code.replace("\r\n", "\n"), "it is copied as it was written"
    last = [part for part in body.parts if isinstance(part, ProseBlock)][-1].toPlainText()
    assert all(f"⟨{each}⟩" in last for each in filter(None, codes.split(", ")))
    assert "⟨" not in last or codes


@pytest.mark.parametrize(
    ("modifier", "turn"),
    [(Qt.KeyboardModifier.ShiftModifier, QPoint(0, -120)), (Qt.KeyboardModifier.NoModifier, QPoint(-120, 0))],
)
def test_a_wide_table_starts_at_its_first_column_and_scrolls_sideways(
    qtbot: QtBot, modifier: Qt.KeyboardModifier, turn: QPoint
) -> None:
    table = TableBlock()
    qtbot.addWidget(table)
    names = [f"column{number}" for number in range(24)]
    table.append_blocks(parse("|" + "|".join(names) + "|\n" + "|---" * 24 + "|\n|" + "|".join(names) + "|\n"))
    table.resize(740, table.fit(740))
    table.show()
    qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() > 0)
    assert table.horizontalScrollBar().value() == 0
    assert table.accessibleName().startswith("Table: column0, column1, ")
    i18n.set_language("fr")
    refresh_texts()
    name = table.accessibleName()
    assert (name.startswith("Tableau"), "column0, column1, " in name) == (True, True)
    position = QPointF(20, 20)
    buttons, phase = Qt.MouseButton.NoButton, Qt.ScrollPhase.NoScrollPhase
    wheel = QWheelEvent(position, position, QPoint(), turn, buttons, modifier, phase, False)
    QApplication.sendEvent(table.viewport(), wheel)
    assert table.horizontalScrollBar().value() > 0
    down = QWheelEvent(
        position, position, QPoint(), QPoint(0, -120), buttons, Qt.KeyboardModifier.NoModifier, phase, False
    )
    QApplication.sendEvent(table.viewport(), down)
    assert not down.isAccepted(), "up and down the transcript scrolls"


def test_inline_code_in_right_to_left_text_keeps_its_order_and_is_copied_unchanged(qtbot: QtBot) -> None:
    prose = ProseBlock()
    qtbot.addWidget(prose)
    prose.append_blocks(parse("המסמך `docs/a()/` כאן"))
    assert "\u2066docs/a()/\u2069" in prose.document().toPlainText()
    prose.selectAll()
    data = prose.createMimeDataFromSelection()
    assert data.text() == "המסמך docs/a()/ כאן"
    assert not data.hasHtml() or "\u2066" not in data.html()
    latin = ProseBlock()
    qtbot.addWidget(latin)
    latin.append_blocks(parse("call `code()` now"))
    assert "\u2066" not in latin.document().toPlainText()


def test_a_right_to_left_table_starts_on_the_right_and_is_copied_in_order(qtbot: QtBot) -> None:
    table = TableBlock()
    qtbot.addWidget(table)
    table.append_blocks(parse("| שם | ערך |\n|---|---|\n| אחד | x |\n"))
    table.resize(500, table.fit(500))
    table.show()
    assert table.cells() == "שם\tערך\nאחד\tx"
    first = table.cursorRect(table.textCursor()).center().x()
    assert first > 250, "the first column is the one on the right"
    button = table.findChild(QToolButton, "table-copy")
    assert button is not None
    assert button.x() < 400
