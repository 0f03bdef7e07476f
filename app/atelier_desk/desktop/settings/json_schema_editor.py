"""The field for a JSON Schema: code that is parsed and validated while typing."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QPlainTextEdit, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.domain import final_answer_schema
from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import N_, _


class SchemaField(QPlainTextEdit):
    """The JSON Schema of an object, or blank for none."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._schema: dict[str, object] | None = None
        self._error: AtelierError | None = None
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        mark(self, "mono")
        bind(self.setFixedHeight, lambda: theme().px(110), on="look")
        bind_text(
            self,
            hint=N_("Leave empty for free text. Otherwise every answer is a JSON object that matches this schema."),
        )
        self.textChanged.connect(self._read)

    @property
    def broken(self) -> bool:
        """Whether the text is not a valid schema."""
        return self._error is not None

    def schema(self) -> dict[str, object] | None:
        """The schema; None if blank or invalid."""
        return self._schema

    def problem(self) -> str:
        """The validation error in the user's language; empty if valid."""
        return "" if self._error is None else self._error.localized(_)

    def show_schema(self, schema: Mapping[str, object] | None) -> None:
        """Show a stored schema, one field per line."""
        self.setPlainText(final_answer_schema.text_of(schema))

    def _read(self) -> None:
        try:
            self._schema, self._error = final_answer_schema.schema_of(self.toPlainText()), None
        except AtelierError as error:
            self._schema, self._error = None, error
