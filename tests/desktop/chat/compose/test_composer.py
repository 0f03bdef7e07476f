"""Composing: Enter, Shift+Enter, growing, images, and what happens while the agent runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.attachment_chips import Item, opened
from atelier_desk.desktop.chat.compose.composer import MAX_LENGTH, Composer
from atelier_desk.desktop.chat.compose.message_field import LONG
from atelier_desk.engine.attachments.reading import text_file
from atelier_desk.presentation.permission_profiles import PROFILES
from tests.helpers.sample_images import png


@pytest.fixture
def composer(qtbot: QtBot) -> Composer:
    made = Composer()
    qtbot.addWidget(made)
    made.resize(600, 200)
    made.show()
    return made


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.green)
    path = tmp_path / "green.png"
    image.save(str(path))
    return path


def test_enter_sends_and_shift_enter_breaks_the_line(composer: Composer) -> None:
    sent: list[Any] = []
    composer.sent.connect(lambda *args: sent.append(args))
    QTest.keyClicks(composer.field, "one")
    QTest.keyClick(composer.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.field, "two")
    assert sent == []
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert sent == [("one\ntwo", [], "queue")]
    assert composer.field.toPlainText() == ""


def test_an_empty_message_is_not_sent(composer: Composer) -> None:
    sent: list[Any] = []
    composer.sent.connect(lambda *args: sent.append(args))
    composer.field.setPlainText("   \n ")
    composer.submit()
    composer.field.setPlainText("x" * (MAX_LENGTH + 1))
    assert not composer.send.isEnabled()
    composer.submit()
    composer.set_enabled(False)
    composer.field.setPlainText("ok")
    composer.submit()
    assert sent == []
    assert composer.field.toPlainText() == "ok"


def test_field_grows_to_ten_lines_and_no_further(composer: Composer) -> None:
    one = composer.field.height()
    composer.field.setPlainText("\n".join("abcd"))
    four = composer.field.height()
    composer.field.setPlainText("\n" * 40)
    most = composer.field.height()
    assert one < four < most
    line = composer.field.fontMetrics().lineSpacing()
    assert most - one == 9 * line


def test_while_the_agent_works_stop_and_a_send_strategy_are_shown(qtbot: QtBot, composer: Composer) -> None:
    assert composer.stop.isHidden()
    composer.set_running(True)
    assert not composer.stop.isHidden()
    assert not composer.strategies.isHidden()
    with qtbot.waitSignal(composer.stopped):
        QTest.mouseClick(composer.stop, Qt.MouseButton.LeftButton)
    composer.strategies.chosen.emit("redirect")
    composer.field.setPlainText("wait")
    with qtbot.waitSignal(composer.sent) as signal:
        composer.submit()
    assert signal.args[2] == "redirect"
    composer.set_running(False)
    composer.field.setPlainText("go")
    with qtbot.waitSignal(composer.sent) as signal:
        composer.submit()
    assert signal.args[2] == "queue"


def test_stop_is_an_icon_where_the_texts_beside_it_would_be_cut(qtbot: QtBot, composer: Composer) -> None:
    composer.profiles.show_profile(PROFILES[1])
    composer.set_running(True)
    parts = (composer.profiles, composer.strategies, composer.stop)

    def shows(caption: str) -> bool:
        return [each.text() for each in parts] == ["Ask ▾", "Queue ▾", caption]

    for width, caption in ((600, " Stop"), (350, ""), (600, " Stop")):
        composer.resize(width, 200)
        qtbot.waitUntil(partial(shows, caption))
        assert composer.stop.toolTip() == composer.stop.accessibleName() == "Stop the agent"


def test_pasted_files_pictures_and_long_texts_are_attached_and_short_texts_inserted(
    composer: Composer, picture: Path
) -> None:
    files: list[Any] = []
    pictures: list[Any] = []
    texts: list[str] = []
    composer.files_given.connect(files.append)
    composer.pictures_given.connect(pictures.append)
    composer.text_given.connect(texts.append)
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(picture)), QUrl("https://example.org/a.png")])
    assert composer.field.canInsertFromMimeData(mime)
    composer.field.insertFromMimeData(mime)
    assert files == [[str(picture)]]
    mime = QMimeData()
    mime.setImageData(QImage(str(picture)))
    composer.field.insertFromMimeData(mime)
    assert [image.width() for image in pictures[0]] == [40]
    for text in ("short", "x" * (LONG + 1)):
        mime = QMimeData()
        mime.setText(text)
        composer.field.insertFromMimeData(mime)
    assert [len(text) for text in texts] == [LONG + 1]
    assert composer.field.toPlainText() == "short"


def test_a_composer_without_attachments_takes_no_files(qtbot: QtBot, picture: Path) -> None:
    composer = Composer(pictures=False)
    qtbot.addWidget(composer)
    mime = QMimeData()
    mime.setImageData(QImage(str(picture)))
    assert not composer.field.canInsertFromMimeData(mime)


def test_attachment_chips_are_shown_removed_by_mouse_and_keyboard_and_sent(qtbot: QtBot, composer: Composer) -> None:
    row, items = (
        composer.attachments,
        [Item(name, text_file(name, name, "file")) for name in ("a.txt", "b.txt", "c.txt")],
    )
    for item in items:
        row.add(item)
    assert not row.isHidden()
    assert row.chips[0].facts.text() == "5 bytes"
    row.chips[0].remove.click()
    row.chips[1].setFocus()
    QTest.keyClick(row.chips[1], Qt.Key.Key_Left)
    assert row.chips[0].hasFocus()
    with qtbot.waitSignal(row.opened) as signal:
        QTest.keyClick(row.chips[0], Qt.Key.Key_Return)
    assert signal.args == [items[1]]
    QTest.keyClick(row.chips[0], Qt.Key.Key_Delete)
    assert [chip.hasFocus() for chip in row.chips] == [True]
    with qtbot.waitSignal(composer.sent) as signal:
        QTest.mouseClick(composer.send, Qt.MouseButton.LeftButton)
    assert signal.args[0] == ""
    assert [item.name for item in signal.args[1]] == ["c.txt"]
    assert row.isHidden()


def test_nothing_is_sent_while_a_file_is_read(composer: Composer) -> None:
    composer.field.setPlainText("Look")
    item = Item("large.pdf")
    composer.attachments.add(item)
    assert not composer.send.isEnabled()
    assert composer.attachments.chips[0].facts.text() == "reading…"
    item.what = text_file("large.pdf", "x")
    composer.attachments.refresh(item)
    assert composer.send.isEnabled()


def test_a_picture_with_gigantic_dimensions_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "bomb.png").write_bytes(png(claims=(50_000, 50_000)))
    assert opened(tmp_path / "bomb.png").isNull()
    assert opened(b"no picture").isNull()


def test_a_quote_is_appended_to_the_draft(composer: Composer) -> None:
    composer.set_draft("About this:")
    composer.quote("a\nb")
    assert composer.field.toPlainText() == "About this:\n\n> a\n> b\n\n"


def test_setting_a_draft_is_not_a_change(composer: Composer) -> None:
    changes: list[str] = []
    composer.draft_changed.connect(changes.append)
    composer.set_draft("kept")
    assert changes == []
    composer.field.insertPlainText("!")
    assert changes == ["kept!"]


def test_the_placeholder_is_one_line(qtbot: QtBot) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    composer.set_agent("An agent with quite a long name")
    composer.resize(800, 100)
    composer.show()
    qtbot.waitUntil(lambda: "Shift+Enter" in composer.field.placeholderText())
    composer.resize(360, 100)
    qtbot.waitUntil(lambda: composer.field.placeholderText() == "Message An agent with quite a long name…")
    composer.resize(900, 120)
    qtbot.waitUntil(lambda: "Shift+Enter" in composer.field.placeholderText())
    # Widgets beside the field are laid out later than the composer.
    composer.field.setFixedWidth(200)
    qtbot.waitUntil(lambda: "Shift+Enter" not in composer.field.placeholderText(), timeout=2_000)
