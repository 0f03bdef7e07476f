"""Agents: stored configurations, agent files, and built-in agents."""

from __future__ import annotations

import builtins
import json
from datetime import timedelta
from typing import TYPE_CHECKING

from atelier_desk.domain import final_answer_schema, limits
from atelier_desk.domain.agent import Agent, AgentConfig, ToolMode
from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, UsageError
from atelier_desk.engine.gateways.model_gateway import DEFAULT_WINDOW
from atelier_desk.engine.importing.imported_data_restrictions import asking_mode
from atelier_desk.engine.services.agent_gallery import BUILTIN, READY, builtin_agents
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.import_conflict_choice import OnConflict
from atelier_desk.engine.services.common.service import Service
from atelier_desk.engine.services.common.workflow_names import numbered
from atelier_desk.llm.model_assumptions import profile
from atelier_desk.llm.provider_type_registry import provider_type
from atelier_desk.support.i18n import LANGUAGES, N_, _, language, program_language, spoken
from atelier_desk.tools.registry.sections import CONTEXT, CORE, FILES, SERVERS, SHELL, WEB

if TYPE_CHECKING:
    from atelier_desk.engine.importing.agent_files import ForeignAgent
    from atelier_desk.engine.services.request.prompt_size import PromptCost


class AgentService(Service):
    """Agents with unique names. Changes are announced as ``agent`` with the agent's id."""

    async def list(self) -> list[Agent]:
        """All agents by name."""
        return await self._context.repos.agents.list()

    async def get(self, agent_id: str) -> Agent:
        return await self._context.repos.agents.get(agent_id)

    async def by_name(self, name: str) -> Agent:
        """Return the agent with this name; the error lists the existing ones."""
        found = await self._named(name)
        if found is None:
            names = ", ".join(agent.name for agent in await self.list()) or _("none")
            raise NotFoundError(N_("There is no agent {name}. Agents: {names}."), name=name, names=names)
        return found

    async def save(self, config: AgentConfig, id: str | None = None) -> Agent:
        """Store a new agent, or change the one with ``id``.

        The name must be free, every tool and section known, and the answer schema a JSON Schema of an object. Unknown
        items that the stored agent already has are accepted: a tool file that is not loaded now must not block a
        change.
        """
        old = None if id is None else await self.get(id)
        self.check_tools(config, stored=old.config if old is not None else None)
        if config.answer_schema is not None:
            final_answer_schema.check(config.answer_schema)
        other = await self._named(config.name)
        if other is not None and other.id != id:
            raise ConflictError(N_("An agent named {name} already exists."), name=config.name)
        now = self._context.clock.now()
        if old is None:
            agent = Agent(config=config, created_at=now, updated_at=now)
        else:
            agent = old.model_copy(update={"config": config, "updated_at": now})
        await self._context.repos.agents.save(agent)
        self._context.bus.changed("agent", agent.id)
        if old is not None and old.config.approval is not config.approval:
            await self._context.runs.rights_withdrawal.apply(mode=config.approval, agent_id=agent.id)
        return agent

    async def delete(self, agent_id: str) -> None:
        """Delete an agent. Workflows that used it continue with the default agent; the last agent cannot be deleted."""
        agents = await self.list()
        if all(agent.id != agent_id for agent in agents):
            raise NotFoundError(N_("There is no agent with the id {id}."), id=agent_id)
        if len(agents) == 1:
            raise UsageError(N_("The last agent cannot be removed; add another one first."), code="last_agent")
        await self._context.repos.agents.delete(agent_id)
        settings = await self._context.repos.settings.load()
        if settings.default_agent_id == agent_id:
            await self._context.repos.settings.save(settings.model_copy(update={"default_agent_id": ""}))
            self._context.bus.changed("settings", "default_agent_id")
        self._context.bus.changed("agent", agent_id)

    async def duplicate(self, agent_id: str) -> Agent:
        config = (await self.get(agent_id)).config
        return await self.save(config.model_copy(update={"name": await self._free_name(config.name)}))

    async def export_json(self, agent_id: str) -> str:
        """Return the agent file: the JSON of its configuration."""
        config = (await self.get(agent_id)).config
        return json.dumps(config.model_dump(mode="json"), ensure_ascii=False, indent=1)

    async def read_file(self, text: str, name: str) -> ForeignAgent:
        """Read an agent from another program's file, translating tools; nothing is stored. ``name`` is the file's.

        A JSON file is Atelier's own, of which everything is used except a mode that asks less often than a new agent's.

        Raises:
            UsageError, LimitError: it is not an agent file, or its instructions are too long.
        """
        from atelier_desk.engine.importing.agent_files import Surroundings, is_foreign, read

        if not is_foreign(text, name):
            return asking(input_checks.parse_json(AgentConfig, text, _("agent file")))
        registry, default = self._context.registry, (await self.default()).config
        usual = [
            tool.name
            for section in (CORE, FILES, SHELL, WEB, CONTEXT)
            for tool in registry.get_tools_by_section(section)
        ]
        providers = [provider.name for provider in await self._context.providers.list()]
        here = Surroundings(registry.get_all_tool_names(), usual, providers, default.provider, default.model)
        return read(text, name, here)

    async def import_config(self, config: AgentConfig, on_conflict: OnConflict | str = OnConflict.RENAME) -> Agent:
        """Store an agent read from a file; ``on_conflict`` applies if its name is taken."""
        rule = OnConflict.parse(on_conflict)
        other = await self._named(config.name)
        if other is None:
            return await self.save(config)
        if rule is OnConflict.SKIP:
            return other
        if rule is OnConflict.OVERWRITE:
            return await self.save(config, other.id)
        return await self.save(config.model_copy(update={"name": await self._free_name(config.name)}))

    async def default(self) -> Agent:
        """Return the agent of a new workflow: the configured one, else the oldest. Created if there is none at all."""
        agents = await self.list() or await self.ensure_builtin()
        chosen = (await self._context.repos.settings.load()).default_agent_id
        return next((agent for agent in agents if agent.id == chosen), None) or min(
            agents, key=lambda agent: (agent.created_at, agent.id)
        )

    async def of_default_model(self) -> builtins.list[Agent]:
        """Return the default agent and those with the same model, which change together."""
        default = await self.default()
        had = default.config.provider, default.config.model
        others = [
            each
            for each in await self.list()
            if each.id != default.id and (each.config.provider, each.config.model) == had
        ]
        return [default, *others]

    async def use_model(self, provider: str, model: str) -> builtins.list[Agent]:
        """Set the model of ``of_default_model``, and so of new workflows. Returns the changed agents as they were
        before.

        Raises:
            NotFoundError: there is no such provider, or the built-in one has no such model.
            UsageError: the provider is disabled.
        """
        config = await self._context.providers.get(provider)
        if provider_type(config.kind).builtin or not config.enabled:
            # reports problems that affect every request; a server is not asked
            await self._context.models.info(config.name, model)
        provider = config.name
        before = [
            each
            for each in await self.of_default_model()
            if (each.config.provider, each.config.model) != (provider, model)
        ]
        await self._context.settings.update(last_model="")
        for each in before:
            await self.save(each.config.model_copy(update={"provider": provider, "model": model}), each.id)
        return before

    async def ensure_builtin(self) -> builtins.list[Agent]:
        """Create the built-in agents, in the current language, if there is no agent yet; return all agents.

        The first is the oldest, and so the default, even if they are created within one clock tick.
        """
        agents = await self.list()
        if agents:
            return agents
        now = self._context.clock.now()
        for number, config in enumerate(builtin_agents(self._context.registry)):
            made = now + timedelta(milliseconds=number)
            agent = Agent(config=config, created_at=made, updated_at=made)
            await self._context.repos.agents.save(agent)
            self._context.bus.changed("agent", agent.id)
        return await self.list()

    async def translate_builtin(self) -> None:
        """Give the built-in agents whose texts are still those of another language the texts of the program's."""
        agents = await self.list()
        names = {each.name for each in agents}
        for ready in BUILTIN:
            with spoken(program_language()):  # a command that sets the language still answers in the one before
                texts = ready.texts()
            others: builtins.list[dict[str, object]] = []
            for code in LANGUAGES:
                with spoken(code):
                    others.append(ready.texts())
            for agent in agents:
                stored = agent.config.model_dump(include=set(texts))
                if stored in others and stored != texts and texts["name"] not in names - {agent.name}:
                    await self.save(agent.config.model_copy(update=texts), agent.id)

    async def ready(self, key: str) -> AgentConfig:
        """Return a copy of a gallery agent, in the current language, with the default agent's model; nothing is stored.

        Raises:
            NotFoundError: there is no such key; the error lists the keys.
        """
        found = next((each for each in READY if each.key == key), None)
        if found is None:
            raise NotFoundError(
                N_("There is no ready-made agent {key}. Ready-made agents: {known}."),
                key=key,
                known=", ".join(each.key for each in READY),
            )
        default = (await self.default()).config
        return found.config(self._context.registry, default.provider, default.model)

    async def prompt_cost(self, config: AgentConfig) -> dict[ToolMode, PromptCost]:
        """Return the prompt tokens of a run with a folder before any message, by tool mode: system message and listed
        definitions.

        Estimated, and calibrated by the server's counts since the start.
        """
        from atelier_desk.engine.services.request.prompt_size import prompt_cost

        now, lang = self._context.clock.now(), language()
        try:
            known = (await self._context.models.info(config.provider, config.model)).context_window
        except (AtelierError, TimeoutError):
            known = profile("", config.model).context_window
        window = known or DEFAULT_WINDOW
        counted = self._context.runs.env.calibration(config)
        registry = self._context.registry
        return {
            mode: prompt_cost(registry, config, mode, language=lang, now=now, window=window, calibration=counted)
            for mode in ToolMode
        }

    async def _named(self, name: str) -> Agent | None:
        try:
            return await self._context.repos.agents.by_name(name)
        except NotFoundError:
            return None

    async def _free_name(self, name: str) -> str:
        return numbered(name, {agent.name for agent in await self.list()}, length=limits.AGENT_NAME)

    def check_tools(self, config: AgentConfig, *, stored: AgentConfig | None) -> None:
        """Refuse unknown tools and sections, except those of ``stored``; the error lists known ones.

        Tools of MCP servers may come and go.

        Raises:
            UsageError: ``unknown_tool`` or ``unknown_section``.
        """
        known = list(self._context.registry.get_all_tool_names())
        unchanged = stored.tools if stored is not None else ()
        unknown = [
            name
            for name in config.tools
            if name not in known and name not in unchanged and not name.startswith("mcp__")
        ]
        if unknown:
            raise UsageError(
                N_("Unknown tools: {names}. Available: {known}."),
                code="unknown_tool",
                names=", ".join(unknown),
                known=", ".join(sorted(known)),
            )
        self.check_sections(config, stored=stored)

    async def check_given(self, config: AgentConfig) -> None:
        """Refuse unknown sections in a configuration for one run, unless the stored agent of its name has them.

        Raises:
            UsageError: ``unknown_section``.
        """
        if config.sections:
            stored = await self._named(config.name)
            self.check_sections(config, stored=stored.config if stored is not None else None)

    def check_sections(self, config: AgentConfig, *, stored: AgentConfig | None) -> None:
        """Check only the sections; see ``check_tools``.

        Raises:
            UsageError: ``unknown_section``.
        """
        known = [section.id for section in self._context.registry.sections.all()]
        accepted = (*known, *(stored.sections if stored is not None else ()))
        unknown = [name for name in config.sections if name not in accepted and not name.startswith(SERVERS)]
        if unknown:
            raise UsageError(
                N_("Unknown tool sections: {names}. Available: {known}."),
                code="unknown_section",
                names=", ".join(unknown),
                known=", ".join(known),
            )


def asking(config: AgentConfig) -> ForeignAgent:
    """Return an agent from a file with at least the approvals of a new one: no file may let an agent work unasked."""
    from atelier_desk.engine.importing.agent_files import ASKS_LESS, ForeignAgent

    mode = asking_mode(config.approval)
    if mode is config.approval:
        return ForeignAgent(config)
    note = UsageError(ASKS_LESS, code="note", recoverable=None, name=config.approval.value)
    return ForeignAgent(config.model_copy(update={"approval": mode}), (note,))
