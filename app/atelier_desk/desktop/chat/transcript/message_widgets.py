"""The user's messages as bubbles, and the agent's full-width answers."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QGuiApplication, QPixmap, QTextCursor
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from atelier_desk.desktop.chat.cards.changed_files_card import FilesCard
from atelier_desk.desktop.chat.cards.headed_card import HeadedCard
from atelier_desk.desktop.chat.cards.notice_card import NoticeCard
from atelier_desk.desktop.chat.cards.pending_requests import PendingRequests
from atelier_desk.desktop.chat.cards.proposed_memories_card import RememberedCard
from atelier_desk.desktop.chat.cards.questions_and_reasoning import QuestionCard, ReasoningFold
from atelier_desk.desktop.chat.cards.sources_card import SourcesCard
from atelier_desk.desktop.chat.cards.team_card import TeamCard, starts_agents
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.markdown.plain_text import one_line
from atelier_desk.desktop.chat.transcript.actions_row import ActionsRow, BranchSwitch
from atelier_desk.desktop.chat.transcript.incomplete_reply import UnfinishedCard
from atelier_desk.desktop.chat.transcript.json_answer import as_code
from atelier_desk.desktop.chat.transcript.message_attachments import AttachedChips
from atelier_desk.desktop.chat.transcript.message_base import BodyMessage, MessageWidget
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.chat.transcript.reply_body import ReplyBody
from atelier_desk.desktop.chat.transcript.sent_message_editor import BubbleEditor
from atelier_desk.desktop.chat.transcript.sent_text_files import AttachedFiles
from atelier_desk.desktop.chat.transcript.spacing import INSIDE, NEAR, TURN
from atelier_desk.desktop.chat.transcript.sub_agent_message import AgentMessage
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.transcript_position import CALL, HEAD, QUESTION, THOUGHTS, TranscriptPosition
from atelier_desk.desktop.chat.transcript.view import EntryWidget
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Pill, bind, bind_text, control
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.date_format import short_moment
from atelier_desk.engine.services.agent_gallery import current_name
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, leave_out_unreadable
from atelier_desk.presentation.unreadable_values import readable
from atelier_desk.support.i18n import N_, _

_BUBBLE_SHARE = 0.82
_THUMBNAIL = 120


def make_widget(entry: Entry, host: TranscriptHost, parent: QWidget) -> EntryWidget:
    """Create the widget of an entry; one whose stored data cannot be displayed is reduced to its texts."""

    def reduced() -> EntryWidget:
        leave_out_unreadable(entry)
        return _widget(entry, host, parent)

    return readable(lambda: _widget(entry, host, parent), reduced)


def _widget(entry: Entry, host: TranscriptHost, parent: QWidget) -> EntryWidget:
    if entry.topic in {"prompt", "from_parent", "agent_report"}:
        return AgentMessage(entry, host, parent)
    if entry.kind == "user":
        return UserBubble(entry, host, parent)
    if entry.kind == "notice":
        return NoticeCard(entry, host, parent)
    return AssistantMessage(entry, host, parent)


class UserBubble(MessageWidget):
    """A bubble on the right; it can be edited in place and sent again as another version."""

    def __init__(self, entry: Entry, host: TranscriptHost, parent: QWidget | None = None) -> None:
        super().__init__(entry, host, parent)
        self.setObjectName("user-message")
        self._bubble = control(QFrame(self), look="bubble")
        self._text = ProseBlock(self._bubble)
        self._pictures = [_thumbnail(image, self._bubble) for image in entry.images]
        self._attached: AttachedChips | None = None
        self._files: AttachedFiles | None = None
        self._waiting = bind_text(Pill("", "", self), N_("sending"))
        self._actions = ActionsRow(self)
        self._actions.add("copy", lambda: _("Copy message"), self.copy, "copy-message")
        self._edit_button = self._actions.add("pencil", lambda: _("Edit and resend"), self.edit, "edit-message")
        self._actions.add_menu(self)
        self._note = self._actions.add_note(first=True)
        self._switch = BranchSwitch(host.branch_requested.emit, self)
        self._editor: BubbleEditor | None = None
        bind_text(self, name=lambda: _("You wrote: {text}", text=self.entry.content[:200]))
        bind_text(self._note, lambda: short_moment(self.entry.time) if self.entry.time is not None else "")
        bind(self._redraw, on="look")

    def refresh(self) -> None:
        self._show_attached()
        self._show_files()
        self._text.show_plain(self.entry.content)
        self._text.setVisible(bool(self.entry.content))
        self._waiting.setVisible(self.entry.pending)
        self._edit_button.setVisible(bool(self.entry.run_id) and self.host.versions)
        self._actions.show_pinned(self.entry.pinned)
        branch = self.entry.branch
        self._switch.show_branch(branch.runs if branch else (), branch.index if branch else 0)
        bind_text(self)
        bind_text(self._note)

    def _show_attached(self) -> None:
        """Show chips of the attachments; rebuilt once they are stored."""
        entries = self.entry.attachments
        if self._attached is not None and self._attached.entries is not entries:
            self._attached.hide()
            self._attached.deleteLater()
            self._attached = None
        if self._attached is None and entries:
            self._attached = AttachedChips(entries, self.host, self._bubble)
            self._attached.show()

    def _show_files(self) -> None:
        """Show text files once the engine has the message: a ``/name`` can add some."""
        if self.entry.files and self._files is None:
            self._files = AttachedFiles(self.entry.files, self._bubble)
            self._files.height_changed.connect(self.height_changed)
            self._files.show()

    def _redraw(self) -> None:
        self.refresh()
        self.height_changed.emit()

    def selected_text(self) -> str:
        return self._text.textCursor().selectedText().replace("\u2029", "\n").replace("\u2028", "\n")

    def highlight(self, needle: str) -> int:
        return self._text.highlight(needle)

    def reach(self, place: TranscriptPosition) -> int:
        return self._bubble.y() + self._text.y() + self._text.place_of(place.number)

    def edit(self) -> None:
        """Replace the bubble by an editor."""
        if self._editor is not None:
            return
        entry, names = self.entry, [str(each.get("name", "")) for each in self.entry.attachments]
        self._editor = BubbleEditor(entry.content, self, names, lambda: self.host.resend_text(entry.run_id, entry.id))
        self._editor.cancelled.clicked.connect(lambda *_: self._end_edit())
        self._editor.sent.clicked.connect(lambda *_: self._resend())
        self._editor.show()
        self._bubble.hide()
        self._actions.hide()
        self._editor.field.moveCursor(QTextCursor.MoveOperation.End)
        self._editor.field.setFocus()
        self.height_changed.emit()

    def _end_edit(self) -> None:
        if self._editor is not None:
            self._editor.deleteLater()
            self._editor = None
        self._bubble.show()
        self._actions.show()
        self.height_changed.emit()

    def _resend(self) -> None:
        if self._editor is not None and (text := self._editor.field.toPlainText().strip()):
            self._end_edit()
            self.host.resend_requested.emit(self.entry.run_id, self.entry.id, text)

    def fit(self, width: int) -> int:
        style = theme()
        above, near = style.px(TURN - INSIDE), style.px(NEAR)
        if self._editor is not None:
            height = self._editor.height_for(width)
            self._editor.setGeometry(0, above, width, height)
            return above + height + style.px(INSIDE)
        side, edge = style.px(15), style.px(10)
        most = min(round(width * _BUBBLE_SHARE), width - self._buttons_width() - near) - 2 * side
        inner = self._text.natural_width(most) if self.entry.content else 0
        pictures = sum(picture.width() + near for picture in self._pictures) - near if self._pictures else 0
        inner = max(inner, min(pictures, most), self._files.natural_width(most) if self._files is not None else 0)
        y = edge
        if self._attached is not None:
            inner = max(inner, self._attached.natural_width(most))
            height = self._attached.fit(inner)
            self._attached.setGeometry(side, y, inner, height)
            y += height + (near if self.entry.content or self._pictures or self._files else 0)
        x = side
        for picture in self._pictures:
            picture.move(x, y)
            x += picture.width() + near
        if self._pictures:
            y += max(picture.height() for picture in self._pictures) + (
                near if self.entry.content or self._files else 0
            )
        if self._files is not None:
            height = self._files.fit(inner)
            self._files.setGeometry(side, y, inner, height)
            y += height + (near if self.entry.content else 0)
        if self.entry.content:
            height = self._text.fit(inner)
            self._text.setGeometry(side, y, inner, height)
            y += height
        bubble_width = inner + 2 * side
        lower = edge - style.px(3)  # the line spacing is above the text
        self._bubble.setGeometry(width - bubble_width, above, bubble_width, y + lower)
        return self._place_actions(width, bubble_width, above + y + lower)

    def _buttons_width(self) -> int:
        """Width of the buttons beside the bubble; with large text more than their share leaves."""
        self._note.hide()
        return self._actions.sizeHint().width()

    def _place_actions(self, width: int, bubble_width: int, bottom: int) -> int:
        near, row = theme().px(NEAR), self._actions.height_hint()
        room = width - bubble_width - near
        self._note.show()
        # The buttons are needed, the time is not: it is shown in full or hidden.
        self._note.setHidden(self._actions.sizeHint().width() > room)
        shown = self._actions.sizeHint().width()
        self._actions.setGeometry(width - bubble_width - shown - near, bottom - row - 4, shown, row)
        if not self._waiting.isHidden():
            hint = self._waiting.sizeHint()
            self._waiting.setGeometry(
                width - bubble_width - hint.width() - near, bottom - hint.height() - near, hint.width(), hint.height()
            )
        if not self._switch.isHidden():
            hint = self._switch.sizeHint()
            self._switch.setGeometry(width - hint.width(), bottom + 2, hint.width(), hint.height())
            bottom += hint.height() + 2
        return bottom + theme().px(INSIDE)


class AssistantMessage(BodyMessage):
    """One reply over the full column: reasoning, Markdown, tool cards and questions."""

    def __init__(self, entry: Entry, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(entry, host, parent)
        self.setObjectName("assistant-message")
        self._reasoning: ReasoningFold | None = None
        self._needle = ""
        self.body = ReplyBody(host.images, self)
        self.body.height_changed.connect(self.height_changed)
        self._cards: dict[str, ToolCard] = {}
        self._concerns: dict[str, PendingRequests] = {}
        self._in_group: set[str] = set()
        """Ids of the calls that wait in the card of another one."""
        self._questions: dict[str, QuestionCard] = {}
        self._unfinished: UnfinishedCard | None = None
        self._changed: FilesCard | None = None
        self._sources: SourcesCard | None = None
        self._remembered: RememberedCard | None = None
        if host.approvals is not None:
            host.approvals.changed.connect(self._show_concerns)
        self._cut = bind_text(Pill("", "warn", self), N_("cut off"))
        self._actions = ActionsRow(self)
        self._actions.add("copy", lambda: _("Copy message"), self.copy, "copy-message")
        self._actions.add("refresh-cw", lambda: _("Regenerate"), self._regenerate, "regenerate")
        self._actions.add(
            "quote", lambda: _("Quote"), lambda: self.host.quote_requested.emit(self.entry.content), "quote-message"
        )
        self._actions.add_menu(self)
        self._note = self._actions.add_note()
        bind_text(self, name=self._spoken)
        bind_text(self._note, self._noted)
        bind(self._redraw, on="look")
        self.refresh()

    def refresh(self) -> None:
        entry = self.entry
        if entry.reasoning and self._reasoning is None:
            self._reasoning = ReasoningFold(entry, self.host, self)
            self._reasoning.height_changed.connect(self.height_changed)
            self._reasoning.show()
        elif self._reasoning is not None:
            self._reasoning.refresh()
        if entry.live:
            self.body.stream_to(as_code(entry.content, live=True))
        else:
            self.body.set_text(as_code(entry.content))
        for call in entry.calls:
            card = self._cards.get(call.call_id)
            if card is None:
                card = self._cards[call.call_id] = self._card(call)
                card.highlight(self._needle)
                card.height_changed.connect(self.height_changed)
                card.show()
            else:
                card.call = call
                card.refresh()
        self._show_concerns()
        for asked in entry.asked:
            if asked.call_id in self._cards:
                continue
            question = self._questions.get(asked.question_id)
            if question is None:
                question = self._questions[asked.question_id] = QuestionCard(asked, self.host, self)
                question.show()
            else:
                question.show_asked(asked)
        if entry.unfinished and not entry.live and self._unfinished is None:
            self._unfinished = UnfinishedCard(entry, self.host, self)
            self._unfinished.show()
        elif self._unfinished is not None:
            self._unfinished.refresh()
        if entry.sources and self._sources is None:
            self._sources = SourcesCard(self)
        if self._sources is not None:
            self._sources.show_sources(entry.sources)
            self._sources.setVisible(bool(entry.sources))
        if entry.file_changes and self._changed is None:
            self._changed = FilesCard(self.host, self)
        if self._changed is not None:
            self._changed.show_changes(entry.file_changes, entry.more_changes)
            self._changed.setVisible(bool(entry.file_changes))
        if (entry.remembered or entry.extractions) and self._remembered is None:
            self._remembered = RememberedCard(self.host, self)
        if self._remembered is not None:
            self._remembered.show_memories(entry.remembered, entry.extractions)
            self._remembered.setVisible(bool(entry.remembered or entry.extractions))
        self._cut.setVisible(entry.topic == "cut_off" and not entry.cut_explained)
        self._actions.setVisible(self._has_actions())
        self._actions.show_pinned(entry.pinned)
        bind_text(self)
        bind_text(self._note)

    def _card(self, call: Call) -> ToolCard:
        made = (
            TeamCard
            if starts_agents(call) or self.host.team.state.of_call(self.entry.run_id, call.call_id)
            else ToolCard
        )
        return made(call, self.entry, self.host, self)

    def _show_concerns(self) -> None:
        """Show approvals below the card of the call that waits for them."""
        approvals, team = self.host.approvals, self.host.team
        if approvals is None or not self.entry.calls or not team.workflow_id:
            return
        calls = {call.call_id for call in self.entry.calls}
        waiting = [
            each
            for each in approvals.pending(team.workflow_id)
            if each.run_id == self.entry.run_id and each.call_id in calls
        ]
        groups = {group[0].call_id: group for group in approvals.together(waiting)}
        self._in_group = {each.call_id for group in groups.values() for each in group[1:]}
        for call in self.entry.calls:
            asked = groups.get(call.call_id, ())
            concerns = self._concerns.get(call.call_id)
            if concerns is None:
                if not asked:
                    continue
                concerns = self._concerns[call.call_id] = PendingRequests(self.host, self)
                concerns.height_changed.connect(self.height_changed)
            concerns.show_all(asked)
        for call_id, card in self._cards.items():
            # The request contains everything the call's card would show, and replaces it.
            shown_elsewhere = call_id in self._in_group or (call_id in self._concerns and len(self._concerns[call_id]))
            card.setVisible(not shown_elsewhere)

    def stream(self) -> None:
        """More text arrived: the body schedules drawing."""
        if self.entry.reasoning and self._reasoning is None:
            self.refresh()
            self.height_changed.emit()
        elif self._reasoning is not None and not self.entry.content:
            self._reasoning.stream()
        else:
            if self._reasoning is not None and not self.body.text:
                self._reasoning.refresh()
            self.body.stream_to(as_code(self.entry.content, live=True))

    def highlight(self, needle: str) -> int:
        self._needle = needle
        thoughts = self._reasoning.highlight(needle) if self._reasoning is not None else 0
        return thoughts + self.body.highlight(needle) + sum(card.highlight(needle) for card in self._cards.values())

    def reach(self, place: TranscriptPosition) -> int:
        """Find a match in the text, the reasoning or a card."""
        if place.part == THOUGHTS and self._reasoning is not None:
            return self._reasoning.y() + self._reasoning.reach(place.number)
        card = self._cards.get(place.key.partition("\n")[0])
        if place.part in {HEAD, CALL} and card is not None:
            return card.y() + card.reach(place)
        if place.part == QUESTION:
            in_call = next(
                (self._cards.get(asked.call_id) for asked in self.entry.asked if asked.question_id == place.key), None
            )
            found = self._questions.get(place.key) or in_call
            return found.y() if found is not None else 0
        return super().reach(place)

    def _has_actions(self) -> bool:
        entry = self.entry
        shown = not entry.calls or entry.pinned
        return bool(entry.content) and not entry.live and shown and bool(entry.run_id) and self.host.versions

    def _regenerate(self) -> None:
        self.host.regenerate_requested.emit(self.entry.run_id, self.entry.id)

    def fit(self, width: int) -> int:
        """Lay out all parts with their spacing; the row of buttons fills the last spacing."""
        y = 0
        near, inside = theme().px(NEAR), theme().px(INSIDE)
        if self._reasoning is not None:
            height = self._reasoning.fit(width)
            self._reasoning.setGeometry(0, y, width, height)
            y += height + near
        height = self.body.fit(width) if self.body.text else 0
        self.body.setGeometry(0, y, width, height)
        y += height + inside if height else 0
        for widget in self._stack():
            height = widget.fit(width)
            widget.setGeometry(0, y, width, height)
            y += height + inside if height else 0
        if not self._cut.isHidden():
            hint = self._cut.sizeHint()
            self._cut.setGeometry(0, y, hint.width(), hint.height())
            y += hint.height() + inside
        if not self._actions.isHidden():
            row = self._actions.height_hint()
            y += near // 2 - inside
            self._actions.setGeometry(-5, y, width + 5, row)
            y += row
        return y

    def _stack(self) -> list[HeadedCard | ToolCard | PendingRequests]:
        """Position the cards below the text, from top to bottom."""
        cards: list[HeadedCard | ToolCard | PendingRequests] = []
        for call in self.entry.calls:
            if call.call_id in self._concerns and len(self._concerns[call.call_id]):
                cards.append(self._concerns[call.call_id])
            elif call.call_id not in self._in_group:
                cards.append(self._cards[call.call_id])
        cards += self._questions.values()
        if self._unfinished is not None:
            cards.append(self._unfinished)
        if self._sources is not None and not self._sources.isHidden():
            cards.append(self._sources)
        if self._changed is not None and not self._changed.isHidden():
            cards.append(self._changed)
        if self._remembered is not None and not self._remembered.isHidden():
            cards.append(self._remembered)
        return cards

    def _spoken(self) -> str:
        name = current_name(self.entry.agent_name) or _("The agent")
        return _("{name}: {text}", name=name, text=one_line(self.entry.content[:400])[:200])

    def _noted(self) -> str:
        when = short_moment(self.entry.time) if self.entry.time is not None else ""
        model = self.host.model_name(self.entry.provider, self.entry.model)
        return " · ".join(filter(None, (current_name(self.entry.agent_name), model, when)))


def _thumbnail(image: dict[str, str], parent: QWidget) -> QLabel:
    """An image of a sent message, at most 120 px high."""
    picture = QPixmap()
    picture.loadFromData(QByteArray.fromBase64(QByteArray(image.get("data", "").encode())))
    shown = bind_text(PlainLabel(parent=parent), name=N_("Attached image"))
    side = theme().px(_THUMBNAIL)
    ratio = QGuiApplication.primaryScreen().devicePixelRatio()
    if not picture.isNull():
        picture = picture.scaled(
            round(side * 1.6 * ratio),
            round(side * ratio),
            Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
        picture.setDevicePixelRatio(ratio)
    shown.setPixmap(picture)
    shown.adjustSize()
    return shown
