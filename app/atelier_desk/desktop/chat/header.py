"""The header above the transcript: title, agent and model, folders, usage, and a menu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QSize, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QSizePolicy, QWidget

from atelier_desk.desktop.chat.header_menu import MoreButton
from atelier_desk.desktop.chat.usage_meter import UsageMeter
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, Pill, bind, bind_text, control, hbox
from atelier_desk.desktop.widgets.picker import Picker, PickerItem, PickerMenu
from atelier_desk.desktop.widgets.tab_stops import chain, tab_stops
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.domain.model_messages import Usage


_ONE_LINE = 760
"""Below this width in pixels at 100 %, agent, model and folders are below the title, so that all of them have names."""
_TITLE = 160
"""Pixels at 100 % of a long title for which the usage is hidden."""
_LEAST_TITLE = 110
"""Pixels at 100 % of a long title for which the names of agent and model are elided."""
_ROOMY_TITLE = 220
"""Pixels at 100 % of a long title for which, and for full names of agent and model, the usage is shortened."""
_LEAST_ADDED = 104
"""Pixels at 100 % of a folder's long name for which the names of agent and model are elided."""
_SPACING, _LEAST_SPACING = 10, 4
"""Pixels between the parts; less where title or names would be elided, and in two lines."""
_HEIGHT, _LOW_HEIGHT = 28, 26
"""Height of all buttons in the header, in one line and in two, in pixels at 100 %."""


class _AnswerPart(Picker):
    """One of the two names in ``AnswerSelect``, whose menu it opens."""

    around = 18

    def __init__(self, parent: AnswerSelect, name: str, title: str) -> None:
        super().__init__(parent)
        self._select = parent
        control(self, name, look="part", name=title, tip=lambda: _tool_tip(title, self.full_text))
        self.hide()

    def set_choices(self, choices: Sequence[PickerItem], key: str, text: str | None = None) -> None:
        super().set_choices(choices, key, text)
        bind_text(self)

    def open(self) -> None:
        self._select.open_menu(self)

    @property
    def menu_open(self) -> PickerMenu | None:
        menu = self._select.menu
        return menu if menu is not None and menu.isVisible() else None


def _tool_tip(title: str, chosen: str) -> str:
    return _("{name}: {text}", name=_(title), text=chosen) if chosen else _(title)


class _AgentPart(_AnswerPart):
    arrow = "·"
    """One control has one arrow, behind the model."""


class AnswerSelect(QFrame):
    """``answer-select``: agent and model as one control with one menu."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        control(self, "answer-select", look="joined")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.menu: PickerMenu | None = None
        self.agents = _AgentPart(self, "agent-select", N_("Agent"))
        self.models = _AnswerPart(self, "model-select", N_("Model"))
        hbox(self, self.agents, self.models, margins=(1, 1, 1, 1), spacing=0)

    def open_menu(self, part: Picker) -> None:
        """Show agents and models in one list; what is chosen goes to the part it belongs to."""
        if self.menu is None:
            self.menu = PickerMenu(self)
            self.menu.chosen.connect(lambda key: self._part_of(key).chosen.emit(key))
            self.menu.starred.connect(lambda key, on: self._part_of(key).starred.emit(key, on))
            self.menu.closed.connect(self.models.closed)
            bind_text(self.menu, name=N_("Agent and model"))
        agents = [replace(each, group=_("Agents")) for each in self.agents.choices]
        self.menu.open((*agents, *self.models.choices), part.key, self, (self.agents.key, self.models.key))

    def _part_of(self, key: str) -> Picker:
        return self.agents if any(each.key == key for each in self.agents.choices) else self.models

    def show_some(self) -> None:
        """Visible while it contains a name."""
        self.setHidden(self.agents.isHidden() and self.models.isHidden())


class ChatHeader(QWidget):
    """The header: title and pickers.

    Signals:
        agent_chosen: the agent's id.
        model_chosen: provider and model joined by a slash.
        effort_chosen: a ``Thinking`` value; empty for the agent's own.
    """

    agent_chosen = Signal(str)
    model_chosen = Signal(str)
    effort_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._added: list[QWidget] = []
        self._named = self._two_lines = False
        self._roomy = True
        """Names and usage are in full, and the title at least in part."""
        self.title = control(ElidedLabel("", self), look="title")
        self.title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.state = control(
            Pill("", "warn", self),
            "run-state",
            N_("interrupted"),
            tip=N_("This turn is not running. Choose “Continue” to pick it up again."),
        )
        self.state.hide()
        self.answering = AnswerSelect(self)
        self.agents, self.models = self.answering.agents, self.answering.models
        self.more = MoreButton(self)
        self.meter = UsageMeter(self)
        self.usage = self.meter.text
        self.left = control(
            IconButton("panel-left", parent=self), "toggle-sidebar", tip=N_("Show or hide the list of workflows")
        )
        self.right = control(IconButton("panel-right", parent=self), "toggle-rail", tip=N_("Show or hide the panes"))
        self._heading = hbox(None, (self.title, 100), self.state, 1)
        self._answer = hbox(None, self.answering, 1)
        self._names = hbox(None, self._heading, (self._answer, 1))
        self._row = hbox(self, self.left, (self._names, 1), self.meter, self.more, self.right, margins=(16, 8, 12, 8))
        self.agents.chosen.connect(self.agent_chosen)
        self.models.chosen.connect(self.model_chosen)
        self.more.effort_chosen.connect(self.effort_chosen)
        self.answering.show_some()
        bind(self._apply_style)

    def add(self, widget: QWidget) -> None:
        """Add a widget next to the pickers."""
        self._added.append(widget)
        self._answer.insertWidget(len(self._added), widget)
        self._apply_style()

    def order_stops(self) -> None:
        """Set the tab order from left to right, including widgets added later."""
        stops = sorted(tab_stops(self), key=lambda each: each.mapTo(self, QPoint()).x())
        chain(stops[0], stops[1:])

    def set_title(self, text: str, *, named: bool = True) -> None:
        """``named``: False for a workflow that has no name yet, which the names of agent and model outrank."""
        self._named = named
        self.title.setText(text)
        self._fit()

    def set_interrupted(self, on: bool) -> None:
        """Show that the turn was interrupted: no process works on it, although it has not ended."""
        self.state.setVisible(on)
        self._fit()

    def _schedule_fit(self) -> None:
        """Fit after a change of font scale, once the label has its new font."""
        QTimer.singleShot(0, self, self._fit)

    def _fit(self) -> None:
        """Distribute the width: the title gets at most its text's width.

        For a long one the usage is hidden first, and then the names of agent, model and folder are elided.
        """
        self.title.ensurePolished()  # before the first show it does not have the title font
        full = self.title.fontMetrics().horizontalAdvance(self.title.text()) + 8
        if (two := self.width() < theme().px(_ONE_LINE)) != self._two_lines:
            self._two_lines = two
            self._names.setDirection(QBoxLayout.Direction.TopToBottom if two else QBoxLayout.Direction.LeftToRight)
            self._apply_heights()
        wanted, least = (
            min(theme().px(each), full) if self._named else theme().px(24) for each in (_TITLE, _LEAST_TITLE)
        )
        self._roomy = True
        whole = self.meter.full_width() + _SPACING + self._needed(min(full, theme().px(_ROOMY_TITLE)), _SPACING)
        self._roomy = whole <= self.width()
        spacing = _SPACING if self._roomy and not two else _LEAST_SPACING
        for each in (self._row, self._names, self._heading, self._answer):
            if each.spacing() != (apart := 2 if two and each is self._names else spacing):
                each.setSpacing(apart)
        self.meter.set_brief(not self._roomy)
        usage = self.meter.sizeHint().width() + spacing
        if self.isVisible():
            self.meter.setVisible(self._needed(wanted, spacing) + usage <= self.width())
        room = self.width() - self._needed(0, spacing, 0) - (0 if self.meter.isHidden() else usage)
        names, title = self.answering.sizeHint().width(), theme().px(24)
        if not two:
            names = max(self.answering.minimumSizeHint().width(), min(names, room - least))
            title = max(title, min(full, room - names))
        self.answering.setMinimumWidth(0 if two else names)
        self.title.setMinimumWidth(title)
        self.title.setMaximumWidth(max(full, title))
        short = max(0, self.answering.minimumSizeHint().width() - room)
        for added in self._added:
            added.setMinimumWidth(max(added.minimumSizeHint().width(), self._least_width(added) - short))

    def _least_width(self, added: QWidget) -> int:
        """Pixels of an added part that title and names leave it."""
        full = added.sizeHint().width()
        return full if self._roomy else min(full, theme().px(_LEAST_ADDED))

    def _needed(self, title: int, spacing: int, names: int | None = None) -> int:
        """Pixels needed by everything except the usage.

        ``title`` and ``names`` are the widths of title, and of agent and model; None: in full.
        """
        answer = []
        if self.answering.isVisibleTo(self):
            answer.append(self.answering.sizeHint().width() if names is None else names)
        answer += [self._least_width(each) for each in self._added if each.isVisibleTo(self)]
        heading = [title, *([] if self.state.isHidden() else [self.state.sizeHint().width()])]
        first, second = (sum(each) + spacing * (len(each) - 1) for each in (heading, answer))
        margins = self._row.contentsMargins()
        buttons = sum(each.sizeHint().width() + spacing for each in (self.left, self.more, self.right))
        middle = max(first, second) if self._two_lines else first + spacing + second
        return margins.left() + margins.right() + buttons + middle

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def set_agents(self, choices: Sequence[PickerItem], current: str) -> None:
        """Set the agents; ``current`` is an id."""
        self.agents.set_choices(choices, current)
        self.agents.setVisible(bool(choices))
        self.answering.show_some()

    def set_models(self, choices: Sequence[PickerItem], current: str, text: str) -> None:
        """Set the models; ``text`` names the current one on the button."""
        self.models.set_choices(choices, current, text)
        self.models.setVisible(bool(choices))
        self.answering.show_some()

    def show_usage(self, usage: Usage | None, context_tokens: int = 0, context_window: int = 0) -> None:
        """Show the workflow's tokens, share of the context window in use, and cost."""
        self.meter.show_usage(usage, context_tokens, context_window)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        """The size for the narrowest window: current names are elided there, so they must not widen the window."""
        margins = self._row.contentsMargins()
        answer = [each.minimumSizeHint().width() for each in (self.answering, *self._added) if each.isVisibleTo(self)]
        state = 0 if self.state.isHidden() else self.state.sizeHint().width()
        buttons = sum(each.sizeHint().width() + _LEAST_SPACING for each in (self.left, self.more, self.right))
        middle = max(theme().px(24) + _LEAST_SPACING + state, sum(answer) + _LEAST_SPACING * len(answer))
        return QSize(margins.left() + margins.right() + buttons + middle, super().minimumSizeHint().height())

    def _apply_style(self) -> None:
        self._apply_heights()
        self._schedule_fit()

    def _apply_heights(self) -> None:
        """Give all buttons in the header the same height."""
        height = theme().px(_LOW_HEIGHT if self._two_lines else _HEIGHT)
        for part in (self.left, self.right, self.more, self.answering, *self._added):
            part.setFixedHeight(height)
        for part in (self.agents, self.models):
            part.setFixedHeight(height - 2)
