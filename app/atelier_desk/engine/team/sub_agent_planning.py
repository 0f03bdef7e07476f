"""Convert requests of the planning tools to sub-agents with at most their parent's rights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from atelier_desk.domain import limits
from atelier_desk.domain.agent import Agent, AgentConfig, Budget, Lifecycle, ToolMode
from atelier_desk.domain.errors import AtelierError, ToolError
from atelier_desk.domain.sub_agent import ChildPlan, ChildState
from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.gateways.direct_tool_call import direct_agent, direct_message
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request.toolset import toolset
from atelier_desk.engine.runs.effective_agent import responder
from atelier_desk.policy.agent_rights import Rights, grant
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.base import ChildRequest, Colleague
from atelier_desk.tools.calls.stable_record_ids import stable_id
from atelier_desk.tools.registry.sections import PLANNING, SERVERS
from atelier_desk.tools.registry.tool_modes import planners
from atelier_desk.tools.teams.team_tool_base import listed

if TYPE_CHECKING:
    from atelier_desk.engine.journal.journal import RunHandle
    from atelier_desk.engine.run.driver_dependencies import RunEnvironment
    from atelier_desk.engine.team.team_interface import TeamPort

DEFAULT_PROMPT = (
    "You are a specialised sub-agent. You know only what your prompt says. Do exactly this task, then give your "
    "result as your final "
    "answer: a Markdown report that begins with a short summary. Say what you could not do or had to assume."
)


def child_id(run_id: str, call_id: str, index: int) -> str:
    """Return the run id, equal for every attempt at the same call."""
    return stable_id(f"{run_id}:{call_id}:{index}", "child")


class TeamBroker:
    """``Team`` for one run."""

    def __init__(self, env: RunEnvironment, teams: TeamPort, handle: RunHandle) -> None:
        self._env = env
        self._teams = teams
        self._handle = handle
        self.depth = handle.current.depth
        self.max_depth = handle.current.max_depth

    async def plan(self, call_id: str, requests: Sequence[ChildRequest]) -> tuple[ChildPlan, ...]:
        """See ``Team.plan``."""
        state = self._handle.current
        if state.depth >= state.max_depth:
            raise ToolError(
                (
                    f"You are at depth {state.depth}, where no more agents can be started (limit {state.max_depth}). "
                    f"Do "
                    f"the work yourself."
                ),
                code="depth",
            )
        first = min((request.stage for request in requests), default=0)
        wanted, free = sum(request.stage == first for request in requests), self.free_slots()
        if wanted > free:
            raise ToolError(
                f"{wanted} sub-agents were asked for and {free} more may be alive now, of {limits.CHILDREN} in all. "
                "Ask for fewer, or wait until some are done.",
                code="too_many_children",
            )
        own = toolset(self._env.registry, state).usable
        named = any(request.agent_id and request.call is None for request in requests)
        stored = await self._env.repos.agents.list() if named else []
        return tuple(
            [
                await self._plan(state, own, stored, child_id(state.run_id, call_id, n), each)
                for n, each in enumerate(requests)
            ]
        )

    async def children(self) -> list[ChildState]:
        """See ``Team.children``."""
        return await self._teams.child_states(self._handle)

    async def colleagues(self) -> list[Colleague]:
        """See ``Team.colleagues``."""
        return _colleagues(self._handle.current, await self._env.repos.agents.list())

    async def terminate(self, child_id: str) -> ChildState:
        """See ``Team.terminate``."""
        known = self._handle.current.children
        found = next((child for child in known if child.id == child_id), None)
        if found is None:
            raise ToolError(f"You have no sub-agent {child_id}. Yours: {listed(known)}.", code="unknown_child")
        if found.status.over or found.started_at is None:
            raise ToolError(f"{found.name} is not at work: {found.status.value}.", code="not_running")
        return await self._teams.terminate(self._handle, child_id)

    def free_slots(self) -> int:
        """See ``Team.free_slots``."""
        return self._teams.free_slots(self._handle.current.root_run_id)

    async def _plan(
        self, state: RunState, own: Sequence[str], stored: Sequence[Agent], run_id: str, request: ChildRequest
    ) -> ChildPlan:
        agent_id = ""
        prompt = request.prompt
        if request.call is not None:
            tool, arguments = request.call
            self._known_tools((tool,), own)
            base = direct_agent(tool).model_copy(update={"name": request.name})
            wanted_tools: tuple[str, ...] = (tool,)
            prompt = direct_message(tool, arguments)
        elif request.agent_id:
            found = _named(state, stored, request.agent_id)
            base, agent_id = found.config, found.id
            wanted_tools = self._configured(base)
        else:
            like = await self._template_agent(state)
            base = await self._made_up(state, like, request)
            wanted_tools = self._requested_tools(request, own, own if like is state.agent else self._configured(like))
            if request.mcp_servers is not None:
                wanted_tools = tuple(name for name in wanted_tools if self._of_servers(name, request.mcp_servers))
        if request.budget is not None:
            base = base.model_copy(update={"budget": request.budget})
        elif not agent_id and state.agent.provider != DIRECT_CALL:
            # A parent's limits are divided among its sub-agents; a direct call has none, so the agent's apply.
            base = base.model_copy(update={"budget": Budget()})
        agent, withheld = self._granted(state, own, base, wanted_tools)
        refused = self._teams.breakers.open_for(agent_id, agent) if request.call is None else None
        if refused is not None:
            raise ToolError(refused, code="circuit_open")
        title = shorten(" ".join((request.title or request.prompt).split()), limits.CHILD_TITLE, at_word=True)
        return ChildPlan(
            id=run_id,
            name=agent.name,
            agent_id=agent_id,
            agent=agent,
            prompt=prompt,
            stage=request.stage,
            title=title,
            withheld=withheld,
        )

    def _granted(
        self, state: RunState, own: Iterable[str], base: AgentConfig, wanted: Sequence[str]
    ) -> tuple[AgentConfig, tuple[str, ...]]:
        parent = Rights(
            tools=frozenset(own),
            mcp_servers=frozenset(state.agent.mcp_servers),
            workspace=frozenset(state.workspace),
            mode=state.approvals.mode,
            iterations=state.agent.max_tool_iterations,
            budget=state.agent.budget,
            depth=state.depth,
            max_depth=state.max_depth,
        )
        asked = Rights(
            tools=frozenset(wanted),
            mcp_servers=frozenset(base.mcp_servers),
            workspace=parent.workspace,
            mode=base.approval,
            iterations=base.max_tool_iterations,
            budget=base.budget,
            max_depth=state.max_depth,
        )
        given = grant(parent, asked)
        last = given.depth >= given.max_depth
        names = [name for name in wanted if name in given.tools and not (last and self._section(name) == PLANNING)]
        withheld = tuple(name for name in wanted if name not in given.tools)
        can_plan = given.tools >= set(planners(self._env.registry))
        changes = {
            "tools": tuple(dict.fromkeys(names)),
            "sections": (),
            # Sections mode includes the planners, so only an agent that has them can pass it on.
            "tool_mode": ToolMode.DIRECT if base.tool_mode is ToolMode.SECTIONS and not can_plan else base.tool_mode,
            "mcp_servers": tuple(server for server in base.mcp_servers if server in given.mcp_servers),
            "approval": given.mode,
            "max_tool_iterations": given.iterations,
            "budget": given.budget,
            "max_tokens": min(base.max_tokens, max(state.agent.max_tokens, limits.MAX_TOKENS[0])),
            "lifecycle": Lifecycle.TEMPORARY,
        }
        return base.model_copy(update=changes), withheld

    async def _template_agent(self, state: RunState) -> AgentConfig:
        """Return the agent on which an ad-hoc one is based: its parent, or the default for a direct call."""
        if state.agent.provider != DIRECT_CALL:
            return state.agent
        return (await responder(self._env, await self._env.repos.workflows.get(state.workflow_id))).agent

    def _configured(self, agent: AgentConfig) -> tuple[str, ...]:
        reaching = planners(self._env.registry) if agent.tool_mode is ToolMode.SECTIONS else ()
        return tuple(
            dict.fromkeys(
                (*self._env.registry.configured(agent.tools, agent.sections, servers=agent.mcp_servers), *reaching)
            )
        )

    async def _made_up(self, state: RunState, parent: AgentConfig, request: ChildRequest) -> AgentConfig:
        servers = request.mcp_servers
        if servers is not None:
            unknown = [name for name in servers if name not in parent.mcp_servers]
            if unknown:
                valid = ", ".join(parent.mcp_servers) or "none"
                raise ToolError(f"Unknown MCP server {', '.join(unknown)}. Yours: {valid}.", code="unknown_mcp_server")
        changes = {
            "name": " ".join(request.name.split())[: limits.AGENT_NAME],
            "system_prompt": request.system_prompt or DEFAULT_PROMPT,
            "provider": request.provider or parent.provider,
            "model": request.model or parent.model,
            # Named tools are the only ones.
            "mcp_servers": servers
            if servers is not None
            else ()
            if request.tools is not None or request.sections
            else parent.mcp_servers,
            "tool_mode": ToolMode.DIRECT if request.sections or request.tools is not None else parent.tool_mode,
            "max_tokens": min(parent.max_tokens, request.max_tokens or parent.max_tokens),
            # An agent's answer schema is its own.
            "answer_schema": None,
        }
        config = parent.model_copy(update=changes)
        if request.provider or request.model:
            try:
                await self._env.gateway.open(config, state.language)
            except AtelierError as error:
                raise ToolError(
                    f"The model {config.provider}/{config.model} cannot be used: {error}", code="unknown_model"
                ) from error
        return config

    def _requested_tools(self, request: ChildRequest, own: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
        if request.tools is None and not request.sections:
            return tuple(usual)
        names = list(request.tools or ())
        self._known_tools(names, own)
        registry = self._env.registry
        for section in request.sections or ():
            if not registry.sections.has(section):
                valid = ", ".join(sorted({self._section(name) for name in own} - {""})) or "none"
                raise ToolError(f"There is no tool section {section}. Sections: {valid}.", code="unknown_section")
            names += [name for name in own if self._section(name) == section]
        if request.sections:
            # Planning recurses as long as the depth allows.
            names += [name for name in planners(self._env.registry) if name in own]
        return tuple(dict.fromkeys(names))

    def _known_tools(self, names: Sequence[str], own: Sequence[str]) -> None:
        missing = [name for name in names if name not in own]
        if missing:
            valid = ", ".join(own) or "none"
            raise ToolError(
                (
                    f"{', '.join(missing)} cannot be given to a sub-agent, because you do not have it. Your tools: "
                    f"{valid}."
                ),
                code="unknown_tool",
            )

    def _of_servers(self, name: str, servers: Sequence[str]) -> bool:
        """Whether a tool belongs to one of these MCP servers, or to none."""
        section = self._section(name)
        return not section.startswith(SERVERS) or section.removeprefix(SERVERS) in servers

    def _section(self, name: str) -> str:
        tool = self._env.registry.get_tool(name)
        return tool.section if tool is not None else ""


def _colleagues(state: RunState, agents: Iterable[Agent]) -> list[Colleague]:
    """Return the stored agents to which a run can delegate work."""
    return [
        Colleague(a.id, a.config)
        for a in agents
        if a.id != state.agent_id and a.config.lifecycle is Lifecycle.PERMANENT
    ]


def _named(state: RunState, agents: Sequence[Agent], wanted: str) -> Agent:
    """Return the stored agent that a run names by id or (ignoring case) name."""
    by_name = next((agent for agent in agents if agent.name.casefold() == wanted.casefold()), None)
    found = next((agent for agent in agents if agent.id == wanted), by_name)
    valid = ", ".join(f"{colleague.id} ({colleague.config.name})" for colleague in _colleagues(state, agents)) or "none"
    if found is None:
        raise ToolError(f"There is no agent {wanted}. Agents: {valid}.", code="unknown_agent")
    if found.id == state.agent_id:
        raise ToolError(
            f"{found.name} is yourself; work cannot be delegated to oneself. Other agents: {valid}.", code="self"
        )
    if found.config.lifecycle is not Lifecycle.PERMANENT:
        raise ToolError(f"{found.name} is not a permanent agent. Agents: {valid}.", code="not_permanent")
    return found
