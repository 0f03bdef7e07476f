"""Loads the graph: one neighbourhood at a time, or a complete project file by file, with progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from atelier_desk.desktop.projects.graph.model import MOST_NODES, GraphModel
from atelier_desk.domain.project import Entity, EntityKind, Exploration

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

AROUND = 200
"""Maximum neighbours loaded at once."""
FILES = 1_000
"""Maximum files from which a complete project is loaded."""
AT_ONCE = 4
"""Concurrent database queries."""


async def fetch_around(bridge: Bridge, model: GraphModel, entity_id: str) -> Exploration:
    """Add an entity and its neighbours."""
    found: Exploration = await bridge.engine.projects.explore(entity_id, depth=1, limit=AROUND)
    entities = [found.start, *(each.entity for each in found.neighbours)]
    new = [each.id for each in entities if each.id not in model.number]
    model.add(entities, found.relations)
    model.expanded.add(entity_id)
    if new:
        await _join(bridge, model, new)
    return found


async def _join(bridge: Bridge, model: GraphModel, new: Sequence[str] = ()) -> None:
    """Add relations between new nodes (all without relations) and existing ones.

    Exploring returns relations among the nodes it reached only; without a line, two nodes would look unrelated.
    """
    known = [each.id for each in model.entities]
    model.add((), await bridge.engine.projects.among(known, [each for each in new if each in model.number]))


async def fetch_project(
    bridge: Bridge, model: GraphModel, project_id: str, on_progress: Callable[[int, int], object]
) -> bool:
    """Add a project's files with their contents and imports, within the limits of the graph.

    Returns False if not everything was added. ``on_progress`` receives the number of files done.
    """
    files: list[Entity] = await bridge.engine.projects.files(project_id, limit=FILES)
    model.add(files, ())
    waiting = list(reversed(files))
    done, cut = 0, len(files) >= FILES

    async def work() -> None:
        nonlocal done, cut
        while waiting and len(model) < MOST_NODES:
            entity = waiting.pop()
            found = await bridge.engine.projects.explore(entity.id, depth=1, limit=AROUND)
            model.add(
                [each.entity for each in found.neighbours if each.entity.kind is not EntityKind.IMPORT], found.relations
            )
            cut = cut or found.cut
            done += 1
            on_progress(done, len(files))

    workers = [asyncio.ensure_future(work()) for _number in range(AT_ONCE)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
    await _join(bridge, model)
    return not cut and not waiting
