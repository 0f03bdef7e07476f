"""Bindings that keep widgets current on changes of language, theme and scale, set where a widget is created.

``bind_text`` binds texts; ``control`` does so for a new widget, with object name, style variant and click handler.
``bind`` binds anything else: icons, lengths, and views filled with data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from typing import Literal, Self, TypedDict, TypeVar, Unpack
from weakref import WeakKeyDictionary

from PySide6 import QtGui  # for QKeySequence: its keys are made when it is first named, after the first paint
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import visible

W = TypeVar("W", bound=QWidget | QAction)
V = TypeVar("V", bound=QWidget)
Text = str | Callable[[], str]
"""An English ``N_`` string, or a function that returns the text in the current language."""
Change = Literal["any", "language", "look"]


class Sentence(str):
    """A text formatted with values, such as an error's, that can be rebuilt in another language (``again``).

    Signals must carry it as an object: as ``str`` it loses that ability.
    """

    again: Callable[[], str]

    def __new__(cls, make: Callable[[], str]) -> Self:
        made = super().__new__(cls, make())
        made.again = make
        return made


def sentence(text: str, **values: object) -> Sentence:
    """A ``Sentence`` of an English ``N_`` string and language-independent values."""
    return Sentence(lambda: _(text, **values))


class BoundText(TypedDict, total=False):
    """The texts of a widget.

    These are: accessible name and description, tool tip (with the equivalent ``keys``), placeholder (``hint``),
    window title, the entries of a combo box from the first on, and the text before a spin box's number (``prefix``),
    after it (``suffix``) or in place of its minimum (``least``).
    """

    name: Text
    about: Text
    tip: Text
    keys: str
    prefix: Text
    suffix: Text
    least: Text
    hint: Text
    title: Text
    items: Sequence[Text]


SETTERS = {
    "text": "setText",
    "hint": "setPlaceholderText",
    "title": "setWindowTitle",
    "tip": "setToolTip",
    "prefix": "setPrefix",
    "suffix": "setSuffix",
    "least": "setSpecialValueText",
    "name": "setAccessibleName",
    "about": "setAccessibleDescription",
}
TEXTS, METHODS = "bound texts", "bound methods"
"""Dynamic properties that hold the bindings; no attribute of a class can have these names."""
_bound: WeakKeyDictionary[QObject, None] = WeakKeyDictionary()
"""All objects with bindings, in order: a widget comes after its children."""


def bind_text(widget: W, text: Text | None = None, **texts: Unpack[BoundText]) -> W:
    """Bind texts to a widget; earlier bindings that are not named remain. Without arguments, the texts are set again.

    A widget other than a label without an accessible name uses its text, else placeholder, title or tool tip.
    """
    bound: dict[str, object] = widget.__dict__.setdefault(TEXTS, {})
    bound.update(texts)
    if text is not None:
        bound["text"] = text
    _bound[widget] = None
    _apply_texts(widget, {*texts, *(["text"] if text is not None else [])} or bound.keys())
    return widget


def bound_texts(widget: QWidget) -> Iterator[str]:
    """All texts bound to a widget, including entries, in the current language (see ``spoken``)."""
    for part, text in widget.__dict__.get(TEXTS, {}).items():
        if part == "items":
            yield from map(text_of, text)
        elif part in SETTERS:
            yield text_of(text)


def control(
    widget: V,
    object_name: str = "",
    text: Text | None = None,
    *,
    look: str = "",
    on: Callable[[], object] | None = None,
    **texts: Unpack[BoundText],
) -> V:
    """Set up a new widget: object name, texts, variant of the style sheet, and click handler."""
    if object_name:
        widget.setObjectName(object_name)
    if look:
        mark(widget, look)
    if isinstance(widget, QAbstractButton) and widget.focusPolicy() == Qt.FocusPolicy.StrongFocus:
        widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click on a button leaves the focus in the text field
    if on is not None:
        widget.clicked.connect(lambda *_: on())  # type: ignore[attr-defined]
    return bind_text(widget, text, **texts) if texts or text is not None else widget


def bind(show: Callable[..., object], *values: object, on: Change = "any") -> None:
    """Call a method of a widget now, and again on every change of language, theme or scale while the widget lives.

    ``bind(self._fill)`` for a view filled with data, ``bind(button.setIcon, lambda: theme().icon("plus"))`` for one
    property, ``bind(tabs.setTabText, 0, lambda: _("Code"))`` with constant arguments: functions are evaluated each
    time, other arguments are passed as they are. Binding a method again with the same constant arguments replaces its
    functions. Bound methods are called after all bound texts, in the order of their widgets. A widget is not kept
    alive: only the method's name is stored, and a function that needs a widget is owned by that widget.

    Args:
        show: a method of a ``QObject`` created in Python. Not a plain function, which has no lifetime, nor a method
            of an object created by Qt,
            such as a viewport, whose wrapper is dropped at once.
        on: the relevant changes, if the call is slow or would lose a list's position: ``"language"``, or ``"look"``
            (theme or scale).
    """
    owner: QObject = show.__self__  # type: ignore[attr-defined]
    name = show.__name__
    owner.__dict__.setdefault(METHODS, {})[name, *(each for each in values if not callable(each))] = on, values
    _bound[owner] = None
    _show(owner, name, values)


def refresh_texts() -> None:
    """Set all bound texts in the current language, then call the other bindings."""
    for each in list(_bound):
        if TEXTS in each.__dict__ and isValid(each):
            _apply_texts(each, SETTERS.keys() | {"items"})  # type: ignore[arg-type]
    _show_again("language")


def _show_again(change: Change) -> None:
    for each in list(_bound):
        for (name, *_same), (on, values) in list(each.__dict__.get(METHODS, {}).items()):
            if on in (change, "any") and isValid(each):
                try:
                    _show(each, name, values)
                except Exception:  # an error in one view must not leave others in the old language
                    sys.excepthook(*sys.exc_info())


theme().changed.connect(partial(_show_again, "look"))


def _show(owner: QObject, name: str, values: Sequence[object]) -> None:
    getattr(owner, name)(*(value() if callable(value) else value for value in values))


def text_of(text: Text) -> str:
    """A text in the current language."""
    if isinstance(text, Sentence):
        return text.again()
    return text() if callable(text) else _(text)


def made(text: str) -> Text:
    """Bind an existing text: constant, except that a ``Sentence`` follows the language."""
    return text if isinstance(text, Sentence) else lambda: text


def native_keys(shortcut: str) -> str:
    """A shortcut in the platform's notation."""
    return QtGui.QKeySequence(shortcut).toString(QtGui.QKeySequence.SequenceFormat.NativeText)


def _apply_texts(widget: QWidget | QAction, parts: Set[str]) -> None:
    bound = widget.__dict__[TEXTS]
    for part, setter in SETTERS.items():
        if part in parts and part in bound:
            text = visible(text_of(bound[part]))
            if part == "tip" and bound.get("keys"):
                text = f"{text} ({native_keys(bound['keys'])})"
            getattr(widget, setter)(plain_tip(text) if part == "tip" else text)
    if "items" in parts:
        for row, text in enumerate(bound.get("items", ())):
            widget.setItemText(row, visible(text_of(text)))  # type: ignore[union-attr]
    if "name" not in bound and not isinstance(widget, QLabel | QAction):
        name = next(
            (visible(text_of(bound[part]).strip()) for part in ("text", "hint", "title", "tip") if part in bound), ""
        )
        if widget.accessibleName() in ("", bound.get("default")):
            widget.setAccessibleName(name)
            bound["default"] = name
