"""A page with a list and the form of what is chosen in it: agents, prompts, servers, providers.

What is typed stays: while the form has changes the list does not move on, a reload leaves the form alone, and Save or Cancel ends them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QListWidget, QPushButton, QWidget

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.two_line import KeyRole, style_list, two_line_item
from atelier_desk.desktop.settings.page import SectionCard, SettingsPage
from atelier_desk.desktop.settings.progress_line import Outcome
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Card, bind_text, control
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.theme.manager import Role
    from atelier_desk.desktop.widgets.bindings import Text

T = TypeVar("T")
ROWS = 6
"""Most rows a list shows before it scrolls."""
CHANGED = N_("Save your changes or cancel them first.")


class ListLine(NamedTuple):
    """A row of such a list; ``picture`` stands in place of the icon, which becomes a dot of its colour."""

    key: str
    title: str
    facts: str
    icon: str
    role: Role = "accent"
    picture: QImage | None = None


def list_of_lines(parent: QWidget, name: str, said: Text) -> QListWidget:
    """A plain list for ``show_lines``."""
    made = control(QListWidget(parent), name, look="plain", name=said)
    style_list(made)
    return made


def show_lines(view: QListWidget, lines: Sequence[ListLine], chosen: str = "") -> None:
    """Fill a list, as high as its rows up to ``ROWS``; nobody is told of a change."""
    with QSignalBlocker(view):
        view.clear()
        for line in lines:
            two_line_item(view, line.key, line.title, line.facts, line.icon, line.role, line.picture)
        choose_line(view, chosen)
    view.setFixedHeight(min(max(view.count(), 1), ROWS) * max(view.sizeHintForRow(0), theme().px(40)) + 8)
    view.setVisible(view.count() > 0)


def choose_line(view: QListWidget, key: str) -> None:
    """Mark the row of a key; none where there is no such row. Nobody is told."""
    keys = [view.item(row).data(KeyRole) for row in range(view.count())]
    with QSignalBlocker(view):
        view.setCurrentRow(keys.index(key) if key in keys else -1)


Saved = tuple[str, Callable[[], object]]
"""The key of what was saved, and what says so once the list shows it."""


class ListFormPage(SettingsPage, Generic[T]):
    """Subclasses say what is listed (``read``, ``line``) and how a form, in ``form_card``, shows, checks and saves one."""

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
        """What there is."""
        raise NotImplementedError

    def line(self, thing: T) -> ListLine:
        """The row of one; its key tells it from all others."""
        raise NotImplementedError

    def listed(self) -> list[T]:
        """Those that are shown in the list."""
        return self.things

    def heading(self, thing: T | None) -> str:
        """What stands above the form; None for a new one."""
        raise NotImplementedError

    def show_form(self, thing: T | None) -> None:
        """Fill the form with one, or for a new one."""
        raise NotImplementedError

    def edited(self) -> bool:
        """Whether the form differs from what it was filled with."""
        return bool(self.form.edited())

    def opening(self) -> str:
        """The key of what is shown while nobody chose: of those that are listed, the first."""
        return next((self.line(each).key for each in self.listed()), "")

    async def load_more(self) -> None:
        """Read and show what belongs to the chosen one beside its form."""

    def complete(self) -> bool:
        """Whether there is enough in the form to be tried and saved."""
        return True

    async def save_form(self) -> Saved:
        """Store what is in the form; what is raised is shown in the foot, and the form stays."""
        raise NotImplementedError

    def problem(self, error: Exception) -> str:
        """What was wrong with the form, in a sentence."""
        return error_text(error)

    def build_list(self, card: Card, kind: str, said: Text, *workflow_actions: tuple[str, Text, Callable[[], object]]) -> None:
        """``<kind>-list`` with what can be done under it: the rest of the button's name, its text, what a click does."""
        self.list = list_of_lines(self, f"{kind}-list", said)
        card.body.addWidget(self.list)
        for name, text, act in workflow_actions:
            self.buttons[name] = control(QPushButton(self), f"{kind}-{name}", text, on=act)
        self.button_row(card, *self.buttons.values())
        self.list.currentItemChanged.connect(lambda *_: self._select())

    def build_foot(self, kind: str, *more: QPushButton, cancel: str = "cancel") -> None:
        """Cancel and Save with what is known of the form: ``<kind>-cancel``, ``<kind>-save``."""
        self.cancel = control(QPushButton(self), f"{kind}-{cancel}", N_("Cancel"), on=self.revert)
        self.save = control(QPushButton(self), f"{kind}-save", N_("Save"), look="primary", on=self.store)
        self.foot(*more, self.cancel, self.save)

    async def load(self) -> None:
        self.things = list(await self.read())
        self.show_list()
        if not self.editing():
            self.show_chosen()
        self.check()
        await self.load_more()

    def current(self) -> T | None:
        """The one that is shown; None while one is added."""
        return None if self.adding else next((each for each in self.things if self.line(each).key == self.chosen), None)

    def editing(self) -> bool:
        """Whether the form has changes that are not saved."""
        return self.adding or bool(self.chosen and self._filled == self.chosen and self.edited())

    def show_list(self) -> None:
        """Fill the list; where the chosen one is gone ``opening`` is chosen, unless the form has changes."""
        lines = [self.line(each) for each in self.listed()]
        if self.current() is None and not self.editing():
            self.chosen = self.opening()
        show_lines(self.list, lines, "" if self.adding else self.chosen)

    def show_chosen(self) -> None:
        """Put what is chosen, or a new one, into the form."""
        thing = self.current()
        self._filled = "" if self.adding else self.chosen
        self.show_form(thing)
        bind_text(self.form_card.heading, lambda: self.heading(self.current()))
        self.check()

    def check(self) -> None:
        """Which buttons can be pressed, and whether there is anything to show a form of."""
        editing, complete = self.editing(), self.complete()
        self.form_card.set_shown(self.adding or bool(self.chosen))
        self.save.setEnabled(editing and complete)
        self.cancel.setEnabled(editing)

    def changed(self) -> None:
        """The form was changed by a person: what was said of it before holds no more."""
        self.busy.drop()
        self.check()

    def _select(self) -> None:
        item = self.list.currentItem()
        if item is None or (item.data(KeyRole) == self.chosen and not self.adding) or self.busy_with_another():
            return
        self.chosen = self.picked = str(item.data(KeyRole))
        self.show_stored()

    def busy_with_another(self) -> bool:
        """Whether the form has changes that are not saved: they are neither dropped nor taken along, and the list stays where it is."""
        if not self.editing():
            return False
        self.busy.note(lambda: _(CHANGED), "error")
        choose_line(self.list, "" if self.adding else self.chosen)
        return True

    def begin_new(self) -> bool:
        """The form of a new one; False, and why is said, while another has changes."""
        if self.busy_with_another():
            return False
        self.adding = True
        choose_line(self.list, "")
        self.busy.drop()
        self.show_chosen()
        return True

    def revert(self) -> None:
        """Back to what is stored."""
        self.adding, self._filled = False, ""
        self.show_list()
        self.show_stored()

    def show_stored(self) -> None:
        """Put what is stored of the chosen one into the form; what was said of another goes."""
        self.busy.drop()
        self.show_chosen()
        self.jobs.start(self.load_more(), "more")

    def store(self) -> None:
        """Save the form; what is wrong is said in place."""
        self.jobs.once("store", self._store)

    async def _store(self) -> None:
        try:
            key, tell = await self.save_form()
        except Exception as error:
            self.busy.note(self.problem(error), "error")
            return
        self.busy.drop()
        await self.show_again(key)
        tell()

    async def show_again(self, key: str) -> None:
        """Read the list again with this one chosen and, as it is stored, in the form."""
        self.adding, self._filled = False, ""
        self.chosen = self.picked = key
        await self.load()

    async def show_back(self, key: str) -> None:
        """What was deleted is there again: it is shown, unless the form has changes."""
        await (self.load() if self.editing() else self.show_again(key))

    def try_form(self, what: Text, work: Callable[[], Coroutine[Any, Any, Outcome | None]]) -> None:
        """Try what is in the form, one trial at a time; see ``Busy.run``."""
        self.busy.run(self.jobs, "test", work, what, self.problem)
