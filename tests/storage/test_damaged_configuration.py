"""A damaged row of configuration or of a journal is named and ignored; it blocks only agents that might do what it
forbids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.domain.mcp import McpEntry, McpServer
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.question import QuestionSpec, QuestionType, UserQuestion
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage.damaged_configuration import damaged_configuration
from atelier_desk.storage.damaged_row_search import damaged_anywhere
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.configuration import remove_damaged
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement
from atelier_desk.storage.writing.journal_commit import Commit
from tests.helpers.error_codes import raises_code

CHANGES = {
    "agent": ("config", '{"name":"Agent a","provider":"evil","model":"m"}'),
    "provider": ("base_url", "http://evil.org"), "mcp_server": ("known", "{}"),
    "permission_rule": ("text", "read_file(.enw)"), "setting": ("value", "true"), "task": ("name", "Sell"),
    "user_question": ("agent_name", "Bob"), "approval_request": ("tool", "Calculator"), "report": ("size", 1),
    "memory": ("content", "lies"),
}  # fmt: skip
"""By table, a column and a value after a flipped bit."""
CONFIGURED = ("agent", "provider", "mcp_server", "permission_rule", "setting")
Lists = dict[str, Callable[[], Awaitable[list[Any]]]]


@pytest.fixture
async def kept(repos: Repositories) -> Repositories:
    """Two rows of each table; the first has the id or name ``a``."""
    await repos.workflows.create(Workflow(id="w", name="w"))
    spec = QuestionSpec(question="Which?", question_type=QuestionType.TEXT)
    for id in ("a", "b"):
        await repos.agents.save(Agent(id=id, config=AgentConfig(name=f"Agent {id}", provider="p", model="m")))
        await repos.providers.save(ProviderConfig(name=id, kind="openai"))
        await repos.mcp_servers.save(McpEntry(name=id, config=McpServer(name=id, command="server")))
        await repos.rules.save(PermissionRule(id=id, text=f"read_file({id}.env)", action=Action.DENY))
        question = UserQuestion(id=id, workflow_id="w", run_id="r", call_id="c", spec=spec)
        approval = ApprovalRequest(id=id, workflow_id="w", run_id="r", call_id="c", tool="Read", timeout_s=300)
        task = Task(id=id, workflow_id="w", name="Buy")
        await repos.journal.commit(Commit(questions=(question,), approvals=(approval,), tasks=(task,)))
        await repos.memories.save(Memory(id=id, type=MemoryType.KNOWLEDGE, content=f"herons fish {id}"))
        await repos.reports.save(Report(id=id, workflow_id="w", name=id), "# Herons")
    await repos.settings.save(Settings(name_by_model=False, audit_days=400))
    return repos


def lists(repos: Repositories) -> Lists:
    async def settings() -> list[Any]:
        return [await repos.settings.load()]

    return {
        "agent": repos.agents.list, "provider": repos.providers.list, "mcp_server": repos.mcp_servers.list,
        "permission_rule": repos.rules.list, "setting": settings, "task": lambda: repos.tasks.list("w"),
        "user_question": repos.questions.pending, "approval_request": repos.approvals.pending,
        "report": lambda: repos.reports.list("w"),
        "memory": lambda: repos.memories.get_many(["a", "b"]),
    }  # fmt: skip


def key(table: str) -> str:
    return "name_by_model" if table == "setting" else "a"


async def damage(repos: Repositories, table: str) -> None:
    column, value = CHANGES[table]
    await repos.store.write(
        Statement(f"UPDATE $row SET `{column}` = $value", {"row": record(table, key(table)), "value": value})
    )


@pytest.mark.parametrize("table", CHANGES)
async def test_a_damaged_row_is_named_and_ignored(kept: Repositories, table: str) -> None:
    before = await lists(kept)[table]()
    assert await damaged_anywhere(kept.store) == []
    await damage(kept, table)
    (found,) = await damaged_anywhere(kept.store)
    assert (found.table, found.row, found.problem) == (table, key(table), "changed")
    assert key(table) in str(found.error())
    assert (await damaged_configuration(kept.store.query_all) == [found]) is (table in CONFIGURED)
    after = await lists(kept)[table]()
    if table == "setting":
        assert (before[0].name_by_model, after[0].audit_days) == (False, 400)
        assert after[0] == before[0].model_copy(update={"name_by_model": Settings().name_by_model})
    else:
        assert after == [
            each for each in before if getattr(each, "id", each.name if hasattr(each, "name") else "") != "a"
        ]


@pytest.mark.parametrize("table", ["agent", "provider", "mcp_server", "user_question", "approval_request", "memory"])
async def test_reading_a_damaged_row_explains_what_to_do(kept: Repositories, table: str) -> None:
    getters: dict[str, Callable[[str], Awaitable[object]]] = {
        "agent": kept.agents.get,
        "provider": kept.providers.get,
        "mcp_server": kept.mcp_servers.get,
        "user_question": kept.questions.get,
        "approval_request": kept.approvals.get,
        "memory": kept.memories.get,
    }
    get = getters[table]
    await get("a")
    await damage(kept, table)
    with pytest.raises(StorageError) as told:
        await get("a")
    assert (told.value.code, "atelier backup restore" in str(told.value)) == ("damaged_row", True)
    assert ("--remove-damaged" in str(told.value)) is (table in CONFIGURED)
    await get("b")


@pytest.mark.parametrize("table", CONFIGURED)
async def test_damage_that_may_hide_a_restriction_blocks_all_agents(kept: Repositories, table: str) -> None:
    await kept.settings.refuse_damaged()
    await damage(kept, table)
    if table not in ("permission_rule", "setting"):
        await kept.settings.refuse_damaged()
        return
    with raises_code(StorageError, "damaged_row") as refused:
        await kept.settings.refuse_damaged()
    for part in (key(table), "no agent starts", "backup restore FILE", "--remove-damaged"):
        assert part in str(refused.value)


async def test_a_dropped_row_is_deleted_and_all_others_stay(kept: Repositories) -> None:
    for table in CHANGES:
        await damage(kept, table)
    removed = await remove_damaged(kept.store)
    assert {each.table for each in removed} == set(CONFIGURED)
    assert await damaged_configuration(kept.store.query_all) == []
    assert {each.table for each in await damaged_anywhere(kept.store)} == CHANGES.keys() - set(CONFIGURED)
    await kept.settings.refuse_damaged()
    assert [len(await lists(kept)[table]()) for table in CONFIGURED] == [1] * 5
    assert (await kept.settings.load()).audit_days == 400
    with pytest.raises(NotFoundError):
        await kept.agents.get("a")
    assert await remove_damaged(kept.store) == []
    await kept.agents.save(Agent(config=AgentConfig(name="Agent a", provider="p", model="m")))


async def test_another_change_of_the_settings_does_not_hide_a_damaged_one(kept: Repositories) -> None:
    await damage(kept, "setting")
    loaded = await kept.settings.load()
    await kept.settings.save(loaded.model_copy(update={"audit_days": 500}))
    assert [each.row for each in await damaged_configuration(kept.store.query_all)] == ["name_by_model"]
    assert (await kept.settings.load()).audit_days == 500
    await kept.settings.save(loaded.model_copy(update={"name_by_model": False}))
    assert await damaged_configuration(kept.store.query_all) == []


@pytest.mark.parametrize("change", [
    "UPDATE permission_rule SET last_matched_at = time::now()",
    "UPDATE approval_request SET seen_ms += 500", "UPDATE user_question SET seen_ms += 500",
    "UPDATE memory SET tainted = ['evil.org'], embedder = 'e', retrieved_by = ['r']",
    "UPDATE task SET hash = NONE, name = 'Sell'",
])  # fmt: skip
async def test_fields_that_change_by_themselves_and_older_rows_are_no_damage(kept: Repositories, change: str) -> None:
    await kept.store.write(Statement(change, {}))
    assert await damaged_anywhere(kept.store) == []


async def test_an_unreadable_table_counts_as_damaged() -> None:
    async def fails(text: str) -> list[Any]:
        if "FROM agent" in text:
            raise StorageError("Corrupted", code="damaged_row")
        if "FROM provider" in text:
            raise StorageError("The disk failed", code="io")
        return [[]]

    (found,) = await damaged_configuration(fails, ("agent", "setting"))
    assert (found.table, found.row) == ("agent", "?")
    with pytest.raises(StorageError, match="disk failed"):
        await damaged_configuration(fails, ("provider",))


UNREADABLE = [
    ("agent", "config", "{"), ("agent", "config", "{}"), ("mcp_server", "config", "["),
    ("permission_rule", "action", "dany"),
    ("permission_rule", "scope", "x"), ("setting", "value", ""), ("setting", "value", "fal"),
]  # fmt: skip
"""What damage left of a row of an earlier version, which has no hash."""


@pytest.mark.parametrize(("table", "column", "value"), UNREADABLE)
async def test_unreadable_rows_without_a_hash_are_damaged_too(
    kept: Repositories, table: str, column: str, value: str
) -> None:
    row = record(table, key(table))
    await kept.store.write(Statement(f"UPDATE $row SET `{column}` = $value, hash = NONE", {"row": row, "value": value}))
    assert [(each.table, each.row) for each in await damaged_configuration(kept.store.query_all)] == [
        (table, key(table))
    ]
    for each in lists(kept).values():
        await each()
    if table in ("permission_rule", "setting"):
        with pytest.raises(StorageError, match="no agent starts"):
            await kept.settings.refuse_damaged()
    assert [each.row for each in await remove_damaged(kept.store)] == [key(table)]
    await kept.settings.refuse_damaged()


@pytest.mark.parametrize("value", ["[1]", '{"flags": 3}', "null"])
async def test_unreadable_approval_settings_without_a_hash_block_all_agents(kept: Repositories, value: str) -> None:
    await kept.settings.save(await kept.settings.load())
    await kept.store.write(
        Statement(
            "UPDATE $row SET `value` = $value, hash = NONE", {"row": record("setting", "approvals"), "value": value}
        )
    )
    with pytest.raises(StorageError, match="no agent starts"):
        await kept.settings.refuse_damaged()
    assert [each.row for each in await remove_damaged(kept.store)] == ["approvals"]
    await kept.settings.refuse_damaged()
