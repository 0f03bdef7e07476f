"""What a card shows of a request besides its arguments: the prompt and tools of an agent, the tasks of a batch."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.desktop.panes.wording import number
from app.desktop.widgets import Card, Translated, label
from app.domain.approval import ApprovalRequest
from app.i18n import _


class ApprovalDetails(Translated, QWidget):
    """``approval-details``; ``there`` is false when the request has nothing of the kind."""

    def __init__(self, request: ApprovalRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approval-details")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(6)
        self._details = request.details
        self.retranslate()

    def retranslate(self) -> None:
        """Build everything anew: it is a few labels."""
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        details = self._details
        self._tasks(details.get("tasks"))
        self._prompt(details)
        self._list(_("Its tools"), details.get("tools"))
        self._list(_("Its MCP servers"), details.get("mcp_servers"))

    @property
    def there(self) -> bool:
        return self._column.count() > 0

    def _heading(self, text: str) -> None:
        self._column.addWidget(label(text, "small", self))

    def _prompt(self, details: dict[str, Any]) -> None:
        preview = str(details.get("prompt_preview") or "")
        if not preview:
            return
        self._heading(_("What it is told"))
        card = Card(self, "card-sunken", (10, 8, 10, 8))
        length = int(details.get("prompt_length") or len(preview))
        cut = length > len(preview) and not preview.endswith("…")
        text = label(f"{preview}…" if cut else preview, "", card, wrap=True)
        text.setObjectName("approval-prompt")
        card.body.addWidget(text)
        if length > len(preview):
            card.body.addWidget(label(_("{n} characters in all; the arguments have them", n=number(length)), "small", card, wrap=True))
        self._column.addWidget(card)

    def _list(self, heading: str, names: object) -> None:
        if isinstance(names, list | tuple) and names:
            self._heading(heading)
            text = label(", ".join(str(name) for name in names), "", self, wrap=True)
            text.setObjectName("approval-tools")
            self._column.addWidget(text)

    def _tasks(self, tasks: object) -> None:
        if not isinstance(tasks, list | tuple):
            return
        for place, task in enumerate((each for each in tasks if isinstance(each, dict)), 1):
            card = Card(self, "card-sunken", (10, 8, 10, 8))
            card.setObjectName(f"approval-task-{place}")
            card.body.setSpacing(2)
            who = str(task.get("agent_name") or task.get("agent_id") or _("Agent {n}", n=place))
            card.body.addWidget(label(who, "strong", card, wrap=True))
            card.body.addWidget(label(str(task.get("prompt_preview") or ""), "", card, wrap=True))
            self._column.addWidget(card)
