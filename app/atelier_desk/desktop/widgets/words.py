"""Texts bound to their widgets: said once where a widget is made, set then and again whenever the language changes.

``say`` binds texts, ``control`` does so for a widget that was just made, with its object name, its style variant and what a click does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Self, TypedDict, TypeVar, Unpack
from weakref import WeakSet

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.theme import mark
from atelier_desk.domain.text import visible
from atelier_desk.i18n import _

W = TypeVar("W", bound=QWidget | QAction)
V = TypeVar("V", bound=QWidget)
Text = str | Callable[[], str]
"""An English ``N_`` string, or a function that gives the text in the language of the moment."""


class Sentence(str):
    """A text that was made of values, as an error's is, and can be made ``again`` in another language. Signals must carry it as an object:
    as ``str`` it arrives without that."""

    again: Callable[[], str]

    def __new__(cls, make: Callable[[], str]) -> Self:
        made = super().__new__(cls, make())
        made.again = make
        return made


class Said(TypedDict, total=False):
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
_bound: WeakSet[QWidget | QAction] = WeakSet()


def say(widget: W, text: Text | None = None, **said: Unpack[Said]) -> W:
    """Bind texts to a widget; what was bound before and is not named stays bound. Without any, those are said again.

    Whatever is no label and has no accessible name of its own takes its text as one, else its placeholder, title or tool tip.
    """
    kept: dict[str, object] = widget.__dict__.setdefault("_words", {})
    kept.update(said)
    if text is not None:
        kept["text"] = text
    _bound.add(widget)
    _say(widget, {*said, *(["text"] if text is not None else [])} or kept.keys())
    return widget


def control(
    widget: V,
    object_name: str = "",
    text: Text | None = None,
    *,
    look: str = "",
    on: Callable[[], object] | None = None,
    **said: Unpack[Said],
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
    return say(widget, text, **said) if said or text is not None else widget


def say_again() -> None:
    """Set every bound text in the language of the moment."""
    for widget in list(_bound):
        if isValid(widget):
            _say(widget, SETTERS.keys() | {"items"})


def text_of(text: Text) -> str:
    """A text in the language of the moment."""
    if isinstance(text, Sentence):
        return text.again()
    return text() if callable(text) else _(text)


def made(text: str) -> Text:
    """To bind a text that was made already: it stays as it is, but a ``Sentence`` follows the language."""
    return text if isinstance(text, Sentence) else lambda: text


def _say(widget: QWidget | QAction, parts: Set[str]) -> None:
    kept = widget.__dict__["_words"]
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
