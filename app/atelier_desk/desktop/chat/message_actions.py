"""Actions on a message: in its context menu, in the row below it, and in the command palette."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from atelier_desk.desktop.chat.compose.agent_model_choices import key_of
from atelier_desk.desktop.chat.compose.regenerate_notice import regenerate_text
from atelier_desk.desktop.chat.markdown.plain_text import plain_text, spoken_text
from atelier_desk.desktop.chat.text_to_speech import Speaker, no_voice_words
from atelier_desk.desktop.chat.transcript.message_widgets import UserBubble
from atelier_desk.desktop.chat.transcript.view import EntryWidget
from atelier_desk.desktop.file_dialogs.exporting import ask_export, ask_print
from atelier_desk.desktop.main_window.action_registry import ActionRegistry, ActionSpec
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.picker import PickerMenu
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.desktop.workspace_folders.undo_file_changes import ask_undo
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
    from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
    from atelier_desk.desktop.chat.transcript.view import ChatView
    from atelier_desk.desktop.widgets.picker import Picker
    from atelier_desk.presentation.rows.transcript_entries import Entry

EXCERPT = 48
"""Characters of a message shown in a list."""
Test = Callable[["Entry"], bool]


@dataclass(frozen=True, slots=True)
class MessageAction:
    """An action on a message; ``method`` is the method of ``MessageCommands`` that takes the entry; quoting has none.

    Attributes:
        text: its label in the message's menu.
        action: its label in the palette, which names the object as no message is in view there.
        own: only for the workflow's own messages; those of sub-agents and replays can be copied and quoted only.
    """

    name: str
    text: str
    action: str
    icon: str
    method: str
    applies: Test
    own: bool = True


def _has_content(entry: Entry) -> bool:
    return bool(entry.content) and entry.kind != "notice"


def _replied(entry: Entry) -> bool:
    return _has_content(entry) and entry.kind != "user" and not entry.live


def _is_stored(entry: Entry) -> bool:
    return _has_content(entry) and bool(entry.run_id) and not entry.live and not entry.pending


def _asked(entry: Entry) -> bool:
    return entry.kind == "user" and _is_stored(entry)


def _answer(entry: Entry) -> bool:
    return entry.kind == "assistant" and _is_stored(entry)


COMMANDS = (
    MessageAction("copy", N_("Copy"), N_("Copy message"), "copy", "copy", _has_content, own=False),
    MessageAction(
        "copy-text",
        N_("Copy as plain text"),
        N_("Copy message as plain text"),
        "file-text",
        "copy_text",
        _has_content,
        own=False,
    ),
    MessageAction("quote", N_("Quote"), N_("Quote message"), "quote", "", _has_content, own=False),
    MessageAction(
        "read-aloud",
        N_("Read aloud"),
        N_("Read message aloud, or stop"),
        "volume-2",
        "read_aloud",
        _has_content,
        own=False,
    ),
    MessageAction("export", N_("Export…"), N_("Export message…"), "download", "export", _replied, own=False),
    MessageAction("print", N_("Print…"), N_("Print message…"), "printer", "print_", _replied, own=False),
    MessageAction("edit", N_("Edit and resend"), N_("Edit and resend your last message"), "pencil", "edit", _asked),
    MessageAction("regenerate", N_("Regenerate"), N_("Regenerate"), "refresh-cw", "regenerate", _answer),
    MessageAction(
        "regenerate-with", N_("Regenerate with…"), N_("Regenerate with another model"), "cpu", "choose_model", _answer
    ),
    MessageAction(
        "branch",
        N_("Fork into a new workflow from here"),
        N_("Fork into a new workflow from here"),
        "git-branch",
        "branch_here",
        _is_stored,
    ),
    MessageAction(
        "undo-files",
        N_("Undo file changes from here…"),
        N_("Undo file changes since this message"),
        "undo-2",
        "undo_files",
        _is_stored,
    ),
    MessageAction("pin", N_("Pin"), N_("Pin or unpin message"), "pin", "pin", _is_stored),
    MessageAction(
        "delete-branch",
        N_("Delete this answer and everything after it"),
        N_("Delete this answer and everything after it"),
        "trash-2",
        "delete_branch",
        _is_stored,
    ),
)


class MessageCommands(QObject):
    """The message actions of the chat panel. Changes to the workflow go through the engine.

    Signals:
        status_changed: a short status text.
        deleted: a description of what was deleted, and a callback that restores it.
        workflow_made: a branch was copied to this new workflow.
    """

    status_changed = Signal(str)
    deleted = Signal(str, object)
    workflow_made = Signal(str)

    def __init__(
        self,
        bridge: Bridge,
        host: TranscriptHost,
        view: ChatView,
        pages: TranscriptPages,
        models: Picker,
        parent: QObject,
    ) -> None:
        """``models`` is the picker of the workflow's model, reused to choose the model of another answer."""
        super().__init__(parent)
        self._bridge, self._host, self._view, self._pages, self._models = bridge, host, view, pages, models
        self.speaker = Speaker(self)
        self._spoken: bool | None = None

    def register(self, registry: ActionRegistry) -> None:
        """Register each command as an action on the focused message, else on the newest suitable one."""
        for command in COMMANDS:
            spec = ActionSpec(
                f"message-{command.name}", command.action, "message", icon=command.icon, keywords="message"
            )
            registry.add(spec, lambda command=command: self._run(command))

    def fill(self, menu: QMenu, entry: Entry, host: TranscriptHost, selected: str = "") -> None:
        """Add the commands that apply to a message.

        Copy, quote and read aloud use ``selected`` text if there is any.
        """
        for command in COMMANDS:
            if not command.applies(entry) or (command.own and not host.versions):
                continue
            if command.name == "undo-files" and not self._has_folder:
                continue
            if command.name in {"edit", "branch"}:
                menu.addSeparator()
            added = menu.addAction(theme().icon(command.icon), self._text(command, entry, selected))
            added.setObjectName(f"message-{command.name}")
            if command.name == "read-aloud" and not self.can_speak:
                menu.setToolTipsVisible(True)
                added.setEnabled(False)
                added.setText(_("Read aloud: no voice is installed"))
                added.setToolTip(plain_tip(no_voice_words()))
            added.triggered.connect(lambda *_, command=command: self._call(command, entry, host, selected))

    def popup(self, entry: Entry, host: TranscriptHost, parent: QWidget, at: QPoint, selected: str = "") -> QMenu:
        """Open the menu of a message at a point of the screen."""
        menu = QMenu(parent)
        menu.setObjectName("message-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(menu, entry, host, selected)
        menu.popup(at)
        if (first := next(iter(menu.actions()), None)) is not None:
            menu.setActiveAction(first)
        return menu

    @property
    def _has_folder(self) -> bool:
        workflow = self._pages.workflow
        return workflow is not None and bool(workflow.workspace)

    @property
    def can_speak(self) -> bool:
        """Whether this system can read aloud; checked once."""
        if self._spoken is None:
            self._spoken = self.speaker.available()
        return self._spoken

    def _text(self, command: MessageAction, entry: Entry, selected: str) -> str:
        if command.name == "pin" and entry.pinned:
            return _("Unpin")
        if command.name == "read-aloud" and self.speaker.key == entry.id:
            return _("Stop reading")
        if selected and command.name == "copy":
            return _("Copy selection")
        if selected and command.name == "quote":
            return _("Quote selection")
        return _(command.text)

    def _call(self, command: MessageAction, entry: Entry, host: TranscriptHost, selected: str = "") -> None:
        if command.name == "quote":  # into the composer below this transcript
            host.quote_requested.emit(selected or entry.content)
            return
        method: Callable[..., object] = getattr(self, command.method)
        if selected and command.name in {"copy", "read-aloud"}:
            method(entry, selected)
        else:
            method(entry)

    def _run(self, command: MessageAction) -> None:
        entry = self._current(command.applies)
        if entry is None:
            self.status_changed.emit(_("This action does not apply to any message here."))
        else:
            self._call(command, entry, self._host)

    def _current(self, applies: Test) -> Entry | None:
        view = self._view
        widget = QApplication.focusWidget()
        while widget is not None and not isinstance(widget, EntryWidget):
            widget = widget.parentWidget()
        if isinstance(widget, EntryWidget) and view.isAncestorOf(widget) and applies(widget.entry):
            return widget.entry
        answers = [entry for entry in view.entries if applies(entry)]
        return next(
            (entry for entry in reversed(answers) if entry.kind == "assistant"), answers[-1] if answers else None
        )

    def copy(self, entry: Entry, selected: str = "") -> None:
        """Copy as rich text for word processors, and as Markdown."""
        self._host.copy(selected or entry.content, formatted=not selected and entry.kind != "user")

    def copy_text(self, entry: Entry, selected: str = "") -> None:
        self._host.copy(selected or (entry.content if entry.kind == "user" else plain_text(entry.content)))

    def export(self, entry: Entry) -> None:
        async def text() -> str:
            return entry.content

        ask_export(self._view, self._bridge.jobs, toasts_of(self._view), self._title(entry), text)

    def print_(self, entry: Entry) -> None:
        ask_print(self._view.window(), toasts_of(self._view), self._title(entry), entry.content)

    def _title(self, entry: Entry) -> str:
        workflow = self._pages.workflow
        return workflow.name if workflow is not None else brief(entry.content)

    def read_aloud(self, entry: Entry, selected: str = "") -> None:
        """Read a message aloud, or stop reading it; explain if the system cannot."""
        if not self.can_speak:
            self.status_changed.emit(no_voice_words())
            return
        self.speaker.toggle(entry.id, selected or spoken_text(entry.content))

    def edit(self, entry: Entry) -> None:
        self._view.reveal(entry)
        widget = self._view.widget_of(entry)
        if isinstance(widget, UserBubble):
            widget.edit()

    def regenerate(self, entry: Entry) -> None:
        self._host.regenerate_requested.emit(entry.run_id, entry.id)

    def regenerate_with(self, entry: Entry, provider: str, model: str) -> None:
        """Regenerate with another model once; the workflow's model stays."""
        workflow_id, run_id, message_id = self._pages.workflow_id, entry.run_id, entry.id
        runs, words = self._bridge.engine.runs, regenerate_text(self._view.entries, run_id, message_id)

        async def again() -> None:
            await runs.regenerate(workflow_id, run_id, message_id, provider=provider, model=model)
            if words:
                self.status_changed.emit(words)
            await self._reload(workflow_id)

        self._bridge.jobs.once(("regenerate", run_id), again)

    def choose_model(self, entry: Entry) -> None:
        """Show the model picker at the pointer, or centred on the transcript; the model that answered is marked."""
        view = self._view
        if not self._models.choices:
            self.status_changed.emit(_("No models available. Add one in Settings → Providers."))
            return
        inside = view.mapFromGlobal(QCursor.pos())
        anchor = QWidget(view)
        anchor.resize(1, 1)
        anchor.move(inside if view.rect().contains(inside) else QPoint(view.width() // 3, view.height() // 4))
        menu = PickerMenu(anchor)
        bind_text(menu, name=N_("Regenerate with another model"))
        menu.chosen.connect(lambda key: self.regenerate_with(entry, key.partition("/")[0], key.partition("/")[2]))
        menu.starred.connect(self._models.starred)
        menu.closed.connect(self._models.closed)
        menu.closed.connect(anchor.deleteLater)
        menu.open(self._models.choices, key_of(entry.provider, entry.model), anchor)

    def pin(self, entry: Entry) -> None:
        """Pin or unpin a message; the display follows the stored state, in every window."""
        key, pinned = entry.id, not entry.pinned
        engine = self._bridge.engine
        self._bridge.jobs.once(("pin", key), lambda: engine.messages.set_pinned(key, pinned))

    def undo_files(self, entry: Entry) -> None:
        """Undo changes to files made since the message, after a confirmation."""
        self._bridge.jobs.once(("undo-files", entry.id), lambda: self._undo_files(self._pages.workflow_id, entry.id))

    async def _undo_files(self, workflow_id: str, message_id: str) -> None:
        ask_undo(
            self._bridge,
            self._view,
            await self._bridge.engine.files.since(workflow_id, message_id),
            self.status_changed.emit,
        )

    def branch_here(self, entry: Entry) -> None:
        self._bridge.jobs.once(("branch-here", entry.id), lambda: self._branch(entry.id))

    def delete_branch(self, entry: Entry) -> None:
        workflow_id, run_id = self._pages.workflow_id, entry.run_id
        self._bridge.jobs.once(("delete-branch", run_id), lambda: self._delete(workflow_id, run_id))

    async def _branch(self, message_id: str) -> None:
        made = await self._bridge.engine.messages.branch_here(message_id)
        self.workflow_made.emit(made.id)

    async def _delete(self, workflow_id: str, run_id: str) -> None:
        workflows = self._bridge.engine.workflows
        await workflows.delete_branch(workflow_id, run_id)
        await self._reload(workflow_id)

        async def bring_back() -> None:
            await workflows.undo_delete_branch(workflow_id, run_id)
            await self._reload(workflow_id)

        jobs = self._bridge.jobs
        self.deleted.emit(
            _("The answer and everything after it were deleted."),
            lambda: jobs.once(("undo-delete-branch", run_id), bring_back),
        )

    async def _reload(self, workflow_id: str) -> None:
        if self._pages.workflow_id == workflow_id:
            await self._pages.reload()


def brief(text: str) -> str:
    """A message shortened to a line of a list."""
    return shorten(" ".join(plain_text(text).split()), EXCERPT)
