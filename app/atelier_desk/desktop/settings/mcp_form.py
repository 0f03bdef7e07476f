"""The form of an MCP server: command or address, variables or headers.

Secrets go to the keyring and are never shown.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from atelier_desk.desktop.settings.fields import Changed, Choice, Field, Line, Number, Secret, Toggle
from atelier_desk.desktop.settings.name_value_rows import HIDDEN, SHOWN, NamedRow, NamedRows
from atelier_desk.desktop.settings.validated_form import Form
from atelier_desk.desktop.widgets import IconButton, bind_text, control, vbox
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import McpServer
from atelier_desk.engine.services.common import input_checks
from atelier_desk.mcp.config_import.found_server import is_secret
from atelier_desk.support.i18n import N_, _


class ValueRow(NamedRow):
    """A name and its value, which may be a secret."""

    def __init__(self, number: int, name: str, text: str, parent: QWidget, *, stored: bool, header: bool) -> None:
        self._header = header
        hint = N_("saved – type to replace") if stored else N_("text, or ${VARIABLE}")
        line = control(QLineEdit(name), f"mcp-value-name-{number}", hint=N_("Name"), name=N_("Name"))
        value = control(QLineEdit(text), f"mcp-value-text-{number}", name=N_("Value"), hint=hint)
        self.secret = control(
            QCheckBox(), f"mcp-value-secret-{number}", N_("Secret"), about=N_("Stored like an API key.")
        )
        self.secret.setChecked(stored)
        remove = control(IconButton("x", ""), f"mcp-value-remove-{number}", tip=N_("Remove value"))
        super().__init__(parent, line, value, self.secret, remove=remove, stored=stored)
        self.secret.clicked.connect(lambda _on: self.hide_secret())
        self.hide_secret()

    def read(self) -> tuple[str, str, str]:
        """Name, text for the configuration, secret for the keyring.

        Raises ``UsageError`` if name or value is missing.
        """
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
        """Hide the value if it is a secret."""
        self.value.setEchoMode(HIDDEN if self.secret.isChecked() and self.value.text() else SHOWN)


class ValueRows(NamedRows[ValueRow]):
    """Variables or headers."""

    def __init__(self, name: str, text: str, parent: QWidget, *, header: bool) -> None:
        super().__init__(f"{name}-add", text, parent)
        self._header = header

    def make(self, number: int, name: str, text: str, *, stored: bool) -> ValueRow:
        return ValueRow(number, name, text, self, stored=stored, header=self._header)

    def show_values(
        self, values: Mapping[str, str], secrets: Mapping[str, str] | None = None, *, stored: bool = True
    ) -> None:
        """Set the configured values: a text, or empty for the keyring.

        ``secrets`` were imported and are not stored yet.
        """
        self._begin(dict(values))
        for name, text in values.items():
            known = (secrets or {}).get(name, "")
            row = self._append(name, text or known, stored=not text and not known and stored)
            if not text:
                row.secret.setChecked(row.stored or bool(known) or self._header or is_secret(name, "x"))
                row.hide_secret()

    def read(self) -> tuple[dict[str, str], dict[str, str]]:
        """Texts for the configuration and secrets for the keyring, by name. Raises ``UsageError``."""
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


@dataclass(frozen=True, slots=True)
class Values(Field):
    """Names with their values; ``more`` is the label of the add button."""

    more: str = ""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = ValueRows(self.name, self.more, parent, header=self.key == "headers")
        made.changed.connect(changed)
        return made

    def show(self, control: ValueRows, value: Mapping[str, str]) -> None:
        control.show_values(value)

    def read(self, control: ValueRows) -> dict[str, str]:
        return control.read()[0]


LOCAL, REMOTE = ("command", "folder", "env", "sandbox"), ("url", "headers", "client_id", "client_secret", "scopes")
FIELDS: tuple[Field, ...] = (
    Line("name", N_("Name"), example=N_("letters, digits and dashes")),
    Choice(
        "transport",
        N_("Kind"),
        name="mcp-kind",
        choices=(("stdio", N_("Local program")), ("http", N_("Remote address"))),
    ),
    Line("command", N_("Command"), example="npx -y @modelcontextprotocol/server-everything"),
    Line("url", N_("Address"), example="https://mcp.example.com/mcp"),
    Line("folder", N_("Working folder"), example=N_("your home folder")),
    Number("timeout_s", N_("Call timeout (seconds)"), name="mcp-timeout", suffix=lambda: " s"),
    Values("env", N_("Variables"), name="mcp-env", more=N_("Add a variable")),
    Values("headers", N_("Headers"), name="mcp-header", more=N_("Add a header")),
    Line("client_id", N_("OAuth client ID"), example=N_("leave empty to register automatically")),
    Secret("client_secret", N_("OAuth client secret")),
    Line("scopes", N_("OAuth scopes"), example=N_("server default")),
    Toggle("sandbox", N_("Sandbox"), N_("The server can write only in its folder and cannot read secrets.")),
    Toggle(
        "older_protocol",
        N_("Older protocol"),
        N_("For servers that need a protocol revision before 2026-07-28 to ask you questions."),
    ),
    Toggle("enabled", N_("Enabled")),
)


class McpForm(Form):
    """``mcp-form``. The command is one line, including its arguments."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(McpServer, parent, "mcp", *FIELDS)
        self.setObjectName("mcp-form")
        self.name, self.command, self.url = (self.controls[key] for key in ("name", "command", "url"))
        rows = (
            ("command",),
            ("url",),
            ("folder", "timeout_s"),
            ("env",),
            ("headers",),
            ("client_id", "client_secret"),
            ("scopes",),
        )
        vbox(
            self,
            self.line("name", "transport"),
            *(self.line(*row, stretch=(2, 1) if "folder" in row else ()) for row in rows),
            *(self.cell(key) for key in ("sandbox", "older_protocol", "enabled")),
            spacing=12,
        )
        self.changed.connect(self._show_kind)
        self.show_server(None)

    def show_server(
        self, config: McpServer | None, *, stored: bool = True, secrets: Mapping[str, str] | None = None
    ) -> None:
        """Show a server, or None for a new one.

        ``stored`` is False for an imported one; ``secrets`` were imported with it.
        """
        kept = config or McpServer(name="x", command="x")
        self.show_values(kept)
        self._filling = True
        if config is None:
            for key in ("name", "command"):
                self.fields[key].show(self.controls[key], "")
        if not stored:
            for key, values, kind in (("env", kept.env, "env:"), ("headers", kept.headers, "header:")):
                mine = {
                    name.removeprefix(kind): text for name, text in (secrets or {}).items() if name.startswith(kind)
                }
                self.controls[key].show_values(values, mine, stored=False)
        self._filling = False
        for key in ("name", "transport"):
            self.controls[key].setEnabled(config is None or not stored)
        self.show_client_secret(stored=False)
        self._show_kind()

    def value(self, stored: BaseModel, key: str) -> object:
        if key == "command" and isinstance(stored, McpServer):
            return shlex.join((stored.command, *stored.args)) if stored.command else ""
        return super().value(stored, key)

    def values(self) -> dict[str, object]:
        found, stdio = super().values(), self._stdio
        try:
            words = shlex.split(found["command"]) if stdio else []
        except ValueError:
            raise UsageError(N_("The command has an unclosed quotation mark.")) from None
        usual, of_the_other = McpServer.model_fields, set(REMOTE if stdio else LOCAL) & found.keys()
        other = {key: usual[key].get_default(call_default_factory=True) for key in of_the_other}
        return {**found, **other, "command": words[0] if words else "", "args": tuple(words[1:])}

    def made(self) -> McpServer:
        """The entered server. Raises ``UsageError``."""
        return input_checks.build(McpServer, _("MCP server"), **self.values())

    def secrets(self) -> dict[str, str]:
        """Typed secrets for the keyring, by ``env:NAME``, ``header:NAME`` or ``client:secret``.

        Raises ``UsageError``.
        """
        key, kind = ("env", "env") if self._stdio else ("headers", "header")
        found = {f"{kind}:{name}": text for name, text in self.controls[key].read()[1].items()}
        secret = "" if self._stdio else super().secrets().get("client_secret", "")
        if secret and not self.fields["client_id"].read(self.controls["client_id"]):
            raise UsageError(N_("A client secret needs a client ID."))
        return {**found, "client:secret": secret} if secret else found

    def show_client_secret(self, *, stored: bool) -> None:
        """Show whether the keyring has the client's secret."""
        hint = N_("saved – type to replace") if stored else N_("the secret issued with the client ID, if any")
        bind_text(self.controls["client_secret"], hint=hint)

    def complete(self) -> bool:
        """Whether the form is complete enough to test."""
        needed = ("name", "command" if self._stdio else "url")
        return all(self.fields[key].read(self.controls[key]) for key in needed)

    def edited(self) -> bool:
        """Whether anything differs from the stored values; an incomplete row does."""
        try:
            return super().edited()
        except UsageError:
            return True

    @property
    def _stdio(self) -> bool:
        return bool(self.fields["transport"].read(self.controls["transport"]) == "stdio")

    def _show_kind(self) -> None:
        for key in (*LOCAL, *REMOTE):
            self.show_field(key, (key in LOCAL) == self._stdio)
