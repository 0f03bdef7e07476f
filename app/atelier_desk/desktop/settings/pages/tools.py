"""Tools: the user's tool files with their confirmation, and a reference of all tools."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.file_dialogs.opening import open_path
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.tool_reference import ToolList
from atelier_desk.desktop.settings.user_tool_files import ReviewDialog, RightsWarning, ToolFileRow
from atelier_desk.desktop.widgets import fill
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.own_tools import OwnToolFile, OwnToolSource

EXAMPLE = '''from atelier_desk.tools.custom import tool


@tool
def word_count(text: str, minimum: int = 1) -> dict:
    """Counts the words of a text. Use it when a length matters."""
    words = [word for word in text.split() if len(word) >= minimum]
    return {"words": len(words)}
'''


@settings_page("tools", order=41, icon="wrench", title=N_("Tools"), part_of="approvals")
class ToolsPage(SettingsPage):
    """Folder, warning, files and an example; below, every tool by section."""

    topics = ("tool",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._folder: Path | None = None
        self.dialog: ReviewDialog | None = None
        own = self.section(N_("Your own tools"))
        self.open = self.button("own-tools-open", N_("Open"), self._open_folder)
        self._folder_row = self.row(own, self.open, N_("Tools folder"), lambda: str(self._folder or ""))
        self._list = RowList(own)
        fill(own.body, RightsWarning(own), self._list)
        self.empty = self.add_text(
            own, N_("No Python files in the folder yet. Save one there, then rescan."), "own-tools-empty"
        )
        self.again = self.button(
            "own-tools-reload", N_("Rescan"), lambda: self.call(self.bridge.engine.own_tools.reload())
        )
        self.button_row(own, self.again)
        self._list.before, self._list.after = self.open, [self.again]
        self._build_example()
        self.tools = ToolList(self)
        self.section(N_("All tools"), self.tools)
        self.end()

    def _build_example(self) -> None:
        about = N_(
            "Save it in the tools folder with a name ending in .py. The docstrings are what models read. Each "
            "call runs in its own process, which you can stop."
        )
        card = self.section(N_("Example"), about=about)
        self.example = self.add_read_only(card, "own-tools-example", N_("Example of a tool file"))
        self.example.setPlainText(EXAMPLE.rstrip())
        self.copy = self.button(
            "own-tools-copy", N_("Copy"), lambda: self.copy_text(EXAMPLE), name=N_("Copy the example")
        )
        self.button_row(card, self.copy)

    async def load(self) -> None:
        self._folder = (await self.bridge.engine.data.folders()).tools
        self._folder_row.set_texts(N_("Tools folder"), lambda: str(self._folder))
        files: list[OwnToolFile] = await self.bridge.engine.own_tools.list()
        self._show_files(tuple(files))
        self.tools.show_tools(await self.bridge.engine.tools.list())

    def _show_files(self, files: tuple[OwnToolFile, ...]) -> None:
        self._list.show_rows(
            files, lambda: [ToolFileRow(each, self._review, self._revoke, self._list) for each in files]
        )
        self.empty.setVisible(not files)

    def _review(self, name: str) -> None:
        async def job() -> None:
            source: OwnToolSource = await self.bridge.engine.own_tools.read(name)
            files: list[OwnToolFile] = await self.bridge.engine.own_tools.list()
            file = next((each for each in files if each.file == name), None)
            if file is not None:
                self._open_dialog(file, source)

        self.jobs.start(job(), "review")

    def _open_dialog(self, file: OwnToolFile, source: OwnToolSource) -> None:
        dialog = ReviewDialog(file, source, self)
        dialog.confirm_asked.connect(
            lambda: self._answer(dialog, lambda: self.bridge.engine.own_tools.confirm(source.file, source.sha256))
        )
        dialog.revoke_asked.connect(
            lambda: self._answer(dialog, lambda: self.bridge.engine.own_tools.revoke(source.file))
        )
        self.dialog = dialog
        dialog.finished.connect(self._closed)
        dialog.open()

    def _closed(self) -> None:
        self.dialog = None

    def _answer(self, dialog: ReviewDialog, work: Callable[[], Coroutine[object, None, object]]) -> None:
        async def job() -> None:
            try:
                await work()
            except Exception as error:
                if self.dialog is dialog:
                    dialog.show_error(error_text(error))
                else:
                    self.show_error(error_text(error))
            else:
                if self.dialog is dialog:
                    dialog.accept()
            await self.load()

        self.jobs.once(dialog, job)

    def _revoke(self, name: str) -> None:
        self.call(self.bridge.engine.own_tools.revoke(name))

    def _open_folder(self) -> None:
        if self._folder is not None:
            open_path(toasts_of(self), self._folder)

    def _restyle(self) -> None:
        super()._restyle()
        self._fit_example()

    def showEvent(self, event: Any) -> None:
        super().showEvent(event)
        self._fit_example()

    def _fit_example(self) -> None:
        """Fit the height to its lines: nested scrolling is hard to read."""
        document = self.example.document()
        line = self.example.blockBoundingRect(document.firstBlock()).height()
        around = 2 * document.documentMargin() + 16 + self.example.horizontalScrollBar().sizeHint().height()
        self.example.setFixedHeight(math.ceil(line * document.blockCount() + around))
