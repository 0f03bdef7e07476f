"""The header above the transcript: title, agent and model, folders, usage, and a menu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QSize, QTimer, Signal
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from atelier_desk.desktop.chat.header_menu import MoreButton
from atelier_desk.desktop.chat.usage_meter import UsageMeter
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, Pill, bind, bind_text, control, hbox
from atelier_desk.desktop.widgets.picker import Picker, PickerItem, PickerMenu
from atelier_desk.desktop.widgets.tab_stops import chain, tab_stops
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.domain.model_messages import Usage


_WIDE = 640
"""Below this width in pixels, the header shows only the cost, or the tokens; the tool tip has the rest."""
_TITLE = 160
"""Pixels at 100 % of a long title for which the usage is hidden, and then the agent's name becomes an icon."""
_LEAST_TITLE = 110
"""Pixels at 100 % of a long title for which the model's name is elided too."""
_ROOMY_TITLE = 220
"""Pixels at 100 % of a long title for which, and for full names of agent and model, the usage is shortened."""
_SPACING, _LEAST_SPACING = 10, 4
"""Pixels between the parts; less where title or names would be elided."""
_HEIGHT = 28
"""Height of all buttons in the header, in pixels at 100 %."""
_ICON = 14
"""Size of the agent's icon in pixels at 100 %."""


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
    short = False
    """Whether an icon takes the place of the name, which composer and tool tip name too."""

    def set_short(self, short: bool) -> None:
        if short != self.short:
            self.short = short
            self.apply_style()

    def apply_style(self) -> None:
        side = theme().px(_ICON)
        self.setIconSize(QSize(side, side))
        self.setIcon(theme().icon("bot", "accent", _ICON) if self.short else QIcon())
        self.updateGeometry()

    def hidden_width(self) -> int:
        """Pixels that the name would need beyond those of the icon."""
        if not self.short or self.isHidden():
            return 0
        return super().sizeHint().width() - self.iconSize().width() - 4 - self.sizeHint().width()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(self._width(""), hint.height()) if self.short else hint


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
        self._named = False
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
        self._row = hbox(
            self,
            self.left,
            (self.title, 100),
            self.state,
            self.answering,
            1,
            self.meter,
            self.more,
            self.right,
            margins=(16, 8, 12, 8),
            spacing=_SPACING,
        )
        self.agents.chosen.connect(self.agent_chosen)
        self.models.chosen.connect(self.model_chosen)
        self.more.effort_chosen.connect(self.effort_chosen)
        self.answering.show_some()
        bind(self._apply_style)

    def add(self, widget: QWidget) -> None:
        """Add a widget next to the pickers."""
        self._added.append(widget)
        self._row.insertWidget(self._row.indexOf(self.answering) + len(self._added), widget)
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

        For a long one the usage is hidden first, then the agent's name, and then the model's name is elided.
        """
        self.title.ensurePolished()  # before the first show it does not have the title font
        full = self.title.fontMetrics().horizontalAdvance(self.title.text()) + 8
        self._fold(full)
        room = self.width() - self._reserved_width()
        wanted, kept = (
            min(theme().px(each), full) if self._named else theme().px(24) for each in (_TITLE, _LEAST_TITLE)
        )
        remaining = room - self.meter.sizeHint().width() - self._row.spacing()
        if self.isVisible():
            self.meter.setVisible(remaining - self._names_width() >= wanted)
        if not self.meter.isHidden():
            room = remaining
        self.agents.set_short(room - self._names_width() < wanted)
        names, least = self.answering.sizeHint().width(), self.answering.minimumSizeHint().width()
        names = max(least, min(names, room - kept))
        self.answering.setMinimumWidth(names)
        self.title.setMinimumWidth(max(theme().px(24), min(full, room - names)))
        self.title.setMaximumWidth(max(full, self.title.minimumWidth()))

    def _names_width(self) -> int:
        """Pixels of the names of agent and model in full."""
        return self.answering.sizeHint().width() + self.agents.hidden_width()

    def _fold(self, title: int) -> None:
        """Shorten the usage if title and pickers would be elided."""
        margins, shown = (
            self._row.contentsMargins(),
            [each for each in self._parts() if each not in (self.title, self.meter)],
        )
        needed = margins.left() + margins.right() + min(title, theme().px(_ROOMY_TITLE)) + self.meter.full_width()
        needed += sum(each.sizeHint().width() for each in shown) + _SPACING * (len(shown) + 1)
        needed += self.agents.hidden_width()
        if (spacing := _LEAST_SPACING if needed > self.width() else _SPACING) != self._row.spacing():
            self._row.setSpacing(spacing)
        self.meter.set_brief(needed > self.width() or self.width() < theme().px(_WIDE))

    def _parts(self) -> list[QWidget]:
        items = [self._row.itemAt(number) for number in range(self._row.count())]
        return [
            part for each in items if each is not None and (part := each.widget()) is not None and not part.isHidden()
        ]

    def _reserved_width(self) -> int:
        """Minimum pixels needed by everything except title, usage, and the names of agent and model."""
        margins = self._row.contentsMargins()
        widths = [
            self._row.spacing() + (0 if each is self.answering else each.minimumSizeHint().width())
            for each in self._parts()
            if each not in (self.title, self.meter)
        ]
        return margins.left() + margins.right() + sum(widths) + self._row.spacing()

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
        names = self.answering.minimumWidth() - self.answering.minimumSizeHint().width()
        title = self.title.minimumWidth() - theme().px(24)
        usage = 0 if self.meter.isHidden() else self.meter.minimumSizeHint().width() + self._row.spacing()
        hint = super().minimumSizeHint()
        return QSize(hint.width() - max(0, names) - max(0, title) - usage, hint.height())

    def _apply_style(self) -> None:
        """Give all buttons in the header the same height."""
        style = theme()
        for part in (self.left, self.right, self.more, self.answering, *self._added):
            part.setFixedHeight(style.px(_HEIGHT))
        for part in (self.agents, self.models):
            part.setFixedHeight(style.px(_HEIGHT) - 2)
        self.agents.apply_style()
        self._schedule_fit()
