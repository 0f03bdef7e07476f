"""A form for the variables of a user's prompt, with a preview of the result."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.questions.answer_field import AnswerField
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control, label
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.domain import limits
from atelier_desk.domain.prompt import Prompt
from atelier_desk.support.i18n import _
from atelier_desk.workspace.skills.argument_placeholders import variables, with_values

PREVIEW_HEIGHT = 150


class PromptForm(FormDialog):
    """``prompt-dialog``: ``variable-<n>`` for each variable, with its default, and ``prompt-preview``.

    Enter accepts, Shift+Enter starts a new line. ``then`` receives the text.
    """

    def __init__(self, prompt: Prompt, action: str, then: Callable[[str], object], parent: QWidget) -> None:
        super().__init__(f"/{prompt.name}", parent)
        self.setObjectName("prompt-dialog")
        self._prompt, self._then = prompt, then
        if prompt.description:
            self._column.addWidget(label(prompt.description, "muted", self, wrap=True))
            self._column.addSpacing(6)
        self._variables = variables(prompt.content)
        self.fields: list[AnswerField] = []
        for number, each in enumerate(self._variables):
            field = AnswerField(1, self, limit=limits.MESSAGE, most=6)
            field.editor.setObjectName(f"variable-{number}")
            field.set_text(each.default or "")
            caption = self.add_field(each.name, field)
            caption.setBuddy(field.editor)
            field.editor.setAccessibleName(each.name)
            self.fields.append(field)
        self.preview = control(TextField(self), "prompt-preview")
        self.preview.setReadOnly(True)
        self.preview.setTabChangesFocus(True)
        bind(self.preview.setMinimumHeight, lambda: theme().px(PREVIEW_HEIGHT), on="look")
        self.add_field(_("Preview"), self.preview)
        self.finish(action)
        for field in self.fields:
            field.changed.connect(self.check)
            field.changed.connect(self._show)
        self._show()
        (self.fields[0].editor if self.fields else self._ok).setFocus()

    def values(self) -> dict[str, str]:
        """The values by variable; a variable with a default may be empty."""
        written = {each.name: field.text().strip() for each, field in zip(self._variables, self.fields, strict=True)}
        return {
            each.name: written[each.name] for each in self._variables if written[each.name] or each.default is not None
        }

    def text(self) -> str:
        """The prompt with its variables filled in; those without a value remain as written."""
        return with_values(self._prompt.content, self.values())

    def problem(self) -> str:
        given = self.values()
        missing = [each.name for each in self._variables if each.name not in given]
        if missing:
            return _("Fill in: {names}", names=", ".join(missing))
        length, most = len(self.text()), limits.MESSAGE
        return (
            _("The message has {length} characters; at most {most} are allowed.", length=length, most=most)
            if length > most
            else ""
        )

    def submit(self) -> None:
        self._then(self.text())
        self.accept()

    def _show(self) -> None:
        self.preview.setPlainText(self.text())
