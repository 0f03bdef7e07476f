"""The tools of an agent: groups with three-state check boxes and counts, expandable, with a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QVBoxLayout,
    QWidget,
)

from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text, control, fill, hbox, label, vbox
from atelier_desk.desktop.widgets.expand_button import Fold
from atelier_desk.desktop.widgets.text_matching import fits
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.engine.services.request.prompt_size import PromptCost


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool that can be enabled: ``section``, ``summary`` and ``title`` are English, translated if known."""

    name: str
    section: str
    summary: str
    title: str = ""

    @property
    def shown(self) -> str:
        """Its display name."""
        return visible(_(self.title) or self.name)


class ToolBox(QCheckBox):
    """A check box whose text is elided: a tool of a server may have a long title.

    Clicking a partly checked box checks it.
    """

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(text, parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def nextCheckState(self) -> None:
        self.setCheckState(
            Qt.CheckState.Unchecked if self.checkState() is Qt.CheckState.Checked else Qt.CheckState.Checked
        )

    def hitButton(self, pos: QPoint) -> bool:
        """The whole row is clickable, not only its text."""
        return self.rect().contains(pos)

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(48), super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionButton()
        self.initStyleOption(option)
        room = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxContents, option, self).width()
        option.text = self.fontMetrics().elidedText(option.text, Qt.TextElideMode.ElideRight, room)
        QStylePainter(self).drawControl(QStyle.ControlElement.CE_CheckBox, option)


class ToolGroup(QWidget):
    """``tool-group-<section>``; expanded by ``tool-group-open-<section>`` it shows ``tool-enabled-<ToolName>``.

    Signals:
        ticked: names of tools, and whether they are enabled now.
    """

    ticked = Signal(object, bool)

    def __init__(self, choices: tuple[ToolChoice, ...], parent: QWidget) -> None:
        super().__init__(parent)
        self.choices = choices
        self._boxes: dict[str, ToolBox] = {}
        self._summaries: dict[str, QLabel] = {}
        self._enabled: set[str] = set()
        section = choices[0].section
        self.box = control(ToolBox(visible(_(section)), self), f"tool-group-{section}", name=visible(_(section)))
        self.count = control(label("", "small", self), f"tool-group-count-{section}")
        self._body = QWidget(self)
        self.fold = Fold(self, f"tool-group-open-{section}", "", self._body)
        bind_text(self.fold, name=lambda: _("Show the tools of {name}", name=visible(_(section))))
        self._column = fill(QVBoxLayout(self._body), spacing=0)
        line = hbox(None, self.fold, (self.box, 1), self.count, spacing=4)
        vbox(self, line, self._body, spacing=2)
        self.box.clicked.connect(lambda _on: self.ticked.emit(self.names, self.box.isChecked()))
        self.fold.toggled.connect(self._make)

    @property
    def names(self) -> tuple[str, ...]:
        """All its tools."""
        return tuple(each.name for each in self.choices)

    def _make(self, _opened: bool = True) -> None:
        """Create the check boxes of its tools on demand: sixty tools are many widgets."""
        if self._boxes:
            return
        for choice in self.choices:
            box = self._boxes[choice.name] = control(ToolBox(choice.shown, self._body), f"tool-enabled-{choice.name}")
            bind_text(box, name=box.text(), about=visible(_(choice.summary)), tip=visible(choice.name))
            box.clicked.connect(lambda on, name=choice.name: self.ticked.emit((name,), on))
            text = self._summaries[choice.name] = label(_(choice.summary), "small", self._body, wrap=True)
            text.setBuddy(box)
            fill(self._column, box, text)
        self.indent()
        self._tick()

    def indent(self) -> None:
        """Align summaries with the texts of the boxes, whose padding, indicator and gap scale with the text."""
        self._column.setContentsMargins(theme().px(40), 0, 0, 4)
        for text in self._summaries.values():
            text.setContentsMargins(theme().px(16) + theme().px(8) + 5, 0, 0, 8)

    def show_enabled(self, enabled: set[str], cost: PromptCost | None) -> None:
        """Check the enabled tools; ``cost`` is the size of their definitions in tokens."""
        self._enabled = enabled
        mine = [name for name in self.names if name in enabled]
        checked = Qt.CheckState.Checked if len(mine) == len(self.choices) else Qt.CheckState.PartiallyChecked
        self.box.setCheckState(checked if mine else Qt.CheckState.Unchecked)
        tokens = sum(cost.by_tool.get(name, 0) for name in mine) if cost is not None else 0
        text = _("{done} of {total}", done=number(len(mine)), total=number(len(self.choices)))
        self.count.setText(
            " · ".join([text, _("{tokens} tokens", tokens=locale_format.tokens(tokens))]) if tokens else text
        )
        self.box.setAccessibleDescription(self.count.text())
        self._tick()

    def _tick(self) -> None:
        for name, box in self._boxes.items():
            box.setChecked(name in self._enabled)

    def search(self, needle: str) -> bool:
        """Show only matches, expanded; returns whether there are any. An empty search restores the previous state."""
        found = {
            each.name
            for each in self.choices
            if fits(needle, f"{each.shown} {each.name} {_(each.summary)} {_(each.section)}")
        }
        if needle and found:
            self._make()
        for name, box in self._boxes.items():
            for widget in (box, self._summaries[name]):
                widget.setVisible(name in found)
        self._body.setVisible(bool(needle) or self.fold.isChecked())
        self.fold.setEnabled(not needle)
        self.setVisible(bool(found))
        return bool(found)


class ToolBoxes(QWidget):
    """Groups of tools under ``tool-search``.

    ``tool-total`` shows the number enabled and the size of their definitions.

    Enabled tools that are unknown here stay enabled.

    Signals:
        changed: the user checked or unchecked something.
    """

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._given: tuple[str, ...] = ()
        self._ticked: set[str] = set()
        self._cost: PromptCost | None = None
        self.search = control(QLineEdit(self), "tool-search", name=N_("Search tools"), hint=N_("Search tools"))
        self.search.setClearButtonEnabled(True)
        self._nothing = bind_text(label("", "small", self), N_("No results"))
        self._nothing.hide()
        self.total = control(label("", "small", self, wrap=True), "tool-total")
        bind_text(
            self.total,
            self._total_words,
            tip=N_(
                "The definitions of these tools and of the tools that every agent has, as sent to the selected model"
            ),
        )
        self.groups = RowList(self, spacing=4, before=self.search)
        vbox(self, self.search, self.groups, self._nothing, self.total, spacing=6)
        self.search.textChanged.connect(self._filter)
        theme().changed.connect(self._indent)

    @property
    def _rows(self) -> list[ToolGroup]:
        return [each for each in self.groups.rows if isinstance(each, ToolGroup)]

    def set_choices(self, choices: Iterable[ToolChoice]) -> None:
        """Set the tools, unless unchanged; checked tools and expanded groups are preserved."""
        choices = tuple(choices)
        opened = {each.choices[0].section for each in self._rows if each.fold.isChecked()}
        if self.groups.show_rows(choices, lambda: self._make(choices)):
            for each in self._rows:
                each.fold.setChecked(each.choices[0].section in opened)
            self._show()
            self._filter(self.search.text())

    def _make(self, choices: tuple[ToolChoice, ...]) -> Iterator[QWidget]:
        for _section, tools in groupby(choices, key=lambda choice: choice.section):
            group = ToolGroup(tuple(tools), self.groups)
            group.ticked.connect(self._on_ticked)
            yield group

    def _indent(self) -> None:
        for each in self._rows:
            each.indent()

    def _filter(self, needle: str) -> None:
        found = [each.search(needle.strip()) for each in self._rows]
        self._nothing.setVisible(bool(found) and not any(found))

    def _on_ticked(self, names: Iterable[str], on: bool) -> None:
        self._ticked = self._ticked | set(names) if on else self._ticked - set(names)
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        for each in self._rows:
            each.show_enabled(self._ticked, self._cost)
        bind_text(self.total)

    def _total_words(self) -> str:
        count = len(self._ticked)
        text = ngettext("{n} tool", "{n} tools", count)
        if self._cost is None:
            return text
        return _("{tools} · {tokens} tokens with every request", tools=text, tokens=number(self._cost.definitions))

    def show_cost(self, cost: PromptCost | None) -> None:
        """Show the size of the definitions as sent, in tokens."""
        self._cost = cost
        self._show()

    def set_enabled(self, names: Iterable[str]) -> None:
        """Check exactly these."""
        self._given = tuple(names)
        self._ticked = set(self._given)
        self._show()

    def enabled(self) -> tuple[str, ...]:
        """The names of the enabled tools: given ones in their order, then those checked since."""
        remaining = [name for name in self._given if name in self._ticked]
        more = (name for each in self._rows for name in each.names if name in self._ticked and name not in self._given)
        return (*remaining, *more)
