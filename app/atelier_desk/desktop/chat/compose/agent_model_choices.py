"""Agent and model of the workflow in view: the contents of the pickers, and the selection, stored with the workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.widgets.picker import PickerItem
from atelier_desk.domain.agent import Choices, Thinking
from atelier_desk.domain.provider import STARTER_TITLE
from atelier_desk.engine.gateways.model_gateway import DEFAULT_WINDOW
from atelier_desk.presentation.model_names import model_name, provider_name, unlisted_model_name
from atelier_desk.presentation.permission_profiles import Profile, mode_of, profile_of
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.header import ChatHeader
    from atelier_desk.domain.agent import Agent
    from atelier_desk.domain.provider import ModelInfo
    from atelier_desk.domain.settings import Settings
    from atelier_desk.domain.workflow import Workflow

RECENT = 4
"""Number of recently chosen models listed before the others."""


def key_of(provider: str, model: str) -> str:
    """The key of a model in pickers: provider and model joined by a slash, which no provider name contains."""
    return f"{provider}/{model}"


def describe(info: ModelInfo) -> str:
    """Context window and prices of a model, if known: ``128 k · $0.25 / $2.00``."""
    window = [_("{tokens} tokens", tokens=locale_format.tokens(info.context_window))] if info.context_window else []
    known = [each for each in (info.price_input, info.price_output) if each is not None]
    prices = " / ".join(map(locale_format.cost, known)) if any(known) else _("free")
    return " · ".join([*window, *([prices] if known else [])])


def abilities(info: ModelInfo) -> tuple[tuple[str, str], ...]:
    """Known capabilities of a model, as icons with labels."""
    known = (
        (info.supports_tools, "wrench", _("tools")),
        (info.supports_vision, "image", _("images")),
        (info.supports_thinking, "brain", _("reasoning")),
    )
    return tuple((icon, word) for can, icon, word in known if can)


def model_choices(models: Sequence[ModelInfo], favourites: Sequence[str], recent: Sequence[str]) -> list[PickerItem]:
    """The chat models by group: favourites, recent ones, then one group per provider.

    Each model is in the first group that fits.
    """
    chat = {key_of(info.provider, info.name): info for info in models if not info.embedding}

    def made(key: str, group: str = "") -> PickerItem:
        info = chat[key]
        provider = provider_name(info.provider)
        words = " · ".join(filter(None, (provider if group else "", describe(info))))
        return PickerItem(
            key, model_name(info), group or provider, words, abilities(info), starred=key in favourites, also=info.name
        )

    starred = [made(key, _("Favourites")) for key in favourites if key in chat]
    latest = [made(key, _("Recent")) for key in recent if key in chat and key not in favourites]
    shown = {each.key for each in (*starred, *latest)}
    return [*starred, *latest, *(made(key) for key in chat if key not in shown)]


def model_labels(models: Sequence[ModelInfo]) -> dict[tuple[str, str], str]:
    """Labels of models by provider and name, if they differ from the name.

    Without that of the starter model, which follows the language: see ``unlisted_model_name``.
    """
    return {(info.provider, info.name): info.label for info in models if info.label not in ("", STARTER_TITLE)}


def effort_choices() -> list[PickerItem]:
    """The levels of reasoning effort."""
    own = PickerItem("", _("Agent default"))
    levels = (("off", _("Off")), ("low", _("Low")), ("medium", _("Medium")), ("high", _("High")))
    return [own, *(PickerItem(key, text) for key, text in levels)]


class WorkflowChoices(QObject):
    """Fills the pickers of the header.

    The selection is stored with the workflow, or held until the first message creates one.

    Attributes:
        chosen: choices that override the agent's configuration.
        profile: the agent's permission profile here; None while there is no agent.

    Signals:
        shown: the agent or model may have changed; provider and model.
    """

    shown = Signal(str, str)

    def __init__(self, bridge: Bridge, header: ChatHeader, parent: QObject | None) -> None:
        super().__init__(parent)
        self._bridge, self._header = bridge, header
        self.agents: list[Agent] = []
        self.models: list[ModelInfo] = []
        self.profile: Profile | None = None
        self.workflow_id = ""
        self._agent_id = ""
        self._default_agent_id = ""
        self._chosen: Choices | None = None
        self._settings: Settings | None = None
        self._storing: asyncio.Task[object] | None = None
        header.agent_chosen.connect(self._on_agent)
        header.model_chosen.connect(self._on_model)
        header.effort_chosen.connect(self._on_effort)
        header.models.starred.connect(self._on_model_starred)
        header.agents.starred.connect(self._on_agent_starred)
        header.models.closed.connect(self.show)

    async def load(self) -> None:
        """Load the agents, then the models: a slow server delays only the models."""
        self.agents = await self._bridge.engine.agents.list()
        self._default_agent_id = (await self._bridge.engine.agents.default()).id if self.agents else ""
        self._settings = await self._bridge.engine.settings.get()
        self.show()
        self._bridge.jobs.start(self._load_models(), "models of the pickers")

    async def _load_models(self) -> None:
        self.models = await self._bridge.engine.models.list()
        self.show()

    def set_workflow(self, workflow: Workflow | None) -> None:
        """Set the workflow in view, with its agent and choices; None: the next message creates one."""
        self.workflow_id = workflow.id if workflow is not None else ""
        self._agent_id = workflow.agent_id if workflow is not None else ""
        self._chosen = workflow.choices if workflow is not None else None
        self.show()

    def refresh_from(self, workflow: Workflow) -> None:
        """The workflow in view was changed, by the command line or by a choice made here."""
        settled = self._storing is None or self._storing.done()
        if settled and (workflow.agent_id, workflow.choices) != (self._agent_id, self.chosen):
            self.set_workflow(workflow)

    @property
    def chosen(self) -> Choices:
        if self._chosen is None and not self.workflow_id:
            return self.fresh[1]
        return self._chosen or Choices()

    @property
    def agent(self) -> Agent | None:
        """The agent that answers."""
        return self._agent(self._agent_id) or (
            self._agent(self._default_agent_id) if self.workflow_id else self.fresh[0]
        )

    @property
    def fresh(self) -> tuple[Agent | None, Choices]:
        """Preselect the most recently used agent and model for a new workflow."""
        last, used = (
            (self._settings.last_agent_id, self._settings.last_model) if self._settings is not None else ("", "")
        )
        agent = self._agent(last) or self._agent(self._default_agent_id) or (self.agents[0] if self.agents else None)
        provider, _slash, model = used.partition("/")
        return agent, Choices(provider=provider, model=model)

    def _agent(self, agent_id: str) -> Agent | None:
        return next((each for each in self.agents if each.id == agent_id), None)

    def used(self) -> None:
        """A message is sent: new workflows will start with this agent and model."""
        agent = self.agent
        if agent is None or self._settings is None:
            return
        fields = {"last_agent_id": agent.id, "last_model": key_of(*self.model) if self.chosen.model else ""}
        if any(getattr(self._settings, name) != value for name, value in fields.items()):
            self._save(**fields)

    @property
    def model(self) -> tuple[str, str]:
        """Provider and model that answer; empty when there is no agent."""
        agent, chosen = self.agent, self.chosen
        if chosen.model:
            names = self._settings.provider_names if self._settings is not None else {}
            return names.get(chosen.provider, chosen.provider), chosen.model
        return (agent.config.provider, agent.config.model) if agent else ("", "")

    @property
    def info(self) -> ModelInfo | None:
        """The metadata of that model, if known."""
        return next((each for each in self.models if (each.provider, each.name) == self.model), None)

    @property
    def labels(self) -> dict[str, str]:
        """Labels of each agent's model by agent id; the selected agent has the selected model."""
        found = {each.id: self.label_of(each.config.provider, each.config.model) for each in self.agents}
        return found | ({self.agent.id: self.label_of(*self.model)} if self.agent is not None else {})

    @property
    def ready_label(self) -> str:
        """The label of the model that a ready-made agent gets: the default agent's."""
        default = self._agent(self._default_agent_id)
        return self.label_of(default.config.provider, default.config.model) if default is not None else ""

    def label_of(self, provider: str, model: str) -> str:
        """The label of a model, or its name."""
        return model_labels(self.models).get((provider, model)) or unlisted_model_name(provider, model)

    @property
    def window(self) -> int:
        """The model's context window in tokens: a default if its server reports none, 0 until the models are loaded."""
        info = self.info
        return (info.context_window or DEFAULT_WINDOW) if info is not None else 0

    async def stored(self) -> None:
        """Wait until the selection is stored with the workflow."""
        if self._storing is not None and not self._storing.done():
            await asyncio.wait([self._storing])

    def show(self) -> None:
        """Fill the pickers."""
        agent, settings = self.agent, self._settings
        starred = settings.favourite_agents if settings is not None else ()
        labels = self.labels
        first = sorted(self.agents, key=lambda each: each.id not in starred)
        agents = [
            PickerItem(each.id, each.config.name, "", labels[each.id], starred=each.id in starred) for each in first
        ]
        self._header.set_agents(agents, agent.id if agent else "")
        provider, model = self.model
        favourites = settings.favourite_models if settings is not None else ()
        models = model_choices(self.models, favourites, settings.recent_models[:RECENT] if settings is not None else ())
        key, info = key_of(provider, model), self.info
        if model and info is None:
            models.insert(0, PickerItem(key, unlisted_model_name(provider, model), "", provider_name(provider)))
        effort = self.chosen.thinking.value if self.chosen.thinking is not None else ""
        levels = effort_choices() if effort or (info is not None and info.supports_thinking) else []
        level = [each.text for each in levels if effort and each.key == effort]
        self._header.set_models(models, key, " · ".join([self.label_of(provider, model), *level]))
        self._header.more.set_efforts(levels, effort)
        mode = self.chosen.approval or (agent.config.approval if agent else None)
        self.profile = profile_of(mode) if mode is not None else None
        self.shown.emit(provider, model)

    def _on_agent(self, agent_id: str) -> None:
        self._agent_id = agent_id
        self.choose(self.chosen.without_model())

    def _on_model(self, key: str) -> None:
        provider, _slash, model = key.partition("/")
        agent = self.agent
        own = agent is not None and (agent.config.provider, agent.config.model) == (provider, model)
        picked = {"provider": "", "model": ""} if own else {"provider": provider, "model": model}
        self.choose(self.chosen.model_copy(update=picked))
        if self._settings is not None:
            recent = (key, *(each for each in self._settings.recent_models if each != key))[: 2 * RECENT]
            self._save(recent_models=recent)

    def _on_effort(self, level: str) -> None:
        self.choose(self.chosen.model_copy(update={"thinking": Thinking(level) if level else None}))

    def choose_profile(self, name: str) -> None:
        """Set the permission profile of this workflow, from its next message on."""
        self.choose(self.chosen.model_copy(update={"approval": mode_of(name)}))

    def choose(self, choices: Choices) -> None:
        """Apply choices, and store them with the workflow if there is one."""
        self._chosen = choices
        self.show()
        if self.workflow_id:
            agent_id = self._agent_id
            self._storing = self._bridge.jobs.start(self._store(self._storing, self.workflow_id, choices, agent_id))

    async def choose_now(self, choices: Choices) -> None:
        """Apply choices and wait until they are stored. Raises the engine's errors."""
        await self.stored()
        workflow_id = self.workflow_id
        if workflow_id:
            await self._bridge.engine.workflows.choose(workflow_id, choices, agent_id=self._agent_id)
        if workflow_id == self.workflow_id:
            self._chosen = choices
            self.show()

    async def _store(
        self, before: asyncio.Task[object] | None, workflow_id: str, choices: Choices, agent_id: str
    ) -> None:
        if before is not None and not before.done():
            await asyncio.wait([before])  # in the order of selection
        try:
            await self._bridge.engine.workflows.choose(workflow_id, choices, agent_id=agent_id)
        except Exception:
            workflow = await self._bridge.engine.workflows.get(workflow_id)
            if self.workflow_id == workflow_id and self._chosen is choices:
                self.set_workflow(workflow)
            raise

    def _on_model_starred(self, key: str, on: bool) -> None:
        if self._settings is not None:
            self._save(favourite_models=_starred(self._settings.favourite_models, key, on))

    def _on_agent_starred(self, agent_id: str, on: bool) -> None:
        if self._settings is not None:
            self._save(favourite_agents=_starred(self._settings.favourite_agents, agent_id, on))

    def _save(self, **fields: tuple[str, ...] | str) -> None:
        assert self._settings is not None
        self._settings = self._settings.model_copy(update=fields)
        self._bridge.jobs.start(self._bridge.engine.settings.update(**fields))
        if self._header.models.menu_open is None:
            self.show()  # an open menu is not reordered under the pointer


def _starred(before: tuple[str, ...], key: str, on: bool) -> tuple[str, ...]:
    return (*(each for each in before if each != key), *([key] if on else []))
