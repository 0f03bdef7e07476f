"""The form of one MCP server: what is started or where it is, its variables or headers. Secrets go to the keyring and are never shown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from atelier_desk.desktop.panes.fields import pad
from atelier_desk.desktop.settings.named_rows import HIDDEN, SHOWN, NamedRow, NamedRows
from atelier_desk.desktop.widgets import IconButton, control, fill, label, say
from atelier_desk.desktop.widgets.inputs import ComboBox, SpinBox
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import McpServer
from atelier_desk.engine.services.common import checks
from atelier_desk.i18n import N_, _
from atelier_desk.mcp.reading.found import is_secret


class ValueRow(NamedRow):
    """A name and its value, which may be a secret."""

    def __init__(self, number: int, name: str, text: str, parent: QWidget, *, stored: bool, header: bool) -> None:
        self._header = header
        hint = N_("stored – type to replace") if stored else N_("a text, or ${VARIABLE}")
        line = control(QLineEdit(name), f"mcp-value-name-{number}", hint=N_("Name"), name=N_("Name"))
        value = control(QLineEdit(text), f"mcp-value-text-{number}", name=N_("Value"), hint=hint)
        self.secret = control(QCheckBox(), f"mcp-value-secret-{number}", N_("Secret"), about=N_("Stored like an API key."))
        self.secret.setChecked(stored)
        remove = control(IconButton("x", ""), f"mcp-value-remove-{number}", tip=N_("Remove value"))
        super().__init__(parent, line, value, self.secret, remove=remove, stored=stored)
        self.secret.clicked.connect(lambda _on: self.hide_secret())
        self.hide_secret()

    def read(self) -> tuple[str, str, str]:
        """Name, text for the configuration, secret for the keyring. Raises ``UsageError`` when one of both is missing."""
        name, text = self.texts()
        if not name and text:
            raise UsageError(N_("Enter a name for the value."))
        if name and not text and not self.stored:
            raise UsageError(N_("{name} needs a value: text, or ${{VARIABLE}}."), name=name)
        return (name, "", text) if self.secret.isChecked() or not text else (name, text, "")

    def _edited(self) -> None:
        text = self.value.text()
        reference = "$" in text
        if text and (reference or is_secret(self.name.text(), text) or self._header):
            self.secret.setChecked(not reference)
        super()._edited()

    def hide_secret(self) -> None:
        """A secret that is typed is not shown."""
        self.value.setEchoMode(HIDDEN if self.secret.isChecked() and self.value.text() else SHOWN)


class ValueRows(NamedRows[ValueRow]):
    """Variables, or headers."""

    def __init__(self, name: str, text: str, parent: QWidget, *, header: bool = False) -> None:
        super().__init__(f"{name}-add", text, parent)
        self._header = header

    def make(self, number: int, name: str, text: str, *, stored: bool) -> ValueRow:
        return ValueRow(number, name, text, self, stored=stored, header=self._header)

    def show_values(self, values: Mapping[str, str], secrets: Mapping[str, str] | None = None, *, stored: bool = True) -> None:
        """What is configured: a text, or empty for the keyring; ``secrets`` are values that were read and are not stored yet."""
        self._begin(dict(values))
        for name, text in values.items():
            known = (secrets or {}).get(name, "")
            row = self._append(name, text or known, stored=not text and not known and stored)
            if not text:
                row.secret.setChecked(row.stored or bool(known) or self._header or is_secret(name, "x"))
                row.hide_secret()

    def read(self) -> tuple[dict[str, str], dict[str, str]]:
        """Texts for the configuration, and secrets for the keyring, by name. Raises ``UsageError``."""
        texts: dict[str, str] = {}
        secrets: dict[str, str] = {}
        for name, text, secret in (row.read() for row in self._rows):
            if not name:
                continue
            if name in texts:
                raise UsageError(N_("{name} can be set only once."), name=name)
            texts[name] = text
            if secret:
                secrets[name] = secret
        return texts, secrets


class McpForm(QWidget):
    """``mcp-form``. ``config()`` is what is entered, ``secrets()`` what was typed for the keyring; ``changed`` fires on every edit."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("mcp-form")
        self._shown: McpServer | None = None
        self._base = McpServer(name="x", command="x")
        self.name = control(QLineEdit(self), "mcp-name", hint=N_("letters, digits and dashes"))
        self.kind = control(ComboBox(self), "mcp-kind")
        self.kind.addItem("", "stdio")
        self.kind.addItem("", "http")
        say(self.kind, items=[N_("Local program"), N_("Remote address")])
        self.line = control(QLineEdit(self), "mcp-command", hint="npx -y @modelcontextprotocol/server-everything")
        self.url = control(QLineEdit(self), "mcp-url", hint="https://mcp.example.com/mcp")
        self.folder = control(QLineEdit(self), "mcp-folder", hint=N_("your home folder"))
        self.timeout = control(SpinBox(self), "mcp-timeout")
        self.timeout.setRange(1, 3_600)
        self.timeout.setSuffix(" s")
        pad(self.timeout)
        self.env = ValueRows("mcp-env", N_("Add a variable"), self)
        self.headers = ValueRows("mcp-header", N_("Add header"), self, header=True)
        self.client_id = control(QLineEdit(self), "mcp-client-id", hint=N_("none: registered automatically"))
        self.client_secret = control(QLineEdit(self), "mcp-client-secret")
        self.client_secret.setEchoMode(HIDDEN)
        self.scopes = control(QLineEdit(self), "mcp-scopes", hint=N_("server default"))
        self.sandbox = control(QCheckBox(self), "mcp-sandbox", N_("Sandbox"))
        self._boxed = control(
            label("", "muted", self, wrap=True), "mcp-sandbox-about", N_("It can write only in its folder and cannot read secrets.")
        )
        self.older = control(QCheckBox(self), "mcp-older-protocol", N_("Older protocol"))
        self._older = control(
            label("", "muted", self, wrap=True),
            "mcp-older-protocol-about",
            N_("For servers that can ask you questions only in protocol revisions before 2026-07-28."),
        )
        self.enabled = control(QCheckBox(self), "mcp-enabled", N_("Enabled"))
        column = fill(QVBoxLayout(self), margins=(0, 0, 0, 0), spacing=12)
        self._cells: dict[QWidget, QWidget] = {}
        rows: tuple[tuple[tuple[QWidget, str, int], ...], ...] = (
            ((self.name, N_("Name"), 1), (self.kind, N_("Kind"), 1)),
            ((self.line, N_("Command"), 1),),
            ((self.url, N_("Address"), 1),),
            ((self.folder, N_("Working folder"), 2), (self.timeout, N_("Call timeout (seconds)"), 1)),
            ((self.env, N_("Variables"), 1),),
            ((self.headers, N_("Headers"), 1),),
            ((self.client_id, N_("OAuth client ID"), 1), (self.client_secret, N_("OAuth client secret"), 1)),
            ((self.scopes, N_("OAuth scopes"), 1),),
        )
        for row in rows:
            column.addLayout(fill(QHBoxLayout(), *((self._cell(field, title), stretch) for field, title, stretch in row), spacing=16))
        fill(
            column,
            fill(QVBoxLayout(), self.sandbox, self._boxed, spacing=2),
            fill(QVBoxLayout(), self.older, self._older, spacing=2),
            self.enabled,
        )
        for line in (self.name, self.line, self.url, self.folder, self.client_id, self.client_secret, self.scopes):
            line.textEdited.connect(lambda _text: self.changed.emit())
        for box in (self.sandbox, self.older, self.enabled):
            box.clicked.connect(lambda _on: self.changed.emit())
        self.timeout.valueChanged.connect(lambda _value: self.changed.emit())
        self.env.changed.connect(self.changed)
        self.headers.changed.connect(self.changed)
        self.kind.activated.connect(lambda _index: self._kind_chosen())
        self.show_config(None)

    def _cell(self, field: QWidget, title: str) -> QWidget:
        cell = QWidget(self)
        caption = say(label("", "muted", cell), title)
        if not isinstance(field, ValueRows):
            caption.setBuddy(say(field, name=title))
        fill(QVBoxLayout(cell), caption, field, margins=(0, 0, 0, 0), spacing=4)
        self._cells[field] = cell
        return cell

    def show_config(self, config: McpServer | None, *, stored: bool = True, secrets: Mapping[str, str] | None = None) -> None:
        """A server, or None for a new one. ``stored`` is false for one that was read and is new; ``secrets`` came with it."""
        self._shown = config if stored else None
        self._base = base = config or McpServer(name="x", command="x")
        known = secrets or {}
        blank = config is None
        self.name.setText("" if blank else base.name)
        self.name.setEnabled(self._shown is None)
        self.kind.setCurrentIndex(self.kind.findData(base.transport))
        self.kind.setEnabled(self._shown is None)
        self.line.setText("" if blank else shlex.join((base.command, *base.args)) if base.command else "")
        self.url.setText(base.url)
        self.folder.setText(base.folder)
        self.client_id.setText(base.client_id)
        self.scopes.setText(base.scopes)
        self.client_secret.clear()
        self.show_client_secret(stored=False)
        self.timeout.blockSignals(True)
        self.timeout.setValue(round(base.timeout_s))
        self.timeout.blockSignals(False)
        self.sandbox.setChecked(base.sandbox)
        self.older.setChecked(base.older_protocol)
        self.enabled.setChecked(base.enabled)
        for rows, values, kind in ((self.env, base.env, "env:"), (self.headers, base.headers, "header:")):
            mine = {key.removeprefix(kind): text for key, text in known.items() if key.startswith(kind)}
            rows.show_values(values, mine, stored=stored)
        self._show_kind()

    def config(self) -> McpServer:
        """What is entered. Raises ``UsageError``."""
        stdio = self.kind.currentData() == "stdio"
        try:
            words = shlex.split(self.line.text()) if stdio else []
        except ValueError:
            raise UsageError(N_("The command has an unclosed quotation mark.")) from None
        fields = {
            "name": self.name.text().strip(),
            "transport": self.kind.currentData(),
            "command": words[0] if words else "",
            "args": tuple(words[1:]),
            "env": self.env.read()[0] if stdio else {},
            "folder": self.folder.text().strip() if stdio else "",
            "sandbox": self.sandbox.isChecked() and stdio,
            "url": "" if stdio else self.url.text().strip(),
            "headers": {} if stdio else self.headers.read()[0],
            "client_id": "" if stdio else self.client_id.text().strip(),
            "scopes": "" if stdio else self.scopes.text().strip(),
            "timeout_s": float(self.timeout.value()),
            "older_protocol": self.older.isChecked(),
            "enabled": self.enabled.isChecked(),
        }
        kept = {name: getattr(self._base, name) for name in ("tools_off", "roots", "source", "keyring")}
        return checks.build(McpServer, _("MCP server"), **kept, **fields)

    def secrets(self) -> dict[str, str]:
        """What was typed for the keyring, by ``env:NAME``, ``header:NAME`` or ``client:secret``. Raises ``UsageError``."""
        stdio = self.kind.currentData() == "stdio"
        rows, kind = (self.env, "env") if stdio else (self.headers, "header")
        found = {f"{kind}:{name}": text for name, text in rows.read()[1].items()}
        secret = "" if stdio else self.client_secret.text().strip()
        if secret and not self.client_id.text().strip():
            raise UsageError(N_("A client secret needs a client ID."))
        return {**found, "client:secret": secret} if secret else found

    def show_client_secret(self, *, stored: bool) -> None:
        """Whether the keyring has the secret of the client."""
        say(self.client_secret, hint=N_("stored – type to replace") if stored else N_("none, or the secret that came with the ID"))

    def complete(self) -> bool:
        """Whether there is enough to be tried."""
        return bool(self.name.text().strip()) and bool((self.line if self.kind.currentData() == "stdio" else self.url).text().strip())

    def edited(self) -> bool:
        """Whether something differs from what is stored."""
        if self._shown is None:
            return True
        try:
            return bool(self.secrets()) or self.config() != self._shown
        except UsageError:
            return True

    def _kind_chosen(self) -> None:
        self._show_kind()
        self.changed.emit()

    def _show_kind(self) -> None:
        stdio = self.kind.currentData() == "stdio"
        for field in (self.line, self.folder, self.env):
            self._cells[field].setVisible(stdio)
        self.sandbox.setVisible(stdio)
        self._boxed.setVisible(stdio)
        for field in (self.url, self.headers, self.client_id, self.client_secret, self.scopes):
            self._cells[field].setVisible(not stdio)
