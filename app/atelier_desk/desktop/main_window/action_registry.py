"""The registry of actions, read by menus, shortcuts and the command palette.

A method of the window becomes an action with ``@action("new-workflow", N_("New workflow"), shortcut="Ctrl+N",
group="workflow")``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

from PySide6 import QtGui  # for QKeySequence: importing it makes its class before the first paint
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.language_theme_bindings import Sentence, sentence
from atelier_desk.support.i18n import N_, _

Early = Literal["", "now", "later"]
"""When an action runs that is triggered before the engine opens: never (""), at once, or later."""

Method = TypeVar("Method", bound=Callable[..., object])

GROUPS = {
    "workflow": N_("Workflow"),
    "message": N_("Message"),
    "run": N_("Agent"),
    "view": N_("View"),
    "program": N_("Application"),
    "help": N_("Help"),
}


class ActionSpec(NamedTuple):
    """The definition of an action.

    Attributes:
        text: an English ``N_`` string.
        keywords: more search terms for the palette.
        unavailable: why it is disabled while it is, an English ``N_`` string.
    """

    name: str
    text: str
    group: str
    shortcut: str = ""
    icon: str = ""
    keywords: str = ""
    checkable: bool = False
    early: Early = ""
    unavailable: str = N_("Not available now")


def action(
    name: str,
    text: str,
    *,
    group: str,
    shortcut: str = "",
    icon: str = "",
    keywords: str = "",
    checkable: bool = False,
    early: Early = "",
    unavailable: str = N_("Not available now"),
) -> Callable[[Method], Method]:
    """Make a window's method an action; it is called without arguments, or with the new state when checkable."""

    def register(method: Method) -> Method:
        spec = ActionSpec(name, text, group, shortcut, icon, keywords, checkable, early, unavailable)
        method._action_spec = spec  # type: ignore[attr-defined]
        return method

    return register


class ActionRegistry(QObject):
    """The actions of one window, in the order of their definition; ``add`` registers more at run time.

    Signals:
        shortcuts_changed: the keys of some actions have changed.
    """

    shortcuts_changed = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._chosen: Mapping[str, str] = {}
        self._entries: dict[str, tuple[ActionSpec, QAction]] = {}
        self._later: dict[str, Callable[[], object]] | None = None
        for cls in reversed(type(window).__mro__):
            for attribute in vars(cls).values():
                spec = getattr(attribute, "_action_spec", None)
                if isinstance(spec, ActionSpec):
                    self.add(spec, attribute.__get__(window))

    def add(self, spec: ActionSpec, run: Callable[..., object], after: str = "") -> QAction:
        """Register an action of the window, placed after the one called ``after``. A duplicate name is an error."""
        if spec.name in self._entries:
            raise ValueError(f"action {spec.name!r} is registered already")
        made = bind_text(QAction(self), spec.text)
        made.setObjectName(f"action-{spec.name}")
        made.setCheckable(spec.checkable)
        made.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        made.setShortcuts(_keys(self._chosen.get(spec.name, spec.shortcut)))
        made.triggered.connect(lambda on: self._do(spec, (lambda: run(on)) if spec.checkable else run))
        # Complete before this line: the window's event filters see every later change of the action.
        self._window.addAction(made)
        order = list(self._entries)
        order.insert(order.index(after) + 1 if after else len(order), spec.name)
        known = self._entries | {spec.name: (spec, made)}
        self._entries = {name: known[name] for name in order}
        return made

    def hold(self) -> None:
        """Ignore or postpone actions, as their ``early`` says, until ``release`` is called."""
        if self._later is None:
            self._later = {}

    def release(self) -> None:
        """The engine is open: run the postponed actions."""
        later, self._later = self._later or {}, None
        for run in later.values():
            run()

    def _do(self, spec: ActionSpec, run: Callable[[], object]) -> None:
        if self._later is None or spec.early == "now":
            run()
        elif spec.early == "later":
            self._later[spec.name] = run

    def set_shortcuts(self, chosen: Mapping[str, str]) -> None:
        """Replace default keys by action name; empty means no shortcut (``settings.shortcuts``).

        Unknown names are left alone.
        """
        if chosen == self._chosen:
            return
        self._chosen = dict(chosen)
        for spec, made in self:
            made.setShortcuts(_keys(chosen.get(spec.name, spec.shortcut)))
        self.shortcuts_changed.emit()

    def holder(self, keys: QtGui.QKeySequence, name: str) -> ActionSpec | None:
        """The action with these keys, other than the one called ``name``."""
        return next(
            (spec for spec, made in self if spec.name != name and not keys.isEmpty() and keys in made.shortcuts()), None
        )

    def __getitem__(self, name: str) -> QAction:
        return self._entries[name][1]

    def __iter__(self) -> Iterator[tuple[ActionSpec, QAction]]:
        return iter(self._entries.values())

    def fill(self, menu: QMenu) -> None:
        """Add every action to a menu, one submenu per group."""
        menu.clear()
        for group, title in GROUPS.items():
            entries = [made for spec, made in self if spec.group == group]
            if entries:
                sub = menu.addMenu(_(title))
                sub.addActions(entries)
        for spec, made in self:  # icons are drawn when a menu is first shown, not while the program starts
            if spec.icon:
                made.setIcon(theme().icon(spec.icon))


def _keys(text: str) -> list[QtGui.QKeySequence]:
    """The key sequences of a shortcut: + is also accepted without Shift, as most keyboards have it on the = key."""
    texts = [text, f"{text[:-1]}="] if text.endswith("++") else [text]
    return [QtGui.QKeySequence(each) for each in texts if each]


def registry_of(widget: QWidget) -> ActionRegistry | None:
    """The actions of the window that a widget belongs to, or of the window it was opened from."""
    above: QWidget | None = widget
    while above is not None:
        found = above.findChild(ActionRegistry, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if isinstance(found, ActionRegistry):
            return found
        above = above.parentWidget()
    return None


def refusal(keys: QtGui.QKeySequence, registry: ActionRegistry | None = None, name: str = "") -> str:
    """Why these keys cannot be the shortcut of the action called ``name``, as a ``Sentence``; empty when they can."""
    holder = registry.holder(keys, name) if registry is not None else None
    if keys.isEmpty():
        return ""
    if holder is not None:
        text, native = holder.text, QtGui.QKeySequence.SequenceFormat.NativeText
        again = N_("{keys} is already used by “{action}”. Change or clear that shortcut first.")
        return Sentence(lambda: _(again, keys=keys.toString(native), action=_(text)))
    pressed = keys[0]  # type: ignore[index]  # missing in the stubs of PySide6
    held = Qt.KeyboardModifier
    if pressed.keyboardModifiers() & (held.ControlModifier | held.AltModifier | held.MetaModifier):
        return ""
    if Qt.Key.Key_F1 <= pressed.key() <= Qt.Key.Key_F35:
        return ""
    return sentence(N_("Keys that type text or move the cursor need Ctrl, Alt or Meta."))


def shortcut_text(made: Any) -> str:
    """The keys of an action in the platform's notation."""
    return str(made.shortcut().toString(QtGui.QKeySequence.SequenceFormat.NativeText))
