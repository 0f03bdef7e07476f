"""Preview of an agent imported from another program, before it is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMessageBox, QWidget

from atelier_desk.desktop.widgets.message_box import MessageBox
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.engine.importing.agent_files import ForeignAgent

IMPORT_KINDS = N_("Agent files (*.json *.md *.toml *.yaml *.yml)")
_MOST = 12
"""Maximum number of notes in the dialog."""


def ask_import(parent: QWidget, read: ForeignAgent, then: Callable[[], object]) -> QMessageBox:
    """``agent-import``: ask whether to store the agent as parsed; Cancel stores nothing."""
    config = read.config
    box = MessageBox(parent, "agent-import")
    box.setText(_("Import the agent “{name}”?", name=config.name))
    tools = ", ".join(config.tools) or _("none")
    notes = [note.localized(_) for note in read.notes]
    shown = [f"• {note}" for note in notes[:_MOST]] + (["…"] if len(notes) > _MOST else [])
    lines = [_("Model: {name}", name=config.model), _("Tools: {tools}", tools=tools), "", *shown]
    box.setInformativeText("\n".join(lines))
    yes = box.add(_("Import"), "agent-import-yes", QMessageBox.ButtonRole.AcceptRole, "primary")
    box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(yes)
    yes.clicked.connect(lambda *_: then())
    box.open()
    return box
