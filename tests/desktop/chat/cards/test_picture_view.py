"""Images of results: enlarged, saved, copied, dragged out."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QDrag, QGuiApplication, QMouseEvent, QPixmap, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.picture_view import PictureDialog, PictureLabel, file_name
from atelier_desk.desktop.chat.compose.attachment_chips import encoded
from atelier_desk.domain.model_messages import ImagePart
from tests.helpers.child_widgets import child


@pytest.fixture
def label(qtbot: QtBot) -> PictureLabel:
    picture = QPixmap(120, 80)
    picture.fill(Qt.GlobalColor.red)
    frame = QWidget()
    qtbot.addWidget(frame)
    image = ImagePart(media_type="image/png", data=base64.b64encode(encoded(picture.toImage())).decode())
    made = PictureLabel("out/box iso.png", image, picture, frame)
    vars(made)["frame"] = frame  # kept alive with the picture
    return made


def test_an_image_is_enlarged_and_copied_by_keyboard(label: PictureLabel) -> None:
    QTest.keyClick(label, Qt.Key.Key_Return)
    dialog = label.window().findChild(PictureDialog)
    assert isinstance(dialog, PictureDialog)
    assert max(each.pixmap().width() for each in dialog.findChildren(QLabel) if not each.pixmap().isNull()) == 120
    dialog.close()
    label.copy()
    assert QGuiApplication.clipboard().pixmap().width() == 120


def test_a_large_picture_is_zoomed_by_buttons_keys_and_the_wheel(label: PictureLabel) -> None:
    label.open_large()
    dialog = label.window().findChild(PictureDialog)
    assert isinstance(dialog, PictureDialog)
    shown, percent = dialog.findChild(QLabel, "picture-large"), dialog.findChild(QPushButton, "picture-zoom-whole")
    larger, smaller = (child(dialog, QToolButton, f"picture-zoom-{each}") for each in ("in", "out"))
    assert shown is not None
    assert percent is not None
    assert (shown.width(), percent.text()) == (120, "100%")
    QTest.mouseClick(larger, Qt.MouseButton.LeftButton)
    QTest.keyClick(dialog, Qt.Key.Key_Plus)
    assert (shown.width(), shown.height(), percent.text()) == (188, 125, "156%")
    QTest.mouseClick(smaller, Qt.MouseButton.LeftButton)
    QTest.keyClick(dialog, Qt.Key.Key_Minus)
    QTest.keyClick(dialog, Qt.Key.Key_Minus)
    assert shown.width() == 96
    QTest.mouseClick(percent, Qt.MouseButton.LeftButton)
    assert shown.width() == 120
    viewport = shown.parentWidget()
    for turn in (120, 120, 0, -120, -120):
        wheel = QWheelEvent(
            QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, turn), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.ControlModifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        assert viewport is not None
        QGuiApplication.sendEvent(viewport, wheel)
    assert shown.width() == 120
    for factor, side in ((1e9, 960), (1e-9, 12)):
        dialog.zoom(factor)
        assert shown.width() == side, "within what can be read and painted"


def test_a_click_enlarges_an_image_once_and_a_drag_does_not(
    label: PictureLabel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened() -> int:
        return len(label.window().findChildren(PictureDialog))

    dragged: list[QDrag] = []
    monkeypatch.setattr(QDrag, "exec", lambda self, _action: dragged.append(self))
    label.resize(120, 80)
    QTest.mousePress(label, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    QTest.mouseMove(label, QPoint(90, 60))
    moved = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(90, 60), label.mapToGlobal(QPointF(90, 60)), Qt.MouseButton.NoButton,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QGuiApplication.sendEvent(label, moved)
    QTest.mouseRelease(label, Qt.MouseButton.LeftButton, pos=QPoint(90, 60))
    assert (len(dragged), opened()) == (1, 0)
    QTest.mouseClick(label, Qt.MouseButton.RightButton)
    assert opened() == 0
    QTest.mouseClick(label, Qt.MouseButton.LeftButton)
    QTest.mouseDClick(label, Qt.MouseButton.LeftButton)
    assert opened() == 1


def test_scrolling_between_press_and_release_is_a_click_not_a_drag(
    label: PictureLabel, monkeypatch: pytest.MonkeyPatch
) -> None:
    dragged: list[QDrag] = []
    monkeypatch.setattr(QDrag, "exec", lambda self, _action: dragged.append(self))
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    position = QPointF(300, 300)
    for kind, target, button, buttons in (
        (QEvent.Type.MouseButtonPress, QPointF(5, 5), left, left),
        (QEvent.Type.MouseMove, QPointF(5, 75), none, left),
        (QEvent.Type.MouseButtonRelease, QPointF(5, 75), left, none),
    ):
        QGuiApplication.sendEvent(
            label, QMouseEvent(kind, target, position, button, buttons, Qt.KeyboardModifier.NoModifier)
        )
    assert (dragged, len(label.window().findChildren(PictureDialog))) == ([], 1)


def test_an_image_is_saved_and_dragged_out_unchanged(label: PictureLabel, tmp_path: Path) -> None:
    label.write(tmp_path / "a.png")
    url = label.mime().urls()[0]
    assert (url.fileName(), Path(url.toLocalFile()).read_bytes()) == ("box-iso.png", (tmp_path / "a.png").read_bytes())
    assert [action.text() for action in label.menu().actions()] == ["Enlarge", "Save…", "Copy image"]


def test_a_full_disk_destroys_no_file_that_an_image_is_saved_over(
    label: PictureLabel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.png").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        label.write(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == b"old"


@pytest.mark.parametrize(("title", "name"), [("", "picture.png"), ("../../x", "x.png"), ("a/b c?.png", "b-c.png")])
def test_the_name_of_the_file_comes_from_the_title(title: str, name: str) -> None:
    assert file_name(title, "image/png") == name
