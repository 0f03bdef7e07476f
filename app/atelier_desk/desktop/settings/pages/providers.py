"""Providers: model servers, their keys and a test; their models; models to download."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QMenu, QPushButton, QWidget

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.base import offer_undo
from atelier_desk.desktop.panes.two_line import KeyRole, dress_list, two_line_item
from atelier_desk.desktop.settings.busy import Busy
from atelier_desk.desktop.settings.downloads import DownloadsView
from atelier_desk.desktop.settings.files import confirm
from atelier_desk.desktop.settings.model_table import ModelTable
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.provider_form import ProviderForm, is_builtin, kind_words, usual_url
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import control, fill, say
from atelier_desk.domain.provider import ModelInfo, ProviderConfig, ProviderHealth
from atelier_desk.i18n import N_, _, ngettext
from atelier_desk.llm.registry import find, provider_types

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge


def health_text(health: ProviderHealth) -> str:
    """The result of a test in one sentence."""
    if not health.ok:
        return health.message or _("The test failed.")
    if not health.models and health.message:
        return _("Works: answered in {ms} ms. {note}", ms=health.latency_ms, note=health.message)
    models = ngettext("{n} model", "{n} models", health.models)
    return _("Works: answered in {ms} ms, {models}", ms=health.latency_ms, models=models)


@settings_page("providers", order=20, icon="server", title=N_("Providers"))
class ProvidersPage(SettingsPage):
    """List, form with test, table of models, downloads for the built-in provider."""

    topics = ("provider", "model")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._providers: list[ProviderConfig] = []
        self._chosen = ""
        self._adding = False
        self._persistent = True
        card = self.section(N_("MODEL SERVERS"))
        self.list = control(QListWidget(self), "provider-list", look="plain", name=N_("Model servers"))
        dress_list(self.list)
        card.body.addWidget(self.list)
        self.add = control(QPushButton(self), "provider-add", N_("Add…"), on=self._show_menu)
        self.remove = control(QPushButton(self), "provider-remove", N_("Remove"), look="quiet", on=self._ask_remove)
        buttons = fill(QHBoxLayout(), self.remove, 1, self.add, spacing=8)
        card.body.addLayout(buttons)
        self._build_form()
        models = self.section(N_("MODELS"))
        self._models_card = models
        self.models = ModelTable(self._edit_model, self)
        models.body.addWidget(self.models)
        self.reset = control(QPushButton(self), "model-reset", N_("Forget what was changed or learned"), look="quiet", on=self._reset_model)
        self.reset.setEnabled(False)
        models.body.addWidget(self.reset, 0, Qt.AlignmentFlag.AlignLeft)
        self.models.itemSelectionChanged.connect(self._check_model)
        downloads = self.section(N_("MODELS TO DOWNLOAD"))
        self._downloads_card = downloads
        mark(downloads, "plain")
        downloads.body.setContentsMargins(0, 0, 0, 0)
        self.downloads = DownloadsView(bridge, self)
        downloads.body.addWidget(self.downloads)
        self.end()
        self._menu = QMenu(self)
        self.list.currentItemChanged.connect(lambda *_: self._select())
        self.retranslate()

    def _build_form(self) -> None:
        card = self.section()
        self._form_heading = card.heading
        self._form_card = card
        self.form = ProviderForm(self)
        card.body.addWidget(self.form)
        self.busy = Busy(self)
        card.body.addWidget(self.busy)
        self.forget = control(
            QPushButton(self),
            "provider-forget-key",
            N_("Forget the key"),
            look="quiet",
            on=lambda: self.call(self.bridge.engine.providers.clear_key(self._chosen)),
        )
        self.test = control(QPushButton(self), "provider-test", N_("Test"), on=self.run_test)
        self.save = control(QPushButton(self), "provider-save", N_("Save"), look="primary", on=self.store)
        row = fill(QHBoxLayout(), self.forget, 1, self.test, self.save, spacing=8)
        self._found_url = ""
        self.use_found = control(QPushButton(self), "provider-use-found", lambda: _("Use {url}", url=self._found_url), on=self._use_found)
        self.use_found.hide()
        fill(card.body, self.use_found, row)
        self.form.changed.connect(self._check)

    # showing ------------------------------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        self._providers = await self.bridge.engine.providers.list()
        self._persistent = await self.bridge.engine.providers.keeps_keys()
        self.list.blockSignals(True)
        self.list.clear()
        for config in self._providers:
            facts = [kind_words(config.kind), config.base_url or usual_url(config.kind)]
            if not config.enabled:
                facts.append(_("off"))
            elif config.has_key or config.api_key_env:
                facts.append(_("with key"))
            role: Role = "accent" if config.enabled else "muted"
            entry = find(config.kind)
            icon = entry.icon if entry is not None else "server"
            two_line_item(self.list, config.name, config.name, " · ".join(filter(None, facts)), icon, role)
        self.list.blockSignals(False)
        rows = min(max(self.list.count(), 1), 6)
        self.list.setFixedHeight(rows * max(self.list.sizeHintForRow(0), theme().px(40)) + 8)
        if self._adding:
            return
        names = [config.name for config in self._providers]
        self.list.setCurrentRow(names.index(self._chosen) if self._chosen in names else 0)
        self._select()

    def current(self) -> ProviderConfig | None:
        """The provider that is shown; None while one is added."""
        return None if self._adding else next((config for config in self._providers if config.name == self._chosen), None)

    def _select(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        name = str(item.data(KeyRole))
        if name == self._chosen and not self._adding and self.form.key():
            return
        if name != self._chosen:
            self.busy.hide()
            self.use_found.hide()
        self._adding, self._chosen = False, name
        self._show_form(self.current())
        self.jobs.start(self._load_models(name), "models")

    def _show_form(self, config: ProviderConfig | None) -> None:
        self.form.show_config(config, persistent=self._persistent)
        local = config is not None and is_builtin(config.kind)
        for widget in (self._models_card.heading, self._models_card):
            widget.setVisible(config is not None)
        for widget in (self._downloads_card.heading, self._downloads_card):
            widget.setVisible(local)
        if local:
            self.downloads.reload()
        self.remove.setEnabled(config is not None and not local)
        self._form_heading.setText(config.name.upper() if config else _("NEW PROVIDER"))
        self._check()

    async def _load_models(self, name: str) -> None:
        self.models.show_models([])
        try:
            models: list[ModelInfo] = await self.bridge.engine.providers.models(name)
        except Exception as error:
            if name == self._chosen and not self.busy.running:
                self.busy.note(error_text(error), "warn")
            return
        if name == self._chosen and not self._adding:
            self.models.show_models(models)
            self._check_model()

    def _check(self) -> None:
        config = self.current()
        self.save.setEnabled(self.form.edited() and (not self._adding or bool(self.form.name.text().strip())))
        self.test.setEnabled((not self._adding or self.save.isEnabled()) and not self.busy.running)
        self.forget.setVisible(config is not None and config.has_key)

    # doing --------------------------------------------------------------------------------------------------------------------------

    def _show_menu(self) -> None:
        """Kinds to add at once, and the servers found on this machine as soon as they are known."""
        self._menu.clear()
        for entry in provider_types():
            if not entry.builtin:
                self._menu.addAction(_(entry.title), partial(self.begin, entry.kind, entry.name or _(entry.title), entry.url))
        self._menu.popup(self.add.mapToGlobal(self.add.rect().bottomLeft()))
        self.jobs.start(self._add_found(), "detect")

    async def _add_found(self) -> None:
        found = await self.bridge.engine.providers.detect()
        if found and self._menu.isVisible():
            self._menu.addSeparator()
            for server in found:
                text = _("{software} on this machine ({url})", software=server.software, url=server.base_url)
                self._menu.addAction(text, partial(self.begin, server.kind, server.software, server.base_url))

    def begin(self, kind: str, name: str, url: str) -> None:
        """Start the form of a new provider."""
        taken = {config.name for config in self._providers}
        free = next(each for each in (name, *(f"{name} {number}" for number in range(2, 100))) if each not in taken)
        self._adding = True
        self.list.setCurrentRow(-1)
        self.busy.hide()
        self.use_found.hide()
        self._show_form(None)
        self.form.prefill(kind, free, url)
        self._check()
        entry = find(kind)
        (self.form.key_field if entry is not None and entry.needs_key else self.form.name).setFocus()

    def store(self) -> None:
        """Save the form."""
        self.jobs.once("store", self._store)

    async def _store(self) -> bool:
        """Save, then put a typed key into the keyring. False when the engine refused; the form stays."""
        try:
            config, key, secrets, new = self.form.config(), self.form.key(), self.form.secrets(), self._adding
            await self.bridge.engine.providers.save(config, new=new)
            kept = await self.bridge.engine.providers.set_key(config.name, key) if key else True
            kept = (await self.bridge.engine.providers.set_headers(config.name, secrets) if secrets else True) and kept
        except ValidationError as error:
            if any("api_version" in each["loc"] for each in error.errors()):
                self.busy.note(_("An API version has letters, digits, dots and dashes, for example 2024-10-21."), "error")
            else:
                self.busy.note(_("A name has 1 to 64 letters, digits, spaces, dots, dashes or underscores."), "error")
            return False
        except Exception as error:
            self.busy.note(error_text(error), "error")
            return False
        self.form.key_field.clear()
        self._adding, self._chosen = False, config.name
        if kept:
            self.busy.note(_("Saved."), "ok")
        else:
            self.busy.note(_("Saved. This machine has no keyring: the key is forgotten when the program ends."), "warn")
        await self.load()
        return True

    def run_test(self) -> None:
        """Save what was changed, then ask the server."""

        async def job() -> None:
            if self.save.isEnabled() and not await self._store():
                return
            name = self._chosen
            health: ProviderHealth = await self.bridge.engine.providers.test(name)
            self.busy.note(health_text(health), "ok" if health.ok else "error")
            self._offer(name, health)
            self.test.setEnabled(True)
            if health.ok:
                await self._load_models(name)

        self.test.setEnabled(False)
        testing = self.jobs.once("test", job)
        if testing is not None:
            self.busy.watch(testing, N_("Testing…"))

    def _offer(self, name: str, health: ProviderHealth) -> None:
        """A button for the address where the server did answer."""
        config = self.current()
        self._found_url = health.found_url if config is not None and (config.name, config.kind) == (name, health.found_kind) else ""
        self.use_found.setVisible(bool(self._found_url))
        say(self.use_found, lambda: _("Use {url}", url=self._found_url))

    def _use_found(self) -> None:
        self.use_found.hide()
        self.form.url.setText(self._found_url)
        self._check()
        self.run_test()

    def _ask_remove(self) -> None:
        config = self.current()
        if config is None:
            return

        def remove() -> None:
            self.jobs.once(("remove", config.name), lambda: self._remove(config))

        if config.has_key or "" in config.headers.values():
            text = _("Remove {name} and its key?", name=config.name)
            confirm(self, text, _("The key is removed from the keyring."), _("Remove"), remove)
        else:
            remove()

    async def _remove(self, config: ProviderConfig) -> None:
        await self.bridge.engine.providers.delete(config.name)
        again = config.model_copy(update={"has_key": False})
        offer_undo(self, _("{name} removed", name=config.name), lambda: self.call(self.bridge.engine.providers.save(again)))
        await self.load()

    def _edit_model(self, info: ModelInfo, field: str, value: Any) -> None:
        async def job() -> None:
            try:
                await self.bridge.engine.models.edit(info.provider, info.name, **{field: value})
            finally:
                await self._load_models(info.provider)

        self.jobs.start(job())

    def _check_model(self) -> None:
        info = self.models.chosen
        self.reset.setEnabled(info is not None and info.source in ("user", "learned"))

    def _reset_model(self) -> None:
        info = self.models.chosen
        if info is None:
            return

        async def job() -> None:
            try:
                await self.bridge.engine.models.reset(info.provider, info.name)
            finally:
                await self._load_models(info.provider)

        self.jobs.start(job())

    def retranslate(self) -> None:
        if self._providers:
            self.reload()
