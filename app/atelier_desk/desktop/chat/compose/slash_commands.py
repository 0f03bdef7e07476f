"""``/`` in the composer: completes skills, commands and prompts, and asks for their arguments.

They are resolved by the engine when the message is sent. A user's own prompt is inserted as text instead, to be read
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLineEdit, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.chat.compose.completion_popup import Completed, Completion
from atelier_desk.desktop.chat.compose.prompt_variables_form import PromptForm
from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.widgets import control, label
from atelier_desk.desktop.widgets.text_matching import plain
from atelier_desk.domain.prompt import Prompt
from atelier_desk.presentation.skill_text import KINDS
from atelier_desk.support.i18n import N_, _
from atelier_desk.workspace.skills.argument_placeholders import joined, joined_by_name, variables

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.compose.composer import Composer
    from atelier_desk.domain.mcp import McpArgument, McpPrompt
    from atelier_desk.engine.services.skills import ListedSkill

MOST = 50
"""Maximum number of rows."""
ABOUT = 200
"""Characters of a prompt's first line that replace a missing description."""


class ArgumentsDialog(FormDialog):
    """``arguments-dialog``: a field per named argument, or one for all.

    ``then`` receives the arguments as written in a message.
    """

    def __init__(self, row: ListedSkill, then: Callable[[str], object], parent: QWidget) -> None:
        super().__init__(f"/{row.name}", parent)
        self.setObjectName("arguments-dialog")
        self._then = then
        text = row.found.text
        assert text is not None
        self._column.addWidget(label(text.description, "muted", self, wrap=True))
        self._column.addSpacing(6)
        self.named = bool(text.names)
        self.fields: list[QLineEdit] = []
        for number, name in enumerate(text.names or (_("Argument"),)):
            field = control(QLineEdit(self), f"argument-{number}")
            if not self.named:
                field.setPlaceholderText(text.hint)
            self.add_field(name, field)
            self.fields.append(field)
        self.finish(_("Insert"))
        self.fields[0].setFocus()

    def problem(self) -> str:
        return ""

    def submit(self) -> None:
        values = [field.text().strip() for field in self.fields]
        while values and not values[-1]:
            values.pop()
        self._then(joined(values) if self.named else " ".join(values))
        self.accept()


class PromptDialog(FormDialog):
    """``arguments-dialog`` for a prompt of an MCP server: a field per argument; required ones must be filled in.

    ``then`` receives the values by name.
    """

    def __init__(self, row: FilledPrompt, then: Callable[[str], object], parent: QWidget) -> None:
        super().__init__(f"/{row.name}", parent)
        self.setObjectName("arguments-dialog")
        self._then = then
        about = " — ".join(dict.fromkeys(filter(None, (row.prompt.title, row.prompt.about))))
        self._column.addWidget(
            label(_("A prompt from the MCP server {server}.", server=row.server), "muted", self, wrap=True)
        )
        if about:
            self._column.addWidget(label(about, "muted", self, wrap=True))
        self._column.addSpacing(6)
        self._arguments = row.prompt.arguments
        self.fields: list[QLineEdit] = []
        for number, each in enumerate(self._arguments):
            field = control(QLineEdit(self), f"argument-{number}")
            self.add_field(_asked(each), field, each.about)
            self.fields.append(field)
        self.finish(_("Insert"))
        for field in self.fields:
            field.textChanged.connect(self.check)
        self.fields[0].setFocus()

    def problem(self) -> str:
        filled = zip(self._arguments, self.fields, strict=True)
        missing = [each.name for each, field in filled if each.required and not field.text().strip()]
        return _("Fill in the required fields: {missing}.", missing=", ".join(missing)) if missing else ""

    def submit(self) -> None:
        written = {each.name: field.text().strip() for each, field in zip(self._arguments, self.fields, strict=True)}
        self._then(joined_by_name({name: text for name, text in written.items() if text}))
        self.accept()


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt of an MCP server with its arguments."""

    server: str
    prompt: McpPrompt

    @property
    def name(self) -> str:
        return f"{self.server}:{self.prompt.call}"


class SlashCommandController(QObject):
    """Completes ``/`` from the folders of the workflow in view, the user's files, and MCP servers."""

    def __init__(self, bridge: Bridge, composer: Composer, folders: Callable[[], Sequence[str]]) -> None:
        super().__init__(composer)
        self._bridge, self._composer, self._folders = bridge, composer, folders
        self._jobs = Jobs(self, lambda _text: None)  # a failed lookup only yields no completions
        self.dialog: ArgumentsDialog | PromptDialog | PromptForm | None = None
        self.popup = Completion(
            composer.field,
            "completion",
            "/",
            self._found,
            self._jobs,
            N_("Skills, commands and prompts"),
            at_start=True,
        )
        self.popup.chosen.connect(self._on_chosen)

    async def _found(self, typed: str) -> list[Completed]:
        if not self._bridge.ready:
            return []
        engine = self._bridge.engine
        rows: list[ListedSkill | Prompt | FilledPrompt] = [*await engine.skills.callable(tuple(self._folders()))]
        used = {row.name for row in rows}
        rows += [each for each in await engine.prompts.list() if each.name not in used]
        prompts = [FilledPrompt(server, prompt) for server, prompt in await engine.mcp.content.prompts()]
        rows += [each for each in prompts if each.name not in used]  # a file of the same name takes precedence
        needle = plain(typed)
        prefixed = [row for row in rows if plain(row.name).startswith(needle)]
        inside = [row for row in rows if needle in plain(row.name) and row not in prefixed]
        return [_shown(row) for row in (prefixed + inside)[:MOST]]

    def _on_chosen(self, completed: Completed) -> None:
        row: ListedSkill | Prompt | FilledPrompt = completed.data
        if isinstance(row, Prompt):
            self._insert_prompt(row, self._replace)
        elif isinstance(row, FilledPrompt):
            if row.prompt.arguments:
                self._open(PromptDialog(row, self._insert, self._composer))
        elif row.found.text is not None and row.found.text.takes_arguments:
            self._open(ArgumentsDialog(row, self._insert, self._composer))

    def put_in(self, prompt: Prompt) -> None:
        """Insert a prompt at the cursor, after asking for its variables."""
        self._insert_prompt(prompt, self._composer.field.insertPlainText)
        if self.dialog is None:
            self._composer.field.setFocus()

    def _insert_prompt(self, prompt: Prompt, insert: Callable[[str], object]) -> None:
        if variables(prompt.content):
            self._open(PromptForm(prompt, _("Insert"), insert, self._composer))
        else:
            insert(prompt.content)

    def _open(self, dialog: ArgumentsDialog | PromptDialog | PromptForm) -> None:
        self.dialog = dialog
        dialog.finished.connect(self._closed)
        dialog.open()

    def _insert(self, arguments: str) -> None:
        field = self._composer.field
        cursor = field.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        cursor.insertText(arguments)
        field.setTextCursor(cursor)

    def _replace(self, text: str) -> None:
        """Replace the ``/name`` at the start by a prompt's text; Undo restores it."""
        field = self._composer.field
        cursor = field.textCursor()
        word = field.toPlainText().split(maxsplit=1)
        cursor.setPosition(0)
        cursor.setPosition(len(word[0].encode("utf-16-le")) // 2 if word else 0, cursor.MoveMode.KeepAnchor)
        cursor.insertText(text)
        field.setTextCursor(cursor)

    def _closed(self) -> None:
        self.dialog = None
        self._composer.field.setFocus()


def _asked(each: McpArgument) -> str:
    return each.name if each.required else _("{name} (optional)", name=each.name)


def _shown(row: ListedSkill | Prompt | FilledPrompt) -> Completed:
    if isinstance(row, FilledPrompt):
        return _prompted(row)
    return _own(row) if isinstance(row, Prompt) else _completed(row)


def _own(prompt: Prompt) -> Completed:
    about = prompt.description or prompt.content.partition("\n")[0][:ABOUT]
    names = " ".join(f"{{{{{each.name}}}}}" for each in variables(prompt.content))
    where = _("One of your prompts.")
    detail = " · ".join(filter(None, (about, names if prompt.description else "")))
    return Completed(f"/{prompt.name}", detail=detail, about=f"{about}\n{where}", icon="quote", data=prompt, waits=True)


def _prompted(row: FilledPrompt) -> Completed:
    prompt = row.prompt
    hint = " ".join(each.name if each.required else f"[{each.name}]" for each in prompt.arguments)
    about = " — ".join(dict.fromkeys(filter(None, (prompt.title, prompt.about))))
    where = _("A prompt from the MCP server {server}.", server=row.server)
    return Completed(
        text=f"/{row.name}",
        detail=" · ".join(filter(None, (about, hint))) or where,
        about="\n".join(filter(None, (about, where))),
        icon="plug",
        data=row,
    )


def _completed(row: ListedSkill) -> Completed:
    text = row.found.text
    assert text is not None
    hint = f"{text.hint} · " if text.hint else ""
    kind = _(KINDS[row.found.kind])
    return Completed(
        text=f"/{row.name}",
        detail=f"{hint}{text.description}",
        about=f"{text.description}\n" + _("{name}: {text}", name=kind, text=str(row.found.file)),
        icon="sparkles" if row.found.kind == "skill" else "command",
        data=row,
    )
