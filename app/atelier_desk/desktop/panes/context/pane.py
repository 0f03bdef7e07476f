"""The context inspector: the exact requests sent to a model, sizes of their parts, what was left out, and pins."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QListWidget,
    QPushButton,
    QScrollArea,
    QSplitter,
    QWidget,
)

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.panes.context import request_text
from atelier_desk.desktop.panes.context.recalled_memories import GivenMemory, given
from atelier_desk.desktop.panes.context.request_size_bar import PartsBar
from atelier_desk.desktop.panes.context.turn_picker import TurnPicker
from atelier_desk.desktop.panes.lazy_pane import SeenPane
from atelier_desk.desktop.panes.memory.dialog import MemoryDialog
from atelier_desk.desktop.panes.memory.list import MemoryRow
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.panes.two_line_items import style_list, two_line_item
from atelier_desk.desktop.questions.approval_text import tool_title
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import (
    Card,
    ElidedLabel,
    EmptyState,
    FlowLayout,
    IconButton,
    bind,
    bind_text,
    control,
    fill,
    hbox,
    tint,
    vbox,
)
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import percent
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.request.sent_request_data import Omitted, RequestSummary, SentItem, SentRequest
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode

WIDE = 620
"""From this width, in pixels at 100 %, requests, rows and text are side by side."""
NARROW = 410
"""From this width they are side by side in a pane too short to stack them."""
REFRESH_MS = 400
_RELEVANT_EVENTS = frozenset(
    {
        ChunkType.USAGE,
        ChunkType.CONTEXT_CHANGED,
        ChunkType.CONTEXT_COMPACTED,
        ChunkType.SUB_AGENT_START,
        ChunkType.WORKFLOW_START,
    }
)
TABS = ("messages", "memories", "tools", "left-out", "wire")


class ContextPane(SeenPane):
    """``context-pane`` with ``context-agent``, ``context-request-list``, ``context-parts``, ``context-items`` and
    ``context-details``.
    """

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, REFRESH_MS, parent)
        self.setObjectName("context-pane")
        self.requests: list[RequestSummary] = []
        self.request: SentRequest | None = None
        self._agents: list[AgentNode] = []
        self._given: list[GivenMemory] = []
        self._run_id, self._seq = "", 0
        self._wide: bool | None = None
        self.turn = TurnPicker(self)
        self.turn.setObjectName("context-turn")
        self.agent = control(ComboBox(self), "context-agent", look="chip-plain", tip=N_("Agent"))
        self.agent.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.tools.addWidget(self.turn)
        self.tools.addWidget(self.agent)
        self._copy = self.add_tool("copy", self.copy_json)
        self._copy.setObjectName("context-copy")
        self.empty = EmptyState(
            "layers", N_("No request yet"), N_("The exact requests sent to the model appear here."), parent=self
        )
        self.wait_with(self.empty)
        self.body = QSplitter(Qt.Orientation.Horizontal, self)
        self.body.setChildrenCollapsible(False)
        for part in (self._build_requests(), self._build_rows(), self._build_details()):
            self.body.addWidget(part)
        self.column.addWidget(self.empty, 1)
        self._area = QScrollArea(self)
        """Shows the body at its least size, and scrolls it, in a pane that is smaller still."""
        self._area.setWidgetResizable(True)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidget(self.body)
        self.column.addWidget(self._area, 1)
        self._connect()
        bind_text(self.heading, N_("Context"))
        bind_text(self._copy, tip=N_("Copy as JSON"))
        bind(self._show, on="language")

    def _build_requests(self) -> QWidget:
        self.list = control(QListWidget(self), "context-request-list", look="plain", name=N_("Requests to the model"))
        style_list(self.list)
        return self.list

    def _build_rows(self) -> QWidget:
        holder = QWidget(self)
        box = vbox(holder, margins=(6, 0, 6, 0), spacing=6)
        self.parts = PartsBar(self)
        self._tabs: dict[str, QPushButton] = {}
        group = QButtonGroup(self)
        row = FlowLayout(spacing=4)
        for name in TABS:
            tab = control(QPushButton(self), f"context-tab-{name}", look="chip-plain")
            tab.setCheckable(True)
            tab.hide()  # until a request is shown
            group.addButton(tab)
            row.addWidget(tab)
            self._tabs[name] = tab
        self._tabs["messages"].setChecked(True)
        group.buttonClicked.connect(lambda *_: self._show_rows())
        self.items = control(QListWidget(self), "context-items", look="plain", name=N_("Parts of the request"))
        style_list(self.items)
        self._rows, self._tab_row = holder, row
        holder.installEventFilter(self)
        fill(box, row, self.parts, (self.items, 1))
        return holder

    def _build_details(self) -> QWidget:
        self._details = Card(self, "card", (10, 6, 6, 8))
        self._title = control(ElidedLabel("", self), look="strong")
        self.undo = control(
            QPushButton(self),
            "context-undo",
            N_("Undo"),
            look="ghost",
            name=N_("Undo: send in full"),
            tip=N_("Send in full from the next request on"),
        )
        tint(self.undo, "undo-2", "text", 14)
        self.pin = control(
            IconButton("pin", parent=self),
            "context-pin",
            tip=N_("Pin: always send in full"),
            keys="P",
            on=self._toggle_pin,
        )
        self.correct = control(
            IconButton("pencil", parent=self), "context-correct", tip=N_("Edit this memory"), on=self._correct
        )
        self._copy_text = control(IconButton("copy", parent=self), "context-copy-text", tip=N_("Copy"))
        row = hbox(None, (self._title, 1), self.undo, self.pin, self.correct, self._copy_text, spacing=4)
        self.details = control(TextField(self), "context-details", look="plain", name=N_("Text"))
        self.details.setReadOnly(True)
        fill(self._details.body, row, (self.details, 1))
        return self._details

    def _connect(self) -> None:
        self.turn.picked.connect(self._on_turn)
        self.agent.activated.connect(lambda index: self.show_run(str(self.agent.itemData(index))))
        self.list.currentRowChanged.connect(self._on_request)
        self.items.currentRowChanged.connect(lambda *_: self._show_details())
        self.undo.clicked.connect(lambda *_: self._undo())
        self._copy_text.clicked.connect(lambda *_: QGuiApplication.clipboard().setText(self.details.toPlainText()))
        self.add_key("P", self._toggle_pin, self.items)
        bind(self._apply_style)

    def _apply_style(self) -> None:
        self.list.setMinimumSize(theme().px(120), theme().px(48))
        self.items.setMinimumHeight(theme().px(64))
        self._rows.setMinimumWidth(theme().px(140))
        self._details.setMinimumWidth(theme().px(140))
        self.details.setMinimumHeight(theme().px(48))
        self._hold_rows()
        self._turn_body()

    def set_workflow(self, workflow_id: str) -> None:
        if workflow_id != self.workflow_id:
            self.turn.set_turns([])
            self.turn.want("")
            self._run_id, self._seq = "", 0
            self._agents, self.requests, self.request = [], [], None
            self._show()
        super().set_workflow(workflow_id)

    def show_run(self, run_id: str, seq: int = 0) -> None:
        """Show a run's request: the one whose reply is event ``seq`` of the run, 0 for the newest."""
        self._run_id, self._seq = run_id, seq
        self.reload()

    def _on_turn(self, _root_run_id: str) -> None:
        self._run_id, self._seq = "", 0
        self.reload()

    def on_stream(self, event: StreamEvent) -> None:
        if event.chunk_type in _RELEVANT_EVENTS:
            self.refresh()

    async def read(self, workflow_id: str) -> None:
        requested, run_id, seq = self.turn.wanted, self._run_id, self._seq
        engine = self.bridge.engine
        turns = await engine.teams.turns(workflow_id)
        asked = await engine.teams.root_of(run_id) if run_id else requested
        root = asked if any(turn.run_id == asked for turn in turns) else turns[-1].run_id if turns else ""
        agents: list[AgentNode] = []
        requests: list[RequestSummary] = []
        shown, request = "", None
        if root:
            agents = [
                node for node in (await engine.teams.tree(workflow_id, root)).walk() if node.started_at is not None
            ]
            shown = run_id if any(node.run_id == run_id for node in agents) else root
            requests = await engine.inspector.requests(shown)
            chosen = next((each for each in requests if each.seq == seq), requests[-1] if requests else None)
            request = await engine.inspector.request(shown, chosen.seq) if chosen is not None else None
        if workflow_id != self.workflow_id:
            return
        if (run_id, seq) != (self._run_id, self._seq):
            self.refresh()  # another request was selected meanwhile
        else:
            self.turn.set_turns(turns)
            if turns and agents and agents[0].run_id != self.turn.root_run_id:
                self.turn.want(agents[0].run_id)
            newest = bool(turns) and shown == turns[-1].run_id and not seq
            self._run_id = "" if newest else shown  # the newest request follows the next turn
            self._agents, self.requests, self.request = agents, requests, request
            self._show()

    def _on_request(self, row: int) -> None:
        if 0 <= row < len(self.requests):
            newest = row == len(self.requests) - 1
            self._seq = 0 if newest else self.requests[row].seq
            self.jobs.start(self._read_request(self.requests[row]), "request")

    async def _read_request(self, summary: RequestSummary) -> None:
        request = await self.bridge.engine.inspector.request(summary.run_id, summary.seq)
        if summary in self.requests:
            self.request = request
            self._show_request()

    def _show(self) -> None:
        there = bool(self.requests)
        self.empty.setVisible(not there)
        self._area.setVisible(there)
        self._copy.setVisible(there)
        self._show_agents()
        self._quietly(self.list, self._fill_requests)
        self._show_request()

    def _show_agents(self) -> None:
        """Update the list of agents only if it changed: an open list stays open while requests arrive."""
        requested = [("   " * node.depth + node.name, node.run_id) for node in self._agents]
        if requested != [(self.agent.itemText(row), self.agent.itemData(row)) for row in range(self.agent.count())]:
            self.agent.clear()
            for text, run_id in requested:
                self.agent.addItem(text, run_id)
        self.agent.setCurrentIndex(max(0, self.agent.findData(self._run_id)))
        self.agent.setVisible(len(requested) > 1)

    def _fill_requests(self) -> None:
        self.list.clear()
        for place, summary in enumerate(self.requests, 1):
            two_line_item(
                self.list,
                str(summary.seq),
                request_text.request_title(summary, place),
                request_text.request_facts(summary),
                "sparkles",
            )
        if self.request is not None:
            seqs = [summary.seq for summary in self.requests]
            shown = self.request.summary.seq
            self.list.setCurrentRow(seqs.index(shown) if shown in seqs else -1)

    def _show_request(self) -> None:
        request = self.request
        if request is None:
            self.items.clear()
            return
        self._given = given(request)
        facts = [request_text.tokens_text(request.tokens)]
        if request.window:
            facts.append(_("{share} of the context window", share=percent(request.tokens / request.window)))
        if not request.exact:
            facts.append(_("the system message and tools used at the time were not stored: the current ones are shown"))
        if request.searched_tools:
            facts.append(request_text.searched(request))
        self.parts.show_parts(request.parts, " · ".join(facts))
        counts = {
            "messages": len(request.items),
            "memories": len(self._given),
            "tools": len(request.tools),
            "left-out": len(request.left_out),
            "wire": len(request.wire or ()),
        }
        titles = {
            "messages": _("Messages {count}", count=counts["messages"]),
            "memories": _("Memories {count}", count=counts["memories"]),
            "tools": _("Tools {count}", count=counts["tools"]),
            "left-out": _("Left out {count}", count=counts["left-out"]),
            "wire": _("Raw text {count}", count=counts["wire"]),
        }
        for name, tab in self._tabs.items():
            tab.setText(titles[name])
            tab.setVisible(counts[name] > 0 or name in ("messages", "left-out"))
        if not any(tab.isChecked() and not tab.isHidden() for tab in self._tabs.values()):
            self._tabs["messages"].setChecked(True)
        self._hold_rows()
        self._show_rows()

    @property
    def tab(self) -> str:
        return next(name for name, tab in self._tabs.items() if tab.isChecked())

    def _show_rows(self) -> None:
        before = self.items.currentItem().data(Qt.ItemDataRole.UserRole) if self.items.currentItem() is not None else ""
        self._quietly(self.items, self._fill_rows)
        keys = [self.items.item(row).data(Qt.ItemDataRole.UserRole) for row in range(self.items.count())]
        self._quietly(self.items, lambda: self.items.setCurrentRow(keys.index(before) if before in keys else 0))
        self._show_details()

    def _fill_rows(self) -> None:
        self.items.clear()
        request = self.request
        if request is None:
            return
        tab = self.tab
        if tab == "messages":
            for item in request.items:
                line = request_text.message_line(request.messages[item.index])
                icon, role = request_text.item_icon(item)
                title = f"{request_text.item_name(item)} · {line}" if line else request_text.item_name(item)
                two_line_item(self.items, f"m{item.index}", title, request_text.item_facts(item), icon, role)
        elif tab == "memories":
            for number, memory in enumerate(self._given):
                two_line_item(self.items, f"g{number}", request_text.excerpt(memory.content), memory.why, "brain")
        elif tab == "tools":
            for number, tool in enumerate(request.tools):
                two_line_item(
                    self.items, f"t{number}", tool_title(tool.name), request_text.excerpt(tool.description), "wrench"
                )
        elif tab == "left-out":
            for number, left in enumerate(request.left_out):
                two_line_item(
                    self.items,
                    f"l{number}",
                    request_text.left_title(left),
                    request_text.left_facts(left),
                    "archive",
                    "muted" if left.undone else "warn",
                )
        else:
            for number, message in enumerate(request.wire or ()):
                two_line_item(
                    self.items, f"w{number}", message.role.value, request_text.excerpt(message.content), "terminal"
                )

    def _current(self) -> tuple[str, int]:
        item = self.items.currentItem()
        key = str(item.data(Qt.ItemDataRole.UserRole)) if item is not None else ""
        return key[:1], int(key[1:] or 0) if key else 0

    def _current_message(self) -> SentItem | None:
        kind, number = self._current()
        if kind != "m" or self.request is None:
            return None
        return next((item for item in self.request.items if item.index == number), None)

    def _current_left(self) -> Omitted | None:
        kind, number = self._current()
        return (
            self.request.left_out[number]
            if kind == "l" and self.request is not None and number < len(self.request.left_out)
            else None
        )

    def _show_details(self) -> None:
        kind, number = self._current()
        request, sent, left = self.request, self._current_message(), self._current_left()
        self._details.setVisible(bool(kind) and request is not None)
        self.pin.setVisible(sent is not None and bool(sent.origin) and sent.can_pin)
        self.undo.setVisible(left is not None and left.can_undo)
        self.correct.setVisible(kind == "g")
        if request is None or not kind:
            return
        if sent is not None:
            self._title.setText(request_text.item_name(sent))
            text = request_text.item_text(sent, request.messages[sent.index])
            self.pin.set_icon("pin-off" if sent.pinned else "pin", "accent" if sent.pinned else "muted")
            self.pin.describe(N_("Unpin") if sent.pinned else N_("Pin: always send in full"), "P")
        elif left is not None:
            self._title.setText(request_text.left_title(left))
            text = request_text.left_text(left)
        elif kind == "g":
            self._title.setText(_("Memory"))
            text = f"{self._given[number].content}\n\n{self._given[number].why}"
        elif kind == "t":
            self._title.setText(request.tools[number].name)
            text = request_text.tool_text(request.tools[number])
        else:
            wire = (request.wire or ())[number]
            self._title.setText(wire.role.value)
            text = wire.content
        text = visible(text)
        if text != self.details.toPlainText():
            self.details.setPlainText(text)

    @staticmethod
    def _quietly(widget: QWidget, work: Callable[[], object]) -> None:
        widget.blockSignals(True)
        work()
        widget.blockSignals(False)

    def _toggle_pin(self) -> None:
        sent, workflow_id = self._current_message(), self.workflow_id
        if sent is not None and sent.origin and sent.can_pin:
            origin, pinned = sent.origin, not sent.pinned
            self.jobs.once(
                ("pin", origin),
                lambda: self._then_read(self.bridge.engine.runs.editing.pin(workflow_id, origin, pinned)),
            )

    def _undo(self) -> None:
        left, workflow_id = self._current_left(), self.workflow_id
        if left is not None:
            origin = left.origin
            self.jobs.once(
                ("undo", origin),
                lambda: self._then_read(self.bridge.engine.runs.editing.undo_compaction(workflow_id, origin)),
            )

    def _correct(self) -> None:
        """Edit the current version of the shown memory."""
        kind, number = self._current()
        if kind == "g":
            memory_id = self._given[number].id
            self.jobs.once(("correct", memory_id), lambda: self._open_memory(memory_id))

    async def _open_memory(self, memory_id: str) -> None:
        memories = self.bridge.engine.memories
        dialog = MemoryDialog(MemoryRow(await memories.get(memory_id)), self.window())

        async def save(fields: dict[str, object]) -> None:
            try:
                await memories.update(memory_id, **fields)
            except Exception as error:
                dialog.show_error(error_text(error))
            else:
                dialog.accept()

        dialog.accepted_fields.connect(lambda fields: self.jobs.once(dialog, lambda: save(fields)))
        dialog.open()

    async def _then_read(self, work: Coroutine[object, None, object]) -> None:
        await work
        self.reload()

    def copy_json(self) -> None:
        """Copy the complete request to the clipboard."""
        if self.request is not None:
            QGuiApplication.clipboard().setText(request_text.as_json(self.request))
            toast(self, _("The request was copied as JSON"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn_body()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._rows and event.type() == QEvent.Type.Resize:
            self._hold_rows()
        return False

    def _hold_rows(self) -> None:
        """Reserve space for the tabs, which wrap in a narrow pane, a line of the legend and a message.

        More of the legend if it fits.
        """
        width = max(120, self._rows.width() - 12)
        around = self._tab_row.heightForWidth(width) + self.items.minimumHeight() + 12
        least = around + self.parts.height_of(1)
        self.parts.limit(1 + (self._rows.height() - least) // (self.parts.height_of(2) - self.parts.height_of(1)))
        self._rows.setMinimumHeight(least)

    def _turn_body(self) -> None:
        """Lay out side by side if wide enough or too low for a stack, else stacked."""
        stacked = sum(
            max(part.minimumHeight(), part.minimumSizeHint().height())
            for part in (self.list, self._rows, self._details)
        )
        short = self._area.height() < stacked + 2 * self.body.handleWidth()
        wide = self.width() >= theme().px(NARROW if short else WIDE)
        requested = Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical
        if self.body.orientation() is not requested:
            self.body.setOrientation(requested)
        if wide != self._wide:
            self._wide = wide
            self.body.setSizes([220, 420, 380] if wide else [100, 340, 200])
