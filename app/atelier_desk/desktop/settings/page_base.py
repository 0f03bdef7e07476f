"""Base of settings pages: sections of rows with caption, hint and control, in a scrolled column."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QBoxLayout,
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.panes.spin_box_padding import pad
from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Card, FlowLayout, Line, bind, bind_text, control, fill, label
from atelier_desk.desktop.widgets.focus_in_view import FocusInView
from atelier_desk.desktop.widgets.language_theme_bindings import Text
from atelier_desk.desktop.widgets.scroll_bar_space import SteadyWidth
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    import asyncio

    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

TEXT, STRETCH_TEXT = 110, 150
"""Minimum width of a row's texts beside its control, below which the control moves under them.

More for wide controls.
"""
FIELD = 112
"""Minimum width of a combo or spin box, whatever its content."""
NOTE = 220
"""Minimum width of the footer's note, below which the buttons move under it."""
COLUMN = 720
"""Maximum width of a page's column, in logical pixels at 100 %."""


class Row(QWidget):
    """Caption and hint on the left, control on the right; with ``stretch`` the control takes most of the width."""

    def __init__(self, control: QWidget, parent: QWidget | None = None, *, stretch: bool = False) -> None:
        super().__init__(parent)
        self.control = control
        self.caption = label("", "", self, wrap=True)
        self.hint = label("", "small", self, wrap=True)
        self.hint.hide()
        self.caption.setBuddy(control)
        texts = fill(QVBoxLayout(), 1, self.caption, self.hint, 1, spacing=2)
        self._stretch = stretch
        line = self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        line.setContentsMargins(0, 4, 0, 4)
        line.setSpacing(16)
        fill(line, (texts, 2 if stretch else 1), (control, 3 if stretch else 0, Qt.AlignmentFlag.AlignVCenter))
        if stretch and isinstance(control, QComboBox):
            for changed in (control.model().dataChanged, control.model().rowsInserted):
                changed.connect(lambda *_change: self._arrange())  # text changes, for example of the language
        if isinstance(control, QAbstractSpinBox):
            pad(control)
        elif isinstance(control, QCheckBox) and not control.text():
            mark(control, "bare")  # aligned with the ends of other fields

    def minimumSizeHint(self) -> QSize:
        """A row is at least as wide as its control: a narrow row puts it under the texts."""
        # A combo box with a limited width may be narrower than its longest entry, which is then elided.
        field = self.control.minimumWidth() or self.control.minimumSizeHint().width()
        narrow = max(self.caption.minimumSizeHint().width(), field)
        return QSize(narrow, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._arrange()

    def _arrange(self) -> None:
        """Put the control beside the texts, or under them if there is no room for both."""
        room = self.control.sizeHint().width() + theme().px(STRETCH_TEXT if self._stretch else TEXT)
        down = self.width() < room or self._cuts()
        self._line.setDirection(QBoxLayout.Direction.TopToBottom if down else QBoxLayout.Direction.LeftToRight)
        self._line.setSpacing(6 if down else 16)
        side = (
            Qt.AlignmentFlag.AlignVCenter
            if not down
            else Qt.AlignmentFlag(0)
            if self._stretch
            else Qt.AlignmentFlag.AlignLeft
        )
        self._line.setAlignment(self.control, side)

    def _cuts(self) -> bool:
        """Whether a wide control would wrap the caption, or a combo box elide an entry."""
        box, room = self.control, self.width() - 16
        texts = min(room * 2 // 5 if self._stretch else room, room - box.sizeHint().width())
        if self.caption.heightForWidth(texts) > 2 * self.caption.fontMetrics().lineSpacing() + 2:
            return True
        if not self._stretch or not isinstance(box, QComboBox):
            return False
        widest = max((box.fontMetrics().horizontalAdvance(box.itemText(row)) for row in range(box.count())), default=0)
        return widest + theme().px(44) > (self.width() - 16) * 3 // 5

    def set_texts(self, caption: Text, hint: Text = "") -> None:
        """Bind the texts of the row, which are also the control's accessible name and description."""
        bind_text(self.caption, caption)
        bind_text(self.hint, hint)
        self.hint.setVisible(bool(hint))
        bind_text(self.control, name=caption, about=hint)


class PageFooter(QWidget):
    """A note with buttons on its right, which are never clipped; the note moves above them if there is little room."""

    def __init__(self, note: QWidget, buttons: Sequence[QPushButton], parent: QWidget) -> None:
        super().__init__(parent)
        self._buttons = buttons
        row = fill(QHBoxLayout(), 1, *buttons, spacing=8)
        for button in buttons:
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            row.setAlignment(button, Qt.AlignmentFlag.AlignVCenter)
        note.setMinimumHeight(buttons[0].sizeHint().height())
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        fill(self._line, (note, 1), row, margins=(24, 10, 24, 10), spacing=8)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.width() - sum(button.sizeHint().width() + 8 for button in self._buttons if not button.isHidden())
        down = room < theme().px(NOTE)
        self._line.setDirection(QBoxLayout.Direction.TopToBottom if down else QBoxLayout.Direction.LeftToRight)


class SectionCard(Card):
    """The card of a section, with its ``heading`` above."""

    def __init__(self, page: QWidget, title: Text) -> None:
        super().__init__(page)
        self.body.setSpacing(4)
        self.heading = bind_text(label("", "heading", page), title)

    def set_shown(self, on: bool) -> None:
        """Show or hide it with its heading."""
        self.heading.setVisible(on)
        self.setVisible(on)


class SettingsPage(QWidget):
    """Base of pages.

    Subclasses build in ``__init__``, where texts are bound, and load and show their values in ``load``.

    ``load`` runs each time the page is shown, and when one of ``topics`` or the language changes while it is visible.
    """

    topics: tuple[Topic, ...] = ()
    listed_at_once = True
    """Whether a search may load the page's lists before the page was shown."""
    loaded = Signal()
    """Its values were reloaded."""
    place_requested = Signal(str, str, str, str)
    """Show a place in a workflow: its id, kind and id of the row, and the message it belongs to."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge = bridge
        self.jobs = Jobs(self, self.show_error)
        self._loading: asyncio.Task[None] | None = None
        self._read_again = False
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        FocusInView(self.area)
        self._outer = fill(QVBoxLayout(self), (self.area, 1), margins=(0, 0, 0, 0), spacing=0)
        content = control(QWidget(self.area), look="plain")
        self.area.setWidget(content)
        inner = QWidget(content)
        bind(inner.setMaximumWidth, lambda: theme().px(COLUMN), on="look")
        inner.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        SteadyWidth(self.area, fill(QHBoxLayout(content), (inner, 1), 0, margins=(24, 12, 24, 24)))
        self.column = fill(QVBoxLayout(inner), margins=(0, 0, 0, 0), spacing=8)
        self._inner = inner
        self._fields: list[QWidget] = []
        theme().changed.connect(self._restyle)
        bridge.changed.connect(self._on_changed)

    async def load(self) -> None:
        """Load the page's values."""

    def show_item(self, name: str) -> None:
        """Select an item of the page's list and focus its form; pages without such a list ignore it."""

    def section(self, title: Text = "") -> SectionCard:
        """A heading with a card below."""
        card = SectionCard(self, title)
        fill(self.column, card.heading, card)
        self.column.addSpacing(12)
        return card

    def row(self, card: Card, control: QWidget, caption: Text, hint: Text = "", *, stretch: bool = False) -> Row:
        """A row in a card."""
        made = Row(control, card, stretch=stretch)
        made.set_texts(caption, hint)
        card.body.addWidget(made)
        return made

    def action_row(
        self, card: Card, caption: Text, hint: Text, text: Text, on: Callable[[], object], name: str = ""
    ) -> QPushButton:
        """A row whose control is a button."""
        button = control(QPushButton(self), name, text, on=on)
        self.row(card, button, caption, hint)
        return button

    def button_row(self, card: Card, *buttons: QPushButton) -> None:
        """The buttons of a card's list, in a line below it: adding first, removing last."""
        line = FlowLayout(spacing=8)
        for number, button in enumerate(buttons):
            mark(button, "" if number == 0 else "ghost")
            line.addWidget(button)
        card.body.addLayout(line)

    def foot(self, *buttons: QPushButton) -> None:
        """The footer, always visible: messages about the form (``busy``), and its buttons, Save last."""
        self.busy = Busy(self)
        note = QWidget(self)  # it keeps its height while empty
        fill(QVBoxLayout(note), self.busy, margins=(0, 0, 0, 0))
        foot = control(PageFooter(note, buttons, self), f"{type(self).__name__}-foot")
        fill(self._outer, Line(self), foot)

    def note_saved(self, saved: bool) -> None:
        """Show in the footer that the form was saved; ``saved``: its secrets are stored permanently."""
        words = (lambda: _("Saved.")) if saved else lambda: _("Saved until Atelier closes: there is no system keyring.")
        self.busy.note(words, "ok" if saved else "warn")

    def end(self) -> None:
        """After the last section: align everything to the top, and let wide fields shrink in a narrow window."""
        self.column.addStretch(1)
        self._fields = [
            field for field in self.findChildren(QWidget) if isinstance(field, QComboBox | QAbstractSpinBox)
        ]
        self._restyle()

    def show_error(self, text: str) -> None:
        toast(self, text)

    def reload(self) -> None:
        """Reload. Requests during a reload cause a single further one, and never restart it.

        Otherwise changes faster than the loading would keep the page from ever being shown.
        """
        if self._loading is not None and not self._loading.done():
            self._read_again = True
            return
        self._loading = self.jobs.start(self.load(), "load")
        self._loading.add_done_callback(self._loaded_once)

    def _loaded_once(self, task: asyncio.Task[None]) -> None:
        again, self._read_again = self._read_again, False
        if again and not task.cancelled():
            self.reload()
        self.loaded.emit()

    def prepare(self) -> None:
        """Load its lists once, for the search."""
        if self._loading is None and self.listed_at_once:
            self.reload()

    def call(self, work: Coroutine[object, None, object]) -> None:
        """Make a change whose only visible result is the reloaded page; errors are shown."""

        async def job() -> None:
            try:
                await work
            finally:
                await self.load()

        self.jobs.start(job())

    def hideEvent(self, event: QHideEvent) -> None:
        """Messages about a test or a save are removed when the page is left."""
        super().hideEvent(event)
        if not event.spontaneous():  # spontaneous: the window was minimized
            for line in self.findChildren(Busy):
                line.clear_message()

    def changeEvent(self, event: QEvent) -> None:
        """Reload on a change of language, for values that are not bound texts."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange and self._loading is not None:
            self.reload()

    def reveal(self, widget: QWidget) -> None:
        """Scroll to a widget of this page, again once parts that have just appeared have their places."""

        def scroll() -> None:
            if isValid(widget):
                self.area.ensureWidgetVisible(widget, 24, 48)

        scroll()
        QTimer.singleShot(0, self, scroll)

    def _restyle(self) -> None:
        for field in self._fields:
            field.setMinimumWidth(theme().px(FIELD))

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic in self.topics and self.isVisible():
            self.reload()


def unknown(value: object) -> str:
    """A value, or a text for a missing one."""
    return _("unknown") if value is None else str(value)
