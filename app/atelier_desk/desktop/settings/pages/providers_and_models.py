"""Providers: model servers with API keys and a test; their models; models to download."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.file_dialogs.opening import show_not_opened
from atelier_desk.desktop.panes.pane_base import offer_undo, toasts_of
from atelier_desk.desktop.settings.api_key_note import KeyNote
from atelier_desk.desktop.settings.fields import Choice
from atelier_desk.desktop.settings.imported_grant_confirmation import HeldList
from atelier_desk.desktop.settings.list_form_page import ListFormPage, ListLine, Saved
from atelier_desk.desktop.settings.model_downloads import DownloadsView
from atelier_desk.desktop.settings.model_table import ModelTable, key_of
from atelier_desk.desktop.settings.progress_line import Busy, Outcome
from atelier_desk.desktop.settings.provider_form import ProviderForm, is_builtin, kind_text, usual_url
from atelier_desk.desktop.settings.provider_preset_picker import PresetPicker
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.validated_form import Form
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.untrusted_links import open_address
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.imported_grant import HeldKind
from atelier_desk.domain.provider import KeyState, ModelInfo, ProviderConfig, ProviderDraft, ProviderHealth
from atelier_desk.llm.provider_type_registry import find
from atelier_desk.presentation.api_key_text import MISSING, shortcut_text
from atelier_desk.presentation.model_names import model_name, provider_name
from atelier_desk.presentation.provider_test_text import problem_text
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import day as day_words

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.theme.manager import Role
    from atelier_desk.domain.agent import Agent
    from atelier_desk.engine.services.models import ListState


MOST_NAMED = 3
"""Maximum number of agents named on a button; of more, the first and a number."""
FEW = 6
"""Up to this many models need no search."""


def health_text(health: ProviderHealth) -> str:
    """The result of a test as a sentence."""
    if not health.ok:
        return problem_text(health, "\n") or _("The test failed.")
    if not health.models and health.message:
        return _("Works: answered in {ms} ms. {note}", ms=health.latency_ms, note=health.message)
    models = ngettext("{n} model", "{n} models", health.models)
    return _("Works: answered in {ms} ms, {models}", ms=health.latency_ms, models=models)


TOOL_CALLS = Choice(
    "supports_tools",
    N_("Tool calls"),
    N_(
        "For the selected model. “Automatic” uses native calls, or text if the server or the model does not support"
        " them."
    ),
    "model-tool-calls",
    choices=((None, N_("Automatic")), (True, N_("Native")), (False, N_("As text (XML)"))),
)


@settings_page("providers", order=20, icon="server", title=N_("Providers"))
class ProvidersPage(ListFormPage[ProviderConfig]):
    """List, form with test, table of models, downloads for the built-in provider."""

    topics = ("provider", "model")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._states: dict[str, KeyState] = {}
        self._last = self._wanted = self._unpriced = ""
        self._keys = ""
        self._found: list[ModelInfo] = []
        self._favourites: tuple[str, ...] = ()
        self._list: ListState | None = None
        self.build_list(
            self.section(N_("Providers")),
            "provider",
            N_("Providers"),
            ("add", N_("New provider…"), self._ask_preset),
            ("remove", N_("Delete"), self._ask_remove),
        )
        self._build_form()
        self._build_models()
        self.downloads = DownloadsView(bridge, self)
        self._downloads_card = self.section(N_("Models to download"), self.downloads)
        mark(self._downloads_card, "plain")
        self._downloads_card.body.setContentsMargins(0, 0, 0, 0)
        self.end()
        self.show_list()
        self.show_chosen()

    def _build_models(self) -> None:
        models = self._models_card = self.section(N_("Models"))
        hint = N_("Search models: name, tools, images, reasoning")
        self.find_model = self.add_search(models, "model-search", hint, lambda text: self.models.filter(text))
        self.models = ModelTable(self._edit_model, self._star, self)
        self.models.itemSelectionChanged.connect(self._check_model)
        models.body.addWidget(self.models)
        self.refresh = self.button("model-refresh", N_("Update limits and prices"), self._refresh)
        self.reset = self.button("model-reset", N_("Reset my changes to this model"), self._reset_model)
        self.reset.setEnabled(False)
        self.button_row(models, self.refresh, self.reset)
        self.model_form = Form(ModelInfo, self, "model", TOOL_CALLS)
        self.model_form.row(self, models, TOOL_CALLS.key, stretch=False)
        self.model_form.changed.connect(self._choose_tool_calls)
        self.list_day = self.add_text(models, name="model-list-day", look="small")
        self.refreshing = Busy(self)
        models.body.addWidget(self.refreshing)

    def _build_form(self) -> None:
        self.held = HeldList(
            self, lambda grant: not self.adding and (grant.kind, grant.name) == (HeldKind.PROVIDER, self.chosen)
        )
        self.form = ProviderForm(self)
        card = self.form_card = self.section("", self.held, self.form)
        self.get_key = self.button("provider-get-key", None, self._open_keys, look="link")
        self.forget_button = self.button(
            "provider-forget-key",
            N_("Delete the key"),
            lambda: self.call(self.bridge.engine.providers.clear_key(self.chosen)),
            look="link",
        )
        self._found_url = ""
        self.use_found = self.button("provider-use-found", lambda: _("Use {url}", url=self._found_url), self._use_found)
        self.use_found.hide()
        self.key_note = KeyNote(self.bridge, "provider", self)
        self.key_note.variable_requested.connect(self.form.env.setFocus)
        self._users: list[Agent] = []
        self._just_saved = False
        """A new provider was saved, and the offer to use it has not been shown yet."""
        self.use_model = self.button(
            "provider-use", self._use_words, self._use_model, name=lambda: self._use_words() or _("Model")
        )
        self.use_model.hide()
        self.form.set_key_note(self.key_note, self.get_key, self.forget_button)
        for button in (self.use_found, self.use_model):
            self.button_row(card, button)
        self.test = self.button("provider-test", N_("Test"), self.run_test)
        self.build_foot("provider", self.test)
        self.form.changed.connect(self.changed)

    async def read(self) -> list[ProviderConfig]:
        """User-connected providers come first: the built-in one always exists."""
        self._states = await self.bridge.engine.keys.states()
        await self.key_note.load()
        self._users = await self.bridge.engine.agents.of_default_model()
        settings = await self.bridge.engine.settings.get()
        self._favourites, self._last = settings.favourite_models, settings.last_model
        self._show_list_day(await self.bridge.engine.models.list_state())
        await self.held.load()
        found: list[ProviderConfig] = await self.bridge.engine.providers.list()
        if self.chosen != self.picked and not self.editing():
            self.chosen = ""  # there may be a better default now
        return sorted(found, key=lambda config: is_builtin(config.kind))

    async def load(self) -> None:
        await super().load()
        if self._wanted:
            self._open_requested()

    def line(self, config: ProviderConfig) -> ListLine:
        kind = "" if is_builtin(config.kind) else kind_text(config.kind)  # its name
        facts = [kind, config.base_url or usual_url(config.kind)]
        state = self._state(config)
        facts.append(shortcut_text(state, config.api_key_env) if config.enabled else _("off"))
        role: Role = "muted" if not config.enabled else "warn" if state in MISSING else "accent"
        entry = find(config.kind)
        icon = entry.icon if entry is not None else "server"
        return ListLine(config.name, provider_name(config.name), " · ".join(filter(None, facts)), icon, role)

    def heading(self, config: ProviderConfig | None) -> str:
        return provider_name(config.name) if config is not None else _("New provider")

    def complete(self) -> bool:
        return bool(self.form.complete())

    def opening(self) -> str:
        """The provider that answers, or could: connected services before the built-in one, which needs no key."""
        used = {agent.config.provider for agent in self._users[:1]}

        def far(config: ProviderConfig) -> tuple[bool, bool, bool, bool]:
            last = self._last.startswith(f"{config.name}/")
            return (
                is_builtin(config.kind),
                not config.enabled,
                self._state(config) in MISSING,
                not last and config.name not in used,
            )

        return min(self.things, key=far).name if self.things else ""

    def show_item(self, name: str) -> None:
        """Select a provider and focus its API key field."""
        self._wanted, self._unpriced = name, ""
        self.reload()

    def show_price(self, provider: str, model: str) -> None:
        """Select a provider and focus the price of one of its models."""
        self.find_model.clear()
        self._wanted, self._unpriced = provider, f"{provider}/{model}"
        self.reload()

    def _open_requested(self) -> None:
        requested, self._wanted = self._wanted, ""
        names = [config.name for config in self.things]
        if requested in names:
            self.list.setCurrentRow(names.index(requested))
        if self._unpriced:
            self._open_price()
        elif self.chosen == requested and not self.adding:
            self.reveal(self.form.key_field)
            self.form.focus_key()

    def _open_price(self) -> None:
        """Focus the price that was asked for, as soon as its model is in the table."""
        if not self._wanted and self._unpriced and self.models.focus_price(self._unpriced):
            self._unpriced = ""
            QTimer.singleShot(0, self, lambda: self.reveal(self.models))  # the table has its new height by then

    def _state(self, config: ProviderConfig | None) -> KeyState:
        return self._states.get(config.name, KeyState.NONE) if config is not None else KeyState.NONE

    def show_form(self, config: ProviderConfig | None) -> None:
        self.form.show_config(config, persistent=self.key_note.persistent, state=self._state(config))
        self.held.build()
        local = config is not None and is_builtin(config.kind)
        self.key_note.setVisible(not local)
        self._models_card.set_shown(config is not None)
        self._downloads_card.set_shown(local)
        if local:
            self.downloads.reload()

    def _show_models(self) -> None:
        self.find_model.setVisible(len(self._found) > FEW)
        self.models.show_models(self._found, self._favourites)
        self._check_model()

    def _star(self, info: ModelInfo, on: bool) -> None:
        """Stored at once; the row moves when the page is next shown, not under the pointer."""
        others = [each for each in self._favourites if each != key_of(info)]
        self._favourites = (*others, key_of(info)) if on else tuple(others)
        self.jobs.start(self.bridge.engine.settings.update(favourite_models=self._favourites))

    def _refresh(self) -> None:
        """Download the list of hosted models."""

        async def job() -> None:
            try:
                state: ListState = await self.bridge.engine.models.refresh_list()
            except Exception as error:
                self.refreshing.note(error_text(error), "error")
                return
            self._show_list_day(state)
            self.refreshing.note(ngettext("{n} model is up to date.", "{n} models are up to date.", state.models), "ok")
            await self._load_models(self.chosen)

        fetching = self.jobs.once("refresh", job)
        if fetching is not None:
            self.refreshing.watch(fetching, N_("Fetching the list from models.dev…"))

    def _show_list_day(self, state: ListState) -> None:
        self._list = state
        bind_text(self.list_day, self._day_text)

    def _day_text(self) -> str:
        """The source of values that neither the user nor the server provides."""
        if self._list is None:
            return ""
        day = day_words(self._list.day)
        figures = _("Context in tokens, prices in $ per million tokens.")
        source = _("Missing values come from models.dev ({day}). Your own values take precedence.", day=day)
        if not self._list.old:
            return f"{figures} {source}"
        age = _("The list is {days} days old: newer models and prices may be missing. Update it.", days=self._list.age)
        return f"{age} {figures} {source}"

    def _proposed(self) -> ModelInfo | None:
        """The model to use: of the current row, else the service's suggestion, else the first chat model."""
        config = self.current()
        if config is None or not config.enabled:
            return None
        chats = [info for info in self._found if not info.embedding and not info.starter]
        preset = self.form.preset()
        proposed = next(
            (info for info in chats if preset is not None and info.name == preset.model), chats[0] if chats else None
        )
        return self.models.chosen if self.models.chosen in chats else proposed

    def _use_words(self, template: str = N_("Use {model} for {agents}")) -> str:
        info, names = self._proposed(), [agent.name for agent in self._users]
        if info is None or not names:
            return ""
        agents = names[0] if len(names) == 1 else _("{first} and {last}", first=", ".join(names[:-1]), last=names[-1])
        if len(names) > MOST_NAMED:
            more = len(names) - 1
            agents = ngettext("{first} and {n} other agent", "{first} and {n} other agents", more, first=names[0])
        return _(template, model=model_name(info), agents=agents)

    def _check_use(self) -> None:
        info = self._proposed()
        used = self._users[0].config if self._users else None
        there = info is not None and used is not None and (used.provider, used.model) != (info.provider, info.name)
        bind_text(self.use_model)
        self.use_model.setVisible(there)
        # Selecting a row may show or hide the offer: its place stays, so that the table is not moved in a double-click.
        policy = self.use_model.sizePolicy()
        policy.setRetainSizeWhenHidden(bool(info is not None and self._users))
        self.use_model.setSizePolicy(policy)
        if there and self._just_saved:
            self.reveal(self.use_model)
            self._just_saved = False

    def _use_model(self) -> None:
        info, words = self._proposed(), self._use_words(N_("Model for {agents}: {model}"))
        if info is None:
            return

        async def job() -> None:
            agents = self.bridge.engine.agents
            before: list[Agent] = await agents.use_model(info.provider, info.name)

            async def back() -> None:
                for agent in before:
                    await agents.save(agent.config, agent.id)

            offer_undo(self, words, lambda: self.call(back()))
            await self.load()

        self.jobs.once("use", job)

    async def load_more(self) -> None:
        self.jobs.start(self._load_models(self.chosen), "models")  # a slow server delays nothing else

    async def _load_models(self, name: str) -> None:
        if self.current() is None or any(info.provider != name for info in self._found):
            self._found = []  # otherwise the selected row stays, and what is being typed in it
            self._show_models()
        if self.current() is None:
            return
        try:
            models: list[ModelInfo] = await self.bridge.engine.providers.models(name)
        except Exception as error:
            hidden = self.held.isHidden()  # otherwise the form shows it, with the button that helps
            if name == self.chosen and not self.busy.running and hidden:
                self.busy.note(error_text(error), "warn")
            try:
                models = await self.bridge.engine.models.stored(name)
            except NotFoundError:  # deleted meanwhile: the first error stays
                models = []
        if name == self.chosen and not self.adding:
            self._found = models
            self._show_models()
            self._open_price()

    def changed(self) -> None:
        """The form changed: a running or past test is obsolete."""
        self.use_found.hide()
        super().changed()

    def show_stored(self) -> None:
        self._just_saved = False
        self.use_found.hide()
        super().show_stored()

    def check(self) -> None:
        super().check()
        config = self.current()
        self.buttons["remove"].setEnabled(config is not None and not is_builtin(config.kind))
        self.test.setEnabled(self.form.complete())
        there = self._state(config) in (KeyState.SAVED, KeyState.SESSION)
        self.forget_button.setVisible(there)
        preset = self.form.preset()
        self._keys = preset.keys if preset is not None else ""
        self.get_key.setVisible(bool(self._keys) and not there)
        bind_text(self.get_key, lambda: _("Get an API key: {place}", place=self._keys.removeprefix("https://")))

    def _open_keys(self) -> None:
        if not open_address(self._keys):
            show_not_opened(toasts_of(self), self._keys)

    def _ask_preset(self) -> None:
        """Show the presets, and servers found on this machine once known."""
        if self.busy_with_another():
            return
        picker = PresetPicker(self)
        picker.chosen.connect(self.begin)
        picker.open()
        self.jobs.start(self._add_found(picker), "detect")

    async def _add_found(self, picker: PresetPicker) -> None:
        found = await self.bridge.engine.providers.detect()
        if isValid(picker):
            picker.show_found(found)

    def begin(self, kind: str, name: str, url: str, example: str = "") -> None:
        """Open the form of a new provider; with an ``example`` an address is required."""
        if not self.begin_new():
            return
        used = {config.name for config in self.things}
        free = next(each for each in (name, *(f"{name} {number}" for number in range(2, 100))) if each not in used)
        self.use_found.hide()
        self.form.prefill(kind, free, url, example)
        self.check()
        preset, entry = self.form.preset(), find(kind)
        wants_key = preset.needs_key if preset is not None else entry is not None and entry.needs_key
        (self.form.url if example else self.form.key_field if wants_key else self.form.name).setFocus()
        self.reveal(self.save if self.form.isHidden() else self.form)

    async def save_form(self) -> Saved:
        """Store the provider, then its typed key and header values in the keyring."""
        config, key, secrets = self.form.config(), self.form.key(), self.form.secrets()
        if not self.adding and config.name != self.chosen:
            await self.bridge.engine.providers.rename(self.chosen, config.name)
        await self.bridge.engine.providers.save(config, new=self.adding)
        self._just_saved = self.adding
        persistent = await self.bridge.engine.providers.set_key(config.name, key) if key else True
        persistent = (
            await self.bridge.engine.providers.set_headers(config.name, secrets) if secrets else True
        ) and persistent
        return config.name, lambda: self.note_saved(persistent)

    def problem(self, error: Exception) -> str:
        if not isinstance(error, ValidationError):
            return super().problem(error)
        if any("api_version" in each["loc"] for each in error.errors()):
            return _("The API version may contain letters, digits, dots and dashes, for example 2024-10-21.")
        return _("A name has 1 to 64 characters: letters, digits, spaces, dots, dashes or underscores.")

    def run_test(self) -> None:
        """Query the server as configured in the form; nothing is stored."""

        async def work() -> Outcome:
            name, changed = self.chosen, self.editing()
            draft = ProviderDraft(self.form.config(), self.form.key(), self.form.secrets())
            health: ProviderHealth = await self.bridge.engine.providers.test_draft(draft)
            self._offer(draft.config, health)
            if health.ok and not changed:
                await self._load_models(name)
            return health_text(health), "ok" if health.ok else "error"

        self.try_form(N_("Testing…"), work)

    def _offer(self, config: ProviderConfig, health: ProviderHealth) -> None:
        """Offer the address at which the server did answer."""
        self._found_url = health.found_url if config.kind == health.found_kind else ""
        self.use_found.setVisible(bool(self._found_url))
        bind_text(self.use_found, lambda: _("Use {url}", url=self._found_url))

    def _use_found(self) -> None:
        self.form.url.setText(self._found_url)
        self.changed()
        self.run_test()

    def _ask_remove(self) -> None:
        config = self.current()
        if config is None:
            return

        def remove() -> None:
            self.jobs.once(("remove", config.name), lambda: self._remove(config))

        if config.has_key or "" in config.headers.values():
            text = _("Delete {name}?", name=config.name)
            confirm(self, text, _("Its API key will be deleted too."), _("Delete"), remove)
        else:
            remove()

    async def _remove(self, config: ProviderConfig) -> None:
        await self.bridge.engine.providers.delete(config.name)
        again = config.model_copy(update={"has_key": False})
        offer_undo(
            self, _("{name} deleted", name=config.name), lambda: self.call(self.bridge.engine.providers.save(again))
        )
        held = self.buttons["remove"].hasFocus() or not self.isAncestorOf(QApplication.focusWidget() or self)
        await self.load()
        if held:
            self.list.setFocus()  # otherwise the focus moves on when the button is disabled

    def _edit_model(self, info: ModelInfo, field: str, value: object) -> None:
        async def job() -> None:
            try:
                await self.bridge.engine.models.edit(info.provider, info.name, **{field: value})
            finally:
                await self._load_models(info.provider)

        self.jobs.start(job())

    def _check_model(self) -> None:
        info = self.models.chosen
        self.reset.setEnabled(info is not None and info.source in ("user", "learned"))
        chooses = info is not None and not info.embedding and not info.starter
        self.model_form.controls[TOOL_CALLS.key].setEnabled(chooses)
        self.model_form.show_values(info or ModelInfo(provider="", name=""))
        self._check_use()

    def _choose_tool_calls(self) -> None:
        if (info := self.models.chosen) is not None:
            self._edit_model(info, TOOL_CALLS.key, self.model_form.read()[TOOL_CALLS.key])

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
