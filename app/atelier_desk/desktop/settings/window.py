"""The settings window: pages on the left with a search over all, the selected page with its sections on the right."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStackedWidget, QTabBar, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.registry import PageEntry, sections
from atelier_desk.desktop.settings.search import (
    Found,
    FoundMark,
    Index,
    Matches,
    found_in,
    index_of,
    lead_to,
    matches_of,
)
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Line, bind_text, control, fit_window, hbox, label, vbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.enter_key import EnterPresses
from atelier_desk.desktop.widgets.search_field import SearchField
from atelier_desk.desktop.widgets.text_matching import plain
from atelier_desk.support.i18n import N_, _, in_every_language, ngettext

if TYPE_CHECKING:
    from collections.abc import Callable

    from atelier_desk.desktop.bridge.bridge import Bridge

SIZE = QSize(940, 680)
CACHED_MS = 5_000
"""Milliseconds after the last key for which a search caches the pages' texts."""
SIDE = 210
"""Minimum width of the list of pages, in logical pixels at 100 %."""
AROUND = 54
"""Pixels of its width used by margins, padding and the gap after the icon."""


class SettingsWindow(QWidget):
    """``settings-window``: the list of pages, and the sections of the current one.

    Its parts are ``settings-pages``, ``settings-sections`` and ``settings-page-<section>``. Sections are built when
    first shown or searched. ``closed`` is emitted when the window closes.
    """

    closed = Signal()
    place_requested = Signal(str, str, str, str)
    """See ``SettingsPage.place_requested``."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None, agent_in_view: Callable[[], str] = str) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.bridge = bridge
        self._agent_in_view = agent_in_view
        self.setObjectName("settings-window")
        EnterPresses(self)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        mark(self, "surface")
        fit_window(self, SIZE)
        self.setMinimumSize(560, 420)
        self._entries = {entry.name: entry for entry in sections()}
        self._hosts = [entry for entry in self._entries.values() if not entry.part_of]
        self._shown = {entry.name: entry.name for entry in self._hosts}
        """The section of each page that was shown last."""
        self._sections: dict[str, SettingsPage] = {}
        self._matches: dict[str, list[Found]] = {}
        self._index: dict[str, Index] = {}
        """Of the sections, while somebody types: what they say may change afterwards."""
        self._typed = Debouncer(self, CACHED_MS, self._index.clear)
        self._found: list[tuple[str, Found]] = []
        self._at = -1
        self._arriving = ""
        """The section that was gone to for a match and is not read yet."""
        self._words = ""
        self._text_matches: Matches = bool
        self._mark: FoundMark | None = None
        self._stack = QStackedWidget(self)
        self.title = label("", "title", self)
        self.tabs = control(QTabBar(self), "settings-sections", name=N_("Sections"))
        self.tabs.setExpanding(False)
        self.tabs.currentChanged.connect(lambda row: self._show(self._parts(self._host)[row].name))
        head = vbox(None, self.title, self.tabs, margins=(24, 20, 24, 0), spacing=8)
        right = vbox(None, head, (self._stack, 1), spacing=0)
        hbox(
            self,
            self._build_side(),
            Line(self, vertical=True),
            (right, 1),
            spacing=0,
        )
        close = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        close.activated.connect(self._escape)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(self.focus_search)
        theme().changed.connect(self._apply_style)
        self._apply_style()
        bind_text(self, title=N_("Settings"))
        self.show_page(self._hosts[0].name)

    def _build_side(self) -> QWidget:
        self._side = control(QWidget(self), look="side")
        self._side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.search = control(SearchField(self._side), "settings-search", hint=N_("Search settings"))
        self.search.setClearButtonEnabled(True)
        self.list = control(QListWidget(self._side), "settings-pages", look="plain", name=N_("Pages"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.results = control(label("", "small", self._side, wrap=True), "settings-results", self._results_text)
        self.results.hide()
        vbox(self._side, self.search, self.results, (self.list, 1), margins=(12, 16, 12, 12), spacing=8)
        for entry in self._hosts:
            item = QListWidgetItem("", self.list)
            item.setData(Qt.ItemDataRole.UserRole, entry.name)
        self._typing = Debouncer(self, 200, self._find)
        self.search.textChanged.connect(lambda _text: self._typing.start())
        self.search.returnPressed.connect(self._next)
        self.list.currentItemChanged.connect(self._listed)
        return self._side

    @property
    def _host(self) -> str:
        item = self.list.currentItem()
        return str(item.data(Qt.ItemDataRole.UserRole)) if item is not None else ""

    @property
    def current(self) -> str:
        """Name of the current section, or of its page if it has only one."""
        return self._shown.get(self._host, "")

    def _parts(self, host: str) -> list[PageEntry]:
        return [entry for entry in self._entries.values() if entry.host == host]

    def page(self, name: str) -> SettingsPage:
        """The section, built on first use.

        Raises:
            KeyError: there is none of that name.
        """
        if name not in self._sections:
            entry = self._entries[name]
            page = entry.page(self.bridge, self._stack)
            page.setObjectName(f"settings-page-{name}")
            page.agent_in_view = self._agent_in_view
            page.place_requested.connect(self.place_requested)
            page.loaded.connect(partial(self._search_again, name))
            bind_text(page, name=entry.tab)
            self._sections[name] = page
            self._stack.addWidget(page)
        return self._sections[name]

    def show_page(self, name: str) -> None:
        """Go to a page or section; unknown names are ignored."""
        if (entry := self._entries.get(name)) is not None:
            self._shown[entry.host] = name
            with QSignalBlocker(self.list):
                self.list.setCurrentRow(self._hosts.index(self._entries[entry.host]))
            self._chosen(self.list.currentItem())

    def _listed(self, item: QListWidgetItem | None) -> None:
        """A page was selected in the list: show it, while searching at its first match."""
        self._chosen(item)
        for number, (name, _row) in enumerate(self._found if self._words else ()):
            if self._entries[name].host == self._host:
                self._arriving = name
                self._show_result(number)
                break

    def _chosen(self, item: QListWidgetItem | None) -> None:
        """A page was selected: show its last shown section."""
        if item is None:
            return
        parts = self._parts(self._host)
        bind_text(self.title, self._entries[self._host].title)
        with QSignalBlocker(self.tabs):
            while self.tabs.count():
                self.tabs.removeTab(0)
            for entry in parts:
                self.tabs.addTab(_(entry.tab))
            self.tabs.setCurrentIndex([entry.name for entry in parts].index(self.current))
        self.tabs.setVisible(len(parts) > 1)
        self._show(self.current)

    def _show(self, name: str) -> None:
        self._shown[self._host] = name
        page = self.page(name)
        self._stack.setCurrentWidget(page)
        page.reload()

    def _find(self) -> None:
        """Show only pages that match, and go to the first matching row."""
        self._words, self._at = self.search.text().strip(), -1
        self._unmark()
        self._typed.start()
        for text_matches in matches_of(self._words):
            self._text_matches = text_matches
            self._matches = {name: self._found_on(name) for name in self._entries if self._words}
            if any(self._matches.values()):
                break
        self._show_matches()
        if self._found:
            here = [number for number, (name, _row) in enumerate(self._found) if name == self.current]
            self._show_result(next(iter(here), 0))
        for name in self._matches:
            self.page(name).prepare()

    def _search_again(self, name: str) -> None:
        """A section's lists changed. The current match stays."""
        self._index.pop(name, None)
        if self._words:
            before = self._found[self._at] if self._at >= 0 else None
            self._matches[name] = self._found_on(name)
            self._show_matches()
            if before is None and self._found:
                self._show_result(0)
                return
            self._at = self._found.index(before) if before in self._found else min(self._at, len(self._found) - 1)
            if self._arriving == name and self._at >= 0:  # the expanded or highlighted part was rebuilt
                self._arriving = ""
                self._show_result(self._at)

    def _show_matches(self) -> None:
        self._found = [(name, row) for name, rows in self._matches.items() for row in rows]
        hosts = {self._entries[name].host for name, _row in self._found}
        for number, entry in enumerate(self._hosts):
            self.list.item(number).setHidden(bool(self._words) and entry.name not in hosts)
        self.results.setVisible(bool(self._words))
        bind_text(self.results)

    def _found_on(self, name: str) -> list[Found]:
        entry, page = self._entries[name], self.page(name)
        if name not in self._index:
            self._index[name] = index_of(page)
        titled = (
            [Found(page)]
            if any(self._text_matches(plain(in_every_language(title))) for title in (entry.title, entry.tab))
            else []
        )
        return list(dict.fromkeys([*titled, *found_in(page, self._index[name], self._text_matches)]))

    def _results_text(self) -> str:
        if not self._found:
            return _("No matching settings.")
        count = ngettext("{n} match.", "{n} matches.", len(self._found))
        return " ".join((count, _("Press Enter for the next one."))) if len(self._found) > 1 else count

    def _next(self) -> None:
        """Enter: search at once, then go through the matches."""
        if self._typing.isActive() or self._words != self.search.text().strip():
            self._typing.stop()
            self._find()
        elif self._found:
            self._show_result((self._at + 1) % len(self._found))

    def _show_result(self, number: int) -> None:
        self._at = number
        name, row = self._found[number]
        if name != self.current:
            self._arriving = name
            self.show_page(name)
        self._unmark()
        self._mark = lead_to(self.page(name), row)

    def _unmark(self) -> None:
        if self._mark is not None and isValid(self._mark):
            self._mark.hide()
            self._mark.deleteLater()
        self._mark = None

    def _escape(self) -> None:
        """Esc clears the search first, then closes."""
        if self.search.text():
            self.search.clear()
        else:
            self.close()

    def focus_search(self) -> None:
        """Let the next words typed replace what was searched."""
        self.search.setFocus()
        self.search.selectAll()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._apply_style()

    def _apply_style(self) -> None:
        """Make the list wide enough for the longest name in any language, with icons of fixed size."""
        self.list.setIconSize(QSize(theme().px(16), theme().px(16)))
        metrics = QFontMetrics(theme().font(14))
        longest = max(metrics.horizontalAdvance(_(entry.title)) for entry in self._hosts)
        self._side.setFixedWidth(max(theme().px(SIDE), longest + theme().px(16) + AROUND))
        for number, entry in enumerate(self._hosts):
            item = self.list.item(number)
            item.setText(_(entry.title))
            item.setIcon(theme().icon(entry.icon))
            item.setSizeHint(QSize(0, theme().px(32)))
        for row, entry in enumerate(self._parts(self._host)):
            self.tabs.setTabText(row, _(entry.tab))

    def showEvent(self, event: QShowEvent) -> None:
        """Settings may have changed since it was closed, such as the text size by its shortcut."""
        super().showEvent(event)
        self.page(self.current).reload()

    def closeEvent(self, event: object) -> None:
        super().closeEvent(event)  # type: ignore[arg-type]
        self.closed.emit()
