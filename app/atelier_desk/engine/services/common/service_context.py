"""Context of the services: the parts of the open engine they may use."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from atelier_desk.domain.agent import Agent
    from atelier_desk.domain.approval import ApprovalRequest
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.mcp import McpServer
    from atelier_desk.domain.permission import PermissionRule
    from atelier_desk.domain.provider import ModelInfo, ProviderConfig
    from atelier_desk.domain.setting_subscribers import SettingSubscribers
    from atelier_desk.domain.settings import Settings
    from atelier_desk.domain.skill import Invocation
    from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
    from atelier_desk.engine.costs.costs_outside_runs import OutsideCosts
    from atelier_desk.engine.costs.month_budget import MonthBudget
    from atelier_desk.engine.journal.event_bus import EventBus
    from atelier_desk.engine.journal.journal import Journal
    from atelier_desk.engine.runs.manager import RunManager
    from atelier_desk.engine.services.common.mcp_resources_prompts import McpContent
    from atelier_desk.engine.services.common.mcp_status import McpStatus
    from atelier_desk.engine.services.common.question_throttle import WorkflowQuestionGate
    from atelier_desk.knowledge.memory_search import MemorySearch
    from atelier_desk.llm.interfaces import Embedder, Provider
    from atelier_desk.llm.model_catalogue import ModelList
    from atelier_desk.llm.secrets import KeyVault
    from atelier_desk.storage.data_folder.datadir import DataDir
    from atelier_desk.storage.repositories import Repositories
    from atelier_desk.tools.registry.registry import ToolRegistry
    from atelier_desk.tools.registry.tool_services import ToolServices
    from atelier_desk.web.media_generation import MediaGenerator
    from atelier_desk.web.page_fetcher import Web
    from atelier_desk.web.search import Searcher
    from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles


class SettingsAccess(Protocol):
    """Reads and changes settings for other services."""

    async def get(self) -> Settings: ...

    async def update(self, **fields: object) -> Settings: ...


class ProviderAccess(Protocol):
    """Access to model servers."""

    async def list(self) -> list[ProviderConfig]: ...

    async def get(self, name: str) -> ProviderConfig: ...

    async def models(self, name: str) -> builtins.list[ModelInfo]: ...

    async def provider(self, name: str) -> Provider: ...


class ModelFacts(Protocol):
    """Access to model information."""

    async def listed(self) -> ModelList: ...

    async def info(self, provider: str, model: str) -> ModelInfo: ...

    async def assumed(self, config: ProviderConfig, model: str) -> ModelInfo: ...

    def forget(self, provider: str) -> None: ...


class MemoryVectors(Protocol):
    """Computes the memories' vectors."""

    def start_reembed(self) -> None: ...


class ProjectVectors(Protocol):
    """Computes the projects' vectors."""

    async def follow_embedder(self) -> None: ...

    async def waiting_texts(self) -> int: ...


class FolderTrust(Protocol):
    """Access to folder trust."""

    async def trusted(self, folders: Sequence[str]) -> dict[str, bool | None]: ...


class McpAccess(Protocol):
    """Access to MCP servers."""

    async def list(self) -> list[McpStatus]: ...

    @property
    def content(self) -> McpContent: ...

    async def save(
        self, config: McpServer, secrets: Mapping[str, str] | None = None, *, new: bool = False
    ) -> McpStatus: ...


class RuleTrialAccess(Protocol):
    """What permission rules decide."""

    async def covers(self, asked: ApprovalRequest, texts: Iterable[str]) -> bool: ...


class RuleAccess(Protocol):
    """Access to permission rules."""

    @property
    def trials(self) -> RuleTrialAccess: ...

    async def rules(self) -> tuple[PermissionRule, ...]: ...

    async def agent(self, wanted: str) -> Agent: ...


class PromptAccess(Protocol):
    """Access to the person's prompts."""

    async def called(self, name: str, given: str) -> Invocation | None: ...


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
    def providers(self) -> ProviderAccess: ...

    @property
    def memories(self) -> MemoryVectors: ...

    @property
    def projects(self) -> ProjectVectors: ...

    @property
    def models(self) -> ModelFacts: ...

    @property
    def settings(self) -> SettingsAccess: ...

    @property
    def permissions(self) -> RuleAccess: ...

    @property
    def files(self) -> FolderTrust: ...

    @property
    def mcp(self) -> McpAccess: ...

    @property
    def prompts(self) -> PromptAccess: ...

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
