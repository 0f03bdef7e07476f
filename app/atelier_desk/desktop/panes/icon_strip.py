"""The right column while all panes are closed: an icon per pane, with a count of its contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QToolBar

from atelier_desk.desktop.main_window.action_registry import registry_of
from atelier_desk.desktop.panes.registry import PaneEntry
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import IconButton, bind, bind_text, control
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import number

MAX_COUNT = 99
"""A larger count is shown as this number with a plus sign."""
WIDTH, MARGIN = 40, 4
"""Width in pixels at 100 %, and the pixels around the buttons at any text size, which the style sheet sets."""


class PaneStrip(QToolBar):
    """``pane-strip``, with a button ``open-NAME`` for each pane. A tool bar, which a main window lays out beside its
    docks.
    """

    def __init__(self, window: QMainWindow, entries: Iterable[PaneEntry], show_pane: Callable[[str], object]) -> None:
        super().__init__(window)
        control(self, "pane-strip", look="side", name=N_("Closed panes"))
        self.setMovable(False)
        self.toggleViewAction().setVisible(False)  # shown and hidden together with the panes
        self._buttons: dict[str, IconButton] = {}
        self._counts: dict[str, int] = {}
        for entry in entries:
            button = self._buttons[entry.name] = control(
                IconButton(entry.icon, parent=self), f"open-{entry.name}", look="strip"
            )
            button.clicked.connect(partial(self._open, show_pane, entry.name))
            button.describe(partial(self._tip, entry))
            self.addWidget(button)
        window.addToolBar(Qt.ToolBarArea.RightToolBarArea, self)
        bind(self._apply_style, on="look")

    def show_count(self, name: str, count: int, *, waits: bool) -> None:
        """Show how many items a pane has, and whether they wait for the user."""
        if (button := self._buttons.get(name)) is None:
            return
        self._counts[name] = count
        mark(button, "strip-warn" if waits and count else "strip")
        button.setText("" if not count else number(count) if count <= MAX_COUNT else f"{number(MAX_COUNT)}+")
        style = Qt.ToolButtonStyle.ToolButtonTextUnderIcon if count else Qt.ToolButtonStyle.ToolButtonIconOnly
        button.setToolButtonStyle(style)
        bind_text(button)

    @staticmethod
    def _open(show_pane: Callable[[str], object], name: str, _on: bool = False) -> None:
        show_pane(name)

    def _tip(self, entry: PaneEntry) -> str:
        count = self._counts.get(entry.name, 0)
        return _("{name}: {text}", name=_(entry.title), text=number(count)) if count else _(entry.title)

    def _apply_style(self) -> None:
        self.setFixedWidth(theme().px(WIDTH))
        for button in self._buttons.values():
            button.setFixedWidth(theme().px(WIDTH) - 2 * MARGIN)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer "keep closed" on the buttons that open the panes."""
        event.accept()
        registry = registry_of(self)
        if registry is None:
            return
        menu = QMenu(self)
        menu.setObjectName("pane-strip-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(registry["keep-panes-closed"])
        menu.popup(event.globalPos())
