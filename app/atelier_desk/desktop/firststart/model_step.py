"""The middle step: which model answers. Every choice is tried for real before it is taken."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLineEdit, QPushButton, QScrollArea, QVBoxLayout, QWidget

from atelier_desk.desktop.firststart.choice import ChoiceCard
from atelier_desk.desktop.firststart.steps import Step
from atelier_desk.desktop.firststart.trial import chat_models, with_model
from atelier_desk.desktop.jobs import Jobs, error_text
from atelier_desk.desktop.panes.wording import duration
from atelier_desk.desktop.settings.busy import Busy
from atelier_desk.desktop.settings.preset_picker import PresetPicker
from atelier_desk.desktop.widgets import control, fill, label, say
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.domain.agent import Agent
from atelier_desk.domain.errors import AtelierError, ProviderError
from atelier_desk.domain.provider import ProviderConfig, ProviderDraft, ProviderHealth
from atelier_desk.domain.text import shorten
from atelier_desk.i18n import N_, _, ngettext
from atelier_desk.llm.local.models import STARTER
from atelier_desk.llm.presets import name_for
from atelier_desk.llm.registry import any_server_type, builtin_type, provider_types
from atelier_desk.llm.wire.address import doubtful

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge


class ModelStep(Step):
    """Cards: built-in starter, servers found on this machine, hosted services that propose a model, any other server."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.jobs = Jobs(self, self._fail)
        self._tried: tuple[ProviderDraft | None, str] | None = None
        self._filling = False
        self._found: dict[str, Any] = {}
        area = self._area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        content = control(QWidget(area), look="plain")
        self._cards_column = fill(QVBoxLayout(content), margins=(0, 0, 4, 0), spacing=8)
        self.starter, self.other = (ChoiceCard(name, self) for name in ("starter", "other"))
        self._hosted = {entry.kind: (entry, ChoiceCard(entry.kind, self), QLineEdit(self)) for entry in provider_types() if entry.model}
        hosted = [card for _entry, card, _key in self._hosted.values()]
        self.cards = [self.starter, *hosted, self.other]
        self._looking = label("", "small", self)
        for widget in (self.starter, self._looking, *hosted, self.other):
            self._cards_column.addWidget(widget)
        self._cards_column.addStretch(1)
        self._build_fields()
        area.setWidget(content)
        self.column.addWidget(area, 1)
        self.busy = Busy(self)
        self.test = control(QPushButton(self), "model-test", N_("Try it"), name=N_("Test the model"), on=self.run_test)
        self.test.setAutoDefault(False)
        row = fill(QHBoxLayout(), (self.busy, 1), 0, self.test, spacing=12)
        self.column.addLayout(row)
        for card in self.cards:
            card.chosen.connect(partial(self._only, card))
        self.starter.radio.setChecked(True)
        self._order()
        # A card that opens is as high as it will be when the area has the new height, not before.
        area.verticalScrollBar().rangeChanged.connect(lambda _least, _most: self._reveal(self.current()))
        say(self.title, N_("Choose a model"))
        say(self.intro, N_("You can change this at any time in Settings, where you can also download larger models."))
        for _entry, _card, key in self._hosted.values():
            say(key, hint=N_("API key"))
        say(self.url, hint=N_("Address, for example https://api.example.com/v1"))
        say(self.key, hint=N_("API key (if required)"))
        say(self._named, hint=N_("Model (leave empty for the first)"))
        self.retranslate()

    def _build_fields(self) -> None:
        self.url, self.key = QLineEdit(self), QLineEdit(self)
        self.model = control(ComboBox(self), "other-model", name=N_("Model"))
        self._named = QLineEdit(self.model)
        self.model.setLineEdit(self._named)
        self.model.setInsertPolicy(ComboBox.InsertPolicy.NoInsert)
        self.model.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.model.editTextChanged.connect(lambda _text: self._chosen())
        lines = {"other-url": self.url, "other-key": self.key}
        lines |= {f"{kind}-key": key for kind, (_entry, _card, key) in self._hosted.items()}
        for name, line in lines.items():
            line.setObjectName(name)
            line.textEdited.connect(lambda _text: self._chosen())
            line.returnPressed.connect(self._entered)
            if name.endswith("-key"):
                line.setEchoMode(QLineEdit.EchoMode.Password)
        self._lines = list(lines.values())
        for _entry, card, key in self._hosted.values():
            fill(QVBoxLayout(card.extra), key, margins=(0, 4, 0, 4))
        grid = QGridLayout(self.other.extra)
        grid.setContentsMargins(0, 4, 0, 4)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self.url, 0, 0, 1, 2)
        grid.addWidget(self.key, 1, 0)
        grid.addWidget(self.model, 1, 1)
        self.services = control(QPushButton(self), "other-services", N_("Choose a service…"), look="link", on=self._ask_preset)
        self.services.setAutoDefault(False)
        grid.addWidget(self.services, 2, 0, Qt.AlignmentFlag.AlignLeft)

    def _order(self) -> None:
        """Tab goes down the cards as they stand, each with its fields."""
        hosted = [widget for _entry, card, key in self._hosted.values() for widget in (card.radio, key)]
        last = (self.other.radio, self.url, self.key, self.model, self.services, self.test)
        for before, after in pairwise((self.starter.radio, *hosted, *last)):
            QWidget.setTabOrder(before, after)

    def _entered(self) -> None:
        """Enter after a key or an address tries it; once it has answered, the dialog goes on with Enter."""
        if self._complete() and not self.ready():
            self.run_test()

    def _ask_preset(self) -> None:
        """Services and programs to search through, for whoever knows the name and not the address."""
        picker = PresetPicker(self)
        picker.chosen.connect(self._take_preset)
        picker.open()
        picker.show_found(server for server, _box in self._found.values())

    def _take_preset(self, kind: str, _name: str, url: str, example: str) -> None:
        if kind in self._hosted:  # it has a card of its own
            _entry, card, line = self._hosted[kind]
            card.radio.setChecked(True)
        else:
            self.url.setText(url)
            say(self.url, hint=example or N_("Address, for example https://api.example.com/v1"))
            line = self.key if url else self.url
            self._chosen()
        line.setFocus()

    # found servers ------------------------------------------------------------------------------------------------------------------

    def enter(self) -> None:
        if not self._found:
            self._looking.setText(_("Looking for model servers on this computer…"))
            self.jobs.start(self._look(), "detect")
        self.current().radio.setFocus()
        self._reveal(self.current())

    async def _look(self) -> None:
        found = await self._bridge.engine.providers.detect()
        for server in found:
            self._add_found(server)
        self._looking.setText("" if found else _("No Ollama, LM Studio or llama.cpp server found on this computer."))
        self._looking.setVisible(not found)

    def _add_found(self, server: Any) -> None:
        card = ChoiceCard(server.software.lower().replace(" ", "-"), self)
        box = ComboBox(card.extra)
        box.setObjectName(f"models-{card.name}")
        box.addItems(list(server.models))
        box.setAccessibleName(_("Model"))
        box.currentIndexChanged.connect(lambda _index: self._chosen())
        if server.models:
            fill(QVBoxLayout(card.extra), box, margins=(0, 4, 0, 4))
        self._found[card.name] = (server, box)
        card.chosen.connect(partial(self._only, card))
        self.cards.insert(1, card)
        self._cards_column.insertWidget(1, card)
        QWidget.setTabOrder(self.starter.radio, card.radio)  # where it stands, not when it came
        QWidget.setTabOrder(card.radio, box)
        self._texts_of_found(card)

    def _texts_of_found(self, card: ChoiceCard) -> None:
        server, _box = self._found[card.name]
        count = len(server.models)
        hint = ngettext("{n} model at {url}", "{n} models at {url}", count, url=server.base_url)
        if not count:
            hint = _("Running at {url}, but it has no model yet.", url=server.base_url)
        card.set_texts(server.software, hint, _("found"))
        card.setEnabled(count > 0)

    # choosing and trying --------------------------------------------------------------------------------------------------------------

    def current(self) -> ChoiceCard:
        return next((card for card in self.cards if card.radio.isChecked()), self.starter)

    def _only(self, card: ChoiceCard) -> None:
        for other in self.cards:
            if other is not card:
                other.radio.setChecked(False)
        self._chosen()
        if self.isVisible():  # a page that was not laid out yet has no place to scroll to
            self._reveal(card)

    def _reveal(self, card: ChoiceCard) -> None:
        """Scroll to all of a card, once it has its new height."""
        QTimer.singleShot(0, card, lambda: self._area.ensureWidgetVisible(card, 0, 8))

    def _chosen(self) -> None:
        """Another card or another value: what was tried no longer counts, and what is being tried is given up."""
        if self._filling:
            return
        self._tried = None
        self.busy.drop()
        self._check()

    def _check(self) -> None:
        # Not while it is tried: a button that goes grey under the focus gives it to the next one, which is Skip.
        self.test.setEnabled(self._complete())
        self.ready_changed.emit()

    def _complete(self) -> bool:
        card = self.current()
        if card.name in self._hosted:
            return bool(self._hosted[card.name][2].text().strip())
        if card is self.other:
            return bool(self.url.text().strip())
        return card.isEnabled()

    def ready(self) -> bool:
        """The starter needs no test; anything else must have answered."""
        return self.current() is self.starter or self._tried is not None

    def _draft(self, card: ChoiceCard) -> tuple[ProviderDraft | None, str]:
        """The provider to try (None for the built-in one), and the model's name (empty: the first it lists). The name is a stand-in:
        which is free is known when it is stored."""
        if card is self.starter:
            return None, STARTER
        if card.name in self._hosted:
            entry, _card, line = self._hosted[card.name]
            return ProviderDraft(ProviderConfig(name=entry.name, kind=entry.kind), line.text().strip()), entry.model
        if card is self.other:
            config = ProviderConfig(name="new", kind=any_server_type().kind, base_url=self.url.text().strip())
            named = config.model_copy(update={"name": name_for(config, ())})
            return ProviderDraft(named, self.key.text().strip()), self.model.currentText().strip()
        server, box = self._found[card.name]
        return ProviderDraft(ProviderConfig(name=server.software, kind=server.kind, base_url=server.base_url)), box.currentText()

    def run_test(self) -> None:
        """Ask the model for a sentence; nothing is stored."""
        testing = self.jobs.once("test", lambda: self._test(self.current()))
        if testing is not None:
            self.busy.watch(testing, N_("Asking the model…"))

    async def _test(self, card: ChoiceCard) -> None:
        draft, model = self._draft(card)
        providers = self._bridge.engine.providers
        try:
            if draft is not None and (not model or card.name in self._hosted):
                offered = [info.name for info in chat_models(await providers.draft_models(draft))]
                model = model if model in offered or not offered else offered[0]
                if card is self.other:
                    self._offer(offered, model)
            if not model:
                self._fail(_("This server does not list its models; enter the model name."))
                return
            trial = await (providers.try_draft(draft, model) if draft is not None else providers.try_model(builtin_type().kind, model))
        except Exception as error:
            self._fail(await self._reason(draft, error))
            return
        self._tried = (draft, model)
        shown = model if draft is not None else _("Built-in starter")
        self.busy.note(_("{model} answered in {time}: “{text}”", model=shown, time=duration(trial.ms), text=shorten(trial.text, 90)), "ok")
        self.ready_changed.emit()

    def _offer(self, models: list[str], chosen: str) -> None:
        """What the server lists can be chosen from; that is no change of what is tried."""
        self._filling = True
        self.model.clear()
        self.model.addItems(models)
        self.model.setCurrentText(chosen)
        self._filling = False

    async def _reason(self, draft: ProviderDraft | None, error: Exception) -> str:
        """What went wrong; when the address looks wrong, what the server's test says, which looks around for the right one."""
        if draft is None or not isinstance(error, ProviderError) or not doubtful(error):
            return error_text(error)
        try:
            health: ProviderHealth = await self._bridge.engine.providers.test_draft(draft)
        except AtelierError:
            return error_text(error)
        return error_text(error) if health.ok else health.message

    def _fail(self, text: str) -> None:
        self.busy.note(text, "error")

    async def leave(self) -> bool:
        """Store the server that answered, and give its model to the agents that had the default agent's."""
        draft, model = self._tried or (None, STARTER)
        name = await self._store(draft) if draft is not None else builtin_type().kind
        agent: Agent = await self._bridge.engine.agents.default()
        before = agent.config.provider, agent.config.model
        if before != (name, model):
            agents = self._bridge.engine.agents
            for each in await agents.list():
                if (each.config.provider, each.config.model) == before:
                    await agents.save(with_model(each.config, name, model), each.id)
        return True

    async def _store(self, draft: ProviderDraft) -> str:
        """The name it is kept under: that of the same server where it is there already, else a free one."""
        providers = self._bridge.engine.providers
        there: list[ProviderConfig] = await providers.list()
        same = next((each for each in there if (each.kind, each.base_url) == (draft.config.kind, draft.config.base_url)), None)
        if same is None:
            taken = {each.name for each in there}
            name = draft.config.name if draft.config.name not in taken else name_for(draft.config, taken)
            same = draft.config.model_copy(update={"name": name})
            await providers.save(same, new=True)
        if draft.key:
            await providers.set_key(same.name, draft.key)
        return same.name

    def retranslate(self) -> None:
        self.starter.set_texts(
            _("Built-in starter"),
            _(
                "Works offline, right away. It can calculate, manage tasks and memories and ask questions, but is "
                "too small for a real dialogue."
            ),
            _("ready"),
        )
        for entry, card, _key in self._hosted.values():
            card.set_texts(_(entry.title), _(entry.hint))
        self.other.set_texts(_("Another server"), _("Any OpenAI-compatible server, on this computer or elsewhere."))
        for line in self._lines:
            line.setAccessibleName(line.placeholderText())
        for card in self.cards:
            if card.name in self._found:
                self._texts_of_found(card)
