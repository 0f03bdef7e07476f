"""Request headers as rows of name and value.

A value that is not a variable's name goes to the keyring and is not shown again.
"""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QWidget

from atelier_desk.desktop.settings.name_value_rows import HIDDEN, SHOWN, NamedRow, NamedRows
from atelier_desk.desktop.widgets import IconButton, control
from atelier_desk.domain import limits
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import NO_KEYRING, header_variable
from atelier_desk.support.i18n import N_


class HeaderRow(NamedRow):
    """One header."""

    def __init__(self, number: int, name: str, form: str, parent: QWidget, *, stored: bool) -> None:
        self._stored = name if stored else ""
        hint = N_("saved – type to replace") if stored else N_("$VARIABLE, or a value (stored like an API key)")
        line = control(QLineEdit(name), f"header-name-{number}", hint=N_("Header"), name=N_("Header name"))
        line.setMaxLength(64)
        value = control(QLineEdit(form), f"header-value-{number}", name=N_("Header value"), hint=hint)
        remove = control(IconButton("x", ""), f"header-remove-{number}", tip=N_("Remove header"))
        super().__init__(parent, line, value, remove=remove, stored=stored)
        self.hide_secret()

    def header(self) -> tuple[str, str, str]:
        """Name, form for the configuration, value for the keyring.

        Raises:
            UsageError: a value without a name, or the reverse.
        """
        name, value = self.texts()
        if not name and value:
            raise UsageError(N_("A header has a value but no name."))
        if name and not value and name != self._stored:
            raise UsageError(N_("The header {header} needs a value: text, or $VARIABLE."), header=name)
        return (name, value, "") if header_variable(value) else (name, "", value)

    def hide_secret(self) -> None:
        """Show the value if it is, or may become, a variable's name; otherwise hide it like a key."""
        text = self.value.text().strip()
        self.value.setEchoMode(SHOWN if not text or "$" in text else HIDDEN)


class HeaderRows(NamedRows[HeaderRow]):
    """Headers of a provider."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__("header-add", N_("Add a header"), parent, most=limits.PROVIDER_HEADERS)
        self._persistent = True

    def make(self, number: int, name: str, text: str, *, stored: bool) -> HeaderRow:
        return HeaderRow(number, name, text, self, stored=stored)

    def show_headers(self, headers: dict[str, str], *, persistent: bool) -> None:
        """Set the configured headers by name: a variable's form, or empty for the keyring.

        ``persistent`` is whether a keyring exists.
        """
        self._persistent = persistent
        self._begin(headers)
        for name, form in headers.items():
            self._append(name, form, stored=not form)

    def headers(self) -> tuple[dict[str, str], dict[str, str]]:
        """Names with their forms for the configuration, and values for the keyring.

        Raises:
            UsageError: a row is incomplete, a name is duplicate, or a value would be lost on exit.
        """
        forms: dict[str, str] = {}
        values: dict[str, str] = {}
        for name, form, value in (row.header() for row in self._rows):
            if not name:
                continue
            if name.lower() in map(str.lower, forms):
                raise UsageError(N_("Each header can be set only once."), code="invalid_header")
            forms[name] = form
            if value and not self._persistent:
                raise UsageError(NO_KEYRING, code="no_keyring", header=name)
            if value:
                values[name] = value
        return forms, values

    def read(self) -> tuple[dict[str, str], dict[str, str]]:
        return self.headers()
