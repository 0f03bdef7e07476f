"""Request headers as rows of name and value. A value that is not a variable's name goes to the keyring and is never shown again."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.widgets import IconButton, control, fill
from atelier_desk.domain import limits
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import NO_KEYRING, header_variable
from atelier_desk.i18n import N_


class HeaderRow(QWidget):
    """One header. ``stored`` is its name in the configuration while the keyring has its value."""

    changed = Signal()
    removed = Signal()

    def __init__(self, number: int, name: str, form: str, parent: QWidget, *, stored: bool) -> None:
        super().__init__(parent)
        self._stored = name if stored else ""
        self.name = control(QLineEdit(name, self), hint=N_("Header"), name=N_("Name of the header"))
        self.value = control(
            QLineEdit(form, self),
            name=N_("Value of the header"),
            hint=N_("stored – type to replace") if stored else N_("$VARIABLE, or a value for the keyring"),
        )
        self.remove = control(IconButton("x", "", self), tip=N_("Remove this header"))
        for widget, part in ((self.name, "name"), (self.value, "value"), (self.remove, "remove")):
            widget.setObjectName(f"header-{part}-{number}")
        self.name.setMaxLength(64)
        fill(QHBoxLayout(self), (self.name, 2), (self.value, 3), self.remove, margins=(0, 0, 0, 0), spacing=8)
        self.name.textEdited.connect(lambda _text: self._edited())
        self.value.textEdited.connect(lambda _text: self._edited())
        self.remove.clicked.connect(self.removed)
        self._hide()

    def header(self) -> tuple[str, str, str]:
        """Name, form for the configuration, value for the keyring.

        Raises:
            UsageError: there is a value without a name, or a name without a value.
        """
        name, value = self.name.text().strip(), self.value.text().strip()
        if not name and value:
            raise UsageError(N_("A header has a value and no name."))
        if name and not value and name != self._stored:
            raise UsageError(N_("The header {header} needs a value: $VARIABLE, or a text for the keyring."), header=name)
        return (name, value, "") if header_variable(value) else (name, "", value)

    def _edited(self) -> None:
        self._hide()
        self.changed.emit()

    def _hide(self) -> None:
        """What is or may become a variable's name can be read; any other value is hidden like a key."""
        text = self.value.text().strip()
        readable = not text or "$" in text
        self.value.setEchoMode(QLineEdit.EchoMode.Normal if readable else QLineEdit.EchoMode.Password)


class HeaderRows(QWidget):
    """``changed`` fires on every edit."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[HeaderRow] = []
        self._shown: dict[str, str] = {}
        self._persistent = True
        self._number = 0
        self._column = fill(QVBoxLayout(self), margins=(0, 0, 0, 0), spacing=4)
        self.add = control(QPushButton(self), "header-add", N_("Add a header"), look="quiet", on=self._add_empty)
        line = fill(QHBoxLayout(), self.add, 1)
        self._column.addLayout(line)

    def show_headers(self, headers: dict[str, str], *, persistent: bool) -> None:
        """What is configured: by name a variable's form, or empty for the keyring; ``persistent`` is whether there is one."""
        self._persistent = persistent
        for row in list(self._rows):
            self._drop(row)
        self._shown, self._number = dict(headers), 0
        for name, form in headers.items():
            self._append(name, form, stored=not form)

    def headers(self) -> tuple[dict[str, str], dict[str, str]]:
        """Names with their forms, for the configuration, and values for the keyring.

        Raises:
            UsageError: a row is not whole, a name stands twice, or a value would be gone at the next start.
        """
        forms: dict[str, str] = {}
        values: dict[str, str] = {}
        for name, form, value in (row.header() for row in self._rows):
            if not name:
                continue
            if name.lower() in map(str.lower, forms):
                raise UsageError(N_("Each header can be given once."), code="invalid_header")
            forms[name] = form
            if value and not self._persistent:
                raise UsageError(NO_KEYRING, code="no_keyring", header=name)
            if value:
                values[name] = value
        return forms, values

    def edited(self) -> bool:
        """Whether something differs from what was shown."""
        try:
            forms, values = self.headers()
        except UsageError:
            return True
        return bool(values) or forms != self._shown

    def _add_empty(self) -> None:
        self._append("", "", stored=False).name.setFocus()
        self.changed.emit()

    def _append(self, name: str, form: str, *, stored: bool) -> HeaderRow:
        row = HeaderRow(self._number, name, form, self, stored=stored)
        self._number += 1
        row.changed.connect(self.changed)
        row.removed.connect(lambda: self._remove(row))
        self._rows.append(row)
        self._column.insertWidget(len(self._rows) - 1, row)
        row.show()
        self.add.setEnabled(len(self._rows) < limits.PROVIDER_HEADERS)
        return row

    def _remove(self, row: HeaderRow) -> None:
        self._drop(row)
        self.changed.emit()

    def _drop(self, row: HeaderRow) -> None:
        self._rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()
        self.add.setEnabled(True)
