"""The line above the transcript: title, agent, model, usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QWidget

from atelier_desk.desktop.chat.meter import UsageMeter
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, Pill, control, fill, say
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.agent import Agent
    from atelier_desk.domain.chat import Usage
    from atelier_desk.domain.provider import ModelInfo


_WIDE = 640
"""Narrower headers show the tokens alone; the tool tip has the rest."""
_TITLE = 100
"""Pixels at 100 % the title keeps; pickers end in … before it does."""
_SHORT_TITLE = 72
"""Pixels at 100 % it keeps beside the usage: with less room than that the usage goes."""
_LETTERS = 5
"""Letters of its text that a picker keeps."""


class ChatHeader(QWidget):
    """Title and pickers.

    Signals:
        agent_chosen: the agent's id.
        model_chosen: provider and model.
    """

    agent_chosen = Signal(str)
    model_chosen = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = control(ElidedLabel("", self), look="title")
        self.title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.state = control(
            Pill("", "warn", self),
            "run-state",
            N_("interrupted"),
            tip=N_("Nothing works on this turn at the moment; Continue goes on with it."),
        )
        self.state.hide()
        self.agents = _picker("agent-select", "chip", self)
        self.models = _picker("model-select", "chip-plain", self)
        self.meter = UsageMeter(self)
        self.usage = self.meter.text
        self.left = control(IconButton("panel-left", parent=self), "toggle-sidebar", tip=N_("Show or hide the list of workflows"))
        self.right = control(IconButton("panel-right", parent=self), "toggle-rail", tip=N_("Show or hide the panes"))
        self._row = fill(
            QHBoxLayout(self),
            self.left,
            (self.title, 100),
            self.state,
            self.agents,
            self.models,
            1,
            self.meter,
            self.right,
            margins=(16, 8, 12, 8),
            spacing=10,
        )
        self.agents.activated.connect(lambda index: self.agent_chosen.emit(str(self.agents.itemData(index))))
        self.models.activated.connect(self._on_model)
        theme().changed.connect(self._fit_soon)
        say(self.agents, tip=N_("Agent"))
        say(self.models, tip=N_("Model"))

    def add(self, widget: QWidget) -> None:
        """Give a widget of the window a place at the right, before the button of the panes."""
        self._row.insertWidget(self._row.count() - 1, widget)

    def set_title(self, text: str) -> None:
        self.title.setText(text)
        self._fit()

    def set_interrupted(self, on: bool) -> None:
        """Say that nothing works on the turn any more, although it is not over."""
        self.state.setVisible(on)
        self._fit()

    def _fit_soon(self) -> None:
        """After another font scale, once the label has its new font."""
        QTimer.singleShot(0, self, self._fit)

    def _fit(self) -> None:
        """The title no wider than its text, and some words of it whatever stands beside it; the usage whole or not at all."""
        self.title.ensurePolished()  # before it is first shown it does not have the font of a title
        whole = self.title.fontMetrics().horizontalAdvance(self.title.text()) + 8
        least = min(theme().px(_TITLE), whole)
        room = self.width() - self._taken()
        beside = room - self.meter.sizeHint().width() - self._row.spacing()
        if self.isVisible():
            self.meter.setVisible(beside >= min(theme().px(_SHORT_TITLE), whole))
        if not self.meter.isHidden():
            room = beside
        self.title.setMinimumWidth(max(theme().px(24), min(least, room)))
        self.title.setMaximumWidth(max(whole, self.title.minimumWidth()))

    def _taken(self) -> int:
        """Pixels that everything but the title and the usage needs at least."""
        margins = self._row.contentsMargins()
        items = [self._row.itemAt(number) for number in range(self._row.count())]
        widgets = [each.widget() for each in items if each is not None]
        others = [each for each in widgets if each is not None and each not in (self.title, self.meter) and not each.isHidden()]
        widths = [each.minimumSizeHint().width() + self._row.spacing() for each in others]
        return margins.left() + margins.right() + sum(widths) + self._row.spacing()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def set_agents(self, agents: Sequence[Agent], current: str) -> None:
        """The agents by name; ``current`` is an id."""
        self.agents.clear()
        for agent in agents:
            self.agents.addItem(agent.config.name, agent.id)
        self.agents.setCurrentIndex(max(0, self.agents.findData(current)))
        self.agents.setVisible(bool(agents))

    def set_models(self, models: Sequence[ModelInfo], provider: str, model: str) -> None:
        """The chat models of all providers; the current one is listed even when no server offers it now."""
        self.models.clear()
        chat = [info for info in models if not info.embedding]
        if model and all((info.provider, info.name) != (provider, model) for info in chat):
            self.models.addItem(model, (provider, model))
        several = len({info.provider for info in chat}) > 1
        for info in chat:
            text = info.label or info.name
            self.models.addItem(f"{text} · {info.provider}" if several else text, (info.provider, info.name))
        for index in range(self.models.count()):
            if tuple(self.models.itemData(index)) == (provider, model):
                self.models.setCurrentIndex(index)
        self.models.setVisible(self.models.count() > 0)

    def show_usage(self, usage: Usage | None, context_tokens: int = 0, context_window: int = 0) -> None:
        """Tokens of the whole workflow, share of the model's window in use, and cost."""
        self.meter.show_usage(usage, context_tokens, context_window)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.meter.brief = self.width() < theme().px(_WIDE)
        self.meter.retranslate()
        self._fit()

    def _on_model(self, index: int) -> None:
        provider, model = self.models.itemData(index)
        self.model_chosen.emit(str(provider), str(model))


class _Picker(ComboBox):
    """A combo box that ends its text in … when it is too narrow, instead of cutting it."""

    def sizeHint(self) -> QSize:
        """As wide as the chosen text, not as the longest one."""
        width = self.fontMetrics().horizontalAdvance(self.currentText()) + self._around()
        return QSize(min(width, theme().px(220)), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Room for some letters of the text, less for a short one."""
        width = self.fontMetrics().horizontalAdvance(self.currentText()[:_LETTERS] + "…") + self._around()
        return QSize(min(width, self.sizeHint().width()), super().minimumSizeHint().height())

    @staticmethod
    def _around() -> int:
        """Pixels for the arrow and the edges."""
        return theme().px(12) + 34

    def paintEvent(self, event: QPaintEvent) -> None:
        from PySide6.QtWidgets import QStyle, QStyleOptionComboBox, QStylePainter

        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        style = self.style()
        room = style.subControlRect(QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self)
        text = str(option.currentText)
        option.currentText = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()


def _picker(name: str, variant: str, parent: QWidget) -> QComboBox:
    box = _Picker(parent)
    box.setObjectName(name)
    mark(box, variant)
    box.currentTextChanged.connect(lambda *_: box.updateGeometry())
    box.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
    box.setCursor(Qt.CursorShape.PointingHandCursor)
    box.view().setMinimumWidth(theme().px(220))
    box.hide()
    return box
