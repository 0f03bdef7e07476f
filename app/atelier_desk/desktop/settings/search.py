"""Search in settings pages, in every language, and navigation to the matching row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QComboBox, QHeaderView, QLabel, QListView, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.settings.setting_rows_and_footer import Row, SectionCard
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.language_theme_bindings import bound_texts
from atelier_desk.desktop.widgets.text_matching import plain
from atelier_desk.support.i18n import LANGUAGES, spoken

if TYPE_CHECKING:
    from atelier_desk.desktop.settings.page_base import SettingsPage

AROUND = 6
"""Pixels between a row and its highlight."""
GROWS_MS = 2_000
"""Milliseconds during which a page may still grow after a part of it was expanded."""
ADVANCED = "-advanced"
"""Suffix of the name of a button that expands advanced settings."""


class Found(NamedTuple):
    """A matching row; ``at`` is set for a row of a list or table."""

    widget: QWidget
    at: QPersistentModelIndex | None = None


Matches = Callable[[str], bool]
"""Whether a text, normalized by ``plain``, matches."""
Index = list[tuple[Found, list[str]]]
"""Each widget of a page, and each row of its lists, with its texts in every language, normalized by ``plain``."""


def matches_of(words: str) -> tuple[Matches, ...]:
    """The ways texts can match, best first: the phrase or all words at starts of words, then anywhere.

    Without the first two, "limit" would lead to the option ``--delimiter`` of a safe command; a word does not start
    after two hyphens, or "month" would lead to its option ``--month-sort``.
    """
    phrase = plain(words)
    each = phrase.split()

    def starts(*wanted: str) -> Matches:
        patterns = [re.compile(rf"(?<![^\W_])(?<!--){re.escape(one)}") for one in wanted]
        return lambda text: all(pattern.search(text) for pattern in patterns)

    return (
        starts(phrase),
        starts(*each),
        lambda text: phrase in text,
        lambda text: all(word in text for word in each),
    )


def index_of(page: SettingsPage) -> Index:
    """The searchable texts of a page.

    Building it is a hundred times slower than searching it, so it is cached while typing.
    """
    index = [(Found(each), _texts(each)) for each in page.findChildren(QWidget) if _searched(each, page)]
    for view in page.findChildren(QAbstractItemView):
        # Headers are views of the table's model: its rows would count twice.
        if not isinstance(view, QHeaderView) and view.window() is page.window() and view.isVisibleTo(page):
            index += [(Found(view, QPersistentModelIndex(line)), [plain(text)]) for line, text in _lines(view)]
    return index


def found_in(page: SettingsPage, index: Index, matches: Matches) -> list[Found]:
    """The matching rows of a page, without duplicates; the page itself last, for texts that cannot be shown now."""
    matching = [each for each, texts in index if any(map(matches, texts)) and isValid(each.widget)]
    rows = dict.fromkeys(Found(_row(each.widget, page)) if each.at is None else each for each in matching)
    return sorted(rows, key=lambda each: each.widget is page)


_ROLES = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole)


def _lines(view: QAbstractItemView) -> Iterator[tuple[QModelIndex, str]]:
    """The rows of a list or table, each with the texts of all its cells."""
    model = view.model()
    columns = 1 if isinstance(view, QListView) else model.columnCount()
    for row in range(model.rowCount()):
        cells = [model.index(row, column) for column in range(columns)]
        yield cells[0], " ".join(str(cell.data(role) or "") for cell in cells for role in _ROLES)


def _searched(widget: QWidget, page: SettingsPage) -> bool:
    """Whether a widget belongs to a row, and not to a field's menu or a progress message."""
    return widget.window() is page.window() and not isinstance(widget.parentWidget(), Busy)


def _texts(widget: QWidget) -> list[str]:
    """The texts of a widget in any language, as bound or as shown."""
    shown = [widget.accessibleName(), widget.accessibleDescription()]
    if isinstance(widget, QLabel | QAbstractButton):
        shown.append(widget.text())
    elif isinstance(widget, QComboBox):
        shown += [widget.itemText(row) for row in range(widget.count())]
    texts = [" ".join(shown)]
    for code in LANGUAGES:
        with spoken(code):
            texts.append(" ".join(bound_texts(widget)))
    return [plain(text) for text in dict.fromkeys(texts) if text.strip()]


def _row(widget: QWidget, page: SettingsPage) -> QWidget:
    """The row of a widget, even if collapsed; if it cannot be shown, its section or page."""
    folded = _fold(widget, page) is not None
    above = _and_above(widget, page)
    holder = next((each for each in above if isinstance(each, Row | SectionCard)), page)
    if isinstance(holder, Row) and (folded or holder.isVisibleTo(page)):
        return holder
    seen = next((each for each in above if folded or each.isVisibleTo(page)), page)
    return page if seen.isAncestorOf(page.area) or page.area.widget() in (seen, seen.parentWidget()) else seen


def _and_above(widget: QWidget, page: QWidget) -> list[QWidget]:
    """A widget and its ancestors, up to the page."""
    each: QWidget | None = widget
    above = []
    while each is not None and each is not page:
        above.append(each)
        each = each.parentWidget()
    return above


def _fold(widget: QWidget, page: QWidget) -> QAbstractButton | None:
    """The button that expands the part with a widget; None if it is not collapsed."""
    hidden = next((each for each in _and_above(widget, page) if each.isHidden()), None)
    parent = hidden.parentWidget() if hidden is not None else None
    if parent is None:
        return None
    buttons = parent.findChildren(QAbstractButton, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return next((one for one in buttons if one.objectName().endswith(ADVANCED) and one.isVisibleTo(page)), None)


class FoundMark(QWidget):
    """``found-mark``: a frame around the matching row, which stays in sight while a part that was expanded grows."""

    def __init__(self, row: QWidget, page: SettingsPage) -> None:
        super().__init__(row.parentWidget())
        self.setObjectName("found-mark")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.row, self._page = row, page
        self._growing = QTimer(self, singleShot=True, interval=GROWS_MS)
        self._growing.start()
        page.area.verticalScrollBar().rangeChanged.connect(self._on_range)
        row.installEventFilter(self)
        row.destroyed.connect(self.deleteLater)
        self._follow()
        self.show()
        self.raise_()

    def _follow(self) -> None:
        if (page := self.parentWidget()) is not None:
            self.setGeometry(self.row.geometry().adjusted(-AROUND, 0, AROUND, 0) & page.rect())

    def _on_range(self) -> None:
        if self._growing.isActive() and self.isVisible():
            QTimer.singleShot(0, self, lambda: self._page.reveal(self.row))  # once all parts have their new places

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._follow()
        elif event.type() in (QEvent.Type.Hide, QEvent.Type.ParentChange):
            self.hide()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = theme().colour("accent")
        painter.setPen(QPen(ground, 2))
        ground.setAlpha(30)
        painter.setBrush(ground)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
        painter.end()


def lead_to(page: SettingsPage, found: Found) -> FoundMark | None:
    """Scroll to a row of the visible page and highlight it.

    In a list the row is selected instead; then, and for the page, None.
    """
    if (fold := _fold(found.widget, page)) is not None:
        fold.click()
    if (layout := page.layout()) is not None:
        layout.activate()
    at = found.at
    if at is not None and at.isValid() and isinstance(found.widget, QAbstractItemView):
        index = found.widget.model().index(at.row(), at.column(), at.parent())
        found.widget.setCurrentIndex(index)
        found.widget.scrollTo(index)
        page.reveal(found.widget)
        return None
    if found.widget is page:
        return None
    page.reveal(found.widget)
    return FoundMark(found.widget, page)
