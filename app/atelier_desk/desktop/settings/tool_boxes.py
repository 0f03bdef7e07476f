"""The check boxes of an agent's tools, by section, with what each does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QCheckBox, QLabel, QSizePolicy, QStyle, QStyleOptionButton, QStylePainter, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import label
from atelier_desk.domain.text import visible
from atelier_desk.i18n import _


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool that can be enabled: ``section``, ``summary`` and ``title`` are English texts to be translated where they are known."""

    name: str
    section: str
    summary: str
    title: str = ""


class ToolBox(QCheckBox):
    """A check box whose words end in … where they do not fit: a tool of a server may have a title of any length."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(text, parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(48), super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionButton()
        self.initStyleOption(option)
        room = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxContents, option, self).width()
        option.text = self.fontMetrics().elidedText(option.text, Qt.TextElideMode.ElideRight, room)
        QStylePainter(self).drawControl(QStyle.ControlElement.CE_CheckBox, option)


class ToolBoxes(QWidget):
    """``tool-enabled-<ToolName>`` check boxes. Enabled tools that are not known here stay enabled."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices: list[ToolChoice] = []
        self._boxes: dict[str, ToolBox] = {}
        self._summaries: list[QLabel] = []
        self._given: tuple[str, ...] = ()
        theme().changed.connect(self._indent)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)

    def set_choices(self, choices: Iterable[ToolChoice]) -> None:
        """Build the boxes; keeps what is ticked."""
        ticked = self.enabled()
        self._choices = list(choices)
        while (item := self._column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        self._boxes, self._summaries = {}, []
        section = None
        for choice in self._choices:
            if choice.section != section:
                if section is not None:
                    self._column.addSpacing(8)  # a heading belongs to what follows it
                section = choice.section
                self._column.addWidget(label(_(section), "small", self))
            box = ToolBox(visible(_(choice.title) or choice.name), self)
            box.setToolTip(visible(choice.name))
            box.setObjectName(f"tool-enabled-{choice.name}")
            box.setAccessibleName(box.text())
            box.setAccessibleDescription(visible(_(choice.summary)))
            box.clicked.connect(lambda _on: self.changed.emit())
            text = label(_(choice.summary), "small", self, wrap=True)
            self._summaries.append(text)
            text.setBuddy(box)
            self._column.addWidget(box)
            self._column.addWidget(text)
            self._boxes[choice.name] = box
        self._indent()
        self.set_enabled(ticked)

    def _indent(self) -> None:
        """Put each summary under its box's words: the style sheet gives a box padding, its indicator and a gap that grow with the text."""
        for text in self._summaries:
            text.setContentsMargins(theme().px(16) + theme().px(8) + 5, 0, 0, 8)

    def set_enabled(self, names: Iterable[str]) -> None:
        """Tick exactly these."""
        self._given = tuple(names)
        for name, box in self._boxes.items():
            box.setChecked(name in self._given)

    def enabled(self) -> tuple[str, ...]:
        """The names of the enabled tools: those given that were left on, in their order, then what was ticked since."""
        kept = (name for name in self._given if name not in self._boxes or self._boxes[name].isChecked())
        more = (name for name, box in self._boxes.items() if box.isChecked() and name not in self._given)
        return (*kept, *more)

    def retranslate(self) -> None:
        self.set_choices(self._choices)
