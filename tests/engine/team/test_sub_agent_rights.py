"""The team broker with a real registry: no chain of agents gets a right that the root lacks, whatever they
request.
"""

# judges: app/atelier_desk/engine/team/sub_agent_planning.py

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from atelier_desk.domain.agent import Agent, AgentConfig, ApprovalMode, Budget, ToolMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.events.run import RunStarted
from atelier_desk.domain.sub_agent import ChildPlan
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request import tool_search
from atelier_desk.engine.run.request.toolset import toolset, visible
from atelier_desk.engine.team.agent_circuit_breakers import AgentBreakers
from atelier_desk.engine.team.sub_agent_planning import TeamBroker, child_id
from atelier_desk.engine.team.sub_agent_runs import _run_started
from atelier_desk.policy import budget as budgets
from atelier_desk.policy.agent_rights import Rights
from atelier_desk.tools.base import ChildRequest, ToolCategory
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.sections import PLANNING
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import Script, agent

REGISTRY = create_default_tool_registry()
NAMES = tuple(
    tool.name
    for tool in map(REGISTRY.get_tool, REGISTRY.get_all_tool_names())
    if tool and tool.category is not ToolCategory.CONTROL
)
SECTIONS = tuple(section.id for section in REGISTRY.sections.all())

TOOLS = st.lists(st.sampled_from((*NAMES, "nothing")), max_size=6).map(tuple)
BUDGETS = st.builds(
    Budget,
    max_cost=st.none() | st.floats(0.5, 10),
    max_tokens=st.none() | st.integers(100, 10_000),
    max_seconds=st.none() | st.floats(1, 100),
    max_tool_calls=st.none() | st.integers(0, 50),
)
CONFIGS = st.builds(
    agent,
    name=st.sampled_from(["Ada", "Bob", "Cleo"]),
    tools=TOOLS,
    sections=st.lists(st.sampled_from(SECTIONS), max_size=2).map(tuple),
    mcp_servers=st.lists(st.sampled_from(["files", "web", "mail"]), max_size=3).map(tuple),
    tool_mode=st.sampled_from(list(ToolMode)),
    approval=st.sampled_from(list(ApprovalMode)),
    max_tool_iterations=st.integers(1, 200),
    max_tokens=st.integers(256, 8000),
    budget=BUDGETS,
)
REQUESTS = st.builds(
    ChildRequest,
    name=st.just("Child"),
    prompt=st.just("Do it."),
    agent_id=st.sampled_from(["", "", "ada", "bob"]),
    tools=st.none() | st.none() | TOOLS,
    sections=st.none() | st.none() | st.lists(st.sampled_from((*SECTIONS, "moon_ops")), max_size=2).map(tuple),
    mcp_servers=st.none() | st.none() | st.lists(st.sampled_from(["files", "web", "mail"]), max_size=3).map(tuple),
    budget=st.none() | BUDGETS,
    max_tokens=st.none() | st.integers(256, 9000),
    call=st.none() | st.none() | st.none() | st.tuples(st.sampled_from(NAMES), st.just({})),
)


async def anyone() -> Agent:
    """The default agent: one that may do everything."""
    config = agent(name="Anyone", tools=NAMES, approval="auto", max_tool_iterations=200, max_tokens=128_000)
    return Agent(id="any", config=config)


async def unnamed(workflow_id: str) -> Workflow:
    """A workflow without an agent of its own."""
    return Workflow(id=workflow_id, name="x")


class Agents:
    def __init__(self, stored: list[Agent]) -> None:
        self._stored = stored
        self.reads = 0

    async def list(self) -> list[Agent]:
        self.reads += 1
        return self._stored


def world(stored: list[Agent]) -> tuple[Any, Any]:
    """The parts of an engine that the broker uses."""
    repos = SimpleNamespace(agents=Agents(stored), workflows=SimpleNamespace(get=unnamed))
    env = SimpleNamespace(registry=REGISTRY, repos=repos, gateway=None, default_agent=anyone)
    teams = SimpleNamespace(free_slots=lambda root: 15, breakers=AgentBreakers(ManualClock()))
    return env, teams


def root_of(config: AgentConfig, depth: int, max_depth: int) -> RunState:
    script = Script(
        config=config,
        depth=depth,
        max_depth=max_depth,
        workspace=("/w",),
        approvals=ApprovalPolicy(mode=config.approval),
    )
    return script.state


def rights(env: Any, state: RunState) -> Rights:
    return Rights(
        tools=frozenset(toolset(env.registry, state).usable),
        mcp_servers=frozenset(state.agent.mcp_servers),
        workspace=frozenset(state.workspace),
        mode=state.approvals.mode,
        iterations=state.agent.max_tool_iterations,
        budget=state.agent.budget,
        depth=state.depth,
        max_depth=state.max_depth,
    )


def begun(parent: RunState, plan: ChildPlan) -> RunState | None:
    """The sub-agent's run as the engine would start it."""
    share = budgets.share(parent.agent, parent.raised_limits, parent.spent, 1, plan.agent.budget)
    if not isinstance(share, Budget):
        return None
    started: RunStarted = _run_started(parent, plan, share)
    script = Script(
        config=started.agent,
        run_id=plan.id,
        **{name: getattr(started, name) for name in RunStarted.model_fields if name not in ("type", "agent")},
    )
    return script.state


async def descend(root: RunState, stored: list[Agent], wishes: list[ChildRequest]) -> list[RunState]:
    """Each agent requests the next one; refused ones request nothing more."""
    env, teams = world(stored)
    chain = [root]
    for number, wish in enumerate(wishes):
        desk = TeamBroker(env, teams, RunHandle(run_id=chain[-1].run_id, workflow_id="w", state=chain[-1]))
        try:
            (plan,) = await desk.plan(f"c{number}", [wish])
        except ToolError:
            continue
        child = begun(chain[-1], plan)
        if child is not None:
            chain.append(child)
    return chain


@settings(max_examples=150)
@given(
    config=CONFIGS,
    stored=st.lists(CONFIGS, min_size=2, max_size=2),
    wishes=st.lists(REQUESTS, min_size=2, max_size=10),
    max_depth=st.integers(0, 6),
)
def test_nobody_gets_a_right_the_root_lacks(
    config: AgentConfig, stored: list[AgentConfig], wishes: list[ChildRequest], max_depth: int
) -> None:
    agents = [Agent(id=id, config=each) for id, each in zip(("ada", "bob"), stored, strict=True)]
    env, _ = world(agents)
    chain = asyncio.run(descend(root_of(config, 0, max_depth), agents, wishes))
    event(f"{len(chain) - 1} generations")
    root = rights(env, chain[0])
    for parent, child in itertools.pairwise(chain):
        assert rights(env, child).within(rights(env, parent))
        assert rights(env, child).within(root)
        assert child.depth == parent.depth + 1 <= max_depth
        assert child.agent.max_tokens <= max(parent.agent.max_tokens, 256)
        own = toolset(env.registry, child)
        assert {"wait_parent"} >= set(visible(own, child, tool_search.current(child))) - set(own.usable) - control()
        if child.depth >= max_depth:
            assert not [name for name in own.usable if section(name) == PLANNING]
        assert set(child.approvals.rules) <= {*parent.approvals.rules, *parent.granted}


def control() -> set[str]:
    return {tool.name for tool in REGISTRY.get_tools_by_category(ToolCategory.CONTROL)}


def section(name: str) -> str:
    tool = REGISTRY.get_tool(name)
    return tool.section if tool else ""


async def planned(config: AgentConfig, request: ChildRequest, *stored: Agent, depth: int = 0) -> ChildPlan:
    env, teams = world(list(stored))
    state = root_of(config, depth, 3)
    (plan,) = await TeamBroker(env, teams, RunHandle(run_id="r", workflow_id="w", state=state)).plan("c", [request])
    return plan


LEAD = agent(
    name="Lead", tools=("CalculatorTool", "TodoTool", "SpawnAgentTool"), mcp_servers=("files",), approval="auto"
)


async def test_unspecified_options_come_from_the_parent() -> None:
    plan = await planned(LEAD, ChildRequest(name="Child", prompt="x"))
    assert plan.agent.tools == LEAD.tools
    assert (plan.agent.provider, plan.agent.model, plan.agent.temperature) == (
        LEAD.provider,
        LEAD.model,
        LEAD.temperature,
    )
    assert plan.agent.mcp_servers == ("files",)
    assert plan.withheld == ()
    assert plan.agent.lifecycle == "temporary"


async def test_a_stored_agent_is_restricted_to_its_parents_rights_and_told_so() -> None:
    poet = Agent(
        id="poet",
        config=agent(
            name="Poet", tools=("MemoryTool", "CalculatorTool"), mcp_servers=("web", "files"), approval="manual"
        ),
    )
    plan = await planned(LEAD, ChildRequest(name="Poet", prompt="x", agent_id="Poet"), poet)
    assert (plan.agent_id, plan.agent.tools, plan.withheld) == ("poet", ("CalculatorTool",), ("MemoryTool",))
    assert (plan.agent.mcp_servers, plan.agent.approval) == (("files",), "manual")


async def test_a_batch_reads_the_stored_agents_once_and_only_if_it_names_one() -> None:
    env, teams = world([Agent(id=name, config=agent(name=name)) for name in ("ada", "bob")])
    desk = TeamBroker(env, teams, RunHandle(run_id="r", workflow_id="w", state=root_of(LEAD, 0, 3)))
    await desk.plan("c", [ChildRequest(name="Child", prompt="x")])
    assert env.repos.agents.reads == 0
    plans = await desk.plan("d", [ChildRequest(name="", prompt="x", agent_id=name) for name in ("ada", "BOB", "ada")])
    assert [plan.agent_id for plan in plans] == ["ada", "bob", "ada"]
    assert env.repos.agents.reads == 1


async def test_the_sections_mode_is_not_inherited_by_agents_that_cannot_plan() -> None:
    poet = Agent(id="poet", config=agent(name="Poet", tools=("CalculatorTool",), tool_mode=ToolMode.SECTIONS))
    plan = await planned(LEAD, ChildRequest(name="Poet", prompt="x", agent_id="poet"), poet)
    assert plan.agent.tool_mode is ToolMode.DIRECT
    planner = LEAD.model_copy(update={"tools": (*LEAD.tools, "plan_actions", "list_tool_sections")})
    plan = await planned(planner, ChildRequest(name="Poet", prompt="x", agent_id="poet"), poet)
    assert plan.agent.tool_mode is ToolMode.SECTIONS


async def test_one_level_above_the_maximum_depth_agents_start_agents_that_start_none() -> None:
    plan = await planned(LEAD, ChildRequest(name="Child", prompt="x"), depth=2)
    assert "SpawnAgentTool" not in plan.agent.tools
    assert "SpawnAgentTool" in (await planned(LEAD, ChildRequest(name="Child", prompt="x"), depth=1)).agent.tools


async def test_the_same_call_names_the_same_sub_agent() -> None:
    first, again = [await planned(LEAD, ChildRequest(name="Child", prompt="x")) for _ in range(2)]
    assert first.id == again.id == child_id("r", "c", 0)
    assert len({child_id("r", "c", 1), child_id("r", "d", 0), child_id("s", "c", 0), first.id}) == 4


def test_a_wider_root_makes_the_property_fail() -> None:
    """The check above would notice an additional right."""
    env, _ = world([])
    own = rights(env, root_of(LEAD, 0, 3))
    assert not replace(own, tools=own.tools | {"MemoryTool"}).within(own)
