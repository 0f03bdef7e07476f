"""Rows of name and value with a button to add one: request headers, variables."""

from __future__ import annotations

from typing import Generic, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.widgets import IconButton, control, hbox, vbox
from atelier_desk.domain.errors import UsageError

HIDDEN = QLineEdit.EchoMode.Password
SHOWN = QLineEdit.EchoMode.Normal


class NamedRow(QWidget):
    """One row: ``<prefix>-name-<n>``, the value's field and ``<prefix>-remove-<n>``.

    ``stored``: the value is in the keyring.
    """

    changed = Signal()
    removed = Signal()

    def __init__(
        self, parent: QWidget, name: QLineEdit, value: QLineEdit, *more: QWidget, remove: IconButton, stored: bool
    ) -> None:
        super().__init__(parent)
        self.name, self.value, self.remove, self.stored = name, value, remove, stored
        hbox(self, (name, 2), (value, 3), *more, remove, spacing=8)
        for line in (name, value):
            line.textEdited.connect(lambda _text: self._edited())
        remove.clicked.connect(self.removed)

    def texts(self) -> tuple[str, str]:
        """Name and value as typed."""
        return self.name.text().strip(), self.value.text().strip()

    def hide_secret(self) -> None:
        """Show the value, or only its length."""
        raise NotImplementedError

    def _edited(self) -> None:
        self.hide_secret()
        self.changed.emit()


Row = TypeVar("Row", bound=NamedRow)


class NamedRows(QWidget, Generic[Row]):
    """The rows. ``changed`` is emitted on every edit. Subclasses create rows (``make``) and read them (``read``)."""

    changed = Signal()

    def __init__(self, add: str, text: str, parent: QWidget | None = None, *, most: int = 0) -> None:
        """``add`` is the object name of the add button, ``text`` its label; at most ``most`` rows, 0 for unlimited."""
        super().__init__(parent)
        self._rows: list[Row] = []
        self._shown: dict[str, str] = {}
        self._number, self._most = 0, most
        self._column = vbox(self, spacing=4)
        self.add = control(QPushButton(self), add, text, look="quiet", on=self._add_empty)
        self._column.addLayout(hbox(None, self.add, 1))

    def make(self, number: int, name: str, text: str, *, stored: bool) -> Row:
        """Create a row."""
        raise NotImplementedError

    def read(self) -> tuple[dict[str, str], dict[str, str]]:
        """Texts for the configuration and values for the keyring, by name. Raises ``UsageError``."""
        raise NotImplementedError

    def edited(self) -> bool:
        """Whether anything differs from the values shown initially."""
        try:
            texts, secrets = self.read()
        except UsageError:
            return True
        return bool(secrets) or texts != self._shown

    def _begin(self, shown: dict[str, str]) -> None:
        """Set new initial values."""
        for row in list(self._rows):
            self._drop(row)
        self._shown, self._number = dict(shown), 0

    def _append(self, name: str, text: str, *, stored: bool) -> Row:
        row = self.make(self._number, name, text, stored=stored)
        self._number += 1
        row.changed.connect(self.changed)
        row.removed.connect(lambda: self._remove(row))
        self._rows.append(row)
        self._column.insertWidget(len(self._rows) - 1, row)
        row.show()
        self._allow()
        return row

    def _add_empty(self) -> None:
        self._append("", "", stored=False).name.setFocus()
        self.changed.emit()

    def _remove(self, row: Row) -> None:
        self._drop(row)
        self.changed.emit()

    def _drop(self, row: Row) -> None:
        self._rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()
        self._allow()

    def _allow(self) -> None:
        self.add.setEnabled(not self._most or len(self._rows) < self._most)
