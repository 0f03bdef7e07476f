"""Tools that search in projects."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.project import FOUND_MAX, Direction, Entity, EntityKind, Project, ProjectHit, RelationKind
from atelier_desk.knowledge.projects.entity_filter import FIELDS, OPERATORS
from atelier_desk.storage.project_graph_rows import is_entity_id
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.projects.project_tool_base import KINDS, OUTSIDE, ProjectTool, entity_fields, kind_of
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import KNOWLEDGE

MOST = 50
"""Maximum results of a search or query."""
NONE = (
    "There is no project yet. The user can have a folder read as one in the Projects window (atelier projects "
    "create), and agents with "
    "setup_project can make one of the workspace."
)
WORDS_ALONE = "Found by words alone: no vectors were compared. Where they are missing, generate_embeddings makes them."
ALWAYS_TEXT = frozenset({EntityKind.SCOPE, EntityKind.SECTION})
"""Kinds that are always embedded when any are."""
AROUND = 60
"""Maximum entities of an exploration."""
LISTED = ("type", "language")
"""Fields with few values: if none matches, the existing values are listed."""
VALUES = 20
"""Maximum number of values listed."""


class RagTool(ProjectTool):
    section = KNOWLEDGE
    icon = "search"
    idempotent = True

    def missing_setup(self) -> str:
        projects = self.services.projects
        return NONE if projects is not None and not projects.some else ""

    async def search(
        self, query: str, projects: Sequence[Project], entity: str, limit: int, threshold: float, context: ToolContext
    ) -> ToolResult:
        kinds = [kind_of(entity)] if entity else []
        ids = [each.id for each in projects]
        hits: list[ProjectHit] = []
        for most in (limit, FOUND_MAX):
            found = (
                await self.projects.find(query, project_ids=ids, kinds=kinds, limit=most, threshold=threshold)
                if ids
                else []
            )
            shown = {each.id for each in await self.readable([hit.entity for hit in found], context)}
            hits = [hit for hit in found if hit.entity.id in shown][:limit]
            if len(found) < most or len(hits) == limit:
                break  # otherwise unreadable results would displace readable ones
        outside = await self.outside([hit.entity for hit in hits], context)
        notes = [OUTSIDE] if any("://" in hit.entity.path for hit in hits) else []
        wanted = any(each.embedded for each in projects)  # otherwise the person wants none
        if wanted and all(hit.cosine is None for hit in hits) and any(hit.entity.kind in ALWAYS_TEXT for hit in hits):
            notes.append(WORDS_ALONE)
        note = {"note": " ".join(notes)} if notes else {}
        found_in = [each for each in projects if any(hit.entity.project_id == each.id for hit in hits)]
        about = {**self.where(found_in, context), **self.unread(projects)}
        return ToolResult(
            {"success": True, "count": len(hits), **note, **about, "results": [_hit(hit) for hit in hits]},
            tainted=outside,
        )

    @staticmethod
    def where(projects: Sequence[Project], context: ToolContext) -> dict[str, Any]:
        """Return, by project, the base folder of its paths, if it differs from the base of the agent's own paths."""
        own = os.path.realpath(context.roots[0]) if context.roots else ""
        roots = {each.name: each.root for each in projects if each.root and each.root != own}
        return {"paths_are_below": roots} if roots else {}

    @staticmethod
    def unread(projects: Sequence[Project]) -> dict[str, Any]:
        """Return the projects that are not fully indexed: what is not found may still exist."""
        names = [each.name for each in projects if each.root and each.ingested_at is None]
        return {"not_read_yet": names, "hint": "ingest_directory reads a project to its end."} if names else {}


def _hit(hit: ProjectHit) -> dict[str, object]:
    return entity_fields(hit.entity, project=hit.project, score=round(hit.score, 3), preview=hit.preview)


def _place(entity: Entity) -> str:
    return f"{entity.qualified or entity.name} ({entity.path}: {entity.id})"


class SchemaInput(Input):
    include_tips: bool = Field(default=True, description="Say how to ask, too.")


@builtin(order=900)
class GetSchema(RagTool):
    name = "get_schema"
    title = N_("Read the graph schema")
    purpose = N_("Lists the entities, fields and relations")
    summaries = {"": N_("Read the graph schema")}
    input = SchemaInput
    about = About(
        what=(
            "Says which entities, fields, operators and relations there are, and how many of each in the current "
            "project."
        ),
        when="before the first query_entities.",
        when_not="you only search: semantic_search needs no schema.",
        example={},
    )

    async def run(self, input: SchemaInput, context: ToolContext) -> ToolResult:
        counts: dict[str, object] = {}
        try:
            project = await self.named("", context)
            statistics = await self.projects.statistics(project.id)
            counts = {
                "project": project.name,
                "counts": {name: statistics.entities.get(kind, 0) for name, kind in KINDS.items()},
                "relation_counts": {kind.value: count for kind, count in statistics.relations.items()},
                "languages": statistics.languages,
            }
        except ToolError as error:
            counts = {"project": None, "hint": str(error)}
        tips = {
            "tips": [
                (
                    'query_entities {"entity": "Scope", "where": {"type": "function", "lines": {"gt": 80}}, '
                    '"order_by": '
                    '"-lines"}'
                ),
                "semantic_search finds by words and meaning; explore_relationships takes the id of what it found.",
                "direction in of calls: who calls it; out of inherits: what it is made from.",
            ]
        }
        return ToolResult.ok(
            entities=list(KINDS),
            fields=list(FIELDS),
            operators=list(OPERATORS),
            relations=[kind.value for kind in RelationKind],
            **counts,
            **(tips if input.include_tips else {}),
        )


class QueryInput(Input):
    entity: str = Field(
        min_length=1,
        max_length=60,
        description="Classes, functions, methods are Scope.",
        json_schema_extra={"enum": list(KINDS)},
    )
    where: dict[str, object] = Field(
        default={},
        max_length=20,
        description='All must hold: {"field": value} (a list: one of them) or {"field": {"operator": value}}.',
    )
    order_by: str = Field(default="", max_length=60, description="A field, or -field for descending, as in -lines.")
    limit: int = Field(default=20, ge=1, le=MOST, description="Most results.")


@builtin(order=902)
class QueryEntities(RagTool):
    name = "query_entities"
    title = N_("Query entities")
    purpose = N_("Finds files, classes, functions, imports and more by their properties")
    summaries = {"": N_("Query {entity}: {where}")}
    input = QueryInput
    about = About(
        what="Finds entities of the current project by their fields.",
        when="you know what you look for: all classes of a folder, the longest functions, who imports a package.",
        when_not="you look for something by what it does: semantic_search.",
        example={
            "entity": "Scope",
            "where": {"type": "function", "path": {"starts_with": "src/"}, "lines": {"gt": 80}},
            "order_by": "-lines",
        },
        limits=(
            f"fields: {', '.join(FIELDS)}; type of a Scope: class, function, method, interface, enum, struct, "
            f"constant …; lines: how many; "
            "qualified: such as Store.save; language: such as python; parent: an id",
            f"operators: {', '.join(OPERATORS)}",
            f"{MOST} results",
        ),
    )

    async def run(self, input: QueryInput, context: ToolContext) -> ToolResult:
        kind = kind_of(input.entity)
        project = await self.named("", context)
        reads = self.reader(project, context)
        found, total = await self.projects.query(
            project.id, kind, input.where, input.order_by, input.limit, reads=reads
        )
        rows = [entity_fields(each) for each in found]
        outside = await self.outside(found, context)
        asked = () if total else (field for field in LISTED if field in input.where)
        there = {field: await self._values(project, kind, field, reads) for field in asked}
        hint = {"there_are": there} if there else {}
        hint |= {**self.where([project] if found else [], context), **self.unread([project])}
        return ToolResult(
            {"success": True, "project": project.name, "total": total, "results": rows, **hint}, tainted=outside
        )

    async def _values(self, project: Project, kind: EntityKind, field: str, reads: Callable[[str], bool]) -> list[str]:
        """Return the sorted values of a field among readable entities of a kind."""
        values: list[str] = []
        while len(values) < VALUES:
            after = {field: {"gt": values[-1] if values else ""}}
            found, _total = await self.projects.query(project.id, kind, after, field, 1, reads=reads)
            if not found:
                break
            values.append(str(getattr(found[0], field)))
        return values


class SearchInput(Input):
    query: str = Field(min_length=1, max_length=1_000, description="What it does, in words, or names.")
    entity: str = Field(default="", max_length=60, description=f"Only these: {', '.join(KINDS)}.")
    limit: int = Field(default=10, ge=1, le=MOST)
    threshold: float = Field(default=0.0, ge=0, le=1, description="Least score.")


@builtin(order=904)
class SemanticSearch(RagTool):
    name = "semantic_search"
    title = N_("Search project")
    purpose = N_("Finds code and text by keywords and meaning")
    summaries = {"": N_("Search the project for {query}")}
    input = SearchInput
    about = About(
        what=(
            "Finds code, documents and pages of the current project by words and meaning, the best first, with "
            "ids and previews."
        ),
        when="you look for where something is done or said.",
        when_not="you need each place where a text stands: search_files.",
        example={"query": "retry a request after a timeout", "entity": "Scope"},
        limits=(f"{MOST} results",),
    )

    async def run(self, input: SearchInput, context: ToolContext) -> ToolResult:
        project = await self.named("", context)
        return await self.search(input.query, [project], input.entity, input.limit, input.threshold, context)


class ExploreInput(Input):
    entity_id: str = Field(min_length=1, max_length=500, description="The id of a result, or a qualified name.")
    relationship: Literal["", "contains", "imports", "calls", "inherits", "mentions", "links_to"] = Field(
        default="", description="Only this one; all without it."
    )
    direction: Literal["out", "in", "both"] = Field(
        default="both", description="out: what it calls, imports …; in: who calls it …"
    )
    depth: int = Field(default=1, ge=1, le=5)


@builtin(order=906)
class ExploreRelationships(RagTool):
    name = "explore_relationships"
    title = N_("Explore relations")
    purpose = N_("Explores call, import, containment and inheritance relations")
    summaries = {"": N_("Explore the relations of {entity_id}")}
    input = ExploreInput
    about = About(
        what="Gives what is around an entity: who calls it, what it imports, contains or inherits, to a depth.",
        when="you want to know what a change would touch, or how something is reached.",
        when_not="you need the text itself: read_file.",
        example={"entity_id": "Store.save", "relationship": "calls", "direction": "in", "depth": 2},
        limits=(f"{AROUND} entities",),
    )

    async def run(self, input: ExploreInput, context: ToolContext) -> ToolResult:
        entity_id, near = await self._id(input.entity_id, context)
        if not entity_id:
            words = (
                f"There is no single entity {input.entity_id[:200]}. Nearest: "
                f"{'; '.join(map(_place, near)) or 'none'}. Give the id."
            )
            # Names written by others are also read here.
            return replace(ToolResult.failure(words, "not_found"), tainted=await self.outside(near, context))
        relations = [RelationKind(input.relationship)] if input.relationship else []
        found = await self.projects.explore(
            entity_id, relations=relations, direction=Direction(input.direction), depth=input.depth, limit=AROUND
        )
        if not await self.readable([found.start], context):
            raise ToolError("There is no entity {id} that you may read.", code="not_found", id=input.entity_id[:200])
        shown = {each.id for each in await self.readable([each.entity for each in found.neighbours], context)}
        # A relation may pass through an unreadable entity, which is not named.
        names = {
            each.entity.id: each.entity.qualified or each.entity.name
            for each in found.neighbours
            if each.entity.id in shown
        }
        names[found.start.id] = found.start.qualified or found.start.name
        rows = []
        for each in found.neighbours:
            if each.entity.id in shown:
                by = f"{names.get(each.by.source, '?')} {each.by.kind.value} {names.get(each.by.target, '?')}"
                rows.append(
                    entity_fields(each.entity, depth=each.depth, by=by, confidence=round(each.by.confidence, 2))
                )
        more = (
            {"more": "There is more: ask for one relationship or direction, or a smaller depth."} if found.cut else {}
        )
        home = [each for each in await self.visible(context) if each.id == found.start.project_id]
        return ToolResult(
            {
                "success": True,
                "start": entity_fields(found.start),
                "count": len(rows),
                "results": rows,
                **more,
                **self.where(home, context),
            },
            tainted=await self.outside(
                [found.start, *(each.entity for each in found.neighbours if each.entity.id in shown)], context
            ),
        )

    async def _id(self, text: str, context: ToolContext) -> tuple[str, list[Entity]]:
        """Resolve an id or a unique name. Otherwise return readable candidates instead."""
        if is_entity_id(text):
            return text, []
        project = await self.named("", context)
        near: list[Entity] = []
        reads = self.reader(project, context)
        for kind in (KINDS["Scope"], KINDS["File"], KINDS["Document"], KINDS["Section"], KINDS["Package"]):
            for field in ("qualified", "name"):
                found, total = await self.projects.query(project.id, kind, {field: text}, "", 5, reads=reads)
                if total == 1:
                    return found[0].id, []
                near += await self.readable(found, context)
        if not near:
            hits = await self.projects.find(text, project_ids=[project.id], limit=5)
            near = await self.readable([hit.entity for hit in hits], context)
        return "", near


class BrainInput(Input):
    query: str = Field(min_length=1, max_length=1_000, description="What it does, in words, or names.")
    projects: list[str] = Field(
        default=[], max_length=50, description="Only these, by name; all that are loaded without it."
    )
    limit: int = Field(default=10, ge=1, le=MOST)


@builtin(order=908)
class BrainSearch(RagTool):
    name = "brain_search"
    title = N_("Search all projects")
    purpose = N_("Finds code, text and pages in all projects")
    summaries = {"": N_("Search all projects for {query}")}
    input = BrainInput
    about = About(
        what="Searches all loaded projects that you may read, by words and meaning.",
        when="you do not know in which project something is.",
        when_not="it is in the current project: semantic_search.",
        example={"query": "how invoices are numbered"},
        limits=(f"{MOST} results",),
    )

    async def run(self, input: BrainInput, context: ToolContext) -> ToolResult:
        if input.projects:
            chosen = [await self.named(name, context) for name in input.projects]
        else:
            chosen = await self._loaded(context)
        return await self.search(input.query, chosen, "", input.limit, 0.0, context)

    async def _loaded(self, context: ToolContext) -> list[Project]:
        """Return the loaded projects that the agent may access.

        Raises:
            ToolError: ``not_found`` if there is none: an empty result would wrongly mean that the words do not occur.
        """
        known = await self.visible(context)
        loaded = [each for each in known if each.loaded]
        if known and not loaded:
            raise ToolError(
                "No project is loaded. There are: {names}. Name one in projects, or load it with load_project.",
                code="not_found",
                names=", ".join(each.name for each in known),
            )
        return loaded or [await self.named("", context)]  # if there is none at all, the error says how to create one
