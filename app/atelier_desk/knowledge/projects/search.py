"""Search in the indexes of several projects, and explore one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atelier_desk.domain.project import (
    Direction,
    Entity,
    EntityKind,
    Exploration,
    Neighbour,
    Project,
    ProjectHit,
    Relation,
    RelationKind,
)
from atelier_desk.knowledge.projects.entity_texts import query_stems
from atelier_desk.knowledge.query_vector import query_vector
from atelier_desk.storage.search_terms import excerpt
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    from atelier_desk.knowledge.projects.index import ProjectIndex, Ranked
    from atelier_desk.knowledge.projects.index_cache import ProjectIndexes
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.storage.project_graph_rows import Edge, LightRow
    from atelier_desk.storage.repositories import ProjectRepository

PREVIEW = 240
"""Maximum characters of a preview."""


async def search(
    repo: ProjectRepository,
    indexes: ProjectIndexes,
    embedder: Embedder | None,
    projects: Sequence[Project],
    query: str,
    kinds: Sequence[EntityKind],
    limit: int,
    threshold: float,
) -> list[ProjectHit]:
    """Return the best results of all these projects, best first; by words only when the embedder fails."""
    stems = query_stems(query)
    vector = None
    if embedder is not None and any(project.embedded for project in projects):
        vector, _why = await query_vector(embedder, query)
    ranked: list[tuple[Ranked, Project]] = []
    for project in projects:
        index = await indexes.get(project.id)
        found = await in_tool_thread(index.search, stems, vector, kinds, limit, threshold, query)
        ranked += [(each, project) for each in found]
    ranked.sort(key=lambda pair: (-pair[0].score, pair[0].id))
    results: dict[str, ProjectHit] = {}
    for project in projects:
        own = {each.id: each for each, home in ranked[:limit] if home.id == project.id}
        if own:
            entities = await repo.entities(list(own), project.id, text=True)
            results |= await in_tool_thread(_found, entities, own, project.name, query)
    return [results[each.id] for each, _home in ranked[:limit] if each.id in results]


def _found(entities: Sequence[Entity], scores: Mapping[str, Ranked], project: str, query: str) -> dict[str, ProjectHit]:
    """Return the hits by id, each with a preview.

    Runs in a thread: scanning a long text without any query word takes 10 ms.
    """
    found = {}
    for entity in entities:
        score = scores[entity.id]
        found[entity.id] = ProjectHit(
            entity=entity.model_copy(update={"text": ""}),
            project=project,
            score=score.score,
            lexical=score.lexical,
            cosine=score.cosine,
            preview=excerpt(entity.text or entity.docstring or entity.signature, query, PREVIEW),
        )
    return found


def around(
    index: ProjectIndex,
    project_id: str,
    entity_id: str,
    relations: Sequence[RelationKind],
    direction: Direction,
    depth: int,
    limit: int,
) -> Exploration:
    """Return the surroundings of an existing entity. Runs in a thread."""
    reached, edges, cut = index.explore(entity_id, relations, direction, depth, limit)
    start = index.get(entity_id)
    assert start is not None
    made = {edge: relation(edge) for edge in edges}
    neighbours = []
    for each in reached:
        found = index.get(each.id)
        if found is not None:
            neighbours.append(Neighbour(entity=shown(found, project_id), depth=each.depth, by=made[each.by]))
    return Exploration(
        start=shown(start, project_id), neighbours=tuple(neighbours), relations=tuple(made.values()), cut=cut
    )


def shown(light: LightRow, project_id: str) -> Entity:
    """Return an entity from its index entry, without signature, docstring and text."""
    return Entity(
        id=light.id,
        project_id=project_id,
        kind=EntityKind(light.kind),
        type=light.type,
        name=light.name,
        qualified=light.qualified,
        path=light.path,
        language=light.language,
        start_line=light.start_line,
        end_line=light.end_line,
        parent=light.parent,
    )


def relation(edge: Edge) -> Relation:
    """Return an edge of an index as a domain object."""
    return Relation(
        source=edge.source,
        target=edge.target,
        kind=RelationKind(edge.kind),
        confidence=min(1.0, edge.confidence),
        line=edge.line,
    )
