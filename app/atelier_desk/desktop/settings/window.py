"""The settings window: the pages on the left with a search over all of them, the chosen page on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QListWidgetItem, QStackedWidget, QVBoxLayout, QWidget

from atelier_desk.desktop.panes.wording import locale
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import pages
from atelier_desk.desktop.soon import Soon
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Line, control, fill, label, say
from atelier_desk.desktop.widgets.enter import EnterPresses
from atelier_desk.desktop.widgets.inputs import SearchField
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

SIZE = QSize(940, 680)
SIDE = 210
"""Narrowest the list of pages is, in logical pixels at 100 %."""
AROUND = 54
"""What margins, padding and the gap after the icon take of its width, in pixels."""


def fitting(size: QSize, widget: QWidget) -> QSize:
    """A size that grows with the text, but not over the screen."""
    room = widget.screen().availableSize()
    return QSize(theme().px(size.width()), theme().px(size.height())).boundedTo(room * 0.95)


class SettingsWindow(QWidget):
    """``settings-window``. Pages are built when they are first shown, or searched. ``closed`` is emitted when it goes away."""

    closed = Signal()
    place_wanted = Signal(str, str, str, str)
    """See ``SettingsPage.place_wanted``."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.bridge = bridge
        self.setObjectName("settings-window")
        EnterPresses(self)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        mark(self, "surface")
        self.resize(fitting(SIZE, self))
        self.setMinimumSize(560, 420)
        self._entries = pages()
        self._pages: dict[str, SettingsPage] = {}
        self._stack = QStackedWidget(self)
        fill(QHBoxLayout(self), self._build_side(), Line(self, vertical=True), (self._stack, 1), margins=(0, 0, 0, 0), spacing=0)
        close = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        close.activated.connect(self._escape)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(self._focus_search)
        theme().changed.connect(self._dress)
        self._dress()
        say(self, title=N_("Settings"))
        self.show_page(self._entries[0].name)

    def _build_side(self) -> QWidget:
        self._side = control(QWidget(self), look="side")
        self._side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.search = control(SearchField(self._side), "settings-search", hint=N_("Search settings"))
        self.search.setClearButtonEnabled(True)
        self.list = control(QListWidget(self._side), "settings-pages", look="plain", name=N_("Pages"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.nothing = control(label("", "small", self._side, wrap=True), "", N_("No matching settings."))
        self.nothing.hide()
        fill(QVBoxLayout(self._side), self.search, self.nothing, (self.list, 1), margins=(12, 16, 12, 12), spacing=8)
        for entry in self._entries:
            item = QListWidgetItem("", self.list)
            item.setData(Qt.ItemDataRole.UserRole, entry.name)
        self._typing = Soon(self, 200, self._find)
        self.search.textChanged.connect(lambda _text: self._typing.start())
        self.search.returnPressed.connect(self._find)
        self.list.currentItemChanged.connect(self._chosen)
        return self._side

    # pages ----------------------------------------------------------------------------------------------------------------------------

    @property
    def current(self) -> str:
        """Name of the page that is shown."""
        item = self.list.currentItem()
        return str(item.data(Qt.ItemDataRole.UserRole)) if item is not None else ""

    def page(self, name: str) -> SettingsPage:
        """The page, built when it is needed first.

        Raises:
            KeyError: no page of that name.
        """
        if name not in self._pages:
            entry = next((each for each in self._entries if each.name == name), None)
            if entry is None:
                raise KeyError(name)
            page = entry.page(self.bridge, self._stack)
            page.setObjectName(f"settings-page-{name}")
            page.place_wanted.connect(self.place_wanted)
            say(page.title, entry.title)
            say(page, name=entry.title)
            self._pages[name] = page
            self._stack.addWidget(page)
        return self._pages[name]

    def show_page(self, name: str) -> None:
        """Go to a page."""
        for number in range(self.list.count()):
            if self.list.item(number).data(Qt.ItemDataRole.UserRole) == name:
                self.list.setCurrentRow(number)

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            page = self.page(str(item.data(Qt.ItemDataRole.UserRole)))
            self._stack.setCurrentWidget(page)
            page.reload()

    def _find(self) -> None:
        """Show only the pages that say the words, and go to the first place that does."""
        words = self.search.text().strip()
        first: tuple[str, QWidget] | None = None
        for number, entry in enumerate(self._entries):
            found = self.page(entry.name).find_text(words) if words else None
            self.list.item(number).setHidden(bool(words) and found is None)
            if found is not None and first is None:
                first = (entry.name, found)
        self.nothing.setVisible(bool(words) and first is None)
        if first is not None:
            if self.list.item(self.list.currentRow()).isHidden():
                self.show_page(first[0])
            page = self.page(self.current)
            here = page.find_text(words)
            if here is not None:
                page.reveal(here)

    # the window -----------------------------------------------------------------------------------------------------------------------

    def _escape(self) -> None:
        """Esc empties the search first, then closes."""
        if self.search.text():
            self.search.clear()
        else:
            self.close()

    def _focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._dress()

    def _dress(self) -> None:
        """The list wide enough for the longest name, in any language; icons of one size on any screen, where the style has a larger one.
        Numbers in fields are written as in the language."""
        self.setLocale(locale())
        self.list.setIconSize(QSize(theme().px(16), theme().px(16)))
        metrics = QFontMetrics(theme().font(14))
        longest = max(metrics.horizontalAdvance(_(entry.title)) for entry in self._entries)
        self._side.setFixedWidth(max(theme().px(SIDE), longest + theme().px(16) + AROUND))
        for number, entry in enumerate(self._entries):
            item = self.list.item(number)
            item.setText(_(entry.title))
            item.setIcon(theme().icon(entry.icon))
            item.setSizeHint(QSize(0, theme().px(32)))

    def closeEvent(self, event: object) -> None:
        super().closeEvent(event)  # type: ignore[arg-type]
        self.closed.emit()
