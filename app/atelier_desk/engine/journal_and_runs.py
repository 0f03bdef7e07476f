"""What only runs need, created when the engine starts: a listing opens the database without it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from atelier_desk.engine.gateways.model_gateway import FactoryGateway, ModelFactory, ModelGateway
from atelier_desk.engine.gateways.provider_gateway import ProviderGateway
from atelier_desk.engine.journal.journal import FaultPoint, Journal, no_fault
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.runs.caller_function_tools import GivenTools
from atelier_desk.engine.runs.manager import RunManager
from atelier_desk.engine.services.common.question_throttle import WorkflowQuestionGate
from atelier_desk.engine.services.lazy_services import LazyParts
from atelier_desk.llm.embedders.builtin import BuiltinEmbedder


def make_journal(engine: LazyParts, fault: FaultPoint | None) -> None:
    """Create the journal, which the services expect."""
    engine.journal = Journal(engine.repos, engine.bus, engine.clock, fault or no_fault)


def make_runs(engine: LazyParts, model_factory: ModelFactory | None, fault: FaultPoint | None) -> None:
    """Create the runs and what they use; services and memory search exist already."""

    async def pending(workflow_id: str) -> int:
        return len(await engine.repos.questions.pending(workflow_id))

    engine.gate = WorkflowQuestionGate(pending, engine.clock)
    engine.tool_services.questions = engine.gate
    gateway: ModelGateway
    if model_factory is not None:
        gateway = FactoryGateway(model_factory)
    else:
        # The guided dialect always needs the built-in embedder; if memories use it too, it is shared.
        nearest = engine.embedder if isinstance(engine.embedder, BuiltinEmbedder) else BuiltinEmbedder()
        gateway = ProviderGateway(engine.providers, engine.models, nearest)
    engine.environment = RunEnvironment(
        repos=engine.repos,
        journal=engine.journal,
        bus=engine.bus,
        registry=engine.registry,
        gateway=gateway,
        clock=engine.clock,
        in_force=engine.in_force,
        default_agent=engine.agents.default,
        folder_instructions=engine.files.instructions,
        skills=engine.skills,
        server_problems=engine.mcp.problems.of,
        own=(Path(engine.datadir.root).resolve().as_posix(),),
        marks=engine.workspace_files.marks,
        record_answer=engine.gate.record,
        budget=engine.month_budget,
        fault=fault or no_fault,
    )
    engine.runs = RunManager(engine.environment)
    engine.runs.remembering.search = engine.memory_search
    engine.given_tools = GivenTools(engine.registry, engine.bus)
    follow = engine.in_force.subscribe
    follow(partial(setattr, engine.runs.live.slots, "limit"), "workflows_running")
    follow(lambda *_: engine.runs.rights_withdrawal.apply(), "approvals", "folder_trust", at_once=False)
