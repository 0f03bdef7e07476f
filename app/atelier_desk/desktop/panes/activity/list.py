"""The list of the activity pane: titles, summaries and painting of its rows."""

from __future__ import annotations

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QListView, QWidget

from atelier_desk.desktop.chat.markdown.plain_text import one_line
from atelier_desk.desktop.chat.transcript.tool_call_texts import informative_arguments
from atelier_desk.desktop.panes.time_format import clock_time, duration, number
from atelier_desk.desktop.panes.two_line_items import style_list
from atelier_desk.desktop.questions.approval_text import bare_tool, tool_title
from atelier_desk.desktop.team.agent_state_labels import RUN_WORDS
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.theme.icons import known
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.hover_freeze import HoverGate, moved
from atelier_desk.desktop.widgets.list_rows import ListRow, RowDelegate
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.presentation import call_failure_text
from atelier_desk.presentation.rows.activity_log import LogEntry
from atelier_desk.presentation.run_notices import COMPACTIONS, LIMITS, limit_title, notice_kind, retry_text
from atelier_desk.presentation.unreadable_values import readable, unreadable
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import percent
from atelier_desk.support.visible_and_shortened_text import shorten, visible, visible_json
from atelier_desk.tools.definition.call_description import summary_of

_Index = QModelIndex | QPersistentModelIndex
SHOWN, FULL = 160, 1_000
"""Maximum characters of a message in a row, and in its tool tip."""
EntryRole = Qt.ItemDataRole.UserRole + 1
"""Model role of the ``LogEntry``."""

CALL_WORDS = {
    "running": N_("running"),
    "ok": N_("done"),
    "error": N_("failed"),
    "skipped": N_("skipped"),
    "rejected": N_("rejected"),
    "denied": N_("denied by a rule"),
    "cancelled": N_("stopped"),
}
"""Status of a tool call in words, as for agents."""
_NOT_RUN = ("skipped", "rejected", "denied", "cancelled")
_WORDS = {
    ChunkType.WORKFLOW_START: N_("Run started"),
    ChunkType.TASK_CREATE: N_("Task added"),
    ChunkType.TASK_UPDATE: N_("Task changed"),
    ChunkType.TASK_COMPLETE: N_("Task done"),
    ChunkType.TASK_DELETE: N_("Task deleted"),
    ChunkType.USER_QUESTION_START: N_("Question asked"),
    ChunkType.SUB_AGENT_START: N_("Sub-agent started"),
    ChunkType.SUB_AGENT_COMPLETE: N_("Sub-agent done"),
    ChunkType.SUB_AGENT_ERROR: N_("Sub-agent failed"),
    ChunkType.SUB_AGENT_QUESTION: N_("Sub-agent asked its parent agent"),
    ChunkType.SUB_AGENT_ANSWER: N_("Sub-agent received an answer"),
    ChunkType.VALIDATION_REQUIRED: N_("Approval requested"),
    ChunkType.CONTEXT_CHANGED: N_("Context changed"),
    ChunkType.CONTEXT_COMPACTED: N_("Older messages shortened"),
    ChunkType.LIMIT_REACHED: N_("Limit reached"),
    ChunkType.LOOP_DETECTED: N_("Repetition detected"),
    ChunkType.ERROR: N_("Error"),
}
_DECIDED = {"approved": N_("Approved"), "rejected": N_("Rejected"), "cancelled": N_("Approval no longer needed")}
_CLOSED = {
    "answered": N_("Question answered"),
    "skipped": N_("Question skipped"),
    "timeout": N_("Question timed out"),
    "": N_("Question closed"),
}
_CONTEXT_CHANGES = {"pinned": N_("pinned"), "unpinned": N_("unpinned"), "undone": N_("full content restored")}
_ICONS: dict[ChunkType, tuple[str, Role]] = {
    ChunkType.WORKFLOW_START: ("play", "muted"),
    ChunkType.MESSAGE: ("message-square", "muted"),
    **dict.fromkeys((ChunkType.TASK_CREATE, ChunkType.TASK_UPDATE, ChunkType.TASK_DELETE), ("list-todo", "muted")),
    ChunkType.TASK_COMPLETE: ("list-todo", "ok"),
    ChunkType.USER_QUESTION_START: ("circle-help", "warn"),
    ChunkType.USER_QUESTION_COMPLETE: ("circle-help", "muted"),
    ChunkType.SUB_AGENT_START: ("users", "accent"),
    ChunkType.SUB_AGENT_COMPLETE: ("users", "ok"),
    ChunkType.SUB_AGENT_ERROR: ("users", "err"),
    ChunkType.SUB_AGENT_QUESTION: ("message-square", "warn"),
    ChunkType.SUB_AGENT_ANSWER: ("message-square", "muted"),
    ChunkType.VALIDATION_REQUIRED: ("shield", "warn"),
    ChunkType.VALIDATION_RESPONSE: ("shield", "muted"),
    ChunkType.CONTEXT_CHANGED: ("pin", "muted"),
    ChunkType.CONTEXT_COMPACTED: ("archive", "muted"),
    ChunkType.LIMIT_REACHED: ("triangle-alert", "warn"),
    ChunkType.LOOP_DETECTED: ("rotate-ccw", "warn"),
    ChunkType.RETRY: ("refresh-cw", "warn"),
    ChunkType.ERROR: ("circle-x", "err"),
}
_NO_FAILURES = {"cancelled", "abandoned", "not_run"}
"""Outcomes of sub-agents that ended without a report and did not fail."""
_ENDS: dict[str, tuple[str, Role]] = {
    "cancelled": ("circle-stop", "muted"),
    "abandoned": ("x", "muted"),
    "error": ("circle-x", "err"),
}
"""Icon and colour of runs that did not complete."""


def call_words(entry: LogEntry) -> tuple[str, str]:
    """What a call does or did, and with what: "Calculated" and "12 × 7", as in the transcript."""
    shown = entry.presentation
    if not shown.summary.text:
        return "", summary_of(informative_arguments(entry.arguments)).localized(_)
    return shown.words(over=entry.status == "ok").parts(_)


def entry_title(entry: LogEntry) -> str:
    """What happened, in a few words."""
    return readable(lambda: _entry_title(entry), unreadable)


def _entry_title(entry: LogEntry) -> str:
    if entry.is_call:
        title = call_words(entry)[0] or _(entry.presentation.title) or bare_tool(entry.tool)
        server = str(entry.data.get("server", ""))
        return visible(f"{server} · {title.removeprefix(f'{server}: ')}" if server else title)
    match entry.kind:
        case ChunkType.USER_QUESTION_COMPLETE:
            return _(_CLOSED.get(entry.outcome, _CLOSED[""]))
        case ChunkType.VALIDATION_RESPONSE:
            return _(_DECIDED.get(entry.outcome, entry.outcome))
        case ChunkType.SUB_AGENT_ERROR if entry.outcome in _NO_FAILURES:
            return _("Sub-agent: {status}", status=_(RUN_WORDS[entry.outcome]))
        case ChunkType.LIMIT_REACHED if entry.reason in LIMITS:
            return limit_title(entry.reason, entry.details)
        case ChunkType.MESSAGE if entry.by_user:
            return _("Message to {agent}", agent=entry.agent_name) if entry.depth else _("Your message")
        case ChunkType.MESSAGE:
            return _("Reply")
        case ChunkType.WORKFLOW_COMPLETE:
            return _("Run: {status}", status=_(RUN_WORDS.get(entry.outcome, entry.outcome)))
    return _notice(entry)[0] or _(_WORDS.get(entry.kind, str(entry.kind)))


def entry_summary(entry: LogEntry, most: int = SHOWN) -> str:
    """The most informative value, in one line of at most ``most`` characters."""
    if entry.is_call:
        # Also of a failed call: its error is written for the model and is in the details.
        return shorten(" ".join(call_words(entry)[1].split()), most, at_word=True)
    text = readable(lambda: _activity_text(entry), unreadable)
    return visible(shorten(one_line(text or entry.error), most, at_word=True))


def _activity_text(entry: LogEntry) -> str:
    details = entry.details
    match entry.kind:
        case ChunkType.VALIDATION_REQUIRED:
            return _(entry.presentation.title) or bare_tool(entry.tool) or entry.text
        case ChunkType.LOOP_DETECTED:
            return f"{tool_title(str(details.get('tool') or ''))} × {number(int(details.get('count') or 0))}"
        case ChunkType.CONTEXT_COMPACTED | ChunkType.CONTEXT_CHANGED:
            return _({**COMPACTIONS, **_CONTEXT_CHANGES}.get(entry.reason, ""))
    return _notice(entry)[1] or entry.text


def _notice(entry: LogEntry) -> tuple[str, str]:
    """Title and text of a notice, as in the transcript; empty for events that have words of their own."""
    details = entry.details
    if entry.kind is ChunkType.RETRY:
        delay_ms = float(details.get("delay_s") or 0) * 1000
        return retry_text(entry.reason, details, duration(delay_ms) if delay_ms >= 50 else "")
    known = notice_kind(entry.kind, details)
    return known.text({**details, "reason": entry.reason}) if known is not None else ("", "")


def entry_icon(entry: LogEntry) -> tuple[str, Role]:
    """Icon name and colour role; for a call by its status."""
    if not entry.is_call:
        if entry.kind is ChunkType.WORKFLOW_COMPLETE:
            return _ENDS.get(entry.outcome, ("circle-check", "muted"))
        if kind := notice_kind(entry.kind, entry.details):
            return known(kind.icon, "info"), "warn" if kind.warning else "muted"
        if entry.kind is ChunkType.SUB_AGENT_ERROR and entry.outcome in _NO_FAILURES:
            return "users", "muted"
        return _ICONS.get(entry.kind, ("circle", "muted"))
    states: dict[str, tuple[str, Role]] = {
        "running": ("loader-circle", "accent"),
        "ok": ("check", "ok"),
        "error": ("circle-x", "err"),
    }
    states |= dict.fromkeys(_NOT_RUN, ("minus", "muted"))
    return states.get(_state(entry), ("terminal", "muted"))


def _state(entry: LogEntry) -> str:
    """Status of a call; one denied by the user's own rule did not fail."""
    return "denied" if entry.status == "error" and call_failure_text.denied_by(entry.result) else entry.status


def entry_time(entry: LogEntry) -> str:
    """A call's duration or progress, an event's time of day."""
    if not entry.is_call:
        return clock_time(entry.time)
    if _state(entry) in _NOT_RUN:
        return _(CALL_WORDS[_state(entry)])
    if entry.duration_ms is not None:
        return duration(entry.duration_ms)
    return percent(entry.progress / 100) if entry.progress else "…"  # 0 means that the tool reports no progress


def entry_details(entry: LogEntry) -> str:
    """Tool, arguments and result of a call, or an event's fields, as indented JSON under headings."""

    def pretty(value: object) -> str:
        return visible(value) if isinstance(value, str) else visible_json(value, 2)

    if not entry.is_call:
        return pretty(entry.data) if entry.data else ""
    parts: list[tuple[str, object]] = [(_("Tool"), entry.tool), (_("Arguments"), entry.arguments)]
    if entry.error:
        parts.append((_("Error"), _error(entry)))
    if entry.result is not None:
        parts.append((_("Result"), entry.result))
    return "\n\n".join(f"{name}\n{pretty(value)}" for name, value in parts)


def _error(entry: LogEntry) -> str:
    return (
        call_failure_text.explain(_(entry.presentation.title) or entry.tool, entry.result, entry.error)
        if entry.error
        else ""
    )


def _teller(entry: LogEntry) -> str:
    """The sub-agent an entry belongs to, if any."""
    return visible(entry.agent_name) if entry.depth else ""


class ActivityModel(QAbstractListModel):
    """The filtered entries."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[LogEntry] = []

    def set_rows(self, rows: list[LogEntry]) -> None:
        """Show these entries; if they only grew, existing rows are not touched."""
        known = len(self.rows)
        if known and known <= len(rows) and all(a is b for a, b in zip(self.rows, rows, strict=False)):
            if len(rows) > known:
                self.beginInsertRows(QModelIndex(), known, len(rows) - 1)
                self.rows = rows
                self.endInsertRows()
            self.dataChanged.emit(self.index(0), self.index(known - 1))
        else:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        entry = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry_title(entry)
        if role == EntryRole:
            return entry
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip("\n".join(filter(None, (_teller(entry), entry_title(entry), entry_summary(entry, FULL)))))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            state = _(CALL_WORDS[_state(entry)]) if _state(entry) in CALL_WORDS else ""
            return ", ".join(
                dict.fromkeys(
                    filter(None, (entry_title(entry), state, _teller(entry), entry_summary(entry), entry_time(entry)))
                )
            )
        return None


def entry_row(entry: LogEntry) -> ListRow:
    """A row: icon, title, summary, time."""
    icon, role = entry_icon(entry)
    return ListRow(
        entry_title(entry),
        trailing=entry_summary(entry),
        end=entry_time(entry),
        icon=icon,
        role=role,
        colour="err" if entry.kind is ChunkType.ERROR else "text",
        weight=500 if entry.is_call else 400,
    )


class ActivityListView(QListView):
    """``activity-list``: follows its end while scrolled to it, but not past a selected row."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.entries = ActivityModel(self)
        self.setObjectName("activity-list")
        self.setModel(self.entries)
        style_list(self, RowDelegate(self, lambda index: entry_row(index.data(EntryRole)), size=13, pad=5))
        self.setUniformItemSizes(True)
        mark(self, "activity")
        self._at_end = True
        self._latest: list[LogEntry] = []
        self._gate = HoverGate(self, lambda: self.show_rows(self._latest))
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.verticalScrollBar().rangeChanged.connect(self._on_range)

    def show_rows(self, rows: list[LogEntry]) -> None:
        self._latest = rows
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 4
        follows = at_end and len(rows) * self.sizeHintForRow(0) > self.viewport().height()
        same = [*map(id, self.entries.rows)], [*map(id, rows)]
        if (moved(*same) or (follows and same[0] != same[1])) and self._gate.holds():
            self.viewport().update()  # progress and durations
            return
        self.entries.set_rows(rows)
        if at_end:
            self.scrollToBottom()

    def _on_scrolled(self, value: int) -> None:
        self._at_end = value >= self.verticalScrollBar().maximum() - 4

    def _on_range(self, _low: int, high: int) -> None:
        if self._at_end and not self.selectedIndexes():
            self.verticalScrollBar().setValue(high)

    def current_entry(self) -> LogEntry | None:
        """The row selected by the user, not one that became current only because the list got the focus."""
        chosen = self.selectedIndexes()
        return chosen[0].data(EntryRole) if chosen else None
