"""Every domain model is read from a real database exactly as it was written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.domain.agent import Agent, AgentConfig, Budget, Choices, Thinking
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.events.run import RunEvent, ToolCallFinished, ToolCallStarted
from atelier_desk.domain.mcp import McpEntry, McpServer
from atelier_desk.domain.memory import Memory
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, Report, Run, ToolExecution, Workflow
from atelier_desk.storage import tables
from atelier_desk.storage.repositories.base_repository import upsert
from atelier_desk.storage.row_mapping import Table, record
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.writing.commit_statements import insert_all
from atelier_desk.storage.writing.event_rows import EVENTS
from tests.storage.model_strategies import JSON, SPECS, TEXT, models

AGENTS = models(
    Agent,
    config=st.builds(AgentConfig, name=TEXT.map(lambda text: f"a{text}"), provider=st.just("p"), model=st.just("m")),
)
BODIES = st.builds(
    ToolCallStarted, call_id=TEXT, tool=TEXT, arguments=st.dictionaries(TEXT, JSON, max_size=3)
) | st.builds(ToolCallFinished, call_id=TEXT, tool=TEXT, result=JSON, text=TEXT)
CHOICES = st.builds(
    Choices,
    instructions=TEXT,
    thinking=st.none() | st.sampled_from(Thinking),
    budget=st.builds(Budget, max_tokens=st.none() | st.integers(1, 10**6), max_cost=st.none() | st.floats(0, 100)),
)
HASHES = st.integers(0, 2**256 - 1).map("{:064x}".format)
ATTACHMENTS = st.builds(
    Attachment,
    name=TEXT.map(lambda text: f"a{text}"),
    media_type=TEXT,
    path=TEXT,
    size=st.integers(0, 10**9),
    sha256=HASHES,
    text_sha256=HASHES,
)
NAMES = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9 ._-]{0,20}\Z")

KINDS = st.from_regex(r"\A[a-z][a-z0-9-]{0,31}\Z")

CASES: list[tuple[Table[Any], st.SearchStrategy[Any], dict[str, Any]]] = [
    (
        tables.WORKFLOWS,
        models(Workflow, choices=CHOICES, draft_attachments=st.lists(ATTACHMENTS, max_size=2).map(tuple)),
        {},
    ),
    (tables.RUNS, models(Run), {}),
    (EVENTS, models(RunEvent, body=BODIES), {}),
    (tables.MESSAGES, models(Message), {}),
    (tables.EXECUTIONS, models(ToolExecution), {}),
    (tables.TASKS, models(Task), {}),
    (tables.MEMORIES, models(Memory), {"search": "", "terms": b""}),
    (tables.QUESTIONS, models(UserQuestion, spec=SPECS), {}),
    (tables.APPROVALS, models(ApprovalRequest), {}),
    (tables.FRAMES, models(PromptFrame), {}),
    (tables.REPORTS, models(Report), {"search": ""}),
    (tables.AGENTS, AGENTS, {}),
    (
        tables.PROVIDERS,
        models(
            ProviderConfig,
            name=NAMES,
            kind=KINDS,
            api_version=st.just("2024-10-21"),
            headers=st.just({"X-Team": "$TEAM", "X-Gate": ""}),
        ),
        {},
    ),
    (tables.MODELS, models(ModelInfo), {}),
    (
        tables.RULES,
        st.builds(PermissionRule, text=TEXT.map(lambda text: f"r{text}"[:200]), action=st.sampled_from(Action)),
        {},
    ),
    (
        tables.MCP_SERVERS,
        st.builds(McpEntry, name=NAMES, config=st.builds(McpServer, name=st.just("s"), command=st.just("c"))),
        {},
    ),
]


class Bench:
    """An in-memory store on its own loop, so that a property test can use it from plain functions."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.store = self.run(Store.open(None))

    def run(self, coroutine: Any) -> Any:
        return self.loop.run_until_complete(coroutine)

    def close(self) -> None:
        self.run(self.store.close())
        self.loop.close()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


@pytest.mark.parametrize(("table", "values", "extra"), CASES, ids=[case[0].name for case in CASES])
def test_every_model_round_trips(
    bench: Bench, table: Table[Any], values: st.SearchStrategy[Any], extra: dict[str, Any]
) -> None:
    @settings(max_examples=15)
    @given(values)
    def round_trip(value: Any) -> None:
        row = {**table.encode(value), **extra}
        columns = table.columns if table is not EVENTS else "*"
        bench.run(bench.store.write(Statement(f"DELETE {table.name} RETURN NONE", {})))
        bench.run(
            bench.store.write(Statement("CREATE $row CONTENT $content RETURN NONE", {"row": row["id"], "content": row}))
        )
        found = bench.run(bench.store.query(f"SELECT {columns} FROM $row", row=row["id"]))
        assert table.decode(found[0]) == value

    round_trip()


async def test_a_lone_surrogate_in_a_result_survives(store: Store) -> None:
    call = ToolExecution(id="r:c", workflow_id="w", run_id="r", call_id="c", tool="t", result={"bad": "\ud800"})
    await store.write(*insert_all(tables.EXECUTIONS, [call]))
    rows = await store.query(f"SELECT {tables.EXECUTIONS.columns} FROM tool_execution")
    assert tables.EXECUTIONS.decode(rows[0]) == call


async def test_a_field_set_to_none_disappears_from_the_row(store: Store) -> None:
    workflow = Workflow(name="w", head_run_id="run")
    await store.write(upsert(tables.WORKFLOWS, workflow))
    await store.write(upsert(tables.WORKFLOWS, workflow.model_copy(update={"head_run_id": None})))
    rows = await store.query("SELECT * FROM $row", row=record("workflow", workflow.id))
    assert "head_run" not in rows[0]


def test_changes_refuse_a_field_that_the_model_does_not_have() -> None:
    with pytest.raises(KeyError, match="colour"):
        tables.WORKFLOWS.changes({"colour": "red"})
