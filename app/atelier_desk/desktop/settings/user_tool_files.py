"""The user's tool files: a row each with its state, and the dialog for reviewing one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QWidget

from atelier_desk.desktop.widgets import (
    Card,
    ElidedLabel,
    Pill,
    bind_text,
    control,
    fit_window,
    hbox,
    label,
    vbox,
)
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.engine.services.own_tools import OwnToolFile, OwnToolSource

STATES: dict[str, tuple[str, PillKind]] = {
    "new": (N_("new"), "accent"),
    "confirmed": (N_("confirmed"), "ok"),
    "changed": (N_("modified"), "warn"),
    "broken": (N_("broken"), "err"),
}
RIGHTS = N_(
    "A tool file is a program that runs with your rights: it can read, change and delete your files and "
    "use the network. Confirm only files you have read and trust."
)


def outcome(file: OwnToolFile) -> str:
    """The tools of a file, or why it has none."""
    tools = ", ".join(file.tools)
    match file.state.value:
        case "new":
            return _("Not loaded. Review and confirm it to use its tools.")
        case "broken":
            return file.reason
        case "changed" if tools:
            return _(
                "Changed since you confirmed it. Until Atelier is restarted, these tools of the confirmed version "
                "keep working: {tools}",
                tools=tools,
            )
        case "changed":
            return _("Not loaded: changed since you confirmed it. Review it again.")
    return _("Tools: {tools}", tools=tools)


class RightsWarning(Card):
    """What such a file can do once it is confirmed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, "card-warn")
        self.body.addWidget(control(label("", "warn", self, wrap=True), "", RIGHTS))


class ToolFileRow(QWidget):
    """``own-tool-<file>``. ``review`` and ``revoke`` are called with the file's name."""

    def __init__(
        self, file: OwnToolFile, review: Callable[[str], object], revoke: Callable[[str], object], parent: QWidget
    ) -> None:
        super().__init__(parent)
        named, (word, kind) = file.file, STATES[file.state.value]

        def description() -> str:
            return f"SHA-256 {file.sha256}"

        self.setObjectName(f"own-tool-{named}")
        name = control(ElidedLabel(named, self), look="strong")
        digest = bind_text(label(f"{file.sha256[:8]}…", "mono", self), name=description, tip=description)
        text = label(outcome(file), "error" if file.reason else "muted", self, wrap=True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        review_button = control(QPushButton(self), f"own-tool-review-{named}", N_("Review…"), on=lambda: review(named))
        revoke_button = control(QPushButton(self), f"own-tool-revoke-{named}", N_("Revoke"), on=lambda: revoke(named))
        bind_text(review_button, name=lambda: _("Review {file}", file=named))
        bind_text(revoke_button, name=lambda: _("Revoke {file}", file=named))
        revoke_button.setVisible(file.state.value != "new")
        top = Qt.AlignmentFlag.AlignTop
        line = hbox(None, (name, 1), Pill(_(word), kind, self), review_button, revoke_button, spacing=10)
        below = hbox(None, (digest, 0, top), (text, 1, top), spacing=10)
        vbox(self, line, below, margins=(0, 6, 0, 6), spacing=4)


class ReviewDialog(QDialog):
    """``own-tool-dialog``: the full text, wrapped so that nothing is hidden to the right.

    The buttons emit ``confirm_asked`` and ``revoke_asked``; the dialog stays until ``accept`` or ``show_error``.
    """

    confirm_asked = Signal()
    revoke_asked = Signal()

    def __init__(self, file: OwnToolFile, source: OwnToolSource, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("own-tool-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(_("Review {file}", file=source.file))
        shown = visible(source.text)
        hidden = shown.count("⟨U+") - source.text.count("⟨U+")
        self.text = control(TextField(shown, self), "own-tool-text", look="mono")
        self.text.setAccessibleName(_("Text of {file}", file=source.file))
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._error = control(label("", "error", self, wrap=True), "own-tool-error")
        self._error.setVisible(bool(hidden))
        self._error.setText(
            ngettext(
                "{n} invisible character is shown as ⟨U+…⟩.", "{n} invisible characters are shown as ⟨U+…⟩.", hidden
            )
        )
        digest = label(f"SHA-256 {source.sha256}", "small", self, wrap=True)
        digest.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        vbox(
            self,
            label(source.file, "title", self),
            label(_(RIGHTS), "warn", self, wrap=True),
            (self.text, 1),
            digest,
            self._error,
            self._buttons(confirmed=file.state.value in ("confirmed", "broken"), revocable=file.state.value != "new"),
            margins=(24, 20, 24, 20),
            spacing=10,
        )
        fit_window(self, QSize(680, 560))

    def _buttons(self, *, confirmed: bool, revocable: bool) -> QHBoxLayout:
        self._cancel = QPushButton(_("Close"), self)
        self._confirm = control(QPushButton(self), look="primary", on=lambda: self._ask(self.confirm_asked))
        self._revoke = control(QPushButton(_("Revoke"), self), look="danger", on=lambda: self._ask(self.revoke_asked))
        self._confirm.setText(_("Confirm"))
        for button, name in ((self._cancel, "close"), (self._confirm, "confirm"), (self._revoke, "revoke")):
            button.setObjectName(f"own-tool-{name}")
        # Return closes unless the focus was moved to Confirm: confirming code must be deliberate.
        self._cancel.setDefault(True)
        self._confirm.setVisible(not confirmed)
        self._revoke.setVisible(revocable)
        self._cancel.clicked.connect(self.reject)
        return hbox(None, self._revoke, 1, self._cancel, self._confirm, spacing=8)

    def _ask(self, signal: SignalInstance) -> None:
        self._confirm.setEnabled(False)
        self._revoke.setEnabled(False)
        signal.emit()

    def show_error(self, text: str) -> None:
        """The engine refused, because the file changed: only closing is possible."""
        self._error.setText(text)
        self._error.show()
