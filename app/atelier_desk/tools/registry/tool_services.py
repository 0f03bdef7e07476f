"""Services passed to tools at registration: parts of the open data folder."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.project import Direction

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from atelier_desk.domain.project import (
        Entity,
        EntityKind,
        Exploration,
        FileProblem,
        IngestState,
        Project,
        ProjectHit,
        ProjectStatistics,
        RelationKind,
    )
    from atelier_desk.domain.skill import Scope, SkillUse
    from atelier_desk.knowledge.memory_search import MemorySearch
    from atelier_desk.storage.data_folder.artefacts import Artefacts
    from atelier_desk.storage.repositories import MemoryRepository, ReportRepository
    from atelier_desk.tools.calls.context import Spending
    from atelier_desk.tools.registry.registry import ToolRegistry
    from atelier_desk.web.media_generation import MediaGenerator
    from atelier_desk.web.page_fetcher import Web
    from atelier_desk.web.search import Searcher
    from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles
    from atelier_desk.workspace.processes.running_commands import Commands


class QuestionGate(Protocol):
    """Decides whether a question may be asked now."""

    async def refusal(self, workflow_id: str) -> str | None:
        """Return why not (queue full, user unresponsive), in words for the model, or None if the question may be
        asked."""
        ...


@dataclass(frozen=True, slots=True)
class OpenedSkill:
    """A skill opened by a model: its instructions, and the names of its other files, relative to its folder."""

    use: SkillUse
    text: str
    files: tuple[str, ...]
    scope: Scope


class ImageDescriber(Protocol):
    """Describes images in words."""

    def missing_setup(self) -> str:
        """Return what must be set up first, in words for the model; empty if nothing."""
        ...

    async def describe(self, data: bytes, media_type: str, prompt: str, spending: Spending) -> str: ...


class SkillReader(Protocol):
    """Opens skills for models."""

    async def activate(self, name: str, folders: Sequence[str]) -> OpenedSkill:
        """Return the present version of a skill; ``ToolError`` if it may not be used."""
        ...


class Projects(Protocol):
    """Project operations for tools; see the service of that name."""

    @property
    def some(self) -> bool:
        """Whether any project exists."""
        ...

    async def list(self) -> list[Project]: ...

    async def create(self, name: str, root: str = "", *, embedded: bool = True, watched: bool = True) -> Project: ...

    async def change(self, project_id: str, *, loaded: bool | None = None, embedded: bool | None = None) -> Project: ...

    async def delete(self, project_id: str) -> int: ...

    async def ingest(self, project_id: str, paths: Sequence[str] = (), *, force: bool = False) -> None: ...

    async def embed(self, project_id: str, *, kinds: Sequence[EntityKind] = (), force: bool = False) -> None: ...

    async def stop(self, project_id: str) -> None: ...

    async def wait(self, project_id: str) -> IngestState | None: ...

    async def states(self) -> dict[str, IngestState]: ...

    async def statistics(self, project_id: str) -> ProjectStatistics: ...

    async def problems(self, project_id: str, *, limit: int = 200) -> builtins.list[FileProblem]: ...

    async def entity(self, entity_id: str) -> Entity: ...

    async def query(
        self,
        project_id: str,
        kind: EntityKind,
        where: Mapping[str, object],
        order_by: str = "",
        limit: int = 50,
        *,
        reads: Callable[[str], bool] = ...,
    ) -> tuple[builtins.list[Entity], int]: ...

    async def find(
        self,
        query: str,
        *,
        project_ids: Sequence[str] = (),
        kinds: Sequence[EntityKind] = (),
        limit: int = 20,
        threshold: float = 0.0,
    ) -> builtins.list[ProjectHit]: ...

    async def explore(
        self,
        entity_id: str,
        *,
        relations: Sequence[RelationKind] = (),
        direction: Direction = Direction.BOTH,
        depth: int = 1,
        limit: int = 200,
    ) -> Exploration: ...

    async def forget_path(self, project_id: str, path: str) -> int: ...

    async def add_pages(self, project_id: str, pages: Sequence[tuple[str, str, str]]) -> int: ...


@dataclass(slots=True)
class ToolServices:
    """Services of one open Atelier, None where not available.

    Commands that only list tools create a registry before the memory search and the question gate exist; these are
    added here later. So a tool keeps this object and reads it when called.

    Attributes:
        registry: the registry of the tools.
        commands: running commands; created by the first command.
        on_changed: called with a workflow's id when a background command begins or ends.
        hidden: paths that no sandboxed command can read: the data folder.
    """

    registry: ToolRegistry | None = None
    memories: MemoryRepository | None = None
    memory_search: MemorySearch | None = None
    memory_off: Callable[[str], Awaitable[bool]] | None = None
    memory_asks: Callable[[], Awaitable[bool]] | None = None
    reports: ReportRepository | None = None
    artefacts: Artefacts | None = None
    questions: QuestionGate | None = None
    files: WorkspaceFiles | None = None
    commands: Commands | None = None
    skills: SkillReader | None = None
    web: Web | None = None
    searcher: Searcher | None = None
    maker: MediaGenerator | None = None
    image_describer: ImageDescriber | None = None
    projects: Projects | None = None
    hidden: tuple[Path, ...] = ()
    on_changed: Callable[[str], None] = lambda _workflow_id: None

    def need_projects(self) -> Projects:
        """Return the project service.

        Raises:
            ToolError: ``unsupported`` if there is none.
        """
        if self.projects is None:
            raise ToolError("There are no projects here.", code="unsupported")
        return self.projects
