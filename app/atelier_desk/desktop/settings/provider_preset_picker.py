"""The picker of a model server to add: searchable services and programs, running ones first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.widgets import bind_text, control, fit_window, hbox, label, vbox
from atelier_desk.desktop.widgets.list_rows import ListRow
from atelier_desk.desktop.widgets.search_result_list import SearchList
from atelier_desk.desktop.widgets.text_matching import fits
from atelier_desk.llm.provider_presets import Preset, presets
from atelier_desk.llm.provider_type_registry import find
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.llm.network.local_server_detection import DetectedServer

SIZE = QSize(460, 520)


class PresetPicker(QDialog):
    """``preset-picker``, opened with ``open``.

    ``chosen(kind, name, url, example)``: kind, default name and address, and an example of an address if it has none.
    """

    chosen = Signal(str, str, str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("preset-picker")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fit_window(self, SIZE)
        self._found: list[DetectedServer] = []
        self.field = control(QLineEdit(self), "preset-search", look="search", hint=N_("Search services and programs"))
        self.list = bind_text(
            SearchList(self, "preset", self.field, nothing=None, by_click=False, tab=True, pad=6),
            name=N_("Services and programs"),
        )
        self.list.chosen.connect(self._choose_row)
        self.continue_button = control(
            QPushButton(self), "preset-take", N_("Continue"), look="primary", on=self.list.choose
        )
        cancel = control(QPushButton(self), "preset-cancel", N_("Cancel"), on=self.reject)
        foot = hbox(None, 1, cancel, self.continue_button, spacing=8)
        title = bind_text(label("", "title", self), N_("Add a provider"))
        vbox(self, title, self.field, (self.list, 1), foot, margins=(20, 18, 20, 16), spacing=10)
        self.continue_button.setDefault(True)
        self.field.textChanged.connect(lambda _text: self._fill())
        bind_text(self, title=N_("Add a provider"))
        self._fill()
        self.field.setFocus()

    def show_found(self, servers: Iterable[DetectedServer]) -> None:
        """Show servers running on this machine."""
        self._found = list(servers)
        self._fill()

    def _fill(self) -> None:
        needle = self.field.text()
        rows: list[tuple[str, str, str, tuple[str, str, str, str]]] = []
        for server in self._found:
            about = _("runs on this computer: {url}", url=server.base_url)
            rows.append((server.software, about, "", (server.kind, server.software, server.base_url, "")))
        named = [bool(preset.title) and fits(needle, preset.title) for preset in presets()]
        # Matches in the description come after matches in the name.
        ranked = sorted(zip(presets(), named, strict=True), key=lambda each: not each[1])
        for preset, _named in ranked:
            value = (preset.kind, preset.title or _("Server"), preset.url, preset.example)
            words = preset.words if preset.title else f"{preset.words} {needle}"  # custom servers are always included
            rows.append((preset.title or _("Other address"), self._about(preset), words, value))
        self.list.fill([("", (self._line(*row) for row in rows if fits(needle, " ".join(row[:3]))))])

    @staticmethod
    def _line(
        title: str, about: str, _words: str, value: tuple[str, str, str, str]
    ) -> tuple[ListRow, tuple[str, str, str, str]]:
        entry = find(value[0])
        return ListRow(title, facts=about, icon=entry.icon if entry is not None else "server"), value

    @staticmethod
    def _about(preset: Preset) -> str:
        if not preset.title:
            return _("Any OpenAI-compatible server, on this computer or elsewhere.")
        place = preset.keys.removeprefix("https://").partition("/")[0]
        return _("{needs} · get one at {place}", needs=_(preset.needs), place=place) if place else _(preset.needs)

    def _choose_row(self, row: tuple[str, str, str, str]) -> None:
        self.accept()
        self.chosen.emit(*row)
