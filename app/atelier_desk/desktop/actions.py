"""The one registry of actions: menus, shortcuts and the command palette all read it.

A window's method becomes an action with ``@action("new-workflow", N_("New workflow"), shortcut="Ctrl+N", group="workflow")``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.bindings import Sentence, sentence
from atelier_desk.support.i18n import N_, _

Early = Literal["", "now", "later"]
"""What becomes of an action asked for before the engine is open: nothing, it is done at once, or as soon as the engine is open."""

Method = TypeVar("Method", bound=Callable[..., object])

GROUPS = {
    "workflow": N_("Workflow"),
    "message": N_("Message"),
    "run": N_("Agent"),
    "view": N_("View"),
    "program": N_("Program"),
    "help": N_("Help"),
}


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What an action is; ``text`` is an English ``N_`` string. ``keywords`` help the palette's search."""

    name: str
    text: str
    group: str
    shortcut: str = ""
    icon: str = ""
    keywords: str = ""
    checkable: bool = False
    early: Early = ""


def action(
    name: str, text: str, *, group: str, shortcut: str = "", icon: str = "", keywords: str = "", checkable: bool = False, early: Early = ""
) -> Callable[[Method], Method]:
    """Make a method of a window an action; it is called with nothing, or with the new state when it is checkable."""

    def register(method: Method) -> Method:
        method._action_spec = ActionSpec(name, text, group, shortcut, icon, keywords, checkable, early)  # type: ignore[attr-defined]
        return method

    return register


class ActionRegistry(QObject):
    """The actions of one window, in the order of their definition; ``add`` brings more at run time.

    Signals:
        shortcuts_changed: other keys do something now.
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
        """Register an action of the window, behind the one called ``after``; a name that is there already is an error."""
        if spec.name in self._entries:
            raise ValueError(f"action {spec.name!r} is registered already")
        made = bind_text(QAction(self), spec.text)
        made.setObjectName(f"action-{spec.name}")
        made.setCheckable(spec.checkable)
        made.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        made.setShortcut(self._chosen.get(spec.name, spec.shortcut))
        made.triggered.connect(lambda on: self._do(spec, (lambda: run(on)) if spec.checkable else run))
        self._window.addAction(made)  # whole by now: the window's event filters see each change of an action it has
        order = list(self._entries)
        order.insert(order.index(after) + 1 if after else len(order), spec.name)
        known = self._entries | {spec.name: (spec, made)}
        self._entries = {name: known[name] for name in order}
        return made

    def hold(self) -> None:
        """From now on nothing is done that needs the engine, until ``release``."""
        if self._later is None:
            self._later = {}

    def release(self) -> None:
        """The engine is open: do what was asked for meanwhile and can wait."""
        later, self._later = self._later or {}, None
        for run in later.values():
            run()

    def _do(self, spec: ActionSpec, run: Callable[[], object]) -> None:
        if self._later is None or spec.early == "now":
            run()
        elif spec.early == "later":
            self._later[spec.name] = run

    def set_shortcuts(self, chosen: Mapping[str, str]) -> None:
        """Keys by action in place of its own, empty for none (``settings.shortcuts``); an action that is not there is left alone."""
        if chosen == self._chosen:
            return
        self._chosen = dict(chosen)
        for spec, made in self:
            made.setShortcut(chosen.get(spec.name, spec.shortcut))
        self.shortcuts_changed.emit()

    def holder(self, keys: QKeySequence, name: str) -> ActionSpec | None:
        """The action that has these keys, other than the one called ``name``."""
        return next((spec for spec, made in self if spec.name != name and not keys.isEmpty() and made.shortcut() == keys), None)

    def __getitem__(self, name: str) -> QAction:
        return self._entries[name][1]

    def __iter__(self) -> Iterator[tuple[ActionSpec, QAction]]:
        return iter(self._entries.values())

    def fill(self, menu: QMenu) -> None:
        """Put every action into a menu, one submenu a group."""
        menu.clear()
        for group, title in GROUPS.items():
            entries = [made for spec, made in self if spec.group == group]
            if entries:
                sub = menu.addMenu(_(title))
                sub.addActions(entries)
        for spec, made in self:  # icons are drawn when a menu is first shown, not while the program starts
            if spec.icon:
                made.setIcon(theme().icon(spec.icon))


def registry_of(widget: QWidget) -> ActionRegistry | None:
    """The actions of the window that a widget, or a window above which it was opened, belongs to."""
    above: QWidget | None = widget
    while above is not None:
        found = above.findChild(ActionRegistry, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if isinstance(found, ActionRegistry):
            return found
        above = above.parentWidget()
    return None


def refusal(keys: QKeySequence, registry: ActionRegistry | None = None, name: str = "") -> str:
    """Why keys cannot be the shortcut of the action called ``name``, as a ``Sentence``; empty when they can."""
    holder = registry.holder(keys, name) if registry is not None else None
    if keys.isEmpty():
        return ""
    if holder is not None:
        text, native = holder.text, QKeySequence.SequenceFormat.NativeText
        again = N_("{keys} is used by “{action}”. Change or clear that one first.")
        return Sentence(lambda: _(again, keys=keys.toString(native), action=_(text)))
    pressed = keys[0]  # type: ignore[index]  # the stubs of PySide6 do not know it
    held = Qt.KeyboardModifier
    if pressed.keyboardModifiers() & (held.ControlModifier | held.AltModifier | held.MetaModifier):
        return ""
    if Qt.Key.Key_F1 <= pressed.key() <= Qt.Key.Key_F35:
        return ""
    return sentence(N_("Keys that type text or move the cursor need Ctrl, Alt or Meta."))


def shortcut_text(made: Any) -> str:
    """The keys of an action as the platform writes them."""
    return str(made.shortcut().toString(QKeySequence.SequenceFormat.NativeText))
