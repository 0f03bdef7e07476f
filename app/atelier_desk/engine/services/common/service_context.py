"""Context of the services: the parts of the open engine they may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.setting_subscribers import SettingSubscribers
    from atelier_desk.domain.settings import Settings
    from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
    from atelier_desk.engine.costs.costs_outside_runs import OutsideCosts
    from atelier_desk.engine.costs.month_budget import MonthBudget
    from atelier_desk.engine.journal.event_bus import EventBus
    from atelier_desk.engine.journal.journal import Journal
    from atelier_desk.engine.runs.manager import RunManager
    from atelier_desk.engine.services.common.question_throttle import WorkflowQuestionGate
    from atelier_desk.engine.services.file_changes_and_trust import FileService
    from atelier_desk.engine.services.mcp import McpService
    from atelier_desk.engine.services.memories import MemoryService
    from atelier_desk.engine.services.models import ModelService
    from atelier_desk.engine.services.permissions import PermissionService
    from atelier_desk.engine.services.projects import ProjectService
    from atelier_desk.engine.services.prompts import PromptService
    from atelier_desk.engine.services.providers import ProviderService
    from atelier_desk.engine.services.settings import SettingsService
    from atelier_desk.knowledge.memory_search import MemorySearch
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.llm.secrets import KeyVault
    from atelier_desk.storage.data_folder.datadir import DataDir
    from atelier_desk.storage.repositories import Repositories
    from atelier_desk.tools.registry.registry import ToolRegistry
    from atelier_desk.tools.registry.tool_services import ToolServices
    from atelier_desk.web.media_generation import MediaGenerator
    from atelier_desk.web.page_fetcher import Web
    from atelier_desk.web.search import Searcher
    from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles


class ServiceContext(Protocol):
    """The open engine as seen by a service; read-only here. ``embedder`` changes with the settings."""

    @property
    def repos(self) -> Repositories: ...

    @property
    def bus(self) -> EventBus: ...

    @property
    def registry(self) -> ToolRegistry: ...

    @property
    def vault(self) -> KeyVault: ...

    @property
    def datadir(self) -> DataDir: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def tool_services(self) -> ToolServices: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def runs(self) -> RunManager: ...

    @property
    def gate(self) -> WorkflowQuestionGate: ...

    @property
    def embedder(self) -> Embedder | None: ...

    @property
    def outside_costs(self) -> OutsideCosts: ...

    @property
    def month_budget(self) -> MonthBudget: ...

    @property
    def memory_search(self) -> MemorySearch: ...

    @property
    def providers(self) -> ProviderService: ...

    @property
    def memories(self) -> MemoryService: ...

    @property
    def projects(self) -> ProjectService: ...

    @property
    def models(self) -> ModelService: ...

    @property
    def settings(self) -> SettingsService: ...

    @property
    def permissions(self) -> PermissionService: ...

    @property
    def files(self) -> FileService: ...

    @property
    def mcp(self) -> McpService: ...

    @property
    def prompts(self) -> PromptService: ...

    @property
    def searcher(self) -> Searcher: ...

    @property
    def maker(self) -> MediaGenerator: ...

    @property
    def image_describer(self) -> ImageDescriber: ...

    @property
    def web_pages(self) -> Web: ...

    @property
    def workspace_files(self) -> WorkspaceFiles: ...

    @property
    def in_force(self) -> SettingSubscribers: ...

    async def use_embedder(self, settings: Settings) -> None: ...

    async def embedder_tried(self) -> None: ...

    async def drop_embedders(self, *embedders: Embedder | None) -> None: ...
