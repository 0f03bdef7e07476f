"""The first-start guide: three steps, each can be skipped, fully usable by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QStackedWidget, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs, error_text
from atelier_desk.desktop.first_start.model_step import ModelStep
from atelier_desk.desktop.first_start.welcome_and_examples import GoalStep, Step, WelcomeStep
from atelier_desk.desktop.widgets import Line, bind, bind_text, control, fill, fit_window, label, vbox
from atelier_desk.desktop.widgets.language_theme_bindings import made
from atelier_desk.domain.settings import Settings
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic


MODEL = 1
"""Index of the step in which a model is chosen."""
SIZE = QSize(720, 560)


class _StepButton(QPushButton):
    """Moves by one step for a double click, too: the second click would skip a step nobody saw."""

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()


class FirstStart(QDialog):
    """``first-start``. ``started(workflow_id)`` when an example was started; ``finished`` (of QDialog) at the end."""

    started = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("first-start")
        self._bridge = bridge
        self._leaving = True
        self.jobs = Jobs(self, self.show_error)
        column = vbox(self, margins=(28, 24, 28, 20), spacing=12)
        self.welcome, self.model, self.goals = WelcomeStep(bridge, self), ModelStep(bridge, self), GoalStep(self)
        self.steps: tuple[Step, ...] = (self.welcome, self.model, self.goals)
        self.stack = QStackedWidget(self)
        for step in self.steps:
            self.stack.addWidget(step)
            step.ready_changed.connect(self._check)
        column.addWidget(self.stack, 1)
        self.error = control(label("", "error", self, wrap=True), "first-start-error")
        self.error.hide()
        fill(column, self.error, Line(self), self._build_buttons())
        self.model.continue_requested.connect(lambda: self.jobs.once("next", self._next))
        self.goals.goal_chosen.connect(lambda goal: self.jobs.once("begin", lambda: self._begin(goal)))
        bind_text(self, title=N_("First steps"))
        bind(self._check, on="language")
        bridge.changed.connect(self._on_changed)

    def begin(self, step: int = 0) -> None:
        """Show the guide at a step, with earlier input that was not stored."""
        self._leaving = False
        fit_window(self, SIZE)
        self.jobs.start(self._load())
        self.open()
        self._show_step(step)

    def _build_buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        self.skip = control(QPushButton(self), "", N_("Skip for now"), look="quiet", on=self.reject)
        self.back = control(
            _StepButton(self), "", N_("Back"), on=lambda: self._show_step(self.stack.currentIndex() - 1)
        )
        self.next = control(_StepButton(self), look="primary", on=lambda: self.jobs.once("next", self._next))
        self.place = label("", "small", self)
        for button, name in ((self.skip, "skip"), (self.back, "back"), (self.next, "next")):
            button.setObjectName(f"first-start-{name}")
        self.next.setDefault(True)
        fill(row, self.skip, 1, self.place)
        row.addSpacing(8)
        fill(row, self.back, self.next)
        return row

    async def _load(self) -> None:
        settings: Settings = await self._bridge.engine.settings.get()
        self.welcome.show_settings(settings)

    def _on_changed(self, topic: Topic, key: str) -> None:
        """A setting changed elsewhere meanwhile, as by ``atelier settings set``, takes precedence."""
        if topic == "settings" and key in self.welcome.boxes:
            self.jobs.start(self._follow(key))

    async def _follow(self, key: str) -> None:
        self.welcome.show_settings(await self._bridge.engine.settings.get(), key)

    @property
    def step(self) -> Step:
        return self.steps[self.stack.currentIndex()]

    def _show_step(self, number: int) -> None:
        self.stack.setCurrentIndex(max(0, min(number, len(self.steps) - 1)))
        self.error.hide()
        self._check()
        self.step.enter()

    async def _next(self) -> None:
        """Save the step and continue; finish on the last one."""
        try:
            if not await self.step.leave():
                return
        except Exception as error:
            self.show_error(error_text(error))
            return
        if self.step is self.steps[-1]:
            self.accept()
        else:
            self._show_step(self.stack.currentIndex() + 1)

    def _check(self) -> None:
        last = self.step is self.steps[-1]
        self.back.setVisible(self.stack.currentIndex() > 0)
        self.next.setEnabled(self.step.ready())
        self.next.setText(_("Finish") if last else _("Next"))
        self.skip.setVisible(not last)
        self.place.setText(_("{number} of {total}", number=self.stack.currentIndex() + 1, total=len(self.steps)))

    async def _begin(self, goal: str) -> None:
        """Start a workflow with an example, and finish."""
        self.goals.set_busy(True)
        engine = self._bridge.engine
        try:
            workflow_id = (await engine.workflows.create("", (await engine.agents.default()).id)).id
            await engine.runs.send(workflow_id, goal)
        except Exception as error:
            self.show_error(error_text(error))
            return
        finally:
            self.goals.set_busy(False)
        self.accept()
        self.started.emit(workflow_id)

    def done(self, result: int) -> None:
        """However it ends (finished, skipped, Esc), it is not shown again automatically. Unsaved input is preserved."""
        if not self._leaving:
            self._leaving = True
            if result == QDialog.DialogCode.Accepted:
                self.model.reset_form()
            self._bridge.jobs.start(self._bridge.engine.settings.update(first_start_done=True))
        super().done(result)

    def show_error(self, text: str) -> None:
        bind_text(self.error, made(text))
        self.error.show()
