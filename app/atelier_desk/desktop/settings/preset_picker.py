"""Which model server to add: services and programs to search through, those that run on this machine first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QListWidget, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.panes.two_line import KeyRole, dress_list, two_line_item
from atelier_desk.desktop.settings.window import fitting
from atelier_desk.desktop.widgets import control, fill, label, say
from atelier_desk.desktop.widgets.matching import fits
from atelier_desk.i18n import N_, _
from atelier_desk.llm.presets import Preset, presets
from atelier_desk.llm.registry import find

if TYPE_CHECKING:
    from atelier_desk.llm.wire.detect import DetectedServer

SIZE = QSize(460, 520)
MOVES = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 6, Qt.Key.Key_PageUp: -6}


class PresetPicker(QDialog):
    """``preset-picker``, opened with ``open``. ``chosen(kind, name, url, example)``: what it is, its first name and address, and what an
    address looks like where it has none."""

    chosen = Signal(str, str, str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("preset-picker")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(fitting(SIZE, self))
        self._found: list[DetectedServer] = []
        self.field = control(QLineEdit(self), "preset-search", look="search", hint=N_("Search services and programs"))
        self.list = control(QListWidget(self), "preset-list", look="plain", name=N_("Services and programs"))
        dress_list(self.list)
        self.take = control(QPushButton(self), "preset-take", N_("Continue"), look="primary", on=self._take)
        cancel = control(QPushButton(self), "preset-cancel", N_("Cancel"), on=self.reject)
        foot = fill(QHBoxLayout(), 1, cancel, self.take, spacing=8)
        title = say(label("", "title", self), N_("Add a model server"))
        fill(QVBoxLayout(self), title, self.field, (self.list, 1), foot, margins=(20, 18, 20, 16), spacing=10)
        self.take.setDefault(True)
        self.field.textChanged.connect(lambda _text: self._fill())
        self.field.installEventFilter(self)
        self.list.itemDoubleClicked.connect(lambda _item: self._take())
        say(self, title=N_("Add a model server"))
        self._fill()
        self.field.setFocus()

    def show_found(self, servers: Iterable[DetectedServer]) -> None:
        """Servers that answer on this machine."""
        self._found = list(servers)
        self._fill()

    def _fill(self) -> None:
        needle = self.field.text()
        self.list.clear()
        self._rows: list[tuple[str, str, str, str]] = []
        for server in self._found:
            about = _("runs on this computer: {url}", url=server.base_url)
            self._add(needle, server.software, about, (server.kind, server.software, server.base_url, ""))
        named = [bool(preset.title) and fits(needle, preset.title) for preset in presets()]
        ranked = sorted(zip(presets(), named, strict=True), key=lambda each: not each[1])  # who serves it too stands below whose it is
        for preset, _named in ranked:
            row = (preset.kind, preset.title or _("Server"), preset.url, preset.example)
            title = preset.title or _("Another server")
            self._add(needle if preset.title else "", title, self._about(preset), row, preset.words)  # any other one is always there
        self.list.setCurrentRow(0)

    def _add(self, needle: str, title: str, about: str, row: tuple[str, str, str, str], words: str = "") -> None:
        if fits(needle, f"{title} {about} {words}"):
            entry = find(row[0])
            two_line_item(self.list, str(len(self._rows)), title, about, entry.icon if entry is not None else "server")
            self._rows.append(row)

    @staticmethod
    def _about(preset: Preset) -> str:
        if not preset.title:
            return _("Any OpenAI-compatible server, on this computer or elsewhere.")
        place = preset.keys.removeprefix("https://").partition("/")[0]
        return _("{needs} · get one at {place}", needs=_(preset.needs), place=place) if place else _(preset.needs)

    def _take(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            row = self._rows[int(item.data(KeyRole))]
            self.accept()
            self.chosen.emit(*row)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrows move in the list while the search has the focus."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() in MOVES:
            row = self.list.currentRow() + MOVES[Qt.Key(event.key())]
            self.list.setCurrentRow(min(max(0, row), self.list.count() - 1))
            return True
        return super().eventFilter(watched, event)
