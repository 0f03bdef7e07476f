"""A window stays within a screen that becomes smaller."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QGuiApplication, QScreen

from atelier_desk.desktop.main_window.layout_saving import LayoutKeeper
from atelier_desk.desktop.widgets.cards_buttons_labels import fitted
from tests.desktop.main_window.window_with_runs import Program
from tests.helpers.fake_bridge import settle


@pytest.mark.parametrize(
    ("frame", "room", "expected"),
    [
        ((0, 0, 1600, 1000), (0, 0, 1280, 720), (0, 0, 1280, 720)),
        ((100, 50, 800, 600), (0, 0, 1280, 720), (100, 50, 800, 600)),
        ((600, 300, 800, 600), (0, 24, 1280, 696), (480, 120, 800, 600)),
        ((2000, 100, 800, 600), (1920, 0, 1280, 720), (2000, 100, 800, 600)),
        ((100, 100, 800, 600), (1920, 0, 1280, 720), (1920, 100, 800, 600)),
    ],
)
def test_a_window_is_moved_and_shrunk_only_as_needed(
    frame: tuple[int, ...], room: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert fitted(QRect(*frame), QRect(*room)) == QRect(*expected)


async def test_the_window_shrinks_with_its_screen(qtbot: object, monkeypatch: pytest.MonkeyPatch) -> None:
    program = await Program(qtbot).start()  # type: ignore[arg-type]
    window = program.window
    window.resize(1700, 1000)
    window.show()
    LayoutKeeper(window, lambda: None).start()
    screen = QGuiApplication.primaryScreen()
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _self: QRect(0, 0, 1280, 760))
    screen.availableGeometryChanged.emit(QRect(0, 0, 1280, 760))
    await settle()
    assert window.frameGeometry().width() <= 1280
    assert window.frameGeometry().height() <= 760
