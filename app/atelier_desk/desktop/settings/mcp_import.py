"""Import MCP servers from pasted text, a file, or other programs on this machine; each is shown before it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QDialog, QListWidget, QPushButton, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list, two_line_item
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control, fit_window, hbox, label, vbox
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.presentation import mcp_server_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.mcp.config_import.found_server import FoundServer

KINDS = N_("MCP servers (*.json *.jsonc *.toml *.yaml *.yml *.mcpb *.dxt)")


class McpImportDialog(QDialog):
    """``mcp-import``: a text field, the servers found, and the selected one.

    Signals:
        pasted: the text changed.
        file_requested: a file was chosen.
        search_requested: search the configuration of other programs on this machine.
        chosen: fill the form with this server.
    """

    pasted = Signal(str)
    file_requested = Signal(str)
    search_requested = Signal()
    chosen = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("mcp-import")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(_("Add an MCP server"))
        self._found: list[tuple[str, FoundServer]] = []
        about = label(
            _(
                "Paste a server's configuration: JSON from any program, a server.json file, an install link, an "
                "address or a command."),
            "muted", self, wrap=True,
        )  # fmt: skip
        self.text = control(TextField(self), "mcp-import-text", look="mono", name=N_("Configuration"))
        self.text.setTabChangesFocus(True)
        bind(self.text.setMinimumHeight, lambda: theme().px(120), on="look")
        self.text.textChanged.connect(lambda: self.pasted.emit(self.text.toPlainText()))
        self.file = control(QPushButton(self), "mcp-import-file", N_("From a file…"), look="ghost", on=self._pick)
        self.search = control(
            QPushButton(self),
            "mcp-import-search",
            N_("Search this computer"),
            look="ghost",
            on=self.search_requested.emit,
        )
        self.list = control(QListWidget(self), "mcp-import-list", look="plain", name=N_("Servers found"))
        style_list(self.list)
        self.list.currentRowChanged.connect(self._show)
        self.preview = control(label("", "mono", self, wrap=True), "mcp-import-preview")
        self.preview.setTextFormat(Qt.TextFormat.PlainText)
        self.preview.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.problem = control(label("", "error", self, wrap=True), "mcp-import-problem")
        self.by_hand = control(
            QPushButton(self), "mcp-import-by-hand", N_("Enter manually"), on=lambda: self.chosen.emit(-1)
        )
        self.continue_button = control(
            QPushButton(self), "mcp-import-take", N_("Continue"), look="primary", on=self._choose_current
        )
        cancel = control(QPushButton(self), "mcp-import-cancel", N_("Cancel"), look="ghost", on=self.reject)
        vbox(self, about, (self.text, 1), hbox(None, self.file, self.search, 1, spacing=8),
            (self.list, 1),
            self.preview, self.problem, hbox(None, self.by_hand, 1, cancel, self.continue_button, spacing=8),
            margins=(24, 20, 24, 20), spacing=10,
        )  # fmt: skip
        fit_window(self, QSize(640, 560))
        self.show_found([])

    def show_found(self, found: Sequence[tuple[str, FoundServer]], problem: str = "") -> None:
        """Show the servers found, each with its source; or why none could be read."""
        self._found = list(found)
        self.list.clear()
        for number, (where, each) in enumerate(self._found):
            place = each.config.place if each.config is not None else ""
            two_line_item(self.list, str(number), each.name, " · ".join(filter(None, (where, place))), "plug")
        self.list.setVisible(bool(self._found))
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.list.setCurrentRow(0 if self._found else -1)
        self._show(self.list.currentRow())

    def _show(self, row: int) -> None:
        each = self._found[row][1] if 0 <= row < len(self._found) else None
        self.continue_button.setEnabled(each is not None and each.config is not None)
        lines: list[str] = []
        if each is not None and each.config is not None:
            hidden = _("(secret)")
            lines.append(visible(each.config.place))
            asked, given = {ask.name for ask in each.open}, {**each.config.env, **each.config.headers}
            lines += [f"{name} = {visible(text) or hidden}" for name, text in given.items() if name not in asked]
            lines += [mcp_server_text.needed_value(ask.name, ask.told) for ask in each.open]
            lines += [f"⚠ {warning.localized(_)}" for warning in each.warnings]
        elif each is not None and each.problem is not None:
            lines.append(each.problem.localized(_))
        self.preview.setText("\n".join(lines))
        self.preview.setVisible(bool(lines))

    def _choose_current(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            self.chosen.emit(int(item.data(KeyRole)))

    def _pick(self) -> None:
        ask_open(self, _("Import MCP servers"), _(KINDS), lambda path: self.file_requested.emit(str(path)))
