"""Parts of the open engine that are created, and their modules loaded, on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from atelier_desk.engine.services.service_list import SERVICES, Services, service_class

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.setting_subscribers import SettingSubscribers
    from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
    from atelier_desk.engine.costs.costs_outside_runs import OutsideCosts
    from atelier_desk.engine.costs.month_budget import MonthBudget
    from atelier_desk.engine.journal.event_bus import EventBus
    from atelier_desk.engine.journal.journal import Journal
    from atelier_desk.engine.run.driver_dependencies import RunEnvironment
    from atelier_desk.engine.runs.caller_function_tools import GivenTools
    from atelier_desk.engine.runs.manager import RunManager
    from atelier_desk.engine.services.common.question_throttle import WorkflowQuestionGate
    from atelier_desk.knowledge.memory_search import MemorySearch
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.llm.secrets import KeyVault
    from atelier_desk.storage.data_folder.datadir import DataDir
    from atelier_desk.storage.repositories import Repositories
    from atelier_desk.storage.store import Store
    from atelier_desk.tools.registry.registry import ToolRegistry
    from atelier_desk.tools.registry.tool_services import ToolServices
    from atelier_desk.web.media_generation import MediaGenerator
    from atelier_desk.web.page_fetcher import Web
    from atelier_desk.web.search import Searcher
    from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles

SHARED = {
    "month_budget": "cost_tracking",
    "outside_costs": "cost_tracking",
    "workspace_files": "workspace_files",
    "image_describer": "tools_and_web_access",
    "maker": "tools_and_web_access",
    "registry": "tools_and_web_access",
    "searcher": "tools_and_web_access",
    "tool_services": "tools_and_web_access",
    "web_pages": "tools_and_web_access",
}
"""By part, the module of ``engine/services/factories`` with the function of its name that creates it."""


class LazyParts(Services):
    """The services, and what they, the tools and the runs share.

    Attributes:
        bus: stream events and change notices.
        in_force: the settings in force; subscribe to them here.
        journal, memory_search, gate, environment, runs, given_tools: only in a started engine.
        runs: starts and steers runs.
        embedder: the one in use, None when vectors are off; used by ``memory_search``.
    """

    datadir: DataDir
    store: Store
    repos: Repositories
    vault: KeyVault
    clock: Clock
    bus: EventBus
    in_force: SettingSubscribers
    embedder: Embedder | None

    journal: Journal
    memory_search: MemorySearch
    gate: WorkflowQuestionGate
    environment: RunEnvironment
    runs: RunManager
    given_tools: GivenTools

    month_budget: MonthBudget
    outside_costs: OutsideCosts
    workspace_files: WorkspaceFiles
    image_describer: ImageDescriber
    maker: MediaGenerator
    registry: ToolRegistry
    searcher: Searcher
    tool_services: ToolServices
    web_pages: Web

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Create a service or part on first use."""
            if name in SERVICES:
                made = service_class(name)(self)
            elif name in SHARED:
                made = getattr(import_module(f"atelier_desk.engine.services.factories.{SHARED[name]}"), name)(self)
            else:
                raise AttributeError(f"the engine has no {name!r}, or was opened without starting it")
            setattr(self, name, made)
            return made
