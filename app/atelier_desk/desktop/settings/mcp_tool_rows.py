"""The tools of an MCP server: description, approval state, availability to agents, and permission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QPushButton, QWidget

from atelier_desk.desktop.widgets import ElidedLabel, Pill, bind_text, control, fill, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.presentation.mcp_server_text import HINTS, TOOL_STATES, why_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import shorten, visible

if TYPE_CHECKING:
    from atelier_desk.engine.services.common.mcp_status import McpToolStatus

RULES = (("", N_("Use profile")), ("allow", N_("Always allow")), ("ask", N_("Always ask")), ("deny", N_("Always deny")))
_PILLS: dict[str, PillKind] = {"approved": "ok", "new": "warn", "changed": "warn", "gone": "", "unusable": "err"}
_MAX_DESCRIPTION = 600


class McpToolRow(QWidget):
    """``mcp-tool-<name on the server>``.

    Signals:
        switched: enable or disable it for agents.
        ruled: the new permission rule.
        approved: approve its current definition.
    """

    switched = Signal(str, bool)
    ruled = Signal(str, str)
    approved = Signal(str)

    def __init__(self, row: McpToolStatus, parent: QWidget) -> None:
        super().__init__(parent)
        self.row = row
        tool = row.tool
        self.setObjectName(f"mcp-tool-{tool}")
        self._name = control(ElidedLabel(row.title, self), look="strong")
        self._name.setToolTip(plain_tip(row.name or tool))
        self._pill = Pill(_(TOOL_STATES[row.state]), _PILLS[row.state], self)
        self.on = control(
            QCheckBox(self), f"mcp-tool-on-{tool}", N_("Enabled"), name=lambda: _("Enable {name}", name=row.title)
        )
        # An unusable tool is given to no agent, whatever is stored; the text below says why.
        self.on.setChecked(row.on and not row.problem)
        self.on.setEnabled(not row.problem)
        self.on.clicked.connect(lambda on: self.switched.emit(tool, on))
        self.rule = control(
            ComboBox(self), f"mcp-tool-rule-{tool}", name=lambda: _("Permission for {name}", name=row.title)
        )
        for value, _text in RULES:
            self.rule.addItem("", value)
        bind_text(self.rule, items=[text for _value, text in RULES])
        self.rule.setCurrentIndex(max(0, self.rule.findData(row.rule)))
        self.rule.activated.connect(lambda _index: self.ruled.emit(tool, str(self.rule.currentData())))
        self.rule.setVisible(bool(row.name))
        self.approve = control(
            QPushButton(self), f"mcp-tool-approve-{tool}", N_("Approve"), on=lambda: self.approved.emit(tool)
        )
        self.approve.setVisible(row.state in ("new", "changed", "gone"))
        # Text of a server may contain invisible characters, which are shown here.
        self._description = label(visible(shorten(row.told, _MAX_DESCRIPTION)), "muted", self, wrap=True)
        self._more = label("\n".join(_remarks(row)), "small", self, wrap=True)
        self._more.setVisible(bool(self._more.text()))
        # States other than "approved" have long texts and an action, so they get their own line.
        settled = row.state == "approved"
        line = hbox(None, (self._name, 1), *((self._pill,) if settled else ()), self.on, self.rule, spacing=10)
        column = vbox(self, line, margins=(0, 6, 0, 6), spacing=3)
        if not settled:
            fill(column, hbox(None, self._pill, self.approve, 1, spacing=10))
        fill(column, self._description, self._more)


def _remarks(row: McpToolStatus) -> list[str]:
    """Remarks on a tool besides its own description, one per line."""
    more = [_(HINTS[each]) for each in row.hints]
    if row.parameters:
        more.append(_("parameters: {names}", names=", ".join(row.parameters)))
    lines = [" · ".join(more)] if more else []
    if row.approved_told:
        lines.append(_("You approved: {text}", text=visible(shorten(row.approved_told, _MAX_DESCRIPTION))))
    if row.problem:
        lines.append(visible(why_text(row.problem)))
    return lines
