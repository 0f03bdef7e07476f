"""What widgets show follows language, theme and scale: it is bound once where a widget is made.

``bind_text`` binds texts, ``control`` does so for a widget that was just made, with its object name, its style
variant and what a click does.
``bind`` binds anything else: icons, lengths, and views that are filled with data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from typing import Literal, Self, TypedDict, TypeVar, Unpack
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.support.i18n import _
from atelier_desk.support.text import visible

W = TypeVar("W", bound=QWidget | QAction)
V = TypeVar("V", bound=QWidget)
Text = str | Callable[[], str]
"""An English ``N_`` string, or a function that gives the text in the language of the moment."""
Change = Literal["any", "language", "look"]


class Sentence(str):
    """A text that was made of values, as an error's is, and can be made ``again`` in another language. Signals must carry it as an object:
    as ``str`` it arrives without that."""

    again: Callable[[], str]

    def __new__(cls, make: Callable[[], str]) -> Self:
        made = super().__new__(cls, make())
        made.again = make
        return made


def sentence(text: str, **values: object) -> Sentence:
    """A ``Sentence`` of an English ``N_`` string and values that read the same in every language."""
    return Sentence(lambda: _(text, **values))


class BoundText(TypedDict, total=False):
    """What can be said of a widget: accessible name and description, tool tip (with the ``keys`` that do the same), placeholder (``hint``),
    window title, the entries of a combo box from the first on, and what stands after the number of a spin box (``suffix``) or in place of
    the least (``least``).
    """

    name: Text
    about: Text
    tip: Text
    keys: str
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
    "suffix": "setSuffix",
    "least": "setSpecialValueText",
    "name": "setAccessibleName",
    "about": "setAccessibleDescription",
}
TEXTS, METHODS = "bound texts", "bound methods"
"""Where an object keeps them; no attribute of its class can be called that."""
_bound: WeakKeyDictionary[QObject, None] = WeakKeyDictionary()
"""Whatever has something bound, from the first to the last: a widget comes after those it is made of."""


def bind_text(widget: W, text: Text | None = None, **said: Unpack[BoundText]) -> W:
    """Bind texts to a widget; what was bound before and is not named stays bound. Without any, those are said again.

    Whatever is no label and has no accessible name of its own takes its text as one, else its placeholder, title or tool tip.
    """
    kept: dict[str, object] = widget.__dict__.setdefault(TEXTS, {})
    kept.update(said)
    if text is not None:
        kept["text"] = text
    _bound[widget] = None
    _apply_texts(widget, {*said, *(["text"] if text is not None else [])} or kept.keys())
    return widget


def bound_texts(widget: QWidget) -> Iterator[str]:
    """All texts bound to a widget, in the language of the moment (see ``spoken``), also those of entries."""
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
    **said: Unpack[BoundText],
) -> V:
    """A widget that was just made: its object name, texts, variant of the style sheet, and what a click on it does."""
    if object_name:
        widget.setObjectName(object_name)
    if look:
        mark(widget, look)
    if isinstance(widget, QAbstractButton) and widget.focusPolicy() == Qt.FocusPolicy.StrongFocus:
        widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click on a button leaves the keyboard where one types
    if on is not None:
        widget.clicked.connect(lambda *_: on())  # type: ignore[attr-defined]
    return bind_text(widget, text, **said) if said or text is not None else widget


def bind(show: Callable[..., object], *values: object, on: Change = "any") -> None:
    """Call a method of a widget now, and again whenever the language, the theme or the scale changes while the widget lives.

    ``bind(self._fill)`` for a view that is filled with data, ``bind(button.setIcon, lambda: theme().icon("plus"))`` for one property,
    ``bind(tabs.setTabText, 0, lambda: _("Code"))`` with values that stay: functions give the value of the moment, all else is passed as
    it is. Bound again with the same values that stay, a method takes the other functions instead.
    Bound methods follow all bound texts, in the order of their widgets. A widget is not kept alive: of its method the name is kept; a
    function that needs a widget is kept by that widget alone.

    Args:
        show: a method of any ``QObject`` that was made in Python; no plain function, for nobody would know how long it holds, and none of
            what Qt made, such as a viewport: Python forgets that at once.
        on: the changes that matter, where the work is long or a list would lose its place: of the ``"language"``, or of the ``"look"``
            (theme or scale).
    """
    owner: QObject = show.__self__  # type: ignore[attr-defined]
    name = show.__name__
    owner.__dict__.setdefault(METHODS, {})[name, *(each for each in values if not callable(each))] = on, values
    _bound[owner] = None
    _show(owner, name, values)


def refresh_texts() -> None:
    """Set every bound text in the language of the moment, then call what else is bound to it."""
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
                except Exception:  # a mistake in one view leaves no other in the old language
                    sys.excepthook(*sys.exc_info())


theme().changed.connect(partial(_show_again, "look"))


def _show(owner: QObject, name: str, values: Sequence[object]) -> None:
    getattr(owner, name)(*(value() if callable(value) else value for value in values))


def text_of(text: Text) -> str:
    """A text in the language of the moment."""
    if isinstance(text, Sentence):
        return text.again()
    return text() if callable(text) else _(text)


def made(text: str) -> Text:
    """To bind a text that was made already: it stays as it is, but a ``Sentence`` follows the language."""
    return text if isinstance(text, Sentence) else lambda: text


def _apply_texts(widget: QWidget | QAction, parts: Set[str]) -> None:
    kept = widget.__dict__[TEXTS]
    for part, setter in SETTERS.items():
        if part in parts and part in kept:
            text = visible(text_of(kept[part]))
            if part == "tip" and kept.get("keys"):
                text = f"{text} ({QKeySequence(kept['keys']).toString(QKeySequence.SequenceFormat.NativeText)})"
            getattr(widget, setter)(text)
    if "items" in parts:
        for row, text in enumerate(kept.get("items", ())):
            widget.setItemText(row, visible(text_of(text)))  # type: ignore[union-attr]
    if "name" not in kept and not isinstance(widget, QLabel | QAction):
        name = next((visible(text_of(kept[part]).strip()) for part in ("text", "hint", "title", "tip") if part in kept), "")
        if widget.accessibleName() in ("", kept.get("default")):
            widget.setAccessibleName(name)
            kept["default"] = name
