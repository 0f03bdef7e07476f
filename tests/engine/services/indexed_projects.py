"""Projects that are indexed to the end, and their entities by name."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain.project import EntityKind, IngestStage, Project
from atelier_desk.engine import Atelier


async def read(atelier: Atelier, project: Project, *paths: str, force: bool = False) -> None:
    await atelier.projects.ingest(project.id, paths, force=force)
    state = await atelier.projects.wait(project.id)
    assert state is not None
    assert state.stage is IngestStage.DONE, state.error


async def indexed(atelier: Atelier, folder: Path) -> Project:
    """A project of that folder, which is not watched."""
    project = await atelier.projects.create("code", str(folder), watched=False)
    await read(atelier, project)
    return project


async def named(atelier: Atelier, project: Project, name: str) -> str:
    """The id of the only entity of that name that is not an import."""
    found = await atelier.projects.find(name, project_ids=[project.id], kinds=[EntityKind.SCOPE, EntityKind.FILE])
    [one] = [each.entity.id for each in found if each.entity.name == name]
    return one
