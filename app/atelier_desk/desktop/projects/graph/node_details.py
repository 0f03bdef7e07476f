"""Details of the selected node, and its actions."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.widgets import FlowLayout, Pill, bind_text, control, fill, label, vbox
from atelier_desk.domain.project import Entity, EntityKind
from atelier_desk.presentation.project_text import kind_word, place_word, title_word
from atelier_desk.support.i18n import N_, ngettext

DOCSTRING = 320
"""Maximum characters shown of a docstring."""


def has_source(entity: Entity) -> bool:
    """Whether there is a text to open."""
    return bool(entity.path) and entity.kind not in (EntityKind.PACKAGE, EntityKind.IMAGE)


class NodeDetails(QWidget):
    """``graph-details``; hidden while no node is selected.

    Signals:
        open_requested, expand_requested, only_requested: the button was pressed.
    """

    open_requested = Signal()
    expand_requested = Signal()
    only_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graph-details")
        self.title = control(label("", "strong", self, wrap=True), "graph-details-title")
        self.title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._kind = Pill("", "accent", self)
        self._facts = label("", "small", self, wrap=True)
        self._signature = label("", "mono", self, wrap=True)
        self._about = label("", "muted", self, wrap=True)
        self.open = control(QPushButton(self), "graph-open", N_("Open the source"), on=self.open_requested.emit)
        self.expand = control(
            QPushButton(self), "graph-expand", N_("Expand"), look="ghost", on=self.expand_requested.emit
        )
        self.only = control(
            QPushButton(self), "graph-only", N_("Show only neighbours"), look="ghost", on=self.only_requested.emit
        )
        buttons = FlowLayout(spacing=6)
        for button in (self.open, self.expand, self.only):
            buttons.addWidget(button)
        column = vbox(self, spacing=6)
        fill(column, self.title, self._kind, self._facts, self._signature, self._about)
        column.addLayout(buttons)
        column.addSpacing(10)
        self.hide()

    def show_entity(self, entity: Entity | None, joined: int = 0) -> None:
        """Describe a node and the number of its visible neighbours; None hides."""
        self.setVisible(entity is not None)
        if entity is None:
            return
        bind_text(self.title, lambda: _broken(title_word(entity)))
        bind_text(self._kind, lambda: kind_word(entity))
        bind_text(
            self._facts,
            lambda: "\n".join(
                filter(
                    None, (_broken(place_word(entity)), ngettext("{n} neighbour shown", "{n} neighbours shown", joined))
                )
            ),
        )
        for text, words in ((self._signature, _broken(entity.signature)), (self._about, _short(entity.docstring))):
            text.setText(words)
            text.setVisible(bool(words))
        self.open.setVisible(has_source(entity))


def _broken(text: str) -> str:
    """Allow line breaks in long names after dots, slashes and commas: a label breaks only at spaces."""
    for sign in "./,_(":
        text = text.replace(sign, sign + "\u200b")
    return text


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= DOCSTRING else words[:DOCSTRING].rsplit(" ", 1)[0] + " …"
