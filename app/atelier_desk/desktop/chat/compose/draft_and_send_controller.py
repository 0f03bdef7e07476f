"""From the composer to the engine: saves drafts, sends messages, and restores those the engine refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.chat.compose.attachment_controller import AttachmentController, shown_of
from atelier_desk.desktop.chat.compose.queue_controller import joined
from atelier_desk.desktop.chat.compose.regenerate_notice import regenerate_text
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.domain.agent import Choices
from atelier_desk.domain.limits import MESSAGE
from atelier_desk.domain.workflow import Dispatch, RunMode
from atelier_desk.presentation.run_notices import continue_text
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.compose.agent_model_choices import WorkflowChoices
    from atelier_desk.desktop.chat.compose.attachment_chips import Item
    from atelier_desk.desktop.chat.compose.composer import Composer
    from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
    from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
    from atelier_desk.desktop.chat.transcript.view import ChatView
    from atelier_desk.desktop.workspace_folders.controller import FolderController
    from atelier_desk.domain.attachment import Attachment
    from atelier_desk.domain.workflow import Workflow
    from atelier_desk.presentation.rows.transcript_entries import Entry

WAITING_NOTICE_MS = 1_000
"""Milliseconds a message may wait for a prompt it calls before a notice appears."""
DRAFT_MS = 600
"""Milliseconds after the last key before a draft is saved."""


class SendController(QObject):
    """Sends messages in the workflow in view, also again as another version.

    Attributes:
        attaching: the attachments of the next message.
        workflow_id: the workflow whose draft is in the composer; empty while the next message creates one.
        running: a run is active there, so a message may be queued.
        stepping: the next message starts a run that waits before each step.

    Signals:
        workflow_made: the id of a workflow created by its first message.
        status_changed: a short status text.
    """

    workflow_made = Signal(str)
    status_changed = Signal(str)

    def __init__(
        self,
        bridge: Bridge,
        composer: Composer,
        choices: WorkflowChoices,
        folders: FolderController,
        pages: TranscriptPages,
        view: ChatView,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._folders = folders
        self._bridge, self._composer, self._choices, self._pages, self._view = bridge, composer, choices, pages, view
        self.workflow_id = ""
        self.running = False
        self.stepping = False
        self._sent = 0
        self._new_draft = ""
        self._new_items: list[Item] = []
        """What was written and attached for a new workflow, while another one is shown."""
        self._items_changed = False
        self._opening: asyncio.Task[object] | None = None
        self._shown_yet = False
        """A workflow, or the page of a new one, was shown. What is written before that is for the first that opens."""
        self._calling: list[str] = []
        """Workflows in which a message waits for the prompt that it calls."""
        self._waiting_notice = Debouncer(
            self, WAITING_NOTICE_MS, lambda: self.status_changed.emit(_("Waiting for the MCP server's prompt…"))
        )
        self._draft_timer = Debouncer(self, DRAFT_MS, lambda: self._save_draft(True))
        self.attaching = AttachmentController(bridge, composer, choices, folders, self)
        composer.field.history = self._sent_before
        composer.sent.connect(self.send)
        composer.draft_changed.connect(lambda *_: self._draft_timer.start())
        composer.attachments.changed.connect(self._on_items)
        composer.attachments.removed.connect(self._on_removed)

    def attach(self, host: TranscriptHost) -> None:
        """Connect to the requests of a transcript."""
        host.continue_requested.connect(self._on_continue)
        host.ask_picked_requested.connect(self._on_ask_picked)
        host.regenerate_requested.connect(self._on_regenerate)
        host.resend_requested.connect(self._on_resend)
        host.branch_requested.connect(self._on_branch)
        host.resend_text = self._regenerate_text

    def _sent_before(self) -> list[str]:
        """The user's messages in this workflow, as far as they are loaded."""
        return [entry.content for entry in self._view.entries if entry.kind == "user" and entry.content]

    def expect_workflow(self, workflow_id: str, opening: asyncio.Task[object]) -> None:
        """A workflow is being loaded. The first one takes over text typed before anything was shown."""
        if not self._shown_yet:
            self.workflow_id = workflow_id
        self._opening = opening

    def begin_new(self) -> None:
        """Show the draft of a new workflow."""
        self._shown_yet = True
        if self._opening is not None:
            self._opening.cancel()  # a workflow chosen just before would replace the page
        self.save_draft()
        self.workflow_id = self.attaching.workflow_id = ""
        self._show_waiting()
        self._composer.set_draft(self._new_draft)
        self._show_items(self._new_items)

    def show(self, workflow: Workflow) -> None:
        """Show a workflow's draft.

        The typed text is replaced only by another workflow's: a reload has nothing newer.
        """
        if workflow.id != self.workflow_id:
            self.save_draft()  # text typed while this one was loading
            self.workflow_id = self.attaching.workflow_id = workflow.id
            self._show_waiting()
            self._composer.set_draft(workflow.draft)
            self._show_items(())
            self._read_items(workflow)
        elif not self._shown_yet and workflow.draft:
            self._composer.set_draft(joined(workflow.draft, self._composer.field.toPlainText()))
            self._draft_timer.start()
        if not self._shown_yet:
            self.attaching.workflow_id = workflow.id
            self._read_items(workflow)
        self._shown_yet = True

    def save_draft(self) -> None:
        """Save unsaved text at once, for example before another workflow is shown."""
        pending = self._draft_timer.isActive()
        self._draft_timer.stop()
        self._save_draft(pending)

    def _on_items(self) -> None:
        self._items_changed = True
        self._draft_timer.start()

    def _on_removed(self, item: Item) -> None:
        """Delete a removed attachment's stored file, after the draft without it is saved."""
        if self.workflow_id and hasattr(item.what, "sha256"):
            self._bridge.jobs.start(self._remove_attachment(self.workflow_id, cast("Attachment", item.what)))

    async def _remove_attachment(self, workflow_id: str, attachment: Attachment) -> None:
        if self.workflow_id == workflow_id:
            self._items_changed = False
            await self._store(workflow_id, self._composer.field.toPlainText(), self._composer.attachments.items)
        await self._bridge.engine.attachments.drop(workflow_id, attachment)

    def _show_items(self, items: Sequence[Item]) -> None:
        self._composer.show_items(items)
        self._items_changed = False
        self.attaching.show_warnings()

    def restore_attachments(self, attachments: tuple[Attachment, ...]) -> None:
        """Add the attachments of an unsent message after the current ones."""
        self._bridge.jobs.start(self._restore_attachments(self.workflow_id, attachments))

    async def _restore_attachments(self, workflow_id: str, attachments: tuple[Attachment, ...]) -> None:
        for item in await self.attaching.items_of(workflow_id, attachments):
            if self.workflow_id == workflow_id:
                self._composer.attachments.add(item)

    def _read_items(self, workflow: Workflow) -> None:
        """Show the attachments of its draft, before those added meanwhile."""
        if workflow.draft_attachments:
            self._bridge.jobs.start(self._load_items(workflow))

    async def _load_items(self, workflow: Workflow) -> None:
        items = await self.attaching.items_of(workflow.id, workflow.draft_attachments)
        if self.workflow_id == workflow.id:
            meanwhile = self._composer.attachments.items
            self._show_items([*items, *meanwhile])
            if meanwhile:
                self._on_items()

    def _save_draft(self, typed: bool) -> None:
        text = self._composer.field.toPlainText()
        if not self._shown_yet:
            return  # the stored draft is not loaded yet and would be lost
        items = self._composer.attachments.items
        if not self.workflow_id:
            self._new_draft, self._new_items = text, items
        elif self._bridge.ready and typed:
            changed, self._items_changed = self._items_changed, False
            self._bridge.jobs.start(self._store(self.workflow_id, text, items if changed else None))

    async def _store(self, workflow_id: str, text: str, items: Sequence[Item] | None) -> None:
        """Save a draft, including attachments that are read but not stored yet."""
        engine = self._bridge.engine
        stored: list[Attachment] | None = None
        if items is not None:
            stored = []
            for item in items:
                if item.what is not None and not hasattr(item.what, "sha256"):
                    item.what = await engine.attachments.store(workflow_id, item.what)
                if item.what is not None:
                    stored.append(cast("Attachment", item.what))
        await engine.workflows.set_draft(workflow_id, text[:MESSAGE], *([stored] if stored is not None else []))

    def send(self, text: str, items: Sequence[Item], strategy: str) -> None:
        """Send a message. All state is read first, so later changes affect neither content nor destination."""
        # Until it is loaded, its own agent answers.
        agent = self._choices.agent if self._shown_yet or not self.workflow_id else None
        answers = (agent.id, self._choices.chosen) if agent else ("", Choices())
        if agent is not None:
            self._choices.used()
        mode = RunMode.STEPPING if self.stepping else RunMode.AUTO
        folders = self._folders.for_new
        if not self.workflow_id:
            self._new_draft, self._new_items = "", []
        self._bridge.jobs.start(
            self._send(self.workflow_id, text, list(items), Dispatch(strategy), answers, folders, mode)
        )

    async def _send(
        self,
        workflow_id: str,
        text: str,
        items: list[Item],
        strategy: Dispatch,
        answers: tuple[str, Choices],
        folders: tuple[str, ...],
        mode: RunMode,
    ) -> None:
        engine, (agent_id, choices) = self._bridge.engine, answers
        await self._first_opened()
        waits = self.running and strategy.value == "queue"
        storing = self._choices.stored()
        await storing
        if not workflow_id:
            workflow_id = (await engine.workflows.create(agent_id=agent_id, workspace=folders, choices=choices)).id
            self._folders.begun()
            if not self._pages.workflow_id:
                self.workflow_id = workflow_id  # what is typed meanwhile belongs there
            await self._pages.open(workflow_id)
            self.workflow_made.emit(workflow_id)
        own: Entry | None = None
        if self._pages.current is not None and self._pages.workflow_id == workflow_id and not waits:
            self._sent += 1
            change = self._pages.current.add_own(f"own-{self._sent}", text, [shown_of(item) for item in items])
            own = change[1]
            self._pages.changed.emit([change])
            self._view.scroll_to_end()
        try:
            what = [item.what for item in items if item.what is not None]
            with self._stoppable(workflow_id, text):
                await engine.runs.send(
                    workflow_id, text, agent_id=agent_id, attachments=what, strategy=strategy, mode=mode
                )
        except Exception:
            await self._put_back(workflow_id, own, text, items)
            raise
        if self.workflow_id == workflow_id:
            self._draft_timer.stop()
            now, self._items_changed = self._composer.attachments.items, False
            await self._store(workflow_id, self._composer.field.toPlainText(), now if items or now else None)

    @contextmanager
    def _stoppable(self, workflow_id: str, text: str) -> Iterator[None]:
        """Offer Stop while a server may be creating the prompt that a message calls."""
        if not text.lstrip().startswith("/") or ":" not in text.split(maxsplit=1)[0]:
            yield
            return
        self._calling.append(workflow_id)
        self._show_waiting()
        self._waiting_notice.start()
        try:
            yield
        finally:
            self._calling.remove(workflow_id)
            self._show_waiting()
            if not self._calling:
                self._waiting_notice.stop()

    def _show_waiting(self) -> None:
        self._composer.set_waiting(bool(self.workflow_id) and self.workflow_id in self._calling)

    def stop_waiting(self) -> bool:
        """Stop waiting for a prompt that a message calls and restore the message; False if nothing is waited for."""
        if not self.workflow_id or self.workflow_id not in self._calling:
            return False
        self._bridge.jobs.once(("stop waiting",), self._bridge.engine.mcp.content.stop_waiting)
        return True

    async def _first_opened(self) -> None:
        """Move a message written before anything was shown below the workflow being loaded, to keep it visible."""
        if not self._shown_yet and self._opening is not None:
            await asyncio.wait([self._opening])

    async def _put_back(self, workflow_id: str, own: Entry | None, text: str, items: list[Item]) -> None:
        """The engine refused the message: restore it in its workflow's draft, even if another one is in view."""
        transcript = self._pages.current
        if own is not None and transcript is not None and own in transcript.entries:
            transcript.remove(own)
            self._view.set_entries(transcript.entries)
        if self.workflow_id != workflow_id:
            await self._store(workflow_id, text, items or None)
            return
        if not self._composer.field.toPlainText().strip():
            self._composer.set_draft(text)
        if items:
            self._show_items([*items, *self._composer.attachments.items])
            self._on_items()

    def _on_continue(self, finish: str) -> None:
        """An ordinary message: it works with every kind of server, and is visible."""
        if self._pages.current is not None:
            self._pages.changed.emit(self._pages.current.release_notices())  # accepted: a second click finds no button
        self.send(continue_text(finish), [], "queue")

    def _on_regenerate(self, run_id: str, message_id: str) -> None:
        workflow_id, runs = self._pages.workflow_id, self._bridge.engine.runs
        self._rerun(
            ("regenerate", run_id),
            lambda: runs.regenerate(workflow_id, run_id, message_id),
            self._regenerate_text(run_id, message_id),
        )

    def _on_ask_picked(self, run_id: str) -> None:
        """Regenerate with the model in the header, also a turn of an agent that is not stored and has its own."""
        workflow_id, runs = self._pages.workflow_id, self._bridge.engine.runs
        provider, model = self._choices.model
        self._rerun(
            ("regenerate", run_id),
            lambda: runs.regenerate(workflow_id, run_id, provider=provider, model=model),
            self._regenerate_text(run_id, ""),
        )

    def _on_resend(self, run_id: str, message_id: str, text: str) -> None:
        workflow_id, runs = self._pages.workflow_id, self._bridge.engine.runs
        again = self._regenerate_text(run_id, message_id)
        self._rerun(
            ("resend", run_id, text), lambda: runs.edit_and_resend(workflow_id, run_id, text, message_id), again
        )

    def _regenerate_text(self, run_id: str, message_id: str) -> str:
        return regenerate_text(self._view.entries, run_id, message_id)

    def _on_branch(self, run_id: str) -> None:
        workflow_id = self._pages.workflow_id
        self._rerun(("branch", run_id), lambda: self._bridge.engine.workflows.select_branch(workflow_id, run_id))

    def _rerun(
        self, once: tuple[str, ...], change: Callable[[], Coroutine[object, None, object]], words: str = ""
    ) -> None:
        """Change which turns the workflow shows, and show ``words`` when done."""

        async def work() -> None:
            await self._choices.stored()
            await change()
            if words:
                self.status_changed.emit(words)
            await self._pages.reload()

        self._bridge.jobs.once(once, work)
