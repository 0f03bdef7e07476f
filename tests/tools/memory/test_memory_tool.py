"""MemoryTool: every operation, scope, default and provenance."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.memory import MemoryType
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.tools.memory.memory_tool_inputs import READ_DEFAULT
from atelier_desk.tools.registry.tool_services import ToolServices
from tests.helpers.manual_clock import ManualClock
from tests.helpers.memory_fixtures import WordEmbedder
from tests.tools.conftest import Calls, MakeCalls

MEMORY = "MemoryTool"


async def add(calls: Calls, content: str, type: str = "knowledge", **fields: Any) -> dict[str, Any]:
    data = await calls(MEMORY, operation="add", type=type, content=content, **fields)
    assert data["success"], data
    return data


@pytest.fixture
async def other(repos: Repositories) -> Workflow:
    created = Workflow(name="Other")
    await repos.workflows.create(created)
    return created


@pytest.mark.parametrize(
    ("type", "scope", "importance", "lives"),
    [
        ("user_pref", "general", 0.8, False),
        ("knowledge", "general", 0.6, False),
        ("decision", "workflow", 0.7, False),
        ("context", "workflow", 0.3, True),
    ],
)
async def test_defaults_depend_on_the_type(
    calls: Calls, repos: Repositories, clock: ManualClock, type: str, scope: str, importance: float, lives: bool
) -> None:
    data = await add(calls, "A fact.", type)
    assert (data["scope"], data["importance"], data["embedding_generated"]) == (scope, importance, True)
    memory = await repos.memories.get(data["memory_id"])
    assert memory.workflow_id == (calls.context.workflow_id if scope == "workflow" else None)
    if lives:
        assert memory.expires_at is not None
        assert (memory.expires_at - clock.now()).days == 7
    else:
        assert memory.expires_at is None


async def test_provenance_names_the_author_and_the_finder(
    calls: Calls, calls_with: MakeCalls, repos: Repositories, services: ToolServices
) -> None:
    data = await add(calls, "The cat sleeps.")
    memory = await repos.memories.get(data["memory_id"])
    assert (memory.source, memory.agent_source, memory.run_id, memory.retrieved_by) == (
        "agent",
        "Assistant",
        "run-1",
        (),
    )
    await calls_with(run_id="run-2")(MEMORY, operation="search", query="cat")
    await calls_with(run_id="run-3")(MEMORY, operation="search", query="cat")
    search = services.memory_search
    assert search is not None
    await search.settle()
    assert (await repos.memories.get(data["memory_id"])).retrieved_by == ("run-2", "run-3")


async def test_given_values_are_stored(calls: Calls, repos: Repositories) -> None:
    data = await add(
        calls,
        "A fact.",
        tags=["one", " two "],
        metadata={"priority": 0.9, "agent_source": "Scout", "tags": ["two", "three"]},
        importance=1,
        scope="workflow",
    )
    memory = await repos.memories.get(data["memory_id"])
    assert memory.tags == ("one", "two", "three")
    assert (memory.priority, memory.agent_source, memory.importance) == (0.9, "Scout", 1.0)
    assert memory.workflow_id == calls.context.workflow_id


async def test_the_same_call_creates_one_memory(calls: Calls, repos: Repositories) -> None:
    first = await add(calls, "Once.", call_id="same")
    again = await add(calls, "Once.", call_id="same")
    assert first == again
    assert await repos.memories.count() == 1


async def test_a_failing_embedder_does_not_lose_the_memory(calls: Calls, embedder: WordEmbedder) -> None:
    embedder.failing = True
    data = await add(calls, "The cat sleeps.")
    assert data["embedding_generated"] is False
    found = await calls(MEMORY, operation="search", query="cat")
    assert (found["count"], found["search_type"]) == (1, "text")
    assert "out of order" in found["note"]


async def test_get_returns_the_full_memory_and_long_ones_in_pages(calls: Calls) -> None:
    content = "x" * READ_DEFAULT + "y" * 100
    memory_id = (await add(calls, content))["memory_id"]
    first = await calls(MEMORY, operation="get", memory_id=memory_id)
    assert (first["next_offset"], first["total_chars"]) == (READ_DEFAULT, READ_DEFAULT + 100)
    rest = await calls(MEMORY, operation="get", memory_id=memory_id, offset=READ_DEFAULT)
    assert rest["memory"]["content"] == "y" * 100
    assert "next_offset" not in rest
    assert "past the end" in (await calls(MEMORY, operation="get", memory_id=memory_id, offset=10**6))["error"]


async def test_list_filters_and_previews(calls: Calls, clock: ManualClock) -> None:
    await add(calls, "First.", "decision", tags=["a"])
    await clock.advance(1)
    await add(calls, "é" * 300, "knowledge", tags=["a", "b"])
    assert [memory["type"] for memory in (await calls(MEMORY, operation="list"))["memories"]] == [
        "knowledge",
        "decision",
    ]
    assert (await calls(MEMORY, operation="list", type_filter="decision"))["count"] == 1
    assert (await calls(MEMORY, operation="list", tags=["a", "b"]))["count"] == 1
    assert (await calls(MEMORY, operation="list", scope="workflow"))["memories"][0]["content"] == "First."
    assert (await calls(MEMORY, operation="list", limit=1))["count"] == 1
    compact = (await calls(MEMORY, operation="list", mode="compact", scope="general"))["memories"][0]
    assert compact["preview"] == "é" * 100 + "…"
    assert set(compact) == {"id", "type", "preview", "tags", "importance", "workflow_id", "created_at"}


async def test_search_returns_every_part_of_the_score(calls: Calls) -> None:
    await add(calls, "The feline sleeps.")
    data = await calls(MEMORY, operation="search", query="feline", threshold=0.5)
    assert data["search_type"] == "hybrid"
    (result,) = data["results"]
    assert {"id", "content", "score", "relevance", "lexical", "cosine", "importance", "recency"} <= set(result)
    assert (await calls(MEMORY, operation="search", query="feline", type_filter="decision"))["results"] == []
    assert (await calls(MEMORY, operation="search", query="feline", scope="workflow"))["results"] == []


async def test_update_changes_content_and_its_vector(calls: Calls, repos: Repositories, clock: ManualClock) -> None:
    memory_id = (await add(calls, "The cat sleeps.", tags=["pet"]))["memory_id"]
    await clock.advance(60)
    assert (await calls(MEMORY, operation="update", memory_id=memory_id, content="The car is red.", importance=0.1))[
        "success"
    ]
    memory = await repos.memories.get(memory_id)
    assert (memory.content, memory.importance, memory.tags) == ("The car is red.", 0.1, ("pet",))
    assert memory.updated_at > memory.created_at
    assert (await calls(MEMORY, operation="search", query="voiture", threshold=0))["count"] == 1
    await calls(MEMORY, operation="update", memory_id=memory_id, tags=[])
    assert (await repos.memories.get(memory_id)).tags == ()
    assert "Nothing to update" in (await calls(MEMORY, operation="update", memory_id=memory_id))["error"]


async def test_delete_removes_the_memory(calls: Calls) -> None:
    memory_id = (await add(calls, "The cat sleeps."))["memory_id"]
    await calls(MEMORY, operation="search", query="cat")
    assert (await calls(MEMORY, operation="delete", memory_id=memory_id))["success"]
    assert (await calls(MEMORY, operation="search", query="cat"))["count"] == 0
    assert (await calls(MEMORY, operation="delete", memory_id=memory_id))["code"] == "not_found"


@pytest.mark.parametrize("operation", ["get", "update", "delete"])
async def test_another_workflows_memory_is_not_found(
    calls: Calls, calls_with: MakeCalls, other: Workflow, operation: str
) -> None:
    foreign = (await add(calls_with(workflow_id=other.id), "Secret plan.", "decision"))["memory_id"]
    data = await calls(
        MEMORY, "", operation=operation, memory_id=foreign, **({"importance": 0.5} if operation == "update" else {})
    )
    assert data["code"] == "not_found"


async def test_an_expired_memory_is_not_found(calls: Calls, clock: ManualClock) -> None:
    memory_id = (await add(calls, "Today it rains.", "context"))["memory_id"]
    assert (await calls(MEMORY, operation="get", memory_id=memory_id))["success"]
    await clock.advance(limits.MEMORY_CONTEXT_DAYS * 86_400)
    assert (await calls(MEMORY, operation="get", memory_id=memory_id))["code"] == "not_found"
    assert (await calls(MEMORY, operation="list"))["count"] == 0


async def test_clear_by_type_means_the_workflow_by_default(
    calls: Calls, calls_with: MakeCalls, repos: Repositories
) -> None:
    await add(calls, "Mine.", "decision")
    await add(calls, "General.", "decision", scope="general")
    assert (await calls(MEMORY, operation="clear_by_type", type="decision"))["deleted"] == 1
    assert await repos.memories.count() == 1
    nowhere = calls_with(workflow_id="")
    assert "scope" in (await nowhere(MEMORY, operation="clear_by_type", type="decision"))["error"]
    assert (await nowhere(MEMORY, operation="clear_by_type", type="decision", scope="general"))["deleted"] == 1


async def test_clear_by_type_can_mean_both_scopes(calls: Calls) -> None:
    await add(calls, "Mine.", "decision")
    await add(calls, "General.", "decision", scope="general")
    await add(calls, "Kept.", "knowledge")
    assert (await calls(MEMORY, operation="clear_by_type", type="decision", scope="both"))["deleted"] == 2
    assert (await calls(MEMORY, operation="list"))["count"] == 1


async def test_describe_counts(calls: Calls) -> None:
    await add(calls, "Mine.", "decision", tags=["a"])
    await add(calls, "General.", "knowledge", tags=["a", "b"])
    data = await calls(MEMORY, operation="describe")
    assert (data["total"], data["workflow"], data["general"]) == (2, 1, 1)
    assert data["by_type"] == {"user_pref": 0, "context": 0, "knowledge": 1, "decision": 1}
    assert data["tags"] == {"a": 2, "b": 1}


async def test_activate_general_hides_the_workflows_memories_for_this_run(
    calls: Calls, calls_with: MakeCalls, repos: Repositories
) -> None:
    await add(calls, "Mine.", "decision")
    assert (await calls(MEMORY, operation="activate_general"))["success"]
    assert (await calls(MEMORY, operation="list"))["count"] == 0
    stored = await add(calls, "Another decision.", "decision")
    assert stored["scope"] == "general"
    assert (await calls(MEMORY, operation="add", type="context", content="x", scope="workflow"))[
        "code"
    ] == "no_workflow"
    assert (await calls(MEMORY, operation="list", scope="workflow"))["code"] == "no_workflow"
    another_run = calls_with(run_id="run-2")
    assert (await another_run(MEMORY, operation="list", scope="workflow"))["count"] == 1


async def test_activate_workflow_selects_another_workflows_memories(
    calls: Calls, calls_with: MakeCalls, other: Workflow
) -> None:
    await add(calls_with(workflow_id=other.id), "Theirs.", "decision")
    assert (await calls(MEMORY, operation="list"))["count"] == 0
    assert (await calls(MEMORY, operation="activate_workflow", workflow_id=other.id))["workflow_id"] == other.id
    assert [memory["content"] for memory in (await calls(MEMORY, operation="list"))["memories"]] == ["Theirs."]
    assert (await add(calls, "Mine for them.", "decision"))["workflow_id"] == other.id
    gone = await calls(MEMORY, operation="activate_workflow", workflow_id="nowhere")
    assert (gone["success"], gone["code"]) == (False, "not_found")
    assert "no workflow nowhere" in gone["error"]
    assert (await add(calls, "Still mine for them.", "decision"))["workflow_id"] == other.id


async def test_a_blank_memory_and_too_many_tags_are_refused(calls: Calls) -> None:
    assert "blank" in (await calls(MEMORY, operation="add", type="context", content=" \n "))["error"]
    many = [f"tag{number}" for number in range(15)]
    data = await calls(
        MEMORY, operation="add", type="context", content="x", tags=many, metadata={"tags": [f"m{tag}" for tag in many]}
    )
    assert "30 tags given; the limit is 20" in data["error"]


async def test_without_memories_the_answer_says_so(calls_with: MakeCalls) -> None:
    assert (await calls_with(memories=None)(MEMORY, operation="list"))["code"] == "no_memory"
    assert (await calls_with(memory_search=None)(MEMORY, operation="search", query="x"))["code"] == "no_memory"


async def test_without_a_search_memories_are_still_stored(calls_with: MakeCalls, repos: Repositories) -> None:
    calls = calls_with(memory_search=None)
    memory_id = (await add(calls, "Kept."))["memory_id"]
    assert (await repos.memories.get(memory_id)).type is MemoryType.KNOWLEDGE
    assert (await calls(MEMORY, operation="clear_by_type", type="knowledge", scope="general"))["deleted"] == 1


def test_reading_operations_only_read(calls: Calls) -> None:
    tool = calls.registry.get_tool(MEMORY)
    assert tool is not None
    reading = {"get", "list", "search", "describe", "activate_workflow", "activate_general"}
    for name in ("add", "update", "delete", "clear_by_type", *reading):
        assert (name in tool.reading) is (name in reading)
    assert calls.registry.prepare(tool, {"operation": "activate_general"}).described.alone
    listing = calls.registry.prepare(tool, {"operation": "list"}).described
    assert (listing.effect, listing.alone) == ("read", False)
    assert calls.registry.prepare(tool, {"operation": "delete", "memory_id": "m"}).described.effect == "write"


async def test_a_workflow_with_memory_disabled_has_none(calls: Calls, services: ToolServices) -> None:
    await add(calls, "The cat sleeps.")
    off = True

    async def memory_off(_workflow_id: str) -> bool:
        return off

    services.memory_off = memory_off
    data = await calls(MEMORY, operation="search", query="cat")
    assert (data["success"], data["code"]) == (False, "memory_off")
    off = False
    assert (await calls(MEMORY, operation="search", query="cat"))["count"] == 1


async def test_a_proposal_awaiting_approval_is_general_for_the_agents_of_its_workflow(
    calls: Calls, services: ToolServices, repos: Repositories, other: Workflow, calls_with: MakeCalls
) -> None:
    """It is found, listed and deleted as general in the workflow where it was added, and nowhere else."""

    async def asks() -> bool:
        return True

    await add(calls, "A cat in the workflow.", "knowledge", scope="workflow")
    services.memory_asks = asks
    waiting = await add(calls, "A cat that sleeps.", "knowledge")
    assert (waiting["scope"], (await repos.memories.get(waiting["memory_id"])).proposed) == ("general", True)

    async def seen(by: Calls) -> tuple[list[str], list[str]]:
        listed = await by(MEMORY, operation="list", scope="general")
        found = await by(MEMORY, operation="search", query="cat", scope="general", threshold=0)
        return [each["id"] for each in listed["memories"]], [each["id"] for each in found["results"]]

    ids = [waiting["memory_id"]]
    assert await seen(calls) == (ids, ids)
    assert await seen(calls_with(workflow_id=other.id)) == ([], [])
    assert (
        await calls_with(workflow_id=other.id)(MEMORY, operation="clear_by_type", type="knowledge", scope="general")
    )["deleted"] == 0
    assert (await calls(MEMORY, operation="clear_by_type", type="knowledge", scope="general"))["deleted"] == 1
    assert await seen(calls) == ([], [])
    assert (await calls(MEMORY, operation="describe"))["total"] == 1


@pytest.mark.parametrize(
    ("scope", "seen", "cleared", "left"),
    [
        ("workflow", {"own"}, 1, {"for all", "proposed"}),
        ("general", {"for all", "proposed"}, 2, {"own"}),
        ("both", {"own", "for all", "proposed"}, 3, set()),
        (None, {"own"}, 1, {"for all", "proposed"}),
    ],
)
async def test_a_proposal_is_general_to_every_operation(
    calls: Calls,
    services: ToolServices,
    repos: Repositories,
    scope: str | None,
    seen: set[str],
    cleared: int,
    left: set[str],
) -> None:
    """Clearing a scope deletes exactly what that scope lists and finds; ``describe`` counts the same."""
    yes = False

    async def asks() -> bool:
        return yes

    services.memory_asks = asks
    ids = {(await add(calls, "A cat of all.", scope="general"))["memory_id"]: "for all"}
    yes = True
    ids[(await add(calls, "A cat that is proposed.", scope="general"))["memory_id"]] = "proposed"
    ids[(await add(calls, "A cat of its own.", scope="workflow"))["memory_id"]] = "own"
    told = await calls(MEMORY, operation="describe")
    assert (told["total"], told["workflow"], told["general"]) == (3, 1, 2)
    if scope is not None:
        listed = await calls(MEMORY, operation="list", scope=scope)
        found = await calls(MEMORY, operation="search", query="cat", scope=scope, threshold=0)
        assert (
            {ids[each["id"]] for each in listed["memories"]} == {ids[each["id"]] for each in found["results"]} == seen
        )
    given = {} if scope is None else {"scope": scope}
    assert (await calls(MEMORY, operation="clear_by_type", type="knowledge", **given))["deleted"] == cleared
    assert {ids[memory.id] for memory in await repos.memories.list(scope=None)} == left


async def test_proposals_of_another_workflow_are_not_affected(
    calls: Calls, services: ToolServices, repos: Repositories, other: Workflow, calls_with: MakeCalls
) -> None:
    async def asks() -> bool:
        return True

    services.memory_asks = asks
    there = calls_with(workflow_id=other.id, run_id="run-2")
    proposed = await add(there, "A cat proposed elsewhere.", scope="general")
    own = await add(calls, "A cat proposed here.", scope="general")
    switched = calls_with(state={"workflow_id": other.id})
    told = await switched(MEMORY, operation="list", scope="general")
    assert [each["id"] for each in told["memories"]] == [own["memory_id"]]
    assert (await switched(MEMORY, operation="clear_by_type", type="knowledge", scope="both"))["deleted"] == 1
    assert [memory.id for memory in await repos.memories.list(scope=None)] == [proposed["memory_id"]]
