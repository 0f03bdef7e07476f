"""What a service gets: the parts of the open engine it may use, and nothing of how they are made."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from atelier_desk.domain.approval import ApprovalRequest, Decision
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.events.run import TaskChanged
    from atelier_desk.domain.provider import ModelInfo, ProviderConfig
    from atelier_desk.domain.question import QuestionStatus
    from atelier_desk.domain.settings import Settings
    from atelier_desk.domain.stream.event import StreamEvent, Topic
    from atelier_desk.domain.task import Task
    from atelier_desk.domain.workflow import Message, Run, RunMode, Workflow
    from atelier_desk.engine.journal import RunHandle
    from atelier_desk.knowledge.search import MemorySearch
    from atelier_desk.llm.base import Embedder, Provider
    from atelier_desk.llm.listed import ModelList
    from atelier_desk.llm.secrets import KeyVault
    from atelier_desk.storage.folder.datadir import DataDir
    from atelier_desk.storage.repositories import Repositories
    from atelier_desk.tools.registry import ToolRegistry
    from atelier_desk.workspace.checkpoints.files import WorkspaceFiles


class Bus(Protocol):
    """Announcements: stream events of runs, and "this thing changed" for lists and panes."""

    def subscribe(self, callback: Callable[[StreamEvent], None], workflow_id: str | None = None) -> Callable[[], None]: ...

    def changed(self, topic: Topic, id: str) -> None: ...


class Journal(Protocol):
    """The durable record of what a person did to a workflow outside of any run."""

    async def change_tasks(self, workflow_id: str, decide: Callable[[dict[str, Task]], Sequence[TaskChanged]]) -> Sequence[TaskChanged]: ...

    async def show_branch(
        self, workflow_id: str, head_run_id: str | None, deleted_runs: dict[str, datetime | None] | None = None
    ) -> None: ...

    async def purge_branches(self, workflow_id: str, oldest: datetime) -> None: ...

    def now(self) -> datetime: ...

    def forget(self, workflow_id: str) -> None: ...


class Gate(Protocol):
    """Who keeps count of unanswered questions."""

    def forget(self, workflow_id: str) -> None: ...


class Titles(Protocol):
    """Who asks models for names of workflows; ``wanted``: after each first answer, too."""

    wanted: bool

    async def suggest(self, workflow_id: str) -> Workflow: ...


class RunControl(Protocol):
    """The part of the run manager that services need. ``slots`` is how many runs may work at once, ``inactivity_s`` how many seconds a
    model may be silent."""

    slots: int
    titles: Titles
    inactivity_s: float

    def beginning(self, workflow_id: str) -> asyncio.Lock: ...

    def active(self, workflow_id: str) -> str | None: ...

    def state_of(self, run_id: str) -> RunHandle | None: ...

    async def cancel(self, run_id: str) -> Any: ...

    async def wait(self, run_id: str) -> Run: ...

    async def resume(self, run_id: str, *, mode: RunMode | None = None, steps: int | None = None) -> None: ...

    async def fork(self, workflow_id: str, at: int) -> Workflow: ...

    async def pin_message(self, message: Message, pinned: bool = True) -> None: ...

    async def answer_question(self, question_id: str, status: QuestionStatus, selected: tuple[str, ...], text: str) -> Any: ...

    async def decide_approval(self, approval_id: str, decision: Decision) -> Any: ...

    async def ask_approval_again(self, asked: ApprovalRequest) -> Any: ...


class SettingsAccess(Protocol):
    """What other services read and change of the settings."""

    async def get(self) -> Settings: ...

    async def update(self, **fields: Any) -> Settings: ...


class ProviderAccess(Protocol):
    """Who knows the model servers."""

    async def list(self) -> list[ProviderConfig]: ...

    async def get(self, name: str) -> ProviderConfig: ...

    async def models(self, name: str) -> builtins.list[ModelInfo]: ...

    async def provider(self, name: str) -> Provider: ...


class ModelFacts(Protocol):
    """Who keeps what servers say of their models."""

    async def listed(self) -> ModelList: ...

    def forget(self, provider: str) -> None: ...


class MemoryVectors(Protocol):
    """Who computes the memories' vectors."""

    def start_reembed(self) -> None: ...


class ServiceContext(Protocol):
    """The open engine as a service sees it; read-only here. ``embedder`` changes when it is switched in the settings."""

    @property
    def repos(self) -> Repositories: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def registry(self) -> ToolRegistry: ...

    @property
    def vault(self) -> KeyVault: ...

    @property
    def datadir(self) -> DataDir: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def runs(self) -> RunControl: ...

    @property
    def gate(self) -> Gate: ...

    @property
    def embedder(self) -> Embedder | None: ...

    @property
    def memory_search(self) -> MemorySearch: ...

    @property
    def providers(self) -> ProviderAccess: ...

    @property
    def memories(self) -> MemoryVectors: ...

    @property
    def models(self) -> ModelFacts: ...

    @property
    def settings(self) -> SettingsAccess: ...

    @property
    def workspace_files(self) -> WorkspaceFiles: ...

    async def use_embedder(self, settings: Settings) -> None: ...
