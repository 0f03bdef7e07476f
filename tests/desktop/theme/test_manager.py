"""The current theme: mode, scale, style sheet, fonts, check boxes, icons."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtGui import QColor, QFontInfo, QGuiApplication, QIcon
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialogButtonBox,
    QProxyStyle,
    QPushButton,
    QRadioButton,
    QStyle,
    QStyleOptionButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import DARK, LIGHT, mark, theme
from atelier_desk.desktop.theme.design_tokens import contrast
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.theme.resource_paths_and_fonts import load_fonts, resource_dir
from atelier_desk.desktop.widgets.rounded_popups import round_popup


def test_mode_switches_tokens_palette_and_sheet_and_notifies(qtbot: QtBot) -> None:
    with qtbot.waitSignal(theme().changed):
        theme().set_mode("dark")
    assert theme().tokens is DARK
    assert QApplication.palette().window().color() == QColor(DARK.bg)
    assert DARK.surface in QApplication.instance().styleSheet()  # type: ignore[union-attr]


@pytest.mark.parametrize(("asked", "expected"), [(10, 0.8), (80, 0.8), (125, 1.25), (200, 2.0), (999, 2.0)])
def test_scale_is_limited_to_its_bounds(asked: int, expected: float) -> None:
    theme().set_scale(asked)
    assert theme().scale == expected
    assert theme().font(14).pixelSize() == round(14 * expected)


def test_style_sheet_has_no_open_placeholder_and_its_files_exist() -> None:
    sheet = theme().style_sheet()
    assert "${" not in sheet
    for path in re.findall(r'url\("([^"]+)"\)', sheet):
        assert Path(path).is_file(), path


class PictureStyle(QProxyStyle):
    """A platform style with icons on dialog buttons, as in Qt without a desktop's settings."""

    def styleHint(self, hint: QStyle.StyleHint, option: Any = None, widget: Any = None, returned: Any = None) -> int:
        if hint == QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons:
            return 1
        return super().styleHint(hint, option, widget, returned)


def test_buttons_of_dialogs_have_no_icons_of_the_platform(qtbot: QtBot) -> None:
    frame, style = QWidget(), PictureStyle("Fusion")
    qtbot.addWidget(frame)
    box = QDialogButtonBox(frame)
    box.setStyle(style)
    box.ensurePolished()
    cancel = box.addButton(QDialogButtonBox.StandardButton.Cancel)
    assert box.style().styleHint(QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons, None, box) == 0
    assert cancel.icon().isNull()


def test_bundled_fonts_are_used_and_licensed() -> None:
    assert {"Inter", "JetBrains Mono"} <= set(load_fonts())
    assert QFontInfo(theme().font(14)).family() == "Inter"
    assert QFontInfo(theme().font(13, mono=True)).family() == "JetBrains Mono"
    names = {path.name for path in (resource_dir() / "licenses").iterdir()}
    assert {"inter-OFL.txt", "jetbrains-mono-OFL.txt", "lucide-ISC.txt"} <= names


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_check_box_indicator_is_drawn_in_the_theme(qtbot: QtBot, tokens: object) -> None:
    theme().set_mode(tokens.name)  # type: ignore[attr-defined]
    box = QCheckBox("x")
    qtbot.addWidget(box)
    box.show()
    option = QStyleOptionButton()
    box.initStyleOption(option)
    rect = box.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, box)

    def middle() -> QColor:
        return QColor(box.grab().toImage().pixel(rect.center().x(), rect.top() + 3))

    assert middle() == QColor(theme().tokens.surface)
    box.setChecked(True)
    assert middle() == QColor(theme().tokens.accent)


@pytest.mark.parametrize("scale", [80, 100, 125, 150, 175, 200])
def test_a_radio_button_grows_with_the_text_and_stays_round(qtbot: QtBot, scale: int) -> None:
    theme().set_scale(scale)
    radio = QRadioButton("x")
    qtbot.addWidget(radio)
    radio.setChecked(True)
    radio.show()
    option = QStyleOptionButton()
    radio.initStyleOption(option)
    rect = radio.style().subElementRect(QStyle.SubElement.SE_RadioButtonIndicator, option, radio)
    assert rect.width() == rect.height() == theme().px(16) + 2
    image = radio.grab().toImage()
    assert QColor(image.pixel(rect.topLeft())) != QColor(theme().tokens.accent)
    assert QColor(image.pixel(rect.center().x(), rect.top() + 2)) == QColor(theme().tokens.accent)


def test_mark_restyles_a_visible_widget(qtbot: QtBot) -> None:
    button = QPushButton("x")
    qtbot.addWidget(button)
    button.show()
    before = button.grab().toImage()
    mark(button, "primary")
    assert button.grab().toImage() != before


def test_every_icon_named_in_the_code_is_bundled() -> None:
    sources = Path(__file__).resolve().parents[3] / "app" / "atelier_desk" / "desktop"
    bundled = {path.stem for path in (resource_dir() / "icons").glob("*.svg")}
    pattern = re.compile(r'(?:icon\(|pixmap\(|IconButton\(|EmptyState\(|icon=)\s*"([a-z0-9-]+)"')
    lines = (
        line
        for path in sources.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "``" not in line
    )
    named = {name for line in lines for name in pattern.findall(line)}
    assert named
    assert named <= bundled, named - bundled


def test_icon_is_tinted() -> None:
    image = theme().pixmap("square", "err", 24).toImage()
    colours = {
        image.pixelColor(x, y).name().upper()
        for x in range(24)
        for y in range(24)
        if image.pixelColor(x, y).alpha() == 255
    }
    assert colours == {theme().tokens.err}


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("role", ["muted", "on_accent"])
def test_a_disabled_icon_is_fainter_than_one_that_can_be_used(mode: str, role: Role) -> None:
    """Qt's own grey was as bright as the rest in the dark theme: disabled buttons looked enabled."""
    current = theme()
    current.set_mode(mode)  # type: ignore[arg-type]
    image = current.icon("square", role, 24).pixmap(QSize(24, 24), 1.0, QIcon.Mode.Disabled).toImage()
    solid = [image.pixelColor(x, y) for x in range(24) for y in range(24) if image.pixelColor(x, y).alpha() == 255]
    assert len({colour.name() for colour in solid}) == 1, "no shine"
    faded = solid[0].name().upper()
    assert 1.5 < contrast(faded, current.tokens.bg) < contrast(current.tokens.muted, current.tokens.bg) * 0.6


def nested(depth: int) -> tuple[QWidget, QPushButton]:
    """A button inside this many nested widgets."""
    outermost = inner = QWidget()
    for _level in range(depth):
        layout = QVBoxLayout(inner)
        inner = QWidget(inner)
        layout.addWidget(inner)
    return outermost, QPushButton("x", inner)


@pytest.mark.parametrize(
    "change", [lambda: theme().set_mode("dark"), lambda: theme().set_scale(130)], ids=["theme", "size"]
)
def test_a_widget_is_restyled_as_often_at_any_depth(qtbot: QtBot, change: Callable[[], None]) -> None:
    class Counter(QObject):
        seen = 0

        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
            self.seen += event.type() == QEvent.Type.StyleChange
            return False

    counters = []
    for depth in (1, 12):
        outermost, button = nested(depth)
        qtbot.addWidget(outermost)
        outermost.show()
        counters.append(counter := Counter(button))
        button.installEventFilter(counter)
    change()
    shallow, deep = (counter.seen for counter in counters)
    assert 0 < deep <= shallow + 2  # updated once per ancestor it would be ten more


def test_changing_theme_or_size_back_gives_the_same_picture(qtbot: QtBot) -> None:
    outermost, button = nested(3)
    qtbot.addWidget(outermost)
    mark(button, "primary")
    outermost.show()
    before = outermost.grab().toImage()
    theme().set_mode("dark")
    assert outermost.grab().toImage() != before
    theme().set_scale(150)
    theme().set_mode("light")
    theme().set_scale(100)
    assert outermost.grab().toImage() == before


def test_popups_are_square_on_wayland_which_paints_transparent_corners_black(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    popup = QWidget()
    qtbot.addWidget(popup)
    popup.resize(100, 50)
    assert "QMenu { background" in theme().style_sheet()
    assert "border-radius: 10px; padding: 4px; }" in theme().style_sheet()
    monkeypatch.setattr(QGuiApplication, "platformName", staticmethod(lambda: "wayland"))
    assert "border-radius: 0; padding: 4px; }" in theme().style_sheet()
    round_popup(popup)
    assert popup.mask().isEmpty()
