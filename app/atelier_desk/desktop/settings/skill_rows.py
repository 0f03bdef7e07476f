"""Skills and commands in the settings: a line each, the card of a folder, and the dialog that shows what one says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Card, ElidedLabel, Pill, Translated, control, fill, label
from atelier_desk.desktop.widgets.basic import PillKind
from atelier_desk.desktop.widgets.wrapping import TextField
from atelier_desk.domain.text import visible
from atelier_desk.i18n import N_, _
from atelier_desk.skill_words import KINDS, STATES, called_by, remarks, state, where

if TYPE_CHECKING:
    from atelier_desk.engine.services.skills import Listed, Place, Shown

PILLS: dict[str, PillKind] = {"used": "ok", "off": "", "undecided": "warn", "untrusted": "warn", "hidden": "", "broken": "err"}


class SkillRow(QWidget):
    """``skill-<file>``: name and state, what it does, where it lies, and what is wrong with it.

    Signals:
        opened: its text is wanted.
        switched: it is to be on or off.
    """

    opened = Signal(str)
    switched = Signal(str, bool)

    def __init__(self, row: Listed, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = row
        file = row.found.file
        self.setObjectName(f"skill-{file}")
        slash = "/" if row.found.kind == "command" else ""
        self._name = control(ElidedLabel(f"{slash}{row.name}", self), look="strong")
        self._pill = Pill("", "", self)
        self._on = control(QCheckBox(self), f"skill-on-{file}", N_("On"))
        self._on.setChecked(row.on)
        self._on.setEnabled(row.found.text is not None)
        self._on.clicked.connect(lambda on: self.switched.emit(file, on))
        self._show = control(QPushButton(self), f"skill-show-{file}", N_("Show…"), on=lambda: self.opened.emit(file))
        self._what = label("", "muted", self, wrap=True)
        self._where = control(ElidedLabel(where(row), self, Qt.TextElideMode.ElideMiddle), look="small")
        self._where.setToolTip(file)
        self._remarks = label("", "error" if row.found.text is None else "small", self, wrap=True)
        line = fill(QHBoxLayout(), (self._name, 1), self._pill, self._on, self._show, spacing=10)
        fill(QVBoxLayout(self), line, self._what, self._where, self._remarks, margins=(0, 6, 0, 6), spacing=3)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        """In the order of the Tab key."""
        return self._on, self._show

    def retranslate(self) -> None:
        row, said = self.row, self.row.found.text
        key = state(row)
        self._pill.show_state(_(STATES[key]), PILLS[key])
        who = _("Called by: {who}", who=called_by(row)) if said is not None else ""
        self._what.setText(f"{said.description}\n{who}" if said is not None else "")
        self._what.setVisible(said is not None)
        wrong = remarks(row)
        self._remarks.setText("\n".join(wrong))
        self._remarks.setVisible(bool(wrong))
        self._on.setAccessibleName(_("Enable {name}", name=row.name))
        self._show.setAccessibleName(_("Show {name}", name=row.name))


class PlaceCard(Translated, QWidget):
    """The skills of the user, or of one folder, with what was decided of it.

    Signals:
        trusted: the folder is to be trusted, or not.
    """

    trusted = Signal(str, bool)

    def __init__(self, place: Place, opened: Callable[[str], object], switched: Callable[[str, bool], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.place = place
        self._heading = control(ElidedLabel("", self, Qt.TextElideMode.ElideMiddle), look="heading")
        self._trust = control(
            QPushButton(self), f"skills-trust-{place.folder}", on=lambda: self.trusted.emit(place.folder, not place.trusted)
        )
        self._trust.setVisible(bool(place.folder))
        self._note = label("", "small", self, wrap=True)
        card = Card(self)
        card.body.setSpacing(4)
        self.rows = [SkillRow(row, card) for row in place.rows]
        for row in self.rows:
            row.opened.connect(opened)
            row.switched.connect(switched)
            card.body.addWidget(row)
        card.setVisible(bool(self.rows))
        head = fill(QHBoxLayout(), (self._heading, 1), self._trust, spacing=10)
        fill(QVBoxLayout(self), head, self._note, card, margins=(0, 0, 0, 12), spacing=6)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        return (self._trust, *(each for row in self.rows for each in row.controls))

    def retranslate(self) -> None:
        place = self.place
        self._heading.setText(place.folder or _("YOUR OWN"))
        self._heading.setToolTip(place.folder)
        self._trust.setText(_("Revoke trust") if place.trusted else _("Trust"))
        self._trust.setAccessibleName(_("Trust {folder}", folder=place.folder))
        if not place.folder:
            note = "" if place.rows else _("No skills yet. Add a folder with a SKILL.md, or put one into ~/.agents/skills.")
        elif place.trusted:
            note = ""
        else:
            note = _("You do not trust this folder: agents do not see its skills.")
        self._note.setText(note)
        self._note.setVisible(bool(note))
        for row in self.rows:
            row.retranslate()


class SkillDialog(QDialog):
    """``skill-dialog``: what a skill tells agents, word for word."""

    def __init__(self, shown: Shown, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = shown.listed
        self.setObjectName("skill-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(visible(f"{row.name} ({_(KINDS[row.found.kind])})"))
        text = visible(shown.body)
        self.text = control(TextField(text, self), "skill-text", look="mono")
        self.text.setAccessibleName(_("Text of {file}", file=row.found.file))
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setVisible(bool(text))
        description = label(row.found.text.description if row.found.text is not None else "", "muted", self, wrap=True)
        notes = label("\n".join(remarks(row)), "small", self, wrap=True)
        notes.setVisible(bool(notes.text()))
        files = label(_("Files: {names}", names=", ".join(shown.files)), "small", self, wrap=True)
        files.setVisible(bool(shown.files))
        place = label(row.found.file, "small", self, wrap=True)
        place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        close = control(QPushButton(_("Close"), self), "skill-close", on=self.reject)
        close.setDefault(True)
        title = label(row.name, "title", self)
        fill(
            QVBoxLayout(self), title, description, (self.text, 1), notes, files, place, fill(QHBoxLayout(), 1, close),
            margins=(24, 20, 24, 20), spacing=10,
        )  # fmt: skip
        self.resize(theme().px(680), theme().px(560))
