"""One repository per kind of row, over one store."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from atelier_desk.storage.data_folder.artefacts import Artefacts
from atelier_desk.storage.data_folder.conversation_snapshots import SnapshotFiles
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories.approvals import ApprovalRepository
from atelier_desk.storage.repositories.audit import AuditRepository
from atelier_desk.storage.repositories.configuration import (
    AgentRepository,
    McpServerRepository,
    ModelRepository,
    ProviderRepository,
    RuleRepository,
    SettingsRepository,
)
from atelier_desk.storage.repositories.history_search_and_usage import HistoryRepository, SearchHit
from atelier_desk.storage.repositories.housekeeping_state import HousekeepingRepository
from atelier_desk.storage.repositories.memories import MemoryRepository
from atelier_desk.storage.repositories.memory_bin import MemoryBinRepository
from atelier_desk.storage.repositories.messages_and_tool_calls import ExecutionRepository, MessageRepository
from atelier_desk.storage.repositories.projects import ProjectRepository
from atelier_desk.storage.repositories.prompts import PromptRepository
from atelier_desk.storage.repositories.questions import QuestionRepository
from atelier_desk.storage.repositories.reports import ReportRepository
from atelier_desk.storage.repositories.runs import RunRepository
from atelier_desk.storage.repositories.system_prompts_and_tools import PromptFrameRepository
from atelier_desk.storage.repositories.tasks import TaskRepository
from atelier_desk.storage.repositories.usage_totals import UsedRepository
from atelier_desk.storage.repositories.workflows import WorkflowRepository
from atelier_desk.storage.store import Store

if TYPE_CHECKING:
    from atelier_desk.storage.repositories.journal import JournalRepository

__all__ = [
    "AgentRepository",
    "ApprovalRepository",
    "AuditRepository",
    "ExecutionRepository",
    "HistoryRepository",
    "McpServerRepository",
    "MemoryBinRepository",
    "MemoryRepository",
    "MessageRepository",
    "ModelRepository",
    "ProjectRepository",
    "PromptFrameRepository",
    "PromptRepository",
    "ProviderRepository",
    "QuestionRepository",
    "ReportRepository",
    "Repositories",
    "RuleRepository",
    "SearchHit",
    "SettingsRepository",
    "TaskRepository",
    "UsedRepository",
    "WorkflowRepository",
]


class Repositories:
    """All repositories of one open store.

    Attributes:
        store: the database; ``datadir``: the folder with the files that belong to it.
    """

    def __init__(self, store: Store, datadir: DataDir) -> None:
        self.store = store
        self.datadir = datadir
        self.memories = MemoryRepository(store)
        self.memory_bin = MemoryBinRepository(store)
        self.workflows = WorkflowRepository(store, datadir, self.memories)
        self.artefacts = Artefacts(datadir)
        self.snapshots = SnapshotFiles(datadir, kept=store.path is not None)
        self.messages = MessageRepository(store)
        self.executions = ExecutionRepository(store)
        self.tasks = TaskRepository(store)
        self.questions = QuestionRepository(store)
        self.approvals = ApprovalRepository(store)
        self.audit = AuditRepository(store)
        self.frames = PromptFrameRepository(store)
        self.reports = ReportRepository(store, datadir)
        self.history = HistoryRepository(store, datadir, self.reports)
        self.agents = AgentRepository(store)
        self.providers = ProviderRepository(store)
        self.models = ModelRepository(store)
        self.rules = RuleRepository(store)
        self.mcp_servers = McpServerRepository(store)
        self.settings = SettingsRepository(store)
        self.projects = ProjectRepository(store)
        self.prompts = PromptRepository(store)
        self.used = UsedRepository(store)
        self.housekeeping = HousekeepingRepository(store)
        self.runs = RunRepository(store)

    @cached_property
    def journal(self) -> JournalRepository:
        """Created on first use: loading the event types takes a while, and a listing needs none."""
        from atelier_desk.storage.repositories.journal import JournalRepository

        return JournalRepository(self.store)
