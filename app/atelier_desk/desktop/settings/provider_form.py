"""The form of a provider: name, address, key, enabled. A stored key is never shown."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QVBoxLayout, QWidget

from atelier_desk.desktop.settings.provider_advanced import ProviderAdvanced
from atelier_desk.desktop.widgets import bind_text, control, fill, hbox, label, vbox
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.provider import KeyState, ProviderConfig
from atelier_desk.llm.provider_presets import Preset, preset_of
from atelier_desk.llm.provider_type_registry import find, provider_types
from atelier_desk.presentation.model_names import provider_name
from atelier_desk.support.i18n import N_, _


def kind_text(kind: str) -> str:
    """The display name of a kind; the raw name if it is no longer registered."""
    entry = find(kind)
    return _(entry.title) if entry is not None else kind


def usual_url(kind: str) -> str:
    """The default address of this kind of provider."""
    entry = find(kind)
    return entry.url if entry is not None else ""


def is_builtin(kind: str) -> bool:
    """Whether it is the built-in server, which has neither address nor key."""
    entry = find(kind)
    return entry is not None and entry.builtin


_HINTS = {
    KeyState.SAVED: N_("saved – type to replace"),
    KeyState.SESSION: N_("kept until Atelier closes – type to replace"),
    KeyState.REQUIRED: N_("API key required"),
}


class ProviderForm(QWidget):
    """``changed`` is emitted on every edit, ``entered`` with Enter in a line.

    ``config()`` is the input, ``key()`` a typed key not stored yet.
    """

    changed = Signal()
    entered = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("provider-form")
        self._shown: ProviderConfig | None = None
        self._state = KeyState.NONE
        self._example = ""
        self.name = control(QLineEdit(self), "provider-name")
        self.kind = control(ComboBox(self), "provider-kind")
        self.url = control(
            QLineEdit(self), "provider-url", hint=lambda: self._example or usual_url(str(self.kind.currentData() or ""))
        )
        self.key_field = control(QLineEdit(self), "provider-key")
        self.env = control(QLineEdit(self), "provider-env", hint=N_("environment variable name"))
        self.enabled = control(QCheckBox(self), "provider-enabled")
        self.name.setMaxLength(64)
        self.key_field.setEchoMode(QLineEdit.EchoMode.Password)
        kinds = [entry for entry in provider_types() if not entry.builtin]
        for entry in kinds:
            self.kind.addItem("", entry.kind)
        bind_text(self.kind, items=[entry.title for entry in kinds])
        fields: tuple[QWidget, ...] = (self.name, self.kind, self.url, self.key_field, self.env)
        titles = (N_("Name"), N_("Kind"), N_("Address"), N_("API key"), N_("or environment variable"))
        self._captions = [bind_text(label("", "muted", self), title) for title in titles]
        cells = []
        for caption, field, title in zip(self._captions, fields, titles, strict=True):
            caption.setBuddy(bind_text(field, name=title))
            cells.append(vbox(None, caption, field, spacing=4))
        bind_text(self.enabled, N_("Enabled"), name=N_("Enabled"))
        self._under_key = QVBoxLayout()
        self._button_row = hbox(None, 1, spacing=4)
        self.advanced = ProviderAdvanced(self)
        column = vbox(self, spacing=12)
        for row in ((cells[0], cells[1]), (cells[2],), (cells[3], cells[4])):
            column.addLayout(hbox(None, *((cell, 1) for cell in row), spacing=16))
        fill(column, self._under_key, self._button_row, self.enabled, self.advanced)
        self.advanced.changed.connect(self.changed)
        for line, other in (
            (self.name, None),
            (self.url, None),
            (self.key_field, self.env),
            (self.env, self.key_field),
        ):
            line.textEdited.connect(lambda text, other=other: self._typed(text, other))
            line.returnPressed.connect(self.entered)
        self.enabled.clicked.connect(lambda _on: self.changed.emit())
        self.kind.activated.connect(lambda _index: self._kind_chosen())
        self._update_texts()

    def show_config(self, config: ProviderConfig | None, *, persistent: bool, state: KeyState = KeyState.NONE) -> None:
        """Show a provider, or None for a new one.

        ``persistent``: keys are stored permanently, ``state``: its key's state.
        """
        self._shown, self._state, self._example = config, state, ""
        local = config is not None and is_builtin(config.kind)
        self.name.setText(provider_name(config.name) if config else "")
        self.name.setEnabled(not local)
        self.kind.setCurrentIndex(max(0, self.kind.findData(config.kind)) if config else 0)
        self.kind.setEnabled(config is None)
        self.url.setText(config.base_url if config else "")
        self.key_field.clear()
        self.env.setText(config.api_key_env if config else "")
        self.enabled.setChecked(config.enabled if config else True)
        self.advanced.show_config(config, persistent=persistent)
        remote: tuple[QWidget, ...] = (
            self.kind,
            self.url,
            self.key_field,
            self.env,
            self.advanced,
            *self._captions[1:],
        )
        for widget in remote:
            widget.setVisible(not local)
        self._update_texts()

    def set_key_note(self, note: QWidget, *buttons: QWidget) -> None:
        """Set the note below the key field."""
        self._under_key.addWidget(note)
        for number, button in enumerate(buttons):
            self._button_row.insertWidget(number, button)

    def focus_key(self) -> None:
        """Focus the field of the key, or of its variable."""
        (self.env if self.env.text() else self.key_field).setFocus()

    def complete(self) -> bool:
        """Whether the form is complete enough to test and save."""
        return bool(self.name.text().strip()) and not (self._example and not self.url.text().strip())

    def preset(self) -> Preset | None:
        """The service to which the address belongs."""
        if not self.complete():
            return None
        kind = self._shown.kind if self._shown is not None else str(self.kind.currentData())
        return preset_of(ProviderConfig(name="x", kind=kind, base_url=self.url.text().strip()[:2048]))

    def prefill(self, kind: str, name: str, url: str, example: str = "") -> None:
        """Fill the form for a new provider; ``example`` is the placeholder of a required address."""
        self._example = example
        self.name.setText(name)
        self.kind.setCurrentIndex(max(0, self.kind.findData(kind)))
        self.url.setText(url)
        self._update_texts()

    def config(self) -> ProviderConfig:
        """The entered configuration.

        Raises:
            pydantic.ValidationError: the name is empty or not allowed.
            UsageError: a header is incomplete.
        """
        stored = self._shown
        kind = stored.kind if stored is not None else str(self.kind.currentData())
        fields = {
            "name": self._name(),
            "kind": kind,
            "base_url": self.url.text().strip() if not is_builtin(kind) else "",
            "api_key_env": self.env.text().strip(),
            "enabled": self.enabled.isChecked(),
            **(self.advanced.fields() if not is_builtin(kind) else {}),
        }
        if stored is not None:
            fields |= {"has_key": stored.has_key, "created_at": stored.created_at}
        return ProviderConfig(**fields)

    def key(self) -> str:
        """The typed key; empty if none."""
        return self.key_field.text().strip()

    def secrets(self) -> dict[str, str]:
        """Typed header values that are not stored yet, by name."""
        return self.advanced.secrets()

    def edited(self) -> bool:
        """Whether anything differs from the stored values."""
        if self._shown is None or self.key() or self.advanced.edited():
            return True
        stored = self._shown
        now = (self._name(), self.url.text().strip(), self.env.text().strip(), self.enabled.isChecked())
        return now != (stored.name, stored.base_url, stored.api_key_env, stored.enabled)

    def _name(self) -> str:
        """The name as it is stored: people see another one of the built-in provider, which keeps its own."""
        stored = self._shown
        return stored.name if stored is not None and is_builtin(stored.kind) else self.name.text().strip()

    def _typed(self, text: str, other: QLineEdit | None) -> None:
        """A key and a variable exclude each other: the last typed counts."""
        if text and other is not None:
            other.clear()
        self.changed.emit()

    def _kind_chosen(self) -> None:
        self._update_texts()
        self.changed.emit()

    def _update_texts(self) -> None:
        """Update texts that depend on the provider or kind."""
        bind_text(self.url)
        bind_text(self.key_field, hint=_HINTS.get(self._state, N_("not set")))
