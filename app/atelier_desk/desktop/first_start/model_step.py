"""The model step. The model is tested before it is used, unless the user continues without a test."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QGridLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from atelier_desk.desktop.bridge.jobs import Jobs, error_text
from atelier_desk.desktop.file_dialogs.opening import show_not_opened
from atelier_desk.desktop.first_start.connection_test_models import chat_models
from atelier_desk.desktop.first_start.service_tile import TileChoice
from atelier_desk.desktop.first_start.welcome_and_examples import Step
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.panes.time_format import duration
from atelier_desk.desktop.settings.api_key_note import KeyNote
from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.settings.provider_preset_picker import PresetPicker
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Card, bind_text, control, fill, hbox, label, vbox
from atelier_desk.desktop.widgets.language_theme_bindings import Sentence
from atelier_desk.desktop.widgets.untrusted_links import open_address
from atelier_desk.domain.errors import AtelierError, ProviderError
from atelier_desk.domain.provider import STARTER, STARTER_TITLE, ProviderConfig, ProviderDraft, ProviderHealth
from atelier_desk.llm.network.address_correction import doubtful
from atelier_desk.llm.provider_presets import FIRST, PRESETS, name_for
from atelier_desk.llm.provider_type_registry import any_server_type, builtin_type, provider_types
from atelier_desk.presentation.model_names import provider_name
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

COLUMNS = 4
TILE = 118
"""Minimum width of a tile, in logical pixels at 100 %, which determines the number per row."""
STARTER_ABOUT = N_(
    "Works offline right away for calculations, tasks, memories and questions, but is too small for real conversation."
)


class ModelStep(Step):
    """Tiles for the built-in starter, common services, servers found on this machine, and any other address.

    Common services are ``presets.FIRST`` and other kinds that suggest a model. Below are the fields of the selected
    tile. Input is preserved until ``reset_form``.

    Signals:
        continue_requested: use the input without a test.
    """

    continue_requested = Signal()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.jobs = Jobs(self, self._fail)
        self._tried: tuple[ProviderDraft | None, str] | None = None
        self._testing: asyncio.Task[None] | None = None
        self._detected = False
        self._in_use: TileChoice | None = None
        """The default agent's model, unless it is the starter: "Next" keeps it."""
        self._server_in_use = ""
        self.choices: list[TileChoice] = []
        self._columns = COLUMNS
        self._group = QButtonGroup(self)
        self._grid = QGridLayout()
        self._grid.setSpacing(8)
        self._panel = QVBoxLayout()
        self.starter = self._add(
            TileChoice("starter", STARTER_TITLE, STARTER_ABOUT, self, config=None, proposed=STARTER),
            show=False,
        )
        for preset in (next(each for each in PRESETS if each.id == name) for name in FIRST):
            config = ProviderConfig(name=preset.title, kind=preset.kind, base_url=preset.url)
            self._service(preset.id, preset.title, config, preset.model, preset.keys)
        known = {preset.kind for preset in PRESETS}
        for entry in provider_types():
            if entry.model and entry.kind not in known:
                self._service(
                    entry.kind,
                    entry.title,
                    ProviderConfig(name=entry.name, kind=entry.kind),
                    entry.model,
                    "",
                    entry.hint,
                )
        about = N_("Any OpenAI-compatible server, on this computer or elsewhere.")
        self.other = self._add(
            TileChoice(
                "other", N_("Other address"), about, self,
                config=ProviderConfig(name="new", kind=any_server_type().kind), monogram="…",
                address=True, key=N_("API key (if required)"),
            )
        )  # fmt: skip
        services = N_("Fill in the address of a known service…")
        self.services = control(QPushButton(self), "other-services", services, look="link", on=self._ask_preset)
        fill(self.other.below, hbox(None, self.services, 1))
        self._detection_status = label("", "small", self)
        self.key_note = KeyNote(bridge, "first", self)
        self.key_note.variable_requested.connect(lambda: self.current().ask_variable())
        self._lay_out()
        self.starter.tile.setChecked(True)
        bind_text(self.title, N_("Choose a model"))
        bind_text(self.intro, N_("You can change this at any time in Settings."))
        self._choose(self.starter, focus=False)

    def _service(self, name: str, title: str, config: ProviderConfig, model: str, keys: str, hint: str = "") -> None:
        about = hint or (lambda: _("Your messages go to {service}. You need your own API key.", service=_(title)))
        made = TileChoice(name, title, about, self, config=config, proposed=model, keys=keys, key=N_("API key"))
        self._add(made)
        if keys:
            place = keys.removeprefix("https://")
            link = control(
                QPushButton(made), f"{name}-get-key", lambda: _("Get an API key: {place}", place=place), look="link"
            )
            link.clicked.connect(lambda: self._open(keys))
            fill(made.below, hbox(None, link, 1))

    def _open(self, address: str) -> None:
        if not open_address(address):
            show_not_opened(toasts_of(self), address)

    def _add(self, choice: TileChoice, at: int | None = None, *, show: bool = True) -> TileChoice:
        """Insert a tile among the others."""
        self.choices.insert(len(self.choices) if at is None else at, choice)
        self._group.addButton(choice.tile)
        self._panel.addWidget(choice)
        choice.hide()
        choice.tile.clicked.connect(lambda: self._choose(choice, focus=not choice.tile.by_arrow))
        for line in choice.fields():
            line.textEdited.connect(lambda _text: self._chosen())
        choice.model.list_requested.connect(self.run_test)
        choice.model.currentIndexChanged.connect(lambda _index: self._chosen())
        if show:
            self._place()
        return choice

    def _lay_out(self) -> None:
        card = Card(self, margins=(16, 14, 16, 14))
        fill(card.body, self._panel, self.key_note)
        content = control(QWidget(self), look="plain")
        vbox(content, card, self._detection_status, 1, spacing=10)
        area = self._area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        fill(self.column, self._grid, (area, 1))
        self.busy = Busy(self)
        self.test = control(QPushButton(self), "model-test", N_("Try it"), name=N_("Test the model"), on=self.run_test)
        self.save_button = control(
            QPushButton(self), "model-keep", N_("Save without testing"), look="link", on=self._save
        )
        self.save_button.hide()
        # On its own line: a button that appears must not be where Stop was, under the pointer.
        fill(self.column, self.busy)
        self.column.addLayout(hbox(None, 1, self.save_button, self.test, spacing=12))
        self._place()

    def _place(self) -> None:
        """Arrange the tiles in rows, and the tab order accordingly, each followed by its fields."""
        for number, choice in enumerate(self.choices):
            self._grid.removeWidget(choice.tile)
            self._grid.addWidget(choice.tile, number // self._columns, number % self._columns)
        for column in range(COLUMNS):
            self._grid.setColumnStretch(column, 1 if column < self._columns else 0)
        if hasattr(self, "test"):
            tiles: list[QWidget] = [choice.tile for choice in self.choices]
            fields = [
                field
                for choice in self.choices
                for field in (choice.url, choice.key, choice.variable, choice.model)
                if field is not None
            ]
            for before, after in pairwise((*tiles, *fields, self.services, self.save_button, self.test)):
                QWidget.setTabOrder(before, after)

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        columns = max(2, min(COLUMNS, self.width() // theme().px(TILE)))
        if columns != self._columns:
            self._columns = columns
            self._place()

    def enter(self) -> None:
        self.jobs.start(self._show_in_use(), "in use")
        if not self._detected:
            self._detected = True
            bind_text(self._detection_status, N_("Looking for model servers on this computer…"))
            self.jobs.start(self._detect(), "detect")
        self.current().focus()

    async def _show_in_use(self) -> None:
        """Offer the model in use first, selected unless another was chosen."""
        agent = (await self._bridge.engine.agents.default()).config
        before, own = self._in_use, (agent.provider, agent.model) == (builtin_type().kind, STARTER)
        if before is not None and not own and before.proposed == agent.model:
            return
        selected = self.current() in (self.starter, before)
        if before is not None:
            self._group.removeButton(before.tile)
            self.choices.remove(before)
            before.tile.deleteLater()
            before.deleteLater()
            self._in_use = None
        self._server_in_use = agent.provider
        if not own and agent.model:
            about = _("In use, provided by {provider}.", provider=provider_name(agent.provider))
            self._in_use = self._add(
                TileChoice("in-use", agent.model, about, self, config=None, proposed=agent.model), 0, show=False
            )
        self._place()
        if selected:
            self._choose(self._in_use or self.starter)

    async def _detect(self) -> None:
        found = await self._bridge.engine.providers.detect()
        for server in found:
            self._add_found(server)
        self._detection_status.hide()

    def _add_found(self, server: Any) -> None:
        count, url = len(server.models), server.base_url

        def about() -> str:
            if not count:
                return _("Running at {url}, but it has no models yet.", url=url)
            return ngettext("{n} model at {url}", "{n} models at {url}", count, url=url)

        config = ProviderConfig(name=server.software, kind=server.kind, base_url=url)
        name = server.software.lower().replace(" ", "-")
        choice = TileChoice(name, server.software, about, self, config=config, models=tuple(server.models))
        choice.tile.setEnabled(count > 0)
        choice.setEnabled(count > 0)
        self._add(choice, len(self.choices) - 1)

    def current(self) -> TileChoice:
        return next((each for each in self.choices if each.tile.isChecked()), self.starter)

    def _choose(self, choice: TileChoice, *, focus: bool = True) -> None:
        choice.tile.setChecked(True)
        for each in self.choices:  # not a stack, which is as high as its highest page
            each.setVisible(each is choice)
        self.key_note.setVisible(choice.key is not None)
        self._chosen()
        if focus:
            choice.focus()

    def _ask_preset(self) -> None:
        """Let the user search services and programs by name."""
        picker = PresetPicker(self)
        picker.chosen.connect(self._apply_preset)
        picker.open()

    def _apply_preset(self, _kind: str, name: str, url: str, example: str) -> None:
        own = next((each for each in self.choices if each.config is not None and each.config.name == name), None)
        if own is None:
            own = self.other
            assert own.url is not None
            own.url.setText(url)
            bind_text(own.url, hint=example or N_("Address, for example https://api.example.com/v1"))
        self._choose(own)

    def _chosen(self) -> None:
        """The selection or input changed: discard the test result and cancel a running test."""
        self._tried = None
        self.busy.drop()
        self.save_button.hide()
        # Not during the test: disabling the focused button would move the focus to Skip.
        self.test.setEnabled(self.current().complete())
        self.ready_changed.emit()

    def ready(self) -> bool:
        """With an address or a key entered: "Next", and Enter in a field, then try what has not answered yet."""
        return self.current().complete()

    def _draft(self, choice: TileChoice) -> tuple[ProviderDraft | None, str]:
        """The provider to test (None for the built-in one), and the model's name (empty: the first listed)."""
        draft, model = choice.draft(), choice.model.currentText().strip() or choice.proposed
        if draft is not None and choice is self.other:
            draft = ProviderDraft(draft.config.model_copy(update={"name": name_for(draft.config, ())}), draft.key)
        return draft, model

    def run_test(self) -> None:
        """Ask the model for a sentence; nothing is stored. Does nothing while something is missing."""
        if not self.current().complete():
            return
        testing = self.jobs.once("test", lambda: self._test(self.current()))
        if testing is not None:
            self._testing = testing
            self.busy.watch(testing, N_("Asking the model…"))

    async def _test(self, choice: TileChoice) -> None:
        draft, model = self._draft(choice)
        providers = self._bridge.engine.providers
        try:
            if draft is not None and not (model and choice.config and choice.model.count()):
                offered = [info.name for info in chat_models(await providers.draft_models(draft))]
                typed = choice.model.currentText().strip()
                model = typed or (model if model in offered or not offered else offered[0])
                choice.offer(tuple(offered), model)
            if not model:
                self._fail(_("This server does not list its models; enter the model name."))
                return
            trial = await (
                providers.try_draft(draft, model)
                if draft is not None
                else providers.try_model(self._server_in_use if choice is self._in_use else builtin_type().kind, model)
            )
        except Exception as error:
            self._fail(await self._reason(draft, error))
            self.save_button.setVisible(draft is not None)
            return
        self._tried = (draft, model)
        shown = _(STARTER_TITLE) if choice is self.starter else model
        self.busy.note(
            _(
                "{model} answered in {time}: “{text}”",
                model=shown,
                time=duration(trial.ms),
                text=shorten(trial.text, 90),
            ),
            "ok",
        )
        self.ready_changed.emit()

    def _save(self) -> None:
        """Save without a test, for example without a network; a key is saved in any case."""
        self._tried = self._draft(self.current())
        self.ready_changed.emit()
        self.continue_requested.emit()

    async def _reason(self, draft: ProviderDraft | None, error: Exception) -> str:
        """What went wrong, without the server's untranslated text.

        If the address seems wrong, the result of the server test, which searches for the right one.
        """
        if draft is None or not isinstance(error, ProviderError):
            return error_text(error)
        if error.code == "auth":
            return Sentence(
                lambda: _(
                    "{provider} refused the API key, or needs one. Check the key above.", provider=draft.config.name
                )
            )
        if not doubtful(error):
            return Sentence(lambda: error.in_words(_))
        try:
            health: ProviderHealth = await self._bridge.engine.providers.test_draft(draft)
        except AtelierError:
            health = ProviderHealth(ok=True)
        same = (health.code, health.found_url) == (error.code, "")
        return Sentence(lambda: error.in_words(_)) if health.ok or same else health.message

    def _fail(self, text: str) -> None:
        self.busy.note(text, "error")

    async def leave(self) -> bool:
        """Store the server, and give its model to the agents that had the default agent's.

        What has not answered is tested first; nothing is stored if it fails, or if the user changes the input, goes
        back or closes the guide meanwhile. The starter needs no test.
        """
        if self.current() is self._in_use:
            return True
        if self._tried is None and self.current() is not self.starter:
            self.run_test()
            if self._testing is not None:
                await asyncio.wait([self._testing])  # also when stopped
            if self._tried is None or not self.isVisible():
                return False
        draft, model = self._tried or (None, STARTER)
        name = await self._store(draft) if draft is not None else builtin_type().kind
        if model:
            await self._bridge.engine.agents.use_model(name, model)
        return True

    async def _store(self, draft: ProviderDraft) -> str:
        """The name under which it is stored: that of the same server if it exists, else an unused one."""
        providers = self._bridge.engine.providers
        there: list[ProviderConfig] = await providers.list()
        same = next(
            (each for each in there if (each.kind, each.base_url) == (draft.config.kind, draft.config.base_url)), None
        )
        if same is None:
            used = {each.name for each in there}
            name = draft.config.name if draft.config.name not in used else name_for(draft.config, used)
            same = draft.config.model_copy(update={"name": name})
            await providers.save(same, new=True)
        elif (draft.key or draft.config.api_key_env) and same.api_key_env != draft.config.api_key_env:
            await providers.save(same.model_copy(update={"api_key_env": draft.config.api_key_env}))
        if draft.key:
            await providers.set_key(same.name, draft.key)
        return same.name

    def reset_form(self) -> None:
        """The input was stored: reset the form."""
        for choice in self.choices:
            choice.clear_input()
        self._choose(self.starter, focus=False)
