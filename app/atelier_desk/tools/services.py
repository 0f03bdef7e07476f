"""What tools are given when they are registered: the parts of the open data folder they work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from atelier_desk.domain.skill import Scope, SkillUse
    from atelier_desk.knowledge.search import MemorySearch
    from atelier_desk.storage.folder.artefacts import Artefacts
    from atelier_desk.storage.repositories import MemoryRepository, ReportRepository
    from atelier_desk.tools.registry import ToolRegistry
    from atelier_desk.web.making import Maker
    from atelier_desk.web.reader import Web
    from atelier_desk.web.search import Searcher
    from atelier_desk.workspace.checkpoints.files import WorkspaceFiles
    from atelier_desk.workspace.processes.commands import Commands


class QuestionGate(Protocol):
    """Says whether a question may be asked now."""

    async def refusal(self, workflow_id: str) -> str | None:
        """Why not (queue full, user unresponsive), in words for the model, or None when the question may be asked."""
        ...


@dataclass(frozen=True, slots=True)
class OpenedSkill:
    """A skill that a model takes up: its instructions, and the names of its other files, relative to its folder."""

    use: SkillUse
    text: str
    files: tuple[str, ...]
    scope: Scope


class Seer(Protocol):
    """Puts pictures into words."""

    def lacks(self) -> str:
        """What must be set up first, in words for the model; empty when nothing."""
        ...

    async def describe(self, data: bytes, media_type: str, prompt: str) -> str: ...


class SkillReader(Protocol):
    """Gives skills to models."""

    async def activate(self, name: str, folders: Sequence[str]) -> OpenedSkill:
        """A skill of the user's places or of granted folders, as it is now; ``ToolError`` when it may not be used."""
        ...


@dataclass(slots=True)
class ToolServices:
    """Services of one open Atelier, None where there is none.

    A registry is made before the memory search and the question gate are, by commands that only list tools; whoever makes these puts
    them here. So a tool keeps the whole and looks when it is called.

    Attributes:
        registry: the one the tools are registered in.
        commands: what runs on the machine; made by the first command.
        told: called with a workflow's id when a command in the background begins and when it is over.
        hidden: what no command in the sandbox can read: the data folder.
    """

    registry: ToolRegistry | None = None
    memories: MemoryRepository | None = None
    memory_search: MemorySearch | None = None
    memory_off: Callable[[str], Awaitable[bool]] | None = None
    reports: ReportRepository | None = None
    artefacts: Artefacts | None = None
    questions: QuestionGate | None = None
    files: WorkspaceFiles | None = None
    commands: Commands | None = None
    skills: SkillReader | None = None
    web: Web | None = None
    searcher: Searcher | None = None
    maker: Maker | None = None
    seer: Seer | None = None
    hidden: tuple[Path, ...] = ()
    told: Callable[[str], None] = lambda _workflow_id: None
