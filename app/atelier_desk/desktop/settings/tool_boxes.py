"""The check boxes of an agent's tools, by section, with what each does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QCheckBox, QLabel, QSizePolicy, QStyle, QStyleOptionButton, QStylePainter, QWidget

from atelier_desk.desktop.settings.row_list import RowList
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


class ToolBoxes(RowList):
    """``tool-enabled-<ToolName>`` check boxes. Enabled tools that are not known here stay enabled."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._boxes: dict[str, ToolBox] = {}
        self._summaries: list[QLabel] = []
        self._given: tuple[str, ...] = ()
        theme().changed.connect(self._indent)

    def set_choices(self, choices: Iterable[ToolChoice]) -> None:
        """Build the boxes, unless nothing changed; what is ticked stays."""
        ticked, choices = self.enabled(), tuple(choices)
        if self.show_rows(choices, lambda: self._make(choices)):
            self._indent()
            self.set_enabled(ticked)

    def _make(self, choices: tuple[ToolChoice, ...]) -> Iterator[QWidget]:
        self._boxes, self._summaries = {}, []
        for section, tools in groupby(choices, key=lambda choice: choice.section):
            heading = label(_(section), "small", self)
            heading.setContentsMargins(0, 8 if self._boxes else 0, 0, 0)  # it belongs to what follows it
            yield heading
            for choice in tools:
                box = self._boxes[choice.name] = ToolBox(visible(_(choice.title) or choice.name), self)
                box.setToolTip(visible(choice.name))
                box.setObjectName(f"tool-enabled-{choice.name}")
                box.setAccessibleName(box.text())
                box.setAccessibleDescription(visible(_(choice.summary)))
                box.clicked.connect(lambda _on: self.changed.emit())
                text = label(_(choice.summary), "small", self, wrap=True)
                text.setBuddy(box)
                self._summaries.append(text)
                yield box
                yield text

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
