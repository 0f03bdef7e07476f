"""The form of one provider: address, key, on or off. The key goes to the keyring and is never shown again."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QLineEdit, QWidget

from atelier_desk.desktop.settings.provider_advanced import ProviderAdvanced
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import Translated, control, label
from atelier_desk.domain.provider import ProviderConfig, ProviderKind
from atelier_desk.i18n import N_, _

KIND_WORDS = {
    ProviderKind.OPENAI: N_("OpenAI-compatible"),
    ProviderKind.MISTRAL: N_("Mistral"),
    ProviderKind.OLLAMA: N_("Ollama"),
    ProviderKind.LOCAL: N_("Built in"),
}
DEFAULT_URLS = {
    ProviderKind.OPENAI: "https://api.openai.com/v1",
    ProviderKind.MISTRAL: "https://api.mistral.ai/v1",
    ProviderKind.OLLAMA: "http://localhost:11434",
    ProviderKind.LOCAL: "",
}


class ProviderForm(Translated, QWidget):
    """``changed`` fires on every edit. ``config()`` is what is entered, ``key()`` a key that was typed and not stored yet."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("provider-form")
        self._shown: ProviderConfig | None = None
        self._persistent = True
        self.name, self.url, self.key_field, self.env = (QLineEdit(self) for _index in range(4))
        self.kind = QComboBox(self)
        self.enabled = QCheckBox(self)
        names = ("provider-name", "provider-url", "provider-key", "provider-env", "provider-kind", "provider-enabled")
        for widget, name in zip((self.name, self.url, self.key_field, self.env, self.kind, self.enabled), names, strict=True):
            widget.setObjectName(name)
        self.name.setMaxLength(64)
        self.key_field.setEchoMode(QLineEdit.EchoMode.Password)
        for kind in ProviderKind:
            if kind is not ProviderKind.LOCAL:
                self.kind.addItem("", kind)
        self.key_note = control(label("", "small", self, wrap=True), "provider-key-note")
        self._captions = [label("", "muted", self) for _index in range(6)]
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        fields: tuple[QWidget, ...] = (self.name, self.kind, self.url, self.key_field, self.env, self.enabled)
        for row, (caption, field) in enumerate(zip(self._captions, fields, strict=True)):
            place = row if row < 4 else row + 1
            caption.setBuddy(field)
            grid.addWidget(caption, place, 0)
            grid.addWidget(field, place, 1)
        grid.addWidget(self.key_note, 4, 1)
        self.advanced = ProviderAdvanced(self)
        grid.addWidget(self.advanced, len(fields) + 1, 0, 1, 2)
        self.advanced.changed.connect(self.changed)
        for line in (self.name, self.url, self.key_field, self.env):
            line.textEdited.connect(lambda _text: self.changed.emit())
        self.enabled.clicked.connect(lambda _on: self.changed.emit())
        self.kind.activated.connect(lambda _index: self._kind_chosen())
        self.retranslate()

    def show_config(self, config: ProviderConfig | None, *, persistent: bool) -> None:
        """A provider, or None for a new one; ``persistent`` is whether keys outlive the program."""
        self._shown, self._persistent = config, persistent
        local = config is not None and config.kind is ProviderKind.LOCAL
        self.name.setText(config.name if config else "")
        self.name.setReadOnly(config is not None)
        self.name.setEnabled(config is None)
        self.kind.setCurrentIndex(max(0, self.kind.findData(config.kind)) if config else 0)
        self.kind.setEnabled(config is None)
        self.url.setText(config.base_url if config else "")
        self.key_field.clear()
        self.env.setText(config.api_key_env if config else "")
        self.enabled.setChecked(config.enabled if config else True)
        self.advanced.show_config(config, persistent=persistent)
        remote: tuple[QWidget, ...] = (self.kind, self.url, self.key_field, self.env, self.key_note, self.advanced, *self._captions[1:5])
        for widget in remote:
            widget.setVisible(not local)
        self.retranslate()

    def prefill(self, kind: ProviderKind, name: str, url: str) -> None:
        """A new provider with what is known of it."""
        self.name.setText(name)
        self.kind.setCurrentIndex(max(0, self.kind.findData(kind)))
        self.url.setText(url)
        self.retranslate()

    def config(self) -> ProviderConfig:
        """What is entered.

        Raises:
            pydantic.ValidationError: the name is empty or not allowed.
            UsageError: a header is not whole.
        """
        kept = self._shown
        kind = kept.kind if kept is not None else ProviderKind(self.kind.currentData())
        fields = {
            "name": self.name.text().strip(),
            "kind": kind,
            "base_url": self.url.text().strip() if kind is not ProviderKind.LOCAL else "",
            "api_key_env": self.env.text().strip(),
            "enabled": self.enabled.isChecked(),
            **(self.advanced.fields() if kind is not ProviderKind.LOCAL else {}),
        }
        if kept is not None:
            fields |= {"has_key": kept.has_key, "created_at": kept.created_at}
        return ProviderConfig(**fields)

    def key(self) -> str:
        """A key that was typed; empty when none was."""
        return self.key_field.text().strip()

    def secrets(self) -> dict[str, str]:
        """Values of headers that were typed and are not stored yet, by name."""
        return self.advanced.secrets()

    def edited(self) -> bool:
        """Whether something differs from what is stored."""
        if self._shown is None or self.key() or self.advanced.edited():
            return True
        kept = self._shown
        now = (self.url.text().strip(), self.env.text().strip(), self.enabled.isChecked())
        return now != (kept.base_url, kept.api_key_env, kept.enabled)

    def _kind_chosen(self) -> None:
        self.retranslate()
        self.changed.emit()

    def retranslate(self) -> None:
        texts = (_("Name"), _("Kind"), _("Address"), _("API key"), _("or from variable"), _("In use"))
        for caption, text in zip(self._captions, texts, strict=True):
            caption.setText(text)
        fields = (self.name, self.kind, self.url, self.key_field, self.env, self.enabled)
        for field, text in zip(fields, texts, strict=True):
            field.setAccessibleName(text)
        for row in range(self.kind.count()):
            self.kind.setItemText(row, _(KIND_WORDS[ProviderKind(self.kind.itemData(row))]))
        kind = ProviderKind(self.kind.currentData() or ProviderKind.OPENAI)
        self.url.setPlaceholderText(DEFAULT_URLS[kind])
        stored = self._shown is not None and self._shown.has_key
        self.key_field.setPlaceholderText(_("stored – type to replace") if stored else _("none stored"))
        self.env.setPlaceholderText(_("name of an environment variable"))
        if self._persistent:
            self.key_note.setText(_("Keys are kept in the system's keyring and never shown again."))
            mark(self.key_note, "small")
        else:
            self.key_note.setText(_("This machine has no keyring: a key is forgotten when the program ends. Better name a variable."))
            mark(self.key_note, "warn")
