"""Details of a request besides its arguments: an agent's prompt and tools, the tasks of a batch, a plan."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QLabel, QWidget

from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.widgets import Card, bind, control, fill, label, vbox
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.support.i18n import N_, _
from atelier_desk.workspace.commands.command_table import UNKNOWN_COMMAND


class ApprovalDetails(QWidget):
    """``approval-details``; ``there`` is False if the request has none."""

    def __init__(self, request: ApprovalRequest, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("approval-details")
        self._column = vbox(self, spacing=6)
        self._details, self._subjects = request.details, request.subjects
        self._settings = request.reason == "repository"
        bind(self._build)

    def _build(self) -> None:
        """Rebuild everything: it is only a few labels."""
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        details = self._details
        self._text(_("Goal"), str(details.get("goal") or ""))
        self._commands(details)
        self._text(_("Connects to"), ", ".join(self._subjects.hosts))
        self._actions(details.get("actions"))
        self._tasks(details.get("tasks"))
        self._prompt(details)
        self._list(_("Tools"), details.get("tools"))
        self._list(_("MCP servers"), details.get("mcp_servers"))

    @property
    def there(self) -> bool:
        return self._column.count() > 0

    def _heading(self, text: str) -> None:
        self._column.addWidget(label(text, "small", self))

    def _prompt(self, details: dict[str, Any]) -> None:
        preview = str(details.get("prompt_preview") or "")
        if not preview:
            return
        self._heading(_("Task"))
        card = Card(self, "card-sunken", (10, 8, 10, 8))
        length = int(details.get("prompt_length") or len(preview))
        cut = length > len(preview) and not preview.endswith("…")
        text = control(label(f"{preview}…" if cut else preview, "", card, wrap=True), "approval-prompt")
        card.body.addWidget(text)
        if length > len(preview):
            card.body.addWidget(
                label(
                    _("{n} characters in total; see the arguments for the full text", n=number(length)),
                    "small",
                    card,
                    wrap=True,
                )
            )
        self._column.addWidget(card)

    def _text(self, heading: str, words: str) -> QLabel | None:
        if not words:
            return None
        self._heading(heading)
        text = label(words, "", self, wrap=True)
        self._column.addWidget(text)
        return text

    def _list(self, heading: str, names: object) -> None:
        if isinstance(names, list | tuple):
            text = self._text(heading, ", ".join(str(name) for name in names))
            if text is not None:
                text.setObjectName("approval-tools")

    def _commands(self, details: dict[str, Any]) -> None:
        """Each command of a command line with its effect, the files it changes, and its sandbox.

        Those that only read come last: in a low card the first ones are in sight.
        """
        commands = _objects(details.get("commands"))
        for place, command in sorted(enumerate(commands, 1), key=lambda each: each[1].get("kind") == "reads"):
            self._item(
                f"approval-command-{place}",
                str(command.get("text") or ""),
                "mono",
                _does(command, self._settings),
                "small",
            )
        if details.get("command") and not commands:
            self._item("approval-command-1", str(details["command"]), "mono", _reason(details), "small")
        self._text(_("Changes"), ", ".join(str(each) for each in details.get("writes") or ()))
        if (words := _SANDBOX.get(self._subjects.sandbox)) is not None:
            self._text(_("Sandbox"), _(words))

    def _tasks(self, tasks: object) -> None:
        for place, task in enumerate(_objects(tasks), 1):
            who = str(task.get("agent_name") or task.get("agent_id") or _("Agent {n}", n=place))
            self._item(f"approval-task-{place}", who, "strong", str(task.get("prompt_preview") or ""), "")

    def _actions(self, actions: object) -> None:
        for place, action in enumerate(_objects(actions), 1):
            who = str(action.get("tool") or "") or _("Sub-agent")
            self._item(f"approval-action-{place}", f"{place}. {action.get('description', '')}", "", who, "small")

    def _item(self, name: str, first: str, first_variant: str, second: str, second_variant: str) -> None:
        card = control(Card(self, "card-sunken", (10, 8, 10, 8)), name)
        card.body.setSpacing(2)
        fill(card.body, label(first, first_variant, card, wrap=True), label(second, second_variant, card, wrap=True))
        self._column.addWidget(card)


_KINDS = {
    "reads": N_("Read-only."),
    "writes": N_("Changes files."),
    "runs": N_("Unknown effect."),
}
_SANDBOX = {
    "reading": N_("In a read-only sandbox."),
    "workspace": N_("In a sandbox: the command can write only in the workspace and has no network access."),
    "network": N_("In a sandbox with network access."),
    "none": N_("Without a sandbox: the command has the same rights as you."),
}


def _does(command: dict[str, object], settings: bool) -> str:
    """The effect of a command; ``settings``: beyond what the repository's settings start."""
    kind = _(_KINDS.get(str(command.get("kind")), ""))
    if settings and command.get("kind") == "reads":
        kind = _("Apart from these settings, the command is read-only.")
    if command.get("kind") == "writes" and command.get("about"):
        return _("Changes files ({name}).", name=command["about"])  # its reason would repeat it
    if command.get("reason") == UNKNOWN_COMMAND and command.get("about"):
        return _("Unknown effect: {name} is not a known command.", name=command["about"])
    because = _reason(command)
    return " ".join(filter(None, (kind, because)))


def _reason(reason: dict[str, object]) -> str:
    """The reason for asking, as a sentence; the texts are those of the command table."""
    if not reason.get("reason"):
        return ""
    why = _(str(reason["reason"]))
    return "(" + (_("{name}: {text}", name=why, text=reason["about"]) if reason.get("about") else why) + ")"


def _objects(items: object) -> list[dict[str, object]]:
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list | tuple) else []
