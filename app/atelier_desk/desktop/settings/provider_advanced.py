"""Advanced provider settings, collapsed: CA file, API version, key header, custom headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open
from atelier_desk.desktop.settings.request_header_rows import HeaderRows
from atelier_desk.desktop.widgets import bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.provider import KeyStyle, ProviderConfig
from atelier_desk.support.i18n import N_, _

KEY_STYLE_WORDS = {
    KeyStyle.AUTO: N_("automatic"),
    KeyStyle.BEARER: N_("Authorization: Bearer"),
    KeyStyle.API_KEY: N_("api-key (Azure)"),
    KeyStyle.X_API_KEY: N_("x-api-key (Anthropic)"),
    KeyStyle.X_GOOG_API_KEY: N_("x-goog-api-key (Google)"),
}


class ProviderAdvanced(QWidget):
    """``changed`` is emitted on every edit.

    ``fields()`` are those of a ``ProviderConfig``, ``secrets()`` values for the keyring.
    """

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._shown: ProviderConfig | None = None
        self.fold = control(QPushButton(self), "provider-advanced", look="quiet")
        self.fold.setCheckable(True)
        bind_text(self.fold, lambda: ("▾ " if self.fold.isChecked() else "▸ ") + _("Advanced"), name=N_("Advanced"))
        about = N_("PEM file, if your own certificate authority signed the server's certificate")
        self.ca_file = control(QLineEdit(self), "provider-ca-file", name=N_("CA file"), hint=about)
        about = N_("Azure only, for example 2024-10-21")
        self.api_version = control(QLineEdit(self), "provider-api-version", name=N_("API version"), hint=about)
        self.browse = control(
            QPushButton(self), "provider-ca-browse", N_("Choose…"), name=N_("Choose the CA file"), on=self._ask_file
        )
        self.key_style = control(ComboBox(self), "provider-key-style", name=N_("Send key as"))
        self.headers = HeaderRows(self)
        for style in KeyStyle:
            self.key_style.addItem("", style)
        bind_text(self.key_style, items=[KEY_STYLE_WORDS[style] for style in KeyStyle])
        self.api_version.setMaxLength(64)
        self._hint = bind_text(
            label("", "small", self, wrap=True),
            N_("Sent with every request. Values are stored like API keys; for a $VARIABLE, only its name is stored."),
        )
        file_line = hbox(None, (self.ca_file, 1), self.browse, spacing=8)
        self._body = control(QWidget(self), look="plain")
        grid = QGridLayout(self._body)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        grid.addLayout(file_line, 0, 1)
        grid.addWidget(self.api_version, 1, 1)
        grid.addWidget(self.key_style, 2, 1)
        grid.addWidget(self.headers, 3, 1)
        grid.addWidget(self._hint, 4, 1)
        titles = (N_("CA file"), N_("API version"), N_("Send key as"), N_("Headers"))
        for row, (title, field) in enumerate(
            zip(titles, (self.ca_file, self.api_version, self.key_style, self.headers.add), strict=True)
        ):
            caption = bind_text(label("", "muted", self), title)
            caption.setBuddy(field)
            grid.addWidget(caption, row, 0)
        line = hbox(None, self.fold, 1)
        vbox(self, line, self._body, spacing=8)
        self._body.hide()
        self.fold.toggled.connect(self._on_fold)
        for edit in (self.ca_file, self.api_version):
            edit.textEdited.connect(lambda _text: self.changed.emit())
        self.key_style.activated.connect(lambda _index: self.changed.emit())
        self.headers.changed.connect(self.changed)

    def show_config(self, config: ProviderConfig | None, *, persistent: bool) -> None:
        """Show a provider, or None for a new one; expanded if anything is set."""
        self._shown = config
        self.ca_file.setText(config.ca_file if config else "")
        self.api_version.setText(config.api_version if config else "")
        self.key_style.setCurrentIndex(max(0, self.key_style.findData(config.key_style if config else KeyStyle.AUTO)))
        self.headers.show_headers(config.headers if config else {}, persistent=persistent)
        self.fold.setChecked(config is not None and bool(config.ca_file or config.api_version or config.headers))

    def fields(self) -> dict[str, Any]:
        """The entered values.

        Raises:
            UsageError: a header is incomplete.
        """
        return {
            "ca_file": self.ca_file.text().strip(),
            "api_version": self.api_version.text().strip(),
            "key_style": KeyStyle(self.key_style.currentData()),
            "headers": self.headers.headers()[0],
        }

    def secrets(self) -> dict[str, str]:
        """Typed header values. Raises UsageError as ``fields``."""
        return self.headers.headers()[1]

    def edited(self) -> bool:
        """Whether anything differs from the stored values."""
        stored = self._shown
        if stored is None:
            return True
        now = (self.ca_file.text().strip(), self.api_version.text().strip(), KeyStyle(self.key_style.currentData()))
        return now != (stored.ca_file, stored.api_version, stored.key_style) or self.headers.edited()

    def _on_fold(self, opened: bool) -> None:
        self._body.setVisible(opened)
        bind_text(self.fold)

    def _ask_file(self) -> None:
        ask_open(
            self,
            _("Choose the CA file"),
            _("Certificates (*.pem *.crt *.cer);;All files (*)"),
            self._set_ca_file,
        )

    def _set_ca_file(self, path: Path) -> None:
        self.ca_file.setText(str(path))
        self.changed.emit()
