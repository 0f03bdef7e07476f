"""The card of a call that starts sub-agents: a tool card with a lane per agent and the overall progress."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget

from atelier_desk.desktop.chat.cards.agent_lane import HEIGHT, Lane
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.team.agent_state_labels import state_icon
from atelier_desk.desktop.team.agent_state_labels import state_text as agent_state
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Line, control, label
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.presentation.rows.team_state import Member
from atelier_desk.presentation.rows.transcript_entries import Call, Entry
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import duration
from atelier_desk.tools.definition.call_description import Effect

AT_ONCE, A_FRAME, FRAME_MS = 1, 1, 16
"""Lanes created at once and per following frame: one takes 3–5 ms. Space for all lanes is reserved at once."""


def starts_agents(call: Call) -> bool:
    """Whether a call starts sub-agents."""
    return call.effect == Effect.SPAWN


class TeamCard(ToolCard):
    """``team-card``: the head of a tool card with lanes below; arguments and result open in place."""

    def __init__(self, call: Call, entry: Entry, host: TranscriptHost, parent: QWidget | None = None) -> None:
        self._lanes: dict[str, Lane] = {}
        self._stages: dict[int, QLabel] = {}
        self._holder: QWidget | None = None
        self._entry_run = entry.run_id
        self._listed: list[str] = []
        super().__init__(call, entry, host, parent)
        self.setObjectName("team-card")
        self._making = QTimer(self)
        self._making.setInterval(FRAME_MS)
        self._making.timeout.connect(self._make_more)
        self._holder = QWidget(self)
        self._line = Line(self._holder)
        self.bar = control(QProgressBar(self._holder), "team-progress", name=N_("Batch progress"))
        self.bar.setTextVisible(False)
        self._box.insertWidget(1, self._holder)
        host.team.changed.connect(self._on_changed)
        host.team.ticked.connect(self._on_tick)
        if host.approvals is not None:
            host.approvals.changed.connect(self._on_approvals)
        self.refresh()

    @property
    def members(self) -> list[Member]:
        return self._host.team.state.of_call(self._entry_run, self.call.call_id)

    @property
    def lanes(self) -> list[Lane]:
        return list(self._lanes.values())

    def refresh(self) -> None:
        super().refresh()
        self._show_lanes(self._lanes.keys())

    def _show_lanes(self, changed: Collection[str]) -> None:
        """Show a lane per agent, and update those of the agents in ``changed``."""
        if self._holder is None:
            return
        members = self.members
        self._listed = [member.run_id for member in members]
        self._drop_lanes(members)
        for run_id, lane in self._lanes.items():
            (lane.refresh if run_id in changed else lane.reserve_width)()
        self._make(members, AT_ONCE)
        self._show_stages(members)
        self._show_progress(members)
        self._holder.setVisible(bool(members))

    def _show_progress(self, members: list[Member]) -> None:
        done = sum(member.over for member in members)
        self.bar.setVisible(len(members) > 1 and done < len(members))
        self.bar.setRange(0, max(1, len(members)))
        self.bar.setValue(done)

    def _drop_lanes(self, members: list[Member]) -> None:
        """Remove the lanes of agents that no longer exist: a replay goes back in time, too."""
        listed = {member.run_id for member in members}
        for run_id in [run_id for run_id in self._lanes if run_id not in listed]:
            self._lanes.pop(run_id).deleteLater()

    def _make(self, members: list[Member], most: int) -> None:
        """Create up to ``most`` missing lanes, from the top; a timer creates the rest."""
        missing = [member for member in members if member.run_id not in self._lanes]
        for member in missing[:most]:
            lane = self._lanes[member.run_id] = Lane(member.run_id, self._host, self._holder)
            lane.height_changed.connect(self.height_changed)
            lane.show()
        self._lanes = {member.run_id: self._lanes[member.run_id] for member in members if member.run_id in self._lanes}
        if missing:
            self.height_changed.emit()
        if len(missing) > most:
            self._making.start()
        else:
            self._making.stop()

    def _make_more(self) -> None:
        members = self.members
        self._drop_lanes(members)
        self._make(members, A_FRAME)

    def _show_stages(self, members: list[Member]) -> None:
        """Show the names of the stages, if there are several."""
        stages = _stages(members)
        for stage in [stage for stage in self._stages if stage not in stages]:
            self._stages.pop(stage).deleteLater()
        self._stages = {stage: self._stages.get(stage) or self._heading() for stage in stages}
        for number, heading in enumerate(self._stages.values(), 1):
            heading.setText(_("Stage {number} of {count}", number=number, count=len(stages)))

    def _heading(self) -> QLabel:
        made = label("", "small", self._holder)
        made.setObjectName("team-stage")
        made.show()
        return made

    def words(self) -> tuple[str, str]:
        """The head of a tool card, with the number of agents, and an agent's name in place of its id."""
        first, rest = super().words()
        members = self.members
        if len(members) > 1:
            return first, " · ".join(filter(None, (ngettext("{n} sub-agent", "{n} sub-agents", len(members)), rest)))
        named = self.call.arguments.get("agent_id")
        return first, members[0].name if members and named and rest == named else rest

    def state_text(self) -> tuple[str, PillKind]:
        members, call = self.members, self.call
        if not members or (call.status not in {"running", "waiting"} and all(member.over for member in members)):
            return self._end_words(members)
        if any(each.needs_person for member in members for each in self._host.team.state.walk(member.run_id)):
            return _("waiting for you"), "warn"
        held = [member for member in members if member.held]
        if held and all(member.over or member.held for member in members):
            return agent_state(held[0]), "warn"
        if len(members) == 1:
            # The call may have ended: the agent continues in the background.
            return agent_state(members[0]), state_icon(members[0])[2]
        done = sum(member.over for member in members)
        return _("{done} of {count} done", done=done, count=len(members)), "accent"

    def _end_words(self, members: list[Member]) -> tuple[str, PillKind]:
        """How long a batch took, or how much of it was completed."""
        completed = sum(member.status == "completed" for member in members)
        if members and self.call.status == "ok" and completed == len(members):
            now = self._host.team.now()
            return f"✓ {duration(max(self._host.team.state.lasted(member.run_id, now) for member in members))}", "ok"
        if self.call.status in {"ok", "error"} and 0 < completed < len(members):
            return _("{done} of {count} done", done=completed, count=len(members)), "warn"
        if members and all(member.status == "cancelled" for member in members):
            return _("stopped"), ""
        return super().state_text()

    def _on_changed(self, runs: frozenset[str]) -> None:
        state = self._host.team.state
        members = self.members
        touched = [run_id for run_id in self._lanes if any(member.run_id in runs for member in state.walk(run_id))]
        if [member.run_id for member in members] != self._listed or _stages(members) != list(self._stages):
            super().refresh()
            self._show_lanes(touched)
            self.height_changed.emit()
            return
        for run_id in touched:
            self._lanes[run_id].refresh()
        if touched:
            self._show_state()
            self._show_progress(members)

    def _on_tick(self) -> None:
        for lane in self._lanes.values():
            if not lane.member.over:
                lane.tick()

    def _on_approvals(self) -> None:
        for lane in self._lanes.values():
            lane.show_concerns()

    def fit(self, width: int) -> int:
        height = super().fit(width)
        if self._holder is None or self._holder.isHidden():
            return height
        return height + self._place_lanes(width - 2)

    def _place_lanes(self, width: int) -> int:
        assert self._holder is not None
        style = theme()
        self._line.setGeometry(0, 0, width, 1)
        self.bar.setGeometry(0, 0, width, 4)
        y, stage = 5, None
        for member in self.members:
            if member.stage != stage and (heading := self._stages.get(member.stage)) is not None:
                stage = member.stage
                rows = heading.sizeHint().height()
                heading.setGeometry(14, y + 4, width - 28, rows)
                y += rows + 6
            lane = self._lanes.get(member.run_id)
            height = style.px(HEIGHT) if lane is None else lane.fit(width - 8)
            if lane is not None:
                lane.setGeometry(4, y, width - 8, height)
            y += height
        y += style.px(4)
        self._holder.setFixedHeight(y)
        return y


def _stages(members: list[Member]) -> list[int]:
    """The stages to name; empty if there is only one."""
    stages = sorted({member.stage for member in members})
    return stages if len(stages) > 1 else []
