"""The composer: message field, attachments, send, stop, and the delivery strategy while the agent runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QFileDialog, QFrame, QMenu, QPushButton, QToolButton, QWidget

from atelier_desk.desktop.chat.compose.attachment_chips import AttachmentRow
from atelier_desk.desktop.chat.compose.message_field import MessageField, picture_of
from atelier_desk.desktop.chat.compose.permission_profile_picker import WORDS, ProfilePicker
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_folder
from atelier_desk.desktop.file_dialogs.start_folder import remember_folder, start_folder
from atelier_desk.desktop.file_dialogs.translated_dialog import translate_dialog
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import (
    ElidedLabel,
    IconButton,
    bind,
    bind_text,
    control,
    hbox,
    label,
    tint,
    vbox,
)
from atelier_desk.desktop.widgets.button_menu import popup_from
from atelier_desk.desktop.widgets.picker import Picker, PickerItem
from atelier_desk.desktop.workspace_folders.controller import accept_copy, files_of, folders_of
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.chat.compose.attachment_chips import Item

MAX_LENGTH = 100_000
"""Maximum characters of a message (``domain.limits.MESSAGE``)."""
_HEIGHT = 32
"""Height of all buttons, in pixels at 100 %."""


class _Hint(ElidedLabel):
    """A line shown in full or hidden, unless it must be visible (``cut``)."""

    cut = False

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return hint if self.cut else QSize(0, hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.cut or self.fontMetrics().horizontalAdvance(self.text()) <= self.contentsRect().width():
            super().paintEvent(event)


class _StopButton(QPushButton):
    """A button that may shrink to its icon; the composer takes the caption away before it would be cut."""

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        return QSize(hint.width() - self.fontMetrics().horizontalAdvance(self.text()), hint.height())


class Composer(QFrame):
    """The message field with its buttons.

    Signals:
        sent: text, attachments (``Item``s that were read) and strategy (queue, redirect, terminate, silent).
        files_given, pictures_given, text_given: attach these: paths, list of QImage, a long text.
        stopped: cancel the run.
        draft_changed: the text changed.
    """

    sent = Signal(str, object, str)
    files_given = Signal(object)
    pictures_given = Signal(object)
    text_given = Signal(str)
    stopped = Signal()
    draft_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None, *, pictures: bool = True) -> None:
        super().__init__(parent)
        mark(self, "composer")
        self.setAcceptDrops(pictures)
        self._pictures = pictures
        self._running = False
        self._waiting = False
        self._paused = False
        self._agent = ""
        self._enabled = True
        self._captions = True
        """Whether there is room for a caption beside the icon of Stop."""
        self.attachments = AttachmentRow(self)
        self._note = control(label("", "small-warn", self, wrap=True), "attachment-note")
        self._note.hide()
        self.field = MessageField(self)
        self.attachments.followed_by = self.field
        self.field.accepts_files = pictures
        self.attach = control(IconButton("paperclip", parent=self), "attach-button", tip=N_("Attach files or a folder"))
        self.attach.setVisible(pictures)
        self.profiles = ProfilePicker(self)
        self._hint = control(_Hint("", self), look="small")
        self.strategies = control(
            Picker(self), "strategy-select", look="picker", name=N_("How to send while the agent is working")
        )
        self.strategies.letters = WORDS
        self.stop = control(
            _StopButton(self),
            "stop-button",
            lambda: " " + _("Stop") if self._captions else "",
            tip=N_("Stop the agent"),
            name=N_("Stop the agent"),
        )
        tint(self.stop, "circle-stop", "text", 16)
        self.send = control(QToolButton(self), "send-button", look="send", tip=N_("Send"))
        self.send.setCursor(Qt.CursorShape.PointingHandCursor)
        self.strategy = "queue"
        """How a message is taken while the agent works."""
        self._lay_out()
        self._connect()
        self.set_running(False)
        bind_text(self.field, name=N_("Message"))
        bind(self._show_strategies, on="language")
        bind(self._apply_style, on="look")

    def set_running(self, running: bool) -> None:
        """Set whether the agent runs: then Stop is shown, and a message is queued instead of starting a turn."""
        self._running = running
        self._show_stop()
        self.strategies.setVisible(running)
        self._refresh()

    def set_waiting(self, waiting: bool) -> None:
        """Set whether sending waits for the prompt or command that a message calls; shows Stop."""
        self._waiting = waiting
        self._show_stop()

    def set_paused(self, paused: bool) -> None:
        """Set whether the run is paused, for whatever reason; shows Stop."""
        self._paused = paused
        self._show_stop()

    def _show_stop(self) -> None:
        self.stop.setVisible(self._running or self._waiting or self._paused)

    def set_enabled(self, enabled: bool) -> None:
        """Set whether messages can be sent: an agent and the engine are available."""
        self._enabled = enabled
        self._refresh()

    def set_agent(self, name: str) -> None:
        self._agent = name
        self._refresh()

    def set_draft(self, text: str) -> None:
        """Show another workflow's draft, without signals."""
        self.field.blockSignals(True)
        self.field.setPlainText(text)
        self.field.blockSignals(False)
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)
        self.field.fit()
        self._refresh()

    def quote(self, text: str) -> None:
        """Append a quotation to the draft."""
        lines = "\n".join(f"> {line}" for line in text.strip().splitlines())
        before = self.field.toPlainText().rstrip()
        self.field.setPlainText(f"{before}\n\n{lines}\n\n" if before else f"{lines}\n\n")
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)
        self.field.setFocus()

    def show_items(self, items: Sequence[Item]) -> None:
        """Show another workflow's attachments, without signals."""
        self.attachments.show_items(items)
        self._refresh()

    def show_note(self, text: str) -> None:
        """Show a warning about the attachments; empty for none."""
        self._note.setText(text)
        self._note.setAccessibleName(text)
        self._note.setVisible(bool(text))

    def choose_strategy(self, name: str) -> None:
        """Set the strategy for messages sent while the agent runs."""
        self.strategy = name
        self._show_strategies()

    def _lay_out(self) -> None:
        self._row = row = hbox(
            None, self.attach, self.profiles, (self._hint, 1), self.strategies, self.stop, self.send, spacing=8
        )
        vbox(self, self.attachments, self._note, self.field, row, margins=(16, 14, 11, 11), spacing=10)

    def _fit(self) -> None:
        """Show an icon alone on Stop where the texts of the pickers would be cut."""
        parts = (self.attach, self.profiles, self.strategies, self.stop, self.send)
        widths = [max(each.sizeHint().width(), each.minimumWidth()) for each in parts if each.isVisible()]
        needed = sum(widths) + self._row.spacing() * len(widths)
        if not self._captions:
            needed += self.stop.fontMetrics().horizontalAdvance(" " + _("Stop"))
        if (captions := needed <= self._row.geometry().width()) != self._captions:
            self._captions = captions
            bind_text(self.stop)

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
            self._fit()
        return done

    def _connect(self) -> None:
        self.field.submitted.connect(self.submit)
        self.field.resized.connect(self._show_placeholder)
        self.field.files_given.connect(self.attach_files)
        self.field.pictures_given.connect(self.pictures_given)
        self.field.text_given.connect(self.text_given)
        self.field.focus_changed.connect(self._on_focus)
        self.field.textChanged.connect(self._on_text)
        self.attachments.changed.connect(self._refresh)
        self.attach.clicked.connect(self.choose)
        self.strategies.chosen.connect(self.choose_strategy)
        self.send.clicked.connect(self.submit)
        self.stop.clicked.connect(self.stopped)

    def choose(self) -> QMenu:
        """Ask whether to attach files or a folder."""
        menu = QMenu(self)
        menu.setObjectName("attach-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(theme().icon("file-text"), _("Files…"), self.pick).setObjectName("attach-files")
        menu.addAction(theme().icon("folder"), _("Folder…"), self.pick_folder).setObjectName("attach-folder")
        at = self.attach.mapToGlobal(self.attach.rect().topLeft()) - QPoint(0, menu.sizeHint().height())
        popup_from(self.attach, menu, at)
        menu.setActiveAction(menu.actions()[0])
        return menu

    def pick_folder(self) -> None:
        """Choose a folder to attach as a list and texts; this grants no access to it."""
        ask_folder(self, _("Attach a folder"), lambda path: self.attach_files([str(path)]))

    def pick(self) -> None:
        """Choose files; the dialog does not block the program's loop."""
        dialog = QFileDialog(self, _("Attach files"), str(start_folder()))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._on_picked)
        translate_dialog(dialog).open()

    def submit(self) -> None:
        """Send the message, if it is not empty and sending is possible."""
        text = self.field.toPlainText().strip()
        items = self.attachments.items
        if not self._enabled or not (text or items) or len(text) > MAX_LENGTH or self.attachments.unready:
            return
        self.sent.emit(text, items, self.strategy if self._running else "queue")
        # No signal: the stored draft remains until the engine has the message.
        self.attachments.show_items(())
        self.show_note("")
        self.set_draft("")
        self._refresh()

    def _on_picked(self, files: list[str]) -> None:
        if files:
            remember_folder(Path(files[0]).parent)
            self.attach_files(files)

    def attach_files(self, files: list[str]) -> None:
        """Attach files by their paths."""
        self.files_given.emit(files)
        self.field.setFocus()

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
        unready = self.attachments.unready
        self.send.setEnabled(
            self._enabled and bool(text.strip() or self.attachments.items) and not too_long and not unready
        )
        self.send.setIcon(theme().icon("arrow-up", "on_accent" if self.send.isEnabled() else "muted"))
        names = self._strategy_names()
        self._hint.cut = too_long
        if too_long:
            self._hint.setText(_("Too long: {length} characters (limit: {most})", length=len(text), most=MAX_LENGTH))
        elif self._running:
            self._hint.setText(names[self.strategy][1])
        else:
            self._hint.setText(_("Drop files or folders here") if self._pictures else "")
        self._show_placeholder()

    def _show_placeholder(self) -> None:
        """Set the placeholder; it mentions the key for a new line if that fits on one line."""
        hint = _("Shift+Enter for a new line")
        words = _("Message {agent}…", agent=self._agent) if self._agent else _("Write a message…")
        full = f"{words}  ({hint})"
        room = self.field.viewport().width() - 2 * round(self.field.document().documentMargin())
        fits = self.field.fontMetrics().horizontalAdvance(full) <= room
        self.field.setPlaceholderText(full if fits else words)

    def _apply_style(self) -> None:
        style = theme()
        side = style.px(16)
        self.send.setIconSize(QSize(side, side))
        for part in (self.attach, self.profiles, self.strategies, self.stop):
            part.setFixedHeight(style.px(_HEIGHT))
        self.send.setFixedSize(style.px(46), style.px(_HEIGHT))
        self._refresh()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click anywhere in the composer focuses the field."""
        self.field.setFocus()
        event.accept()

    @staticmethod
    def _strategy_names() -> dict[str, tuple[str, str]]:
        return {
            "queue": (_("Queue"), _("Sent when the agent has finished this turn")),
            "redirect": (_("Redirect"), _("Stops the current step and continues with your message")),
            "terminate": (_("Start over"), _("Ends this turn and starts a new one")),
            "silent": (_("Note"), _("The agent reads your message at its next step")),
        }

    def _show_strategies(self) -> None:
        choices = [PickerItem(name, short, detail=long) for name, (short, long) in self._strategy_names().items()]
        self.strategies.set_choices(choices, self.strategy)
        self._refresh()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Folders are not accepted here: the window adds them as workspace folders."""
        data = event.mimeData()
        if not folders_of(data) and (files_of(data) or picture_of(data) is not None):
            accept_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        files, picture = files_of(event.mimeData()), picture_of(event.mimeData())
        if files:
            self.attach_files(files)
        elif picture is not None:
            self.pictures_given.emit([picture])
        accept_copy(event)
