"""Writing: Enter, Shift+Enter, growing, pictures, and what happens while the agent works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer import MAX_LENGTH, Composer


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


def test_enter_sends_and_shift_enter_breaks_the_line(qtbot: QtBot, composer: Composer) -> None:
    sent: list[Any] = []
    composer.sent.connect(lambda *args: sent.append(args))
    qtbot.keyClicks(composer.field, "one")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(composer.field, "two")
    assert sent == []
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert sent == [("one\ntwo", [], "queue")]
    assert composer.field.toPlainText() == ""


def test_nothing_is_not_sent(qtbot: QtBot, composer: Composer) -> None:
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


def test_while_the_agent_works_there_is_stop_and_a_strategy(qtbot: QtBot, composer: Composer) -> None:
    assert composer.stop.isHidden()
    composer.set_running(True)
    assert not composer.stop.isHidden()
    assert not composer.strategies.isHidden()
    with qtbot.waitSignal(composer.stopped):
        qtbot.mouseClick(composer.stop, Qt.MouseButton.LeftButton)
    composer.strategies.chosen.emit("redirect")
    composer.field.setPlainText("wait")
    with qtbot.waitSignal(composer.sent) as told:
        composer.submit()
    assert told.args[2] == "redirect"
    composer.set_running(False)
    composer.field.setPlainText("go")
    with qtbot.waitSignal(composer.sent) as told:
        composer.submit()
    assert told.args[2] == "queue"


def test_pictures_are_pasted_shown_removed_and_sent(qtbot: QtBot, composer: Composer, picture: Path) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(picture)), QUrl.fromLocalFile(str(picture.with_name("no.txt")))])
    assert composer.field.canInsertFromMimeData(mime)
    composer.field.insertFromMimeData(mime)
    composer.field.insertFromMimeData(mime)
    assert len(composer.attachments.images) == 2
    assert not composer.attachments.isHidden()
    composer.attachments._thumbnails[0].remove.click()
    assert len(composer.attachments.images) == 1
    with qtbot.waitSignal(composer.sent) as told:
        qtbot.mouseClick(composer.send, Qt.MouseButton.LeftButton)
    assert told.args[0] == ""
    assert [image.width() for image in told.args[1]] == [40]
    assert composer.attachments.isHidden()


def test_quote_goes_after_the_draft(composer: Composer) -> None:
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
    qtbot.waitUntil(lambda: composer.field.placeholderText() == "Write to An agent with quite a long name…")
