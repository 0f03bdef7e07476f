"""Base of settings pages: sections of declared rows, texts and buttons in a scrolled column."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Unpack

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.settings.setting_rows_and_footer import PageFooter, Row, SectionCard
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Card, FlowLayout, Line, bind, bind_text, control, fill, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import Item
from atelier_desk.desktop.widgets.focus_in_view import FocusInView
from atelier_desk.desktop.widgets.language_theme_bindings import BoundText, Text
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.scroll_bar_space import SteadyWidth
from atelier_desk.desktop.widgets.search_field import SearchField
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    import asyncio

    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

FIELD = 112
"""Minimum width of a combo or spin box, whatever its content."""
COLUMN = 720
"""Maximum width of a page's column, in logical pixels at 100 %."""


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
    agent_in_view: Callable[[], str] = str
    """Returns the id of the agent that answers in the workflow in view; empty if unknown."""
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
        self._outer = vbox(self, (self.area, 1), spacing=0)
        content = control(QWidget(self.area), look="plain")
        self.area.setWidget(content)
        inner = QWidget(content)
        bind(inner.setMaximumWidth, lambda: theme().px(COLUMN), on="look")
        inner.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        SteadyWidth(self.area, hbox(content, (inner, 1), 0, margins=(24, 12, 24, 24)))
        self.column = vbox(inner, spacing=8)
        self._inner = inner
        self._fields: list[QWidget] = []
        theme().changed.connect(self._restyle)
        bridge.changed.connect(self._on_changed)

    async def load(self) -> None:
        """Load the page's values."""

    def show_item(self, name: str) -> None:
        """Select an item of the page's list and focus its form; pages without such a list ignore it."""

    def section(self, title: Text = "", *content: Item, about: Text = "") -> SectionCard:
        """A heading with a card below, which starts with what it is ``about``."""
        card = SectionCard(self, title)
        if about:
            self.add_text(card, about)
        fill(card.body, *content)
        fill(self.column, card.heading, card)
        self.column.addSpacing(12)
        return card

    def row(self, card: Card, control: QWidget, caption: Text, hint: Text = "", *, stretch: bool = False) -> Row:
        """A row in a card."""
        made = Row(control, card, stretch=stretch)
        made.set_texts(caption, hint)
        card.body.addWidget(made)
        return made

    def button(
        self,
        object_name: str,
        text: Text | None,
        on: Callable[[], object],
        *,
        look: str = "",
        **texts: Unpack[BoundText],
    ) -> QPushButton:
        """A button, to be placed in a row of buttons, in the footer, or as the control of a row."""
        return control(QPushButton(self), object_name, text, look=look, on=on, **texts)

    def action_row(
        self, card: Card, caption: Text, hint: Text, text: Text, on: Callable[[], object], name: str = ""
    ) -> QPushButton:
        """A row whose control is a button."""
        button = self.button(name, text, on)
        self.row(card, button, caption, hint)
        return button

    def button_row(self, card: Card | None, *buttons: QWidget) -> None:
        """Buttons of a card, or of the column, in a line: adding first, removing last. Other controls may be among
        them.
        """
        line = FlowLayout(spacing=8)
        pushed = [each for each in buttons if isinstance(each, QPushButton)]
        for each in buttons:
            if each in pushed:
                mark(each, "" if each is pushed[0] else "ghost")
            line.addWidget(each)
        self._body(card).addLayout(line)

    def add_text(
        self, card: Card | None, text: Text | None = None, name: str = "", *, look: str = "muted", copied: bool = False
    ) -> QLabel:
        """A text in a card, or in the column, wrapped; ``copied``: it can be selected and copied."""
        made = control(label("", look, self, wrap=True), name, text)
        if copied:
            made.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
        self._body(card).addWidget(made)
        return made

    def add_pairs(self, card: Card, *pairs: tuple[Text, Text], looks: tuple[str, str], wide: int) -> None:
        """Lines of two texts in aligned columns of which one, ``wide``, takes the remaining width and is wrapped."""
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(wide, 1)
        for row, pair in enumerate(pairs):
            for column, text in enumerate(pair):
                made = bind_text(label("", looks[column], self, wrap=column == wide), text)
                grid.addWidget(made, row, column, Qt.AlignmentFlag(0) if column == wide else Qt.AlignmentFlag.AlignTop)
        card.body.addLayout(grid)

    def add_search(self, card: Card, name: str, hint: Text, on: Callable[[str], object]) -> SearchField:
        """A field that filters what is below it."""
        made = control(SearchField(self), name, hint=hint)
        made.textChanged.connect(on)
        card.body.addWidget(made)
        return made

    def add_read_only(self, card: Card, name: str, caption: Text, height: int = 0) -> TextField:
        """Lines of a file; ``height`` in pixels at 100 %."""
        made = control(TextField(self), name, look="mono", name=caption)
        made.setReadOnly(True)
        made.setTabChangesFocus(True)
        made.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        if height:
            bind(made.setMinimumHeight, lambda: theme().px(height), on="look")
        card.body.addWidget(made)
        return made

    def foot(
        self,
        *more: QPushButton,
        cancel: tuple[str, Callable[[], object]],
        save: tuple[str, Callable[[], object]],
    ) -> tuple[QPushButton, QPushButton]:
        """The footer, always visible: messages about the form (``busy``), and its buttons, each with a name and a
        callback; returns Cancel and Save.
        """
        buttons = (
            self.button(cancel[0], N_("Cancel"), cancel[1]),
            self.button(save[0], N_("Save"), save[1], look="primary"),
        )
        self.busy = Busy(self)
        note = QWidget(self)  # it keeps its height while empty
        vbox(note, self.busy)
        foot = control(PageFooter(note, (*more, *buttons), self), f"{type(self).__name__}-foot")
        fill(self._outer, Line(self), foot)
        return buttons

    def _body(self, card: Card | None) -> QVBoxLayout:
        return self.column if card is None else card.body

    def copy_text(self, text: str) -> None:
        """Copy a text to the clipboard."""
        QGuiApplication.clipboard().setText(text)
        toast(self, _("Copied"))

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
        """Scroll to a widget of this page, again once parts that have just appeared have their places.

        What comes before and after it is in sight too: Qt's ``ensureWidgetVisible`` leaves a heading that is just above
        the edge where it is.
        """

        def scroll() -> None:
            if isValid(widget) and (page := self.area.widget()) is not None:
                place = widget.mapTo(page, QPoint())
                for y in (place.y() + widget.height(), place.y()):  # the top last, of what is taller than the page
                    self.area.ensureVisible(place.x(), y, 24, 48)

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
