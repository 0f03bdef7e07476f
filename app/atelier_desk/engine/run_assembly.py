"""The part of the open engine that runs agents: made by ``Atelier.start``, with all modules that runs need."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.gateways.direct_tool_call import DirectCallGateway
from atelier_desk.engine.gateways.model_gateway import FactoryGateway, ModelFactory, ModelGateway
from atelier_desk.engine.gateways.provider_gateway import ProviderGateway
from atelier_desk.engine.journal.journal import FaultPoint, no_fault
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.runs.effective_agent import chosen
from atelier_desk.engine.runs.manager import Responder, RunManager
from atelier_desk.engine.services.common.question_throttle import WorkflowQuestionGate
from atelier_desk.llm.embedders.builtin import BuiltinEmbedder

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier


def make_runs(atelier: Atelier, model_factory: ModelFactory | None, fault: FaultPoint | None) -> None:
    """Set the engine's ``gate``, ``environment`` and ``runs``."""

    async def pending(workflow_id: str) -> int:
        return len(await atelier.repos.questions.pending(workflow_id))

    async def default_agent(workflow_id: str) -> AgentConfig:
        return (await resolve_agent(atelier, await atelier.repos.workflows.get(workflow_id), "")).agent

    atelier.gate = WorkflowQuestionGate(pending, atelier.clock)
    atelier.tool_services.questions = atelier.gate
    gateway: ModelGateway
    if model_factory is not None:
        gateway = FactoryGateway(model_factory)
    else:
        # The guided dialect always needs the built-in embedder; if memories use it too, it is shared.
        nearest = atelier.embedder if isinstance(atelier.embedder, BuiltinEmbedder) else BuiltinEmbedder()
        gateway = ProviderGateway(atelier.providers, atelier.models, nearest)
    atelier.environment = RunEnvironment(
        repos=atelier.repos,
        journal=atelier.journal,
        bus=atelier.bus,
        registry=atelier.registry,
        gateway=DirectCallGateway(gateway),
        clock=atelier.clock,
        default_agent=default_agent,
        folder_instructions=atelier.files.instructions,
        skills=atelier.skills,
        server_problems=atelier.mcp.problems.of,
        own=(Path(atelier.datadir.root).resolve().as_posix(),),
        marks=atelier.workspace_files.marks,
        record_answer=atelier.gate.record,
        budget=atelier.month_budget,
        fault=fault or no_fault,
    )
    atelier.runs = RunManager(atelier.environment, partial(resolve_agent, atelier))
    atelier.runs.remembering.search = atelier.memory_search
    follow = atelier.in_force.subscribe
    follow(partial(setattr, atelier.environment, "inactivity_s"), "inactivity_s")
    follow(partial(setattr, atelier.environment, "stop_repetition"), "stop_repetition")
    follow(partial(setattr, atelier.runs.live.slots, "limit"), "workflows_running")
    follow(partial(setattr, atelier.runs.titles, "wanted"), "name_by_model")
    follow(lambda *_: atelier.runs.rights_withdrawal.apply(), "approvals", "folder_trust", at_once=False)
    follow(atelier.follow_embedder, "embedder", at_once=False)


async def resolve_agent(atelier: Atelier, workflow: Workflow, agent_id: str) -> Responder:
    """Return the agent of a turn: the wanted one, the workflow's, or the default one."""
    agent = await atelier.agents.get(agent_id) if agent_id else None
    if agent is None and workflow.agent_id:
        with suppress(NotFoundError):
            agent = await atelier.agents.get(workflow.agent_id)
    agent = agent or await atelier.agents.default()
    # A different agent for one turn brings its own model.
    own = not workflow.agent_id or agent.id == workflow.agent_id
    return Responder(chosen(workflow.choices if own else workflow.choices.without_model(), agent.config), agent.id)
