"""The question whether a folder is trusted, asked when it is granted; may be left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QMessageBox, QWidget

from atelier_desk.desktop.widgets.message_box import MessageBox
from atelier_desk.support.i18n import _, ngettext

_NAMED = 5
"""Maximum number of files named."""


def ask_trust(
    parent: QWidget, folders: Sequence[str], found: Sequence[str], then: Callable[[bool], object]
) -> QMessageBox:
    """Ask; ``then`` receives the answer.

    After Esc it is not called: the folder stays untrusted and is asked about again.

    Args:
        found: the files with instructions in the folders.
    """
    box = MessageBox(parent, "trust-question")
    question = ngettext("Do you trust this folder?", "Do you trust these folders?", len(folders))
    box.setText("\n".join((question, *folders)))  # a long path is not broken in the middle of a sentence
    box.setInformativeText(
        "\n\n".join(
            (
                _(
                    "Agents follow the AGENTS.md and CLAUDE.md files of a trusted folder and use its skills. Trust it "
                    "only if you know who wrote them: a folder from someone else may contain harmful instructions."
                ),
                found_text(found),
                _(
                    "Agents can work there either way. To change your answer later, click the folder above the "
                    "messages."
                ),
            )
        )
    )
    yes = box.add(_("Trust"), "trust-yes", QMessageBox.ButtonRole.YesRole)
    # Enter presses it: the safe answer is the default.
    no = box.add(_("Do not trust"), "trust-no", QMessageBox.ButtonRole.NoRole, "primary")
    for button in (yes, no):
        button.clicked.connect(lambda _on=False, answer=button is yes: then(answer))
    # Neither button: closing decides nothing.
    leave = box.addButton(QMessageBox.StandardButton.Cancel)
    leave.hide()
    box.setEscapeButton(leave)
    box.setDefaultButton(no)
    box.open()
    return box


def found_text(found: Sequence[str]) -> str:
    """Describe the files with instructions."""
    if not found:
        return _("No files with instructions were found.")
    more = ["…"] if len(found) > _NAMED else []
    return ngettext("Found: {files}", "Found {n} files: {files}", len(found), files=", ".join([*found[:_NAMED], *more]))
