"""Step mode: the bar over the composer that shows the next step and runs it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QToolButton, QWidget

from atelier_desk.desktop.bridge.stream_router import StreamRouter
from atelier_desk.desktop.questions.approval_text import bare_tool
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, bind_text, control, hbox, label, tint
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.domain.workflow import RunMode
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.step_mode import WaitingStep

REFRESH_MS = 60
"""Milliseconds from a change of a run's state to the next query: a team changes many at once."""
MOST_NAMED = 3
"""Maximum number of agents whose next step is described."""
Act = Callable[[str], Coroutine[object, None, object]]
"""An engine call for a run id."""
NEXT_KEY, RUN_ON_KEY = "F10", "F5"


class StepBar(QFrame):
    """``step-bar`` with ``step-next`` and ``step-run-on``.

    Visible while a run of the workflow in view waits for a step or is paused.

    Signals:
        changed: what waits or is paused became something else.
    """

    changed = Signal()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge = bridge
        self.setObjectName("step-bar")
        mark(self, "card-sunken")
        self.workflow_id = ""
        self.waiting: tuple[WaitingStep, ...] = ()
        self.paused: WaitingStep | None = None
        """The root run, when a person paused it, or asked it to pause, and nothing waits for a step. One that was cut
        off says so in the transcript.
        """
        self._stepping = False
        """Whether step mode is on."""
        self._caught = ""
        """The run that was paused so that it can be stepped."""
        self._freed: set[str] = set()
        """Root runs a person let run on: whatever of their teams still stops at a step goes on by itself."""
        self._busy = False
        self._done = 0
        """Steps taken here; what was asked before the last of them says nothing of what waits now."""
        self._icon = PlainLabel(parent=self)
        self._text = control(label("", "muted", self, wrap=True), "step-text")
        self.next = control(QPushButton(self), "step-next", look="primary", on=self.take_step)
        self.on = control(QPushButton(self), "step-run-on", look="ghost", on=self.run_on)
        for button, text, key in ((self.next, N_("Next step"), NEXT_KEY), (self.on, N_("Continue"), RUN_ON_KEY)):
            bind_text(button, partial(_padded, text), name=text, tip=text, keys=key)
            button.setCursor(Qt.CursorShape.PointingHandCursor)
        hbox(self, self._icon, (self._text, 1), self.on, self.next, margins=(14, 6, 6, 6), spacing=8)
        self._debouncer = Debouncer(self, REFRESH_MS, self.refresh)
        StreamRouter(bridge.stream_event, self, lambda: self.workflow_id).run_changed.connect(self._on_run)
        self.hide()
        bind(
            self._icon.setPixmap,
            lambda: theme().pixmap("footprints", "accent", theme().px(16), self.devicePixelRatioF()),
        )
        tint(self.next, "step-forward", "on_accent", 14)
        tint(self.on, "play", "text", 14)
        bind(self._update_texts)

    def set_workflow(self, workflow_id: str) -> None:
        """Watch this workflow; empty for none."""
        self.workflow_id = workflow_id
        self.paused = None
        self._show(())
        if workflow_id:
            self.refresh()

    def refresh(self) -> None:
        """Ask the engine which runs wait for a step."""
        if self.workflow_id and self.bridge.ready:
            self.bridge.jobs.start(self._ask(self.workflow_id))

    async def _ask(self, workflow_id: str) -> None:
        done = self._done
        found = await self.bridge.engine.stepping.waiting(workflow_id)
        paused = None if found else await self.bridge.engine.stepping.held(workflow_id)
        if workflow_id == self.workflow_id and done == self._done:
            # A run paused for stepping becomes a stepping run in a moment.
            self.paused = paused if paused is not None and paused.run_id != self._caught else None
            free = tuple(step for step in found if step.root_run_id in self._freed)
            self._show(tuple(step for step in found if step not in free))
            for step in free:
                await self._release(step.run_id)

    def _on_run(self, run_id: str, status: str) -> None:
        if self._stepping and status == "paused":
            if run_id == self._caught:
                self._caught = ""
            # A run paused by step mode becomes a stepping run, which waits before its next step; so does each
            # sub-agent, which may pause later than its parent.
            self.bridge.jobs.start(self.bridge.engine.stepping.from_pause(run_id))
        self._debouncer.ask()

    def _show(self, waiting: tuple[WaitingStep, ...]) -> None:
        self.waiting = waiting
        self.setVisible(self.can_continue)
        self.next.setVisible(bool(waiting))
        self._update_texts()
        self.changed.emit()

    @property
    def can_continue(self) -> bool:
        """Whether a run waits for a step or is paused."""
        return bool(self.waiting) or self.paused is not None

    def pause(self) -> None:
        """Pause the running turn in view and its sub-agents, if any, after their current step."""
        self.bridge.jobs.once((self, "pause"), lambda: self._pause(self.workflow_id))

    async def _pause(self, workflow_id: str) -> None:
        if run_id := await self.bridge.engine.workflows.active(workflow_id):
            await self.bridge.engine.runs.steering.pause(run_id)
            await self._ask(workflow_id)

    def take_step(self) -> None:
        """Perform one step of every waiting run."""
        self._each(
            self.bridge.engine.runs.steering.step, list(dict.fromkeys(step.root_run_id for step in self.waiting))
        )

    def run_on(self) -> None:
        """End stepping or a pause: the run in view and its sub-agents continue."""
        if self.paused is not None and not self.waiting:
            self._each(self.bridge.engine.runs.steering.resume, [self.paused.run_id])
            return
        self._freed |= {step.root_run_id for step in self.waiting}
        self._each(self._release, [step.run_id for step in self.waiting])

    def _release(self, run_id: str) -> Coroutine[object, None, None]:
        return self.bridge.engine.runs.steering.resume(run_id, mode=RunMode.AUTO)

    def _each(self, act: Act, run_ids: list[str]) -> None:
        if not (self.waiting or self.paused) or self._busy:
            return
        if self.bridge.jobs.once(self, lambda: self._do(act, run_ids)) is not None:
            # Hidden at once: the work starts a moment later.
            self._busy = True
            self._update_texts()

    async def _do(self, act: Act, run_ids: list[str]) -> None:
        """Call ``act`` for each run, then query what waits.

        Until then another click would request the same step twice.
        """
        try:
            for run_id in run_ids:
                await act(run_id)
            self._done += 1
            await self._ask(self.workflow_id)
        finally:
            self._busy = False
            self._update_texts()
            self._debouncer.start()

    def set_stepping(self, on: bool) -> None:
        """Step mode was switched: hold the running run at its next step, or let the waiting one continue.

        A run that a person paused stays so; with step mode off it takes no single steps afterwards.
        """
        self._stepping, self._caught = on, ""
        if not on and self.waiting:
            self.run_on()
        elif not on and self.paused is not None:
            self._freed.add(self.paused.run_id)
        elif self.workflow_id and not self.waiting:
            self.bridge.jobs.start(self._catch(self.workflow_id))

    async def _catch(self, workflow_id: str) -> None:
        """Pause the running run, so that it can be stepped from its next safe point."""
        run_id = await self.bridge.engine.workflows.active(workflow_id)
        if run_id and workflow_id == self.workflow_id:
            self._freed.discard(run_id)
            if await self.bridge.engine.stepping.from_pause(run_id):
                return  # it was paused already, so no change of its state would follow another pause
            self._caught = run_id
            await self.bridge.engine.runs.steering.pause(run_id)

    def _update_texts(self) -> None:
        self.next.setEnabled(not self._busy)
        self.on.setEnabled(not self._busy)
        if not self.waiting and self.paused is None:
            return
        if not self.waiting and self.paused is not None:
            name = self.paused.agent_name
            text = (
                _("{agent} pauses after this step.", agent=name)
                if self.paused.pausing
                else _("{agent} is paused.", agent=name)
            )
        elif len(self.waiting) == 1:
            text = what_next(self.waiting[0])
        else:
            named = [f"{step.agent_name} → {short_next(step)}" for step in self.waiting]
            steps = " · ".join([*named[:MOST_NAMED], *(["…"] if len(named) > MOST_NAMED else [])])
            text = ngettext("{n} agent waiting: {steps}", "{n} agents waiting: {steps}", len(self.waiting), steps=steps)
        self._text.setText(text)
        self.setAccessibleName(visible(text))


class StepToggle(QToolButton):
    """``step-toggle``: shown over the composer while step mode is on; a click switches it off.

    Signals:
        off_requested: it was clicked.
    """

    off_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("step-toggle")
        mark(self, "chip")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.hide()
        self.clicked.connect(lambda *_: self.off_requested.emit())
        tint(self, "footprints", "accent", 13)
        bind_text(
            self,
            lambda: " " + _("Step mode"),
            name=N_("Turn off step mode"),
            tip=N_("Step mode is on: runs pause before each step. Click to turn it off."),
        )


def _padded(text: str) -> str:
    """The text with spacing after the icon."""
    return " " + _(text)


def short_next(step: WaitingStep) -> str:
    """A run's next step in a word or two."""
    return ", ".join(dict.fromkeys(_tools(step))) if step.tools else _("model request")


def _tools(step: WaitingStep) -> list[str]:
    """The tools by the titles of their cards."""
    return [_(title) or bare_tool(tool) for tool, title in zip_longest(step.tools, step.titles, fillvalue="")]


def what_next(step: WaitingStep) -> str:
    """A run's next step as a sentence."""
    if not step.tools:
        return _("Next: {agent} calls its model.", agent=step.agent_name)
    if len(step.tools) == 1:
        return _("Next: {agent} runs “{tool}”.", agent=step.agent_name, tool=_tools(step)[0])
    tools = ", ".join(_tools(step))
    return ngettext(
        "Next: {agent} runs {n} tool: {tools}",
        "Next: {agent} runs {n} tools: {tools}",
        len(step.tools),
        agent=step.agent_name,
        tools=tools,
    )
