"""Where a message is written: several lines, pictures, send, stop, and how it is taken while the agent works."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QDragEnterEvent, QDropEvent, QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QPlainTextEdit, QPushButton, QToolButton, QVBoxLayout, QWidget

from atelier_desk.desktop.chat.compose.attachments import SUFFIXES, AttachmentRow, read_picture
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, Translated, control, fill, say
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

MAX_LENGTH = 100_000
"""Characters of a message (``domain.limits.MESSAGE``)."""
_LINES = (1, 10)
STRATEGIES = ("queue", "redirect", "terminate", "silent")


class MessageField(QPlainTextEdit):
    """The text field: grows from one line to ten; Enter sends, Shift+Enter begins a line.

    Signals:
        submitted: Enter was pressed.
        pictures_given: pictures were pasted or dropped, as a list of QImage.
        focus_changed: it got or lost the keyboard.
    """

    submitted = Signal()
    pictures_given = Signal(object)
    focus_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chat-input")
        mark(self, "plain")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self.textChanged.connect(self.fit)
        theme().changed.connect(self.fit)
        self.fit()

    def fit(self) -> None:
        """Take the height of the text, within bounds."""
        line = self.fontMetrics().lineSpacing()
        lines = round(self.document().size().height())
        wanted = min(max(lines, _LINES[0]), _LINES[1])
        self.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > _LINES[1] else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        )
        self.setFixedHeight(wanted * line + theme().px(6))

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and not event.modifiers() & (
            Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier
        ):
            self.submitted.emit()
            return
        super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasImage() or bool(pictures_of(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        pictures = pictures_of(source)
        if pictures:
            self.pictures_given.emit(pictures)
            return
        super().insertFromMimeData(source)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)


def pictures_of(source: QMimeData) -> list[QImage]:
    """Pictures in a paste or a drop: files that are pictures, or the picture itself."""
    from PySide6.QtGui import QImage

    found: list[QImage] = []
    for url in source.urls():
        path = Path(url.toLocalFile()) if url.isLocalFile() else None
        if path is not None and path.suffix.lower() in SUFFIXES and (image := read_picture(path)) is not None:
            found.append(image)
    if not found and source.hasImage() and not source.hasText():
        data = source.imageData()
        if isinstance(data, QImage) and not data.isNull():
            found.append(data)
    return found


class Composer(Translated, QFrame):
    """The field with its buttons.

    Signals:
        sent: text, list of QImage and strategy (queue, redirect, terminate, silent).
        stopped: the run is to be cancelled.
        draft_changed: the text changed.
    """

    sent = Signal(str, object, str)
    stopped = Signal()
    draft_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None, *, pictures: bool = True) -> None:
        super().__init__(parent)
        mark(self, "composer")
        self.setAcceptDrops(pictures)
        self._pictures = pictures
        self._running = False
        self._agent = ""
        self._enabled = True
        self.attachments = AttachmentRow(self)
        self.field = MessageField(self)
        self.attach = control(IconButton("paperclip", parent=self), "attach-button", tip=N_("Attach pictures"))
        self.attach.setVisible(pictures)
        self._hint = control(ElidedLabel("", self), look="small")
        self.strategy_button = control(
            QPushButton(self), "strategy-select", look="chip-plain", name=N_("How a message is taken while the agent works")
        )
        self.stop = control(QPushButton(self), "stop-button", lambda: " " + _("Stop"), name=N_("Stop the agent"))
        self.send = control(QToolButton(self), "send-button", look="send", tip=N_("Send"))
        self.send.setCursor(Qt.CursorShape.PointingHandCursor)
        self._strategies: dict[str, QAction] = {}
        self._make_menu()
        self._lay_out()
        self._connect()
        self.set_running(False)
        say(self.field, name=N_("Message"))
        self.retranslate()
        self._dress()

    # -- state ----------------------------------------------------------------------------------------------------------------
    @property
    def strategy(self) -> str:
        """How a message is taken while the agent works."""
        return next(name for name, action in self._strategies.items() if action.isChecked())

    def set_running(self, running: bool) -> None:
        """The agent works: Stop is offered, and a message is queued instead of starting a turn."""
        self._running = running
        self.stop.setVisible(running)
        self.strategy_button.setVisible(running)
        self._refresh()

    def set_enabled(self, enabled: bool) -> None:
        """Whether messages can be sent at all (an agent and the engine are there)."""
        self._enabled = enabled
        self._refresh()

    def set_agent(self, name: str) -> None:
        self._agent = name
        self._refresh()

    def set_draft(self, text: str) -> None:
        """Show another workflow's draft, without announcing it."""
        self.field.blockSignals(True)
        self.field.setPlainText(text)
        self.field.blockSignals(False)
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)
        self.field.fit()
        self._refresh()

    def quote(self, text: str) -> None:
        """Put a quotation at the end of the draft."""
        lines = "\n".join(f"> {line}" for line in text.strip().splitlines())
        before = self.field.toPlainText().rstrip()
        self.field.setPlainText(f"{before}\n\n{lines}\n\n" if before else f"{lines}\n\n")
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)
        self.field.setFocus()

    def add_pictures(self, images: Sequence[QImage]) -> None:
        for image in images if self._pictures else ():
            self.attachments.add(image)
        self.field.setFocus()

    # -- building -------------------------------------------------------------------------------------------------------------
    def _make_menu(self) -> None:
        menu = QMenu(self)
        group = QActionGroup(self)
        for name in STRATEGIES:
            action = menu.addAction("")
            action.setCheckable(True)
            action.setChecked(name == "queue")
            group.addAction(action)
            action.toggled.connect(lambda *_: self._refresh())
            self._strategies[name] = action
        self.strategy_button.setMenu(menu)

    def _lay_out(self) -> None:
        row = fill(QHBoxLayout(), self.attach, (self._hint, 1), self.strategy_button, self.stop, self.send, spacing=8)
        fill(QVBoxLayout(self), self.attachments, self.field, row, margins=(16, 14, 11, 11), spacing=10)

    def _connect(self) -> None:
        self.field.submitted.connect(self.submit)
        self.field.pictures_given.connect(self.add_pictures)
        self.field.focus_changed.connect(self._on_focus)
        self.field.textChanged.connect(self._on_text)
        self.attachments.changed.connect(self._refresh)
        self.attach.clicked.connect(self.pick)
        self.send.clicked.connect(self.submit)
        self.stop.clicked.connect(self.stopped)
        theme().changed.connect(self._dress)

    def pick(self) -> None:
        """Choose picture files; the dialog is not modal to the program's loop."""
        from PySide6.QtWidgets import QFileDialog

        patterns = " ".join(f"*{suffix}" for suffix in SUFFIXES)
        dialog = QFileDialog(self, _("Attach pictures"), "", _("Pictures ({patterns})", patterns=patterns))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._on_picked)
        dialog.open()

    def submit(self) -> None:
        """Send what is written, if there is anything and it may be sent."""
        text = self.field.toPlainText().strip()
        images = self.attachments.images
        if not self._enabled or not (text or images) or len(text) > MAX_LENGTH:
            return
        self.sent.emit(text, images, self.strategy if self._running else "queue")
        self.attachments.clear()
        self.set_draft("")
        self._refresh()

    # -- reactions ------------------------------------------------------------------------------------------------------------
    def _on_picked(self, files: list[str]) -> None:
        self.add_pictures([image for name in files if (image := read_picture(Path(name))) is not None])

    def _on_text(self) -> None:
        self._refresh()
        self.draft_changed.emit(self.field.toPlainText())

    def _on_focus(self, focused: bool) -> None:
        self.setProperty("focused", focused)
        self.style().unpolish(self)
        self.style().polish(self)

    def _refresh(self) -> None:
        text = self.field.toPlainText()
        too_long = len(text) > MAX_LENGTH
        self.send.setEnabled(self._enabled and bool(text.strip() or self.attachments.images) and not too_long)
        self.send.setIcon(theme().icon("arrow-up", "on_accent" if self.send.isEnabled() else "muted"))
        names = self._strategy_names()
        self.strategy_button.setText(names[self.strategy][0] + "  ▾")
        if too_long:
            self._hint.setText(_("Too long: {length} of {most} characters", length=len(text), most=MAX_LENGTH))
        elif self._running:
            self._hint.setText(names[self.strategy][1])
        else:
            self._hint.setText(_("Drop files here") if self._pictures else "")
        self._show_placeholder()

    def _show_placeholder(self) -> None:
        """The key for a new line is told where there is room for it on one line."""
        hint = _("Shift+Enter for a new line")
        words = _("Write to {agent}…", agent=self._agent) if self._agent else _("Write a message…")
        whole = f"{words}  ({hint})"
        room = self.field.viewport().width() - 2 * round(self.field.document().documentMargin())
        fits = self.field.fontMetrics().horizontalAdvance(whole) <= room
        self.field.setPlaceholderText(whole if fits else words)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        QTimer.singleShot(0, self, self._show_placeholder)  # the field inside has its width then

    def _dress(self) -> None:
        look = theme()
        self.stop.setIcon(look.icon("square", "text"))
        self.stop.setIconSize(QSize(look.px(12), look.px(12)))
        side = look.px(16)
        self.send.setIconSize(QSize(side, side))
        self.send.setFixedSize(look.px(46), look.px(32))
        self._refresh()

    @staticmethod
    def _strategy_names() -> dict[str, tuple[str, str]]:
        return {
            "queue": (_("Queue"), _("Sent when the agent has finished this turn")),
            "redirect": (_("Redirect"), _("Stops the current step and goes on with your message")),
            "terminate": (_("Start over"), _("Ends this turn and starts a new one")),
            "silent": (_("Note"), _("The agent reads it at its next turn")),
        }

    def retranslate(self) -> None:
        for name, (short, long) in self._strategy_names().items():
            self._strategies[name].setText(f"{short} — {long}")
        self._refresh()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if pictures_of(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.add_pictures(pictures_of(event.mimeData()))
        event.acceptProposedAction()
