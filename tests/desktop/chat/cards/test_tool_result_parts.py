"""Parts of a result in the card of its call, and the progress of a call."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QImage, QTextCursor, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.cards.held_file_view import HeldView
from atelier_desk.desktop.chat.cards.team_card import TeamCard
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.cards.tool_result_parts import PartView, ResultParts, shown
from atelier_desk.desktop.chat.compose.attachment_chips import encoded
from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.desktop.workspace_folders.held_file_row import HeldRow
from atelier_desk.domain.call_presentation_and_subjects import CallText, Presentation
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.result_parts import ArtefactPart, FileChange, HeldPart, PicturePart, ResultPart, TextPart
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, QuestionRow
from atelier_desk.support import i18n
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


def card_of(qtbot: QtBot, call: Call, asked: tuple[QuestionRow, ...] = ()) -> ToolCard:
    frame = QWidget()
    qtbot.addWidget(frame)
    entry = Entry("a", "assistant", run_id="r", calls=[call], asked=asked)
    widget = make_widget(entry, TranscriptHost(), frame)
    widget.setGeometry(0, 0, 600, widget.fit(600))
    frame.show()
    card = widget.findChild(ToolCard)
    assert card is not None
    vars(card)["frame"] = frame  # kept alive with the card
    return card


def views(card: ToolCard) -> list[PartView]:
    return card.findChildren(PartView)


def picture(width: int) -> PicturePart:
    image = QImage(width, 40, QImage.Format.Format_ARGB32)
    image.fill(QColor("red"))
    return PicturePart(
        title="Plan", image=ImagePart(media_type="image/png", data=base64.b64encode(encoded(image)).decode())
    )


def test_a_picture_is_shown_inside_the_card_and_can_be_collapsed(qtbot: QtBot) -> None:
    card = card_of(qtbot, Call("c", "draw", status="ok", parts=(picture(2000),)))
    (view,) = views(card)
    shown = child(view, QLabel, "result-picture")
    assert 0 < shown.pixmap().deviceIndependentSize().width() <= 600
    opened = card.fit(600)
    QTest.mouseClick(view.button, Qt.MouseButton.LeftButton)
    assert card.fit(600) < opened
    QTest.keyClick(view.button, Qt.Key.Key_Space)
    assert card.fit(600) == opened


@pytest.mark.parametrize(
    ("part", "words", "french"),
    [
        (FileChange(action="created", path="a.py", diff="+x\n", added=1), "Created a.py · +1 −0", "a.py créé · +1 −0"),
        (FileChange(action="moved", path="a", moved_to="b"), "Moved a to b", "a déplacé vers b"),
        (FileChange(action="deleted", path="a"), "Deleted a", "a supprimé"),
        (TextPart(text="long"), "Text", "Texte"),
        (TextPart(title="Trace of it", text="long"), "Trace of it", "Trace of it"),
    ],
)
def test_each_part_has_a_description(qtbot: QtBot, part: ResultPart, words: str, french: str) -> None:
    card = card_of(qtbot, Call("c", "edit", status="ok", parts=(part,)))
    (view,) = views(card)
    assert (view.button.text(), view.button.accessibleName()) == (words, words)
    assert view.button.isEnabled() is not (isinstance(part, FileChange) and not part.diff)
    i18n.set_language("fr")
    refresh_texts()
    assert view.button.text() == french


def test_a_stored_file_is_saved_to_a_chosen_path(qtbot: QtBot) -> None:
    part = ArtefactPart(name="plan.pdf", media_type="application/pdf", size=2048, sha256="0" * 64)
    card = card_of(qtbot, Call("c", "draw", status="ok", parts=(part,)))
    (view,) = views(card)
    assert not view.button.isEnabled(), "nothing can be saved without an engine, as in a replay"
    done: list[Any] = []

    class Bridge:
        def do(self, work: Any) -> None:
            done.append(work)

    view._host.bridge = Bridge()  # type: ignore[assignment]
    refresh_texts()
    QTest.mouseClick(view.button, Qt.MouseButton.LeftButton)
    dialog = view.findChild(QFileDialog)
    assert dialog is not None
    dialog.close()


def test_parts_come_with_the_result(qtbot: QtBot) -> None:
    call = Call("c", "edit")
    card = card_of(qtbot, call)
    assert not views(card)
    call.status, call.parts = "ok", (TextPart(text="x"),)
    before = card.fit(600)
    card.refresh()
    assert card.fit(600) > before


def test_the_card_shows_progress_and_then_the_result(qtbot: QtBot) -> None:
    presentation = Presentation(
        icon="no-such-icon", title="Tasks", summary=CallText(text="New task: {name}", params={"name": "x"})
    )
    call = Call("c", "TodoTool", presentation=presentation, progress=40, progress_text="40 of 100 files")
    card = card_of(qtbot, call)
    assert (card._name.text(), card._summary.text()) == ("New task", "40 of 100 files")
    assert "40" in card.state_text()[0]
    call.status = "ok"
    card.refresh()
    assert (card._name.text(), card._summary.text()) == ("New task", "x")
    i18n.set_language("fr")
    refresh_texts()
    assert (card._name.text(), card._summary.text()) == ("Nouvelle tâche", "x")


def test_only_the_call_that_asked_is_shown_as_waiting_for_the_person(qtbot: QtBot) -> None:
    asked = (QuestionRow("q", "Which?", call_id="c1"),)
    assert card_of(qtbot, Call("c1", "anything"), asked).state_text()[0] == "waiting for you"
    assert card_of(qtbot, Call("c2", "anything"), asked).state_text()[0] == "running"


def test_a_call_that_starts_agents_shows_their_card(qtbot: QtBot) -> None:
    assert isinstance(card_of(qtbot, Call("c", "anything", effect="spawn")), TeamCard)
    assert not isinstance(card_of(qtbot, Call("c", "anything", effect="write")), TeamCard)


def printed(card: ToolCard) -> QTextDocument:
    """The output of a running call as shown by the card."""
    document = QTextDocument()
    document.setHtml(card._live.text())
    return document


def test_live_output_of_a_call_is_coloured(qtbot: QtBot) -> None:
    call = Call("c", "run", status="running", progress_text="a <b>  &amp;\n\x1b[31mred\nstill\x1b[0m plain")
    card = card_of(qtbot, call)
    card.fit(600)
    card.refresh()
    document = printed(card)
    assert document.toPlainText().replace("\u00a0", " ") == "a <b>  &amp;\nred\nstill plain"
    assert card._live.accessibleName() == "a <b>  &amp;\nred\nstill plain"
    err = QColor(theme().tokens.err).name()
    coloured = [found.position() for found in (document.find("red"), document.find("still"))]
    for position in coloured:
        cursor = QTextCursor(document)
        cursor.setPosition(position)
        assert cursor.charFormat().foreground().color().name() == err
    cursor = document.find("plain")
    assert cursor.charFormat().foreground().color().name() != err
    call.progress_text = "\x1b[32mone line\x1b[m"
    card.refresh()
    assert card._summary.text() == "one line"


def test_live_output_of_a_call_is_in_its_card(qtbot: QtBot) -> None:
    presentation = Presentation(
        title="Run a command", summary=CallText(text="Run “{command}”", params={"command": "make"})
    )
    call = Call("c", "run", status="running", presentation=presentation)
    card = card_of(qtbot, call)
    folded = card.fit(600)
    assert not card._live.isVisibleTo(card)
    call.progress, call.progress_text = 0, "\n".join(f"line {n} " + "x" * 500 for n in range(20))
    card.refresh()
    shown = card._live.text().split("\n")
    assert [line.split()[1] for line in shown] == [str(n) for n in range(12, 20)]
    assert all(card._live.fontMetrics().horizontalAdvance(line) <= 600 for line in shown)
    assert card._summary.text() == "“make”", "the command stays in the head"
    assert card.fit(600) > folded + 80
    call.status, call.progress_text = "ok", ""
    call.parts = (TextPart(title="Output", text="done"),)
    card.refresh()
    assert not card._live.isVisibleTo(card)
    i18n.set_language("fr")
    (view,) = views(card)
    refresh_texts()
    assert view.button.text() == "Sortie"


def test_output_of_a_command_is_coloured(qtbot: QtBot) -> None:
    part = TextPart(title="Output", text="ok\n\x1b[1;31mFAILED\x1b[0m test_é😀 \x1b[32mdone\x1b[0m\n", language="ansi")
    (view,) = views(card_of(qtbot, Call("c", "run_command", status="ok", parts=(part,))))
    QTest.mouseClick(view.button, Qt.MouseButton.LeftButton)
    body = view.body
    assert isinstance(body, CodeCard)
    assert body.code == "ok\nFAILED test_é😀 done\n", "what is copied has no sequences"
    text = child(body, QPlainTextEdit)
    qtbot.waitUntil(lambda: len(text.document().findBlockByNumber(1).layout().formats()) == 2)
    red, green = text.document().findBlockByNumber(1).layout().formats()
    tokens = theme().tokens
    assert (red.start, red.length, red.format.fontWeight()) == (0, 6, QFont.Weight.Bold)
    assert red.format.foreground().color().name() == QColor(tokens.err).name()
    assert (green.start, green.length) == (16, 4), "counted as Qt counts, in UTF-16"
    assert text.document().findBlockByNumber(0).layout().formats() == []


async def test_a_held_file_is_kept_or_discarded_from_the_card(qtbot: QtBot) -> None:
    engine = FakeAtelier()
    bridge = FakeBridge(engine)
    held_files = [
        HeldFile(id=id, workflow_id="w", at=datetime(2026, 11, 22, tzinfo=UTC), root="/p", path=f"{id}.md")
        for id in ("a", "b")
    ]
    engine.set("files", "held", held_files)
    engine.set("files", "held_diff", FileChange(action="created", path="a.md", diff="+Obey."))
    parts: tuple[ResultPart, ...] = tuple(HeldPart(id=each.id, path=each.path) for each in held_files)
    host = TranscriptHost()
    host.bridge = bridge
    frame = QWidget()
    qtbot.addWidget(frame)
    made = ResultParts(shown(parts), host, frame)
    made.height_changed.connect(lambda: made.fit(500))
    frame.show()
    await settle()
    first, second = made.findChildren(HeldView)
    closed = made.fit(500)
    assert first.row.name.text() == "Held for review: a.md"
    QTest.mouseClick(first.row.name, Qt.MouseButton.LeftButton)
    await settle()
    assert first.body is not None
    assert made.fit(500) > closed
    QTest.mouseClick(first.row.keep_button, Qt.MouseButton.LeftButton)
    await settle()
    assert engine.calls("files.accept_held") == [(("", "a"), {})]
    assert first.row.keep_button.isHidden()
    assert (first.row.name.text(), first.row.name.isEnabled(), first.row.name.toolTip()) == (
        "Kept: a.md",
        False,
        "a.md",
    )
    assert first.body is None, "no decision is left"
    assert not second.row.keep_button.isHidden()
    engine.set("files", "held", [])
    bridge.changed.emit("file", "w")
    await settle()
    assert second.row.keep_button.isHidden(), "it was answered elsewhere"
    assert second.row.name.text() == "No longer held: b.md"


async def test_a_long_path_leaves_room_for_keep_and_discard(qtbot: QtBot) -> None:
    engine = FakeAtelier()
    path = "packages/a-very-long-name-of-a-package/and-another-one/.github/workflows/release-of-everything.yml"
    frame = QWidget()
    qtbot.addWidget(frame)
    row = HeldRow(FakeBridge(engine), "w", "a", path, False, lambda _text: None, frame)
    row.setGeometry(0, 0, 360, row.heightForWidth(360))
    frame.resize(360, row.height())
    frame.show()
    await settle()
    assert row.rect().contains(row.discard.geometry())
    assert row.rect().contains(row.name.geometry())
    assert row.discard.width() >= row.discard.sizeHint().width()
    assert row.name.width() < row.name.sizeHint().width(), "the path gives way"
    assert row.name.text() == f"Held for review: {path}", "shortened when painted: no text is set in a size hint"
    assert row.name.accessibleName() == f"Held for review: {path}"
    assert row.name.toolTip().startswith(path)
