"""Skills and commands in the settings: rows, a card per folder, and the viewer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QCheckBox, QDialog, QPushButton, QWidget

from atelier_desk.desktop.widgets import Card, ElidedLabel, Pill, control, fill, fit_window, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.presentation.skill_text import KINDS, STATES, called_by, remarks, state, where
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.engine.services.skills import ListedSkill, SkillLocation, SkillView

PILLS: dict[str, PillKind] = {
    "used": "ok",
    "off": "",
    "undecided": "warn",
    "untrusted": "warn",
    "hidden": "",
    "broken": "err",
}


class SkillRow(QWidget):
    """``skill-<file>``: name and state, description, location and errors.

    ``opened(file)`` requests its text, ``switched(file, on)`` enables or disables it.
    """

    def __init__(
        self,
        row: ListedSkill,
        opened: Callable[[str], object],
        switched: Callable[[str, bool], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        file, text, key = row.found.file, row.found.text, state(row)
        self.setObjectName(f"skill-{file}")
        slash = "/" if row.found.kind == "command" else ""
        name = control(ElidedLabel(f"{slash}{row.name}", self), look="strong")
        pill = Pill(_(STATES[key]), PILLS[key], self)
        on = control(QCheckBox(self), f"skill-on-{file}", N_("On"), name=lambda: _("Enable {name}", name=row.name))
        on.setChecked(row.on)
        on.setEnabled(text is not None)
        on.clicked.connect(lambda on: switched(file, on))
        show = control(
            QPushButton(self),
            f"skill-show-{file}",
            N_("Show…"),
            name=lambda: _("Show {name}", name=row.name),
            on=lambda: opened(file),
        )
        who = _("Called by: {who}", who=called_by(row))
        what = label(f"{text.description}\n{who}" if text is not None else "", "muted", self, wrap=True)
        what.setVisible(text is not None)
        place = control(ElidedLabel(where(row), self, Qt.TextElideMode.ElideMiddle), look="small")
        place.setToolTip(plain_tip(file))
        wrong = label("\n".join(remarks(row)), "error" if text is None else "small", self, wrap=True)
        wrong.setVisible(bool(wrong.text()))
        line = hbox(None, (name, 1), pill, on, show, spacing=10)
        vbox(self, line, what, place, wrong, margins=(0, 6, 0, 6), spacing=3)


class PlaceCard(QWidget):
    """The skills of the user, or of a folder with its trust decision, which ``trusted(folder, on)`` changes."""

    def __init__(
        self,
        place: SkillLocation,
        opened: Callable[[str], object],
        switched: Callable[[str, bool], object],
        trusted: Callable[[str, bool], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        heading = control(
            ElidedLabel(place.folder or _("Your own"), self, Qt.TextElideMode.ElideMiddle), look="heading"
        )
        heading.setToolTip(plain_tip(place.folder))
        trust = control(
            QPushButton(self),
            f"skills-trust-{place.folder}",
            N_("Revoke trust") if place.trusted else N_("Trust"),
            name=lambda: (
                _("{name}: {text}", name=_("Revoke trust"), text=place.folder)
                if place.trusted
                else _("Trust {folder}", folder=place.folder)
            ),
            on=lambda: trusted(place.folder, not place.trusted),
        )
        trust.setVisible(bool(place.folder))
        note = label("", "small", self, wrap=True)
        if not place.folder and not place.rows:
            note.setText(_("No skills yet. Add a folder with a SKILL.md, or put one in ~/.agents/skills."))
        elif place.folder and not place.trusted:
            note.setText(_("You do not trust this folder: agents do not see its skills."))
        note.setVisible(bool(note.text()))
        card = Card(self)
        card.body.setSpacing(4)
        fill(card.body, *(SkillRow(row, opened, switched, card) for row in place.rows))
        card.setVisible(bool(place.rows))
        head = hbox(None, (heading, 1), trust, spacing=10)
        vbox(self, head, note, card, margins=(0, 0, 0, 12), spacing=6)


class SkillDialog(QDialog):
    """``skill-dialog``: the full text of a skill."""

    def __init__(self, shown: SkillView, parent: QWidget) -> None:
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
        vbox(self, title, description, (self.text, 1), notes, files, place, hbox(None, 1, close),
            margins=(24, 20, 24, 20), spacing=10,
        )  # fmt: skip
        fit_window(self, QSize(680, 560))
