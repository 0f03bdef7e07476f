"""A reference of all tools by section: each expands to the description for models and its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget

from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.icons import known
from atelier_desk.desktop.widgets import ElidedLabel, control, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.engine.services.tools import ToolInfo
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

CONTROL_SECTION = N_("Run control (all agents except those with guided tool calls)")


class ToolFold(QWidget):
    """``tool-fold-<ToolName>``: a row with name and summary that expands to the rest."""

    def __init__(self, info: ToolInfo, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.info = info
        self._body: QWidget | None = None
        self.head = control(QPushButton(self), f"tool-fold-{info.name}", look="row", on=self.toggle)
        self.head.setCursor(Qt.CursorShape.PointingHandCursor)
        self._chevron = PlainLabel(parent=self.head)
        self._icon = PlainLabel(parent=self.head)
        summary = control(ElidedLabel(self._summary(), self.head), look="muted")
        name = control(ElidedLabel(self._title(), self.head), look="strong")
        name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        hbox(self.head, self._chevron, self._icon, name, (summary, 1), margins=(6, 0, 6, 0), spacing=10)
        for part in (self._chevron, self._icon, name, summary):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._column = vbox(self, self.head, spacing=0)
        self.head.setToolTip(plain_tip(self._title()))
        theme().changed.connect(self._apply_style)
        self._apply_style()

    @property
    def opened(self) -> bool:
        return self._body is not None

    def toggle(self) -> None:
        """Expand or collapse."""
        if self._body is None:
            self._body = self._build()
            self._column.addWidget(self._body)
        else:
            self._column.removeWidget(self._body)
            self._body.deleteLater()
            self._body = None
        self._apply_style()

    def _summary(self) -> str:
        return _(self.info.purpose) or (self.info.told.splitlines() or [""])[0]

    def _title(self) -> str:
        return f"{_(self.info.title)} · {self.info.name}" if self.info.title else self.info.name

    def _build(self) -> QWidget:
        body = QWidget(self)
        column = vbox(
            body,
            _text(label(_("Description for models"), "small", body)),
            _text(label(self.info.told, "muted", body, wrap=True)),
            label(_("Parameters (* = required)") if self.info.parameters else _("No parameters."), "small", body),
            margins=(31, 0, 6, 12),
            spacing=8,
        )
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        for row, each in enumerate(self.info.parameters):
            name = label(each.name + (" *" if each.required else ""), "mono", body)
            description = label("\n".join(filter(None, (each.kind, each.told))), "muted", body, wrap=True)
            grid.addWidget(_text(name), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(_text(description), row, 1)
        column.addLayout(grid)
        return body

    def _apply_style(self) -> None:
        style = theme()
        self.head.setFixedHeight(style.px(32))
        picture = "chevron-down" if self.opened else "chevron-right"
        self._chevron.setPixmap(style.pixmap(picture, "muted", style.px(14), self.devicePixelRatioF()))
        self._icon.setPixmap(style.pixmap(known(self.info.icon), "muted", style.px(14), self.devicePixelRatioF()))
        state = _("expanded") if self.opened else _("collapsed")
        self.head.setAccessibleName(f"{self._title()}, {state}")
        self.head.setAccessibleDescription(visible(self._summary()))


def _text(widget: QLabel) -> QLabel:
    widget.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return widget


class ToolList(RowList):
    """``tool-list``: the tools under their sections; expanded rows are preserved on reload."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("tool-list")

    def show_tools(self, infos: Iterable[ToolInfo]) -> None:
        """Build the list, unless unchanged."""
        shown_infos = tuple(infos)
        self.show_rows(shown_infos, lambda: self._make(shown_infos))

    def _make(self, infos: tuple[ToolInfo, ...]) -> Iterator[QWidget]:
        opened = {fold.info.name for fold in self.rows if isinstance(fold, ToolFold) and fold.opened}
        for section, tools in groupby(infos, key=lambda info: info.section):
            heading = label(_(section or CONTROL_SECTION), "small", self)
            heading.setContentsMargins(6, 4 if section == infos[0].section else 12, 0, 4)
            yield heading
            for info in tools:
                fold = ToolFold(info, self)
                if info.name in opened:
                    fold.toggle()
                yield fold
