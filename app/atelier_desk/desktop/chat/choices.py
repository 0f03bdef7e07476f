"""Which agent and which model answer in the workflow in view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.chat.entries import Entry
    from atelier_desk.desktop.chat.header import ChatHeader
    from atelier_desk.domain.agent import Agent, AgentConfig
    from atelier_desk.domain.provider import ModelInfo


class Choices(QObject):
    """Fills the header's pickers and remembers what was picked.

    Signals:
        shown: who answers may be another now; provider and model.
    """

    shown = Signal(str, str)

    def __init__(self, bridge: Bridge, header: ChatHeader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge, self._header = bridge, header
        self.agents: list[Agent] = []
        self.models: list[ModelInfo] = []
        self.workflow_id = ""
        self._agent_id = ""
        self._default_agent_id = ""
        self._model: tuple[str, str] | None = None
        header.agent_chosen.connect(self._on_agent)
        header.model_chosen.connect(self._on_model)

    async def load(self) -> None:
        """Read agents and models."""
        self.agents = await self._bridge.engine.agents.list()
        self._default_agent_id = (await self._bridge.engine.agents.default()).id if self.agents else ""
        self.models = await self._bridge.engine.models.list()
        self.show()

    def set_workflow(self, workflow_id: str, agent_id: str = "", entries: Iterable[Entry] = ()) -> None:
        """Another workflow is in view: its agent, and the model of its newest answer when that is not the agent's own."""
        self.workflow_id, self._agent_id = workflow_id, agent_id
        self._model = self._model_of(list(entries))
        self.show()

    @property
    def agent(self) -> Agent | None:
        """The agent that answers."""
        for wanted in (self._agent_id, self._default_agent_id):
            for agent in self.agents:
                if agent.id == wanted:
                    return agent
        return self.agents[0] if self.agents else None

    @property
    def model(self) -> tuple[str, str]:
        """Provider and model that answer; empty when there is no agent."""
        agent = self.agent
        return self._model or ((agent.config.provider, agent.config.model) if agent else ("", ""))

    @property
    def window(self) -> int:
        """Tokens that fit into a request to that model, 0 when nobody knows."""
        info = next((each for each in self.models if (each.provider, each.name) == self.model), None)
        return (info.context_window or 0) if info is not None else 0

    @property
    def config(self) -> AgentConfig | None:
        """The agent with the model chosen beside it; None when the stored agent is right as it is."""
        agent = self.agent
        if agent is None or self._model is None:
            return None
        return agent.config.model_copy(update={"provider": self._model[0], "model": self._model[1]})

    def show(self) -> None:
        """Fill the pickers."""
        agent = self.agent
        self._header.set_agents(self.agents, agent.id if agent else "")
        self._header.set_models(self.models, *self.model)
        self.shown.emit(*self.model)

    def _model_of(self, entries: list[Entry]) -> tuple[str, str] | None:
        agent = self.agent
        newest = next((entry for entry in reversed(entries) if entry.provider and entry.model), None)
        if newest is None or agent is None or (newest.provider, newest.model) == (agent.config.provider, agent.config.model):
            return None
        known = any((info.provider, info.name) == (newest.provider, newest.model) for info in self.models)
        return (newest.provider, newest.model) if known else None

    def _on_agent(self, agent_id: str) -> None:
        self._agent_id, self._model = agent_id, None
        self.show()
        workflow_id = self.workflow_id
        if workflow_id:
            self._bridge.jobs.start(self._bridge.engine.workflows.set_agent(workflow_id, agent_id))

    def _on_model(self, provider: str, model: str) -> None:
        agent = self.agent
        own = agent is not None and (agent.config.provider, agent.config.model) == (provider, model)
        self._model = None if own else (provider, model)
        self.shown.emit(provider, model)
