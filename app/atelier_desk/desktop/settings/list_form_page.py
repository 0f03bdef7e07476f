"""A page with a list and the form of the selected item: agents, prompts, servers, providers.

Input is preserved: while the form has changes the selection cannot move, a reload does not touch the form, and Save
or Cancel ends editing.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QListWidget, QPushButton, QWidget

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list, two_line_item
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.progress_line import Outcome
from atelier_desk.desktop.settings.setting_rows_and_footer import SectionCard
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Card, bind, bind_text, control
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.theme.manager import Role
    from atelier_desk.desktop.widgets.language_theme_bindings import Text

T = TypeVar("T")
ROWS = 6
"""Maximum number of visible rows."""
CHANGED = N_("Save your changes or cancel them first.")


class ListLine(NamedTuple):
    """A row of such a list; ``picture`` replaces the icon, which becomes a dot of its colour."""

    key: str
    title: str
    facts: str
    icon: str
    role: Role = "accent"
    picture: QImage | None = None


def list_of_lines(parent: QWidget, name: str, caption: Text) -> QListWidget:
    """A plain list for ``show_lines``."""
    made = control(QListWidget(parent), name, look="plain", name=caption)
    style_list(made)
    return made


def show_lines(view: QListWidget, lines: Sequence[ListLine], chosen: str = "") -> None:
    """Fill a list without signals; its height is that of its rows, up to ``ROWS``."""
    with QSignalBlocker(view):
        view.clear()
        for line in lines:
            two_line_item(view, line.key, line.title, line.facts, line.icon, line.role, line.picture)
        choose_line(view, chosen)
    bind(view.setFixedHeight, lambda: _height_of(view), on="look")
    view.setVisible(view.count() > 0)


def _height_of(view: QListWidget) -> int:
    return min(max(view.count(), 1), ROWS) * max(view.sizeHintForRow(0), theme().px(40)) + 8


def choose_line(view: QListWidget, key: str) -> None:
    """Select the row of a key without signals; none if it does not exist."""
    keys = [view.item(row).data(KeyRole) for row in range(view.count())]
    with QSignalBlocker(view):
        view.setCurrentRow(keys.index(key) if key in keys else -1)


Saved = tuple[str, Callable[[], object]]
"""The key of a saved item, and a callback once the list shows it."""


class ListFormPage(SettingsPage, Generic[T]):
    """Base of such pages.

    Subclasses define what is listed (``read``, ``line``), and how a form in ``form_card`` shows, validates and saves
    an item.
    """

    form_card: SectionCard
    form: Any

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.things: list[T] = []
        self.chosen = self.picked = ""
        """The key of what is shown, and of what a person chose, or saved, last."""
        self.adding = False
        self._filled = ""
        """The key of what the form shows."""
        self.buttons: dict[str, QPushButton] = {}

    async def read(self) -> Sequence[T]:
        """Load the items."""
        raise NotImplementedError

    def line(self, entry: T) -> ListLine:
        """The row of an item; its key is unique."""
        raise NotImplementedError

    def listed(self) -> list[T]:
        """The visible items of the list."""
        return self.things

    def heading(self, entry: T | None) -> str:
        """The heading of the form; None for a new item."""
        raise NotImplementedError

    def show_form(self, entry: T | None) -> None:
        """Fill the form with an item, or for a new one."""
        raise NotImplementedError

    def edited(self) -> bool:
        """Whether the form was edited."""
        return bool(self.form.edited())

    def opening(self) -> str:
        """The key of the default selection: the first listed item."""
        return next((self.line(each).key for each in self.listed()), "")

    async def load_more(self) -> None:
        """Load and show data beyond the form of the selected item."""

    def complete(self) -> bool:
        """Whether the form is complete enough to test and save."""
        return True

    async def save_form(self) -> Saved:
        """Store the form; errors are shown in the footer, and the form stays."""
        raise NotImplementedError

    def problem(self, error: Exception) -> str:
        """An error about the form as a sentence."""
        return error_text(error)

    def build_list(
        self, card: Card, kind: str, caption: Text, *actions: tuple[str, Text, Callable[[], object]]
    ) -> None:
        """Add ``<kind>-list`` and its buttons: name suffix, text and callback of each."""
        self.list = list_of_lines(self, f"{kind}-list", caption)
        card.body.addWidget(self.list)
        for name, text, act in actions:
            self.buttons[name] = self.button(f"{kind}-{name}", text, act)
        self.button_row(card, *self.buttons.values())
        self.list.currentItemChanged.connect(lambda *_: self._select())

    def build_foot(self, kind: str, *more: QPushButton, cancel: str = "cancel") -> None:
        """Add the footer with messages, Cancel and Save: ``<kind>-cancel``, ``<kind>-save``."""
        self.cancel, self.save = self.foot(
            *more, cancel=(f"{kind}-{cancel}", self.revert), save=(f"{kind}-save", self.store)
        )
        self.form.entered.connect(self.save.click)  # one that is disabled does nothing

    async def load(self) -> None:
        self.things = list(await self.read())
        self.show_list()
        if not self.editing():
            self.show_chosen()
        self.check()
        await self.load_more()

    def current(self) -> T | None:
        """The selected item; None while adding one."""
        return None if self.adding else next((each for each in self.things if self.line(each).key == self.chosen), None)

    def editing(self) -> bool:
        """Whether the form has unsaved changes."""
        return self.adding or bool(self.chosen and self._filled == self.chosen and self.edited())

    def show_list(self) -> None:
        """Fill the list; if the selected item is missing, ``opening`` is selected, unless the form has changes."""
        lines = [self.line(each) for each in self.listed()]
        if self.current() is None and not self.editing():
            self.chosen = self.opening()
        show_lines(self.list, lines, "" if self.adding else self.chosen)

    def show_chosen(self) -> None:
        """Fill the form with the selected or a new item."""
        entry = self.current()
        self._filled = "" if self.adding else self.chosen
        self.show_form(entry)
        bind_text(self.form_card.heading, lambda: self.heading(self.current()))
        self.check()

    def check(self) -> None:
        """Enable buttons, and hide the form if there is no item."""
        editing, complete = self.editing(), self.complete()
        self.form_card.set_shown(self.adding or bool(self.chosen))
        self.save.setEnabled(editing and complete)
        self.cancel.setEnabled(editing)

    def changed(self) -> None:
        """The user changed the form: clear messages about the previous input."""
        self.busy.drop()
        self.check()

    def _select(self) -> None:
        item = self.list.currentItem()
        if item is None or (item.data(KeyRole) == self.chosen and not self.adding) or self.busy_with_another():
            return
        self.chosen = self.picked = str(item.data(KeyRole))
        self.show_stored()

    def busy_with_another(self) -> bool:
        """Whether the form has unsaved changes; if so, the selection is not changed and the user is told."""
        if not self.editing():
            return False
        self.busy.note(lambda: _(CHANGED), "error")
        choose_line(self.list, "" if self.adding else self.chosen)
        return True

    def begin_new(self) -> bool:
        """Show the form of a new item; False with a message if another has unsaved changes."""
        if self.busy_with_another():
            return False
        self.adding = True
        choose_line(self.list, "")
        self.busy.drop()
        self.show_chosen()
        return True

    def revert(self) -> None:
        """Restore the stored values."""
        self.adding, self._filled = False, ""
        self.show_list()
        self.show_stored()

    def show_stored(self) -> None:
        """Fill the form with the stored values of the selected item; messages about others are cleared."""
        self.busy.drop()
        self.show_chosen()
        self.jobs.start(self.load_more(), "more")

    def store(self) -> None:
        """Save the form; errors are shown in place."""
        self.jobs.once("store", self._store)

    async def _store(self) -> None:
        try:
            key, announce = await self.save_form()
        except Exception as error:
            self.busy.note(self.problem(error), "error")
            return
        self.busy.drop()
        await self.show_again(key)
        announce()

    async def show_again(self, key: str) -> None:
        """Reload the list, select this item and fill the form with its stored values."""
        self.adding, self._filled = False, ""
        self.chosen = self.picked = key
        await self.load()

    async def show_back(self, key: str) -> None:
        """Show a restored item, unless the form has changes."""
        await (self.load() if self.editing() else self.show_again(key))

    def try_form(self, what: Text, work: Callable[[], Coroutine[Any, Any, Outcome | None]]) -> None:
        """Test the form, one test at a time; see ``Busy.run``."""
        self.busy.run(self.jobs, "test", work, what, self.problem)
