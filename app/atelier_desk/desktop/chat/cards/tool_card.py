"""The card of a tool call: a line with its state that opens in place to arguments and result."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.cards.live_output import LiveOutput
from atelier_desk.desktop.chat.cards.questions_and_reasoning import QuestionPart, asked_state
from atelier_desk.desktop.chat.cards.tool_result_parts import ResultParts, shown
from atelier_desk.desktop.chat.markdown import ansi
from atelier_desk.desktop.chat.transcript.tool_call_texts import WORDS, call_text, command_end, details_of
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.transcript_position import HEAD, TranscriptPosition
from atelier_desk.desktop.questions.approval_text import rejection
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.icons import known
from atelier_desk.desktop.widgets import ElidedLabel, Pill, bind, bind_text, control, label
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind, PlainLabel
from atelier_desk.presentation import call_failure_text
from atelier_desk.presentation.rows.transcript_entries import UNDER_WAY, Call, Entry, QuestionRow
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import duration
from atelier_desk.support.visible_and_shortened_text import visible
from atelier_desk.tools.registry.sections import SHELL

STOP_AFTER_MS = 1000
"""Milliseconds until a running command gets a stop button and space for its output."""


class ToolCard(QFrame):
    """The tool card; click, Enter or Space open and close it.

    Signals:
        height_changed: it was opened, closed or got a result.
    """

    height_changed = Signal()

    def __init__(self, call: Call, entry: Entry, host: TranscriptHost, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tool-card")
        mark(self, "card")
        self.call, self._entry, self._host = call, entry, host
        self._key = f"{entry.run_id}:{call.call_id}"
        self._head = QPushButton(self)
        mark(self._head, "row")
        self._head.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click, also on a child, leaves the focus in the composer
        self._head.setCursor(Qt.CursorShape.PointingHandCursor)
        self._head.clicked.connect(self.toggle)
        self._icon = PlainLabel(parent=self._head)
        self._name = label(call.tool, "strong", self._head)
        self._summary = ElidedLabel("", self._head)
        mark(self._summary, "muted")
        self._pill = Pill("", "", self._head)
        self._chevron = PlainLabel(parent=self._head)
        row = QHBoxLayout(self._head)
        row.setContentsMargins(13, 0, 11, 0)
        row.setSpacing(10)
        row.addWidget(self._icon)
        row.addWidget(self._name)
        row.addWidget(self._summary, 1)
        row.addWidget(self._pill)
        row.addWidget(self._chevron)
        self.stop: QPushButton | None = None
        self._awaited = False
        for part in (self._icon, self._name, self._summary, self._pill, self._chevron):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(0)
        self._box.addWidget(self._head)
        self._live = LiveOutput(self)
        self._box.addWidget(self._live)
        self._question: QuestionPart | None = None
        self._decision: QLabel | None = None
        self._parts: ResultParts | None = None
        self._details: QWidget | None = None
        self._cards: list[CodeCard] = []
        self._needle = ""
        self._reached = False
        bind(self._drop_details, on="language")  # they are rebuilt
        bind(self.refresh)

    @property
    def opened(self) -> bool:
        return self._key in self._host.state.open_calls

    def toggle(self) -> None:
        (self._host.state.open_calls.discard if self.opened else self._host.state.open_calls.add)(self._key)
        self.refresh()
        self.height_changed.emit()
        self._host.unfolded.emit()

    def refresh(self) -> None:
        """Update the card to the call's current state."""
        style = theme()
        call = self.call
        self._head.setFixedHeight(style.px(38))
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(style.pixmap(known(call.presentation.icon), "muted", style.px(15), ratio))
        self._chevron.setPixmap(
            style.pixmap("chevron-down" if self.opened else "chevron-right", "muted", style.px(15), ratio)
        )
        first, rest = self.words()
        self._name.setText(f"{call.server} · {first.removeprefix(f'{call.server}: ')}" if call.server else first)
        output, spans = ansi.read(call.progress_text.expandtabs(4) if call.status == "running" else "")
        command = self._is_command()
        below = "\n" in output or command
        self._summary.setText(rest if below else output or rest)
        self._await_stop(command)
        if self._live.show_output(output if below and (self._live.steady or not command) else "", spans):
            self.height_changed.emit()
        self._show_asked()
        self._show_rejection()
        self._show_state()
        self._show_details()
        self._show_parts()

    def _show_state(self) -> None:
        """Set the status pill, and the same text for screen readers."""
        text, kind = self.state_text()
        self._pill.show_state(text, kind)
        self._head.setAccessibleName(visible(", ".join(filter(None, (*self.words(), text)))))
        self._show_stop()

    def _is_command(self) -> bool:
        """Whether this is a running command that can be stopped alone, without its run; never in a replay."""
        return self.call.status == "running" and self.call.section == SHELL and self._host.bridge is not None

    def _await_stop(self, command: bool) -> None:
        """Show nothing for a command that ends at once.

        For others, the stop button and the full space for output appear together and stay in place.
        """
        if not command:
            self._live.steady = self._awaited = False
        elif not self._awaited:
            self._awaited = True
            if STOP_AFTER_MS:
                QTimer.singleShot(STOP_AFTER_MS, self, self._stay)
            else:
                self._live.steady = True

    def _stay(self) -> None:
        if self._awaited and not self._live.steady:
            self._live.steady = True
            self.refresh()

    def _show_stop(self) -> None:
        """Show the stop button, created on demand as few cards need it."""
        running = self._live.steady
        if running and self.stop is None:
            stop = control(QPushButton(self._head), "tool-stop", N_("Stop"), look="quiet", on=self._ask_stop)
            bind_text(
                stop,
                tip=N_("Stop this command; the agent continues"),
                name=lambda: _("Stop: {command}", command=" ".join(self.words())),
            )
            row = self._head.layout()
            assert isinstance(row, QHBoxLayout)
            row.insertWidget(row.indexOf(self._chevron), stop)
            self.stop = stop
        if self.stop is not None:
            self.stop.setIcon(theme().icon("circle-stop", "muted", 14))
            self.stop.setVisible(running)

    def _ask_stop(self) -> None:
        assert self.stop is not None
        self.stop.setEnabled(False)
        self._host.stop_call_requested.emit(self._entry.run_id, self.call.call_id)

    @property
    def asked(self) -> QuestionRow | None:
        """The question shown for a call: the pending one, else the last. A server may ask several in sequence."""
        of_call = [asked for asked in self._entry.asked if asked.call_id == self.call.call_id]
        return next((asked for asked in of_call if asked.status == "pending"), of_call[-1] if of_call else None)

    def words(self) -> tuple[str, str]:
        """The text of the head."""
        return call_text(self.call, self.asked)

    def state_text(self) -> tuple[str, PillKind]:
        """The text of the status pill and its colour."""
        call, asked = self.call, self.asked
        # The call of an MCP server continues after the answer.
        if asked is not None and (not call.server or asked.status == "pending"):
            return asked_state(asked)
        if call.status == "running":
            return (_("running · {percent}%", percent=call.progress) if call.progress else _("running")), "accent"
        if (ended := command_end(call)) is not None:
            return ended
        if call_failure_text.denied_by(call.result):
            return _("denied by a rule"), ""  # the user's decision is no failure
        if call.status == "error" and call_failure_text.stopped(call.result):
            return _("stopped"), ""
        words: dict[str, tuple[str, PillKind]] = {
            "approved": (_("allowed"), "accent"),  # it starts when all calls of the reply are decided
            "ok": (f"✓ {duration(call.duration_ms)}", "ok"),
            "error": (_("failed"), "err"),
            "asked": (_("waiting for you"), "warn"),
            "rejected": (_("rejected"), ""),  # the user's decision is no failure
            "unknown": (_("effect unknown"), "warn"),
            "cancelled": (_("stopped"), ""),
            "timeout": (_("timed out"), "err"),
        }
        return words.get(call.status, (call.status, ""))

    def fit(self, width: int) -> int:
        self.setFixedWidth(width)
        height = self._head.height() + 2
        if self._decision is not None and not self._decision.isHidden():
            height += self._decision.heightForWidth(width - 2)
        if self._question is not None:
            height += self._question.fit(width - 2)
        if self._live.isVisibleTo(self):
            height += self._live.sizeHint().height()
        if self._parts is not None:
            height += self._parts.fit(width - 2)
        if self._details is not None:
            for card in self._cards:
                card.setFixedHeight(card.fit(width - 2 - 24))
            layout = self._details.layout()
            if layout is not None:
                height += (
                    layout.totalHeightForWidth(width - 2) if layout.hasHeightForWidth() else layout.sizeHint().height()
                )
        return height

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def _show_asked(self) -> None:
        """Show the question in full in the card of its call, with the answer or the button to give one."""
        asked = self.asked
        if asked is None:
            return
        if self._question is None:
            self._question = QuestionPart(asked, self._host, self)
            self._box.insertWidget(2, self._question)
            self._question.show()
        self._question.show_asked(asked)

    def _show_rejection(self) -> None:
        """Show the user's reason for rejecting below the head."""
        rejected = self.call.status == "rejected" and bool(self.call.decided_by)
        if rejected and self._decision is None:
            self._decision = control(label("", "muted", self, wrap=True), "tool-decision")
            self._decision.setContentsMargins(13, 0, 13, 10)
            self._box.insertWidget(self._box.count() - (self._details is not None), self._decision)
        if self._decision is not None:
            self._decision.setText(rejection(self.call.decided_by, self.call.note) if rejected else "")
            self._decision.setVisible(rejected)

    def _show_parts(self) -> None:
        """Show the parts of the result below the head."""
        parts = shown(self.call.parts)
        if self._parts is not None and self._parts.parts != parts:
            self._box.removeWidget(self._parts)
            self._parts.setParent(None)
            self._parts.deleteLater()
            self._parts = None
        if self._parts is None and parts:
            self._parts = ResultParts(parts, self._host, self)
            self._parts.height_changed.connect(self.height_changed)
            self._box.insertWidget(2 if self._question is None else 3, self._parts)
            self._parts.show()

    def _show_details(self) -> None:
        if not self.opened:
            self._drop_details()
            return
        over = self.call.status not in UNDER_WAY
        if not over and len(self._cards) > 1:
            self._drop_details()  # a replay went back to before its result
        if self._details is None:
            self._details = QWidget(self)
            box = QVBoxLayout(self._details)
            box.setContentsMargins(12, 2, 12, 12)
            box.setSpacing(6)
            self._box.addWidget(self._details)
            box.addWidget(label(_("Tool: {name}", name=self.call.tool), "muted", self._details))
            if self.call.taint:
                box.addWidget(
                    label(_("Read from an untrusted source: {what}", what=self.call.taint), "muted", self._details)
                )
        for title, text, language in details_of(self.call)[len(self._cards) :]:
            self._add_part(title, text, language)

    def highlight(self, needle: str) -> int:
        """Highlight search matches in the open parts; returns their number."""
        self._needle = needle
        if self._reached:
            self._reached = False
            mark(self, "card")
        return sum(card.highlight(needle) for card in self._cards)

    def reach(self, place: TranscriptPosition) -> int:
        """Scroll target of a match: its distance from the top in pixels. Opens the card if the match is inside."""
        if place.part == HEAD:
            self._reached = True
            mark(self, "card-selected")
            return 0
        if not self.opened:
            self.toggle()
        number = int(place.key.partition("\n")[2] or 0)
        if self._details is None or number >= len(self._cards):
            return 0
        card = self._cards[number]
        self.resize(self.width(), self.fit(self.width()))  # now: the position of the match depends on it
        for layout in (self._box, self._details.layout(), card.layout()):
            if layout is not None:
                layout.activate()
        return card.mapTo(self, QPoint(0, 0)).y() + card.place_of(place.number)

    def _add_part(self, title: str, text: str, language: str) -> None:
        assert self._details is not None
        layout = self._details.layout()
        assert layout is not None
        layout.addWidget(label(title, "heading", self._details))
        card = CodeCard(text, "" if language == WORDS else language, self._details, wrap=language == WORDS)
        card.freeze()
        card.height_changed.connect(self.height_changed)
        card.highlight(self._needle)
        self._cards.append(card)
        layout.addWidget(card)

    def _drop_details(self) -> None:
        if self._details is not None:
            self._box.removeWidget(self._details)
            self._details.setParent(None)
            self._details.deleteLater()
            self._details = None
            self._cards = []
