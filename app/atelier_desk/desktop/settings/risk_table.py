"""The risk of each tool, which the user may override."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QWidget

from atelier_desk.desktop.questions.approval_text import tool_title
from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text, control, label
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.approval import RISKS, RiskName
from atelier_desk.engine.services.tools import ToolInfo
from atelier_desk.support.i18n import N_, _

WORDS: dict[RiskName, str] = {"low": N_("low"), "medium": N_("medium"), "high": N_("high")}


class RiskTable(RowList):
    """``risk-<ToolName>`` combo boxes by section.

    Signals: ``chosen(tool, risk)``; an empty risk restores the default.
    """

    chosen = Signal(str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, spacing=2)
        self._boxes: dict[str, QComboBox] = {}
        theme().changed.connect(self._apply_style)

    def show_tools(self, tools: Iterable[ToolInfo], chosen: Mapping[str, RiskName]) -> None:
        """Set the tools and overrides; removed tools with an override are included."""
        tools = list(tools)
        known = {tool.name for tool in tools}
        tools += [ToolInfo(name, "", "", risk) for name, risk in chosen.items() if name not in known]
        self.show_rows(tools, lambda: self._make(tools))
        for name, box in self._boxes.items():
            box.setCurrentIndex(max(0, box.findData(chosen.get(name, ""))))

    def _make(self, tools: list[ToolInfo]) -> Iterator[QWidget]:
        self._boxes = {}
        for section in dict.fromkeys(tool.section for tool in tools):
            heading = bind_text(label("", "small", self), section or N_("No longer available"))
            heading.setContentsMargins(0, 6, 0, 0)
            yield heading
            holder = QWidget(self)
            grid = QGridLayout(holder)
            grid.setContentsMargins(0, 0, 0, 0)
            grid.setVerticalSpacing(4)
            grid.setColumnStretch(0, 1)
            for row, tool in enumerate(each for each in tools if each.section == section):
                self._add(grid, row, tool)
            yield holder
        self._apply_style()

    def _add(self, grid: QGridLayout, row: int, tool: ToolInfo) -> None:
        name = bind_text(PlainLabel(parent=self), lambda: tool_title(tool.name), tip=tool.name)
        name.setTextFormat(Qt.TextFormat.PlainText)
        name.setWordWrap(True)
        box = control(ComboBox(self), f"risk-{tool.name}")
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(8)
        for risk in ("", *RISKS):
            box.addItem("", risk)
        own = (lambda: _("default ({risk})", risk=_(WORDS[tool.risk]))) if tool.section else N_("none")
        bind_text(
            box,
            name=lambda: _("Risk of {tool}", tool=tool_title(tool.name)),
            items=[own, *(WORDS[risk] for risk in RISKS)],
        )
        box.activated.connect(lambda _index, tool=tool.name, box=box: self.chosen.emit(tool, box.currentData()))
        name.setBuddy(box)
        self._boxes[tool.name] = box
        grid.addWidget(name, row, 0)
        grid.addWidget(box, row, 1)

    def _apply_style(self) -> None:
        for box in self._boxes.values():
            box.setFixedWidth(theme().px(170))
