"""Random commands at random moments, including restarts: the journal stays consistent and nothing hangs."""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atelier_desk.domain.agent import ApprovalMode, Budget
from atelier_desk.domain.errors import ConflictError, NotFoundError, ProviderError, UsageError
from atelier_desk.domain.events.run import (
    ChildFinished,
    ChildStarted,
    LimitKind,
    RunEvent,
    ToolCallFinished,
    ToolCallStarted,
)
from atelier_desk.domain.model_messages import ChatRequest, ToolCall
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.sub_agent import ChildStatus
from atelier_desk.domain.workflow import Dispatch, Run, RunMode, RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import WordEmbedder
from tests.engine.runs.sample_runs import TOOLS, agent
from tests.helpers.scripted_teams import ask_user, calculate
from tests.helpers.tool_calls import tool_call

COMMANDS = (
    "send_queue", "send_queue", "send_redirect", "send_terminate", "send_silent", "pause", "resume", "resume", "raise",
    "finish", "step",
    "cancel", "answer", "answer", "skip", "restart", "give_up", "both", "approve", "approve", "edit", "reject",
    "tell_child", "stop_child",
    "pause_child", "resume_child", "interrupt_child", "pin", "undo",
)  # fmt: skip
ID = re.compile(r"\b(?:[0-9a-f]{24}|[0-9a-f]{32})\b")


def script(seed: int) -> Callable[[ChatRequest], Step]:
    """Random replies, the same for the same seed."""
    chance = random.Random(seed)

    def reply(request: ChatRequest) -> Step:
        kind = chance.randrange(16)
        number = chance.randrange(1000)
        if not request.tools or kind < 3:
            return f"answer {number}"
        if kind == 3:
            return ProviderError("The server cannot be reached.", code="unreachable", recoverable=True)
        if kind == 4:
            return [ask_user("q"), calculate("a", f"{number}+1")]
        if kind == 5:
            return [tool_call("task_complete", "t", summary="done"), calculate("b", "1+1")]
        if kind == 6:
            return [tool_call("TodoTool", "n", operation="create", name=f"task {number}")]
        if kind in (10, 11, 12):
            return [spawn(f"s{index}", wait=bool(number % 3)) for index in range(1 + number % 2)]
        if kind == 13:
            return [tool_call("wait_parent", "p", message="May I?")]
        if kind == 14:
            return answer(request) or f"answer {number}"
        if kind == 15:
            return [
                tool_call("SpawnAgentTool", "j", operation="join"),
                calculate("d", f"{number}*2"),
            ]
        return [calculate(f"c{index}", f"{number}+{index}") for index in range(chance.randrange(1, 4))]

    return reply


def spawn(id: str, *, wait: bool) -> ToolCall:
    return tool_call("SpawnAgentTool", id, operation="spawn", name="Helper", prompt="Help.", wait=wait)


def answer(request: ChatRequest) -> Step | None:
    """Answers the sub-agent named last, whoever waits by then."""
    found = re.findall(r'child_id"?:? "?([0-9a-f]{24})', " ".join(message.content for message in request.messages))
    return [tool_call("answer_child", "a", child_id=found[-1], message="You may.")] if found else None


class World:
    """An engine that can be restarted, its published events, and the commands."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._reply = script(seed)
        self._mode = list(ApprovalMode)[seed % 3]
        self._stack = AsyncExitStack()
        self.atelier: Atelier
        self.published: list[StreamEvent] = []
        self.workflow_id = ""

    async def open(self) -> None:
        model = ScriptedModel([self._reply] * 500, chunk=4)
        self._stack = AsyncExitStack()
        opened = Atelier.open(
            self._folder,
            model_factory=lambda config: model,
            embedder=WordEmbedder(),
            vault=KeyVault(environ={}),
            fsync=False,
        )
        self.atelier = await self._stack.enter_async_context(opened)
        self.atelier.bus.subscribe(self._take)
        if not self.workflow_id:
            self.workflow_id = (await self.atelier.workflows.create("machine")).id

    def _take(self, event: StreamEvent) -> None:
        if event.durable:
            self.published.append(event)

    async def close(self) -> None:
        async with asyncio.timeout(20):
            await self._stack.aclose()

    async def do(self, command: str) -> None:
        """Perform one command completely; commands that are impossible now are refused."""
        try:
            async with asyncio.timeout(20):
                await self._do(command)
        except (ConflictError, UsageError, NotFoundError):
            return

    async def _do(self, command: str) -> None:
        runs = self.atelier.runs
        if command.startswith("send_"):
            await self._send(Dispatch(command.removeprefix("send_")))
        elif command == "give_up":
            sending = asyncio.create_task(self._send(Dispatch.REDIRECT))
            await asyncio.sleep(0.001)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        elif command == "both":
            doing = (
                self._do("cancel"),
                self._do("answer"),
                self._send(Dispatch.REDIRECT),
                self._do("pause"),
                self._do("resume"),
            )
            await asyncio.gather(*doing, return_exceptions=True)
        elif command == "restart":
            await self.close()
            await self.open()
            await self.atelier.runs.recovery.resume_all()
        elif command in ("answer", "skip"):
            status = QuestionStatus.ANSWERED if command == "answer" else QuestionStatus.SKIPPED
            for question in (await self.atelier.questions.pending())[:1]:
                await runs.answering.answer_question(question.id, status, text="x" if command == "answer" else "")
        elif command in ("approve", "edit", "reject"):
            await self._decide(command)
        elif command in ("tell_child", "stop_child", "pause_child", "resume_child", "interrupt_child"):
            await self._steer_child(command)
        elif command in ("pin", "undo"):
            await self._change_context(command)
        else:
            await self._steer(command)

    async def _decide(self, command: str) -> None:
        for request in (await self.atelier.approvals.pending())[:1]:
            if command == "reject":
                await self.atelier.approvals.reject(request.id, "no")
                continue
            edited: dict[str, object] | None = (
                {"operation": "eval", "expression": "7*7"}
                if command == "edit" and request.tool == "CalculatorTool"
                else None
            )
            await self.atelier.approvals.approve(request.id, edited)

    async def _steer_child(self, command: str) -> None:
        children = [row for row in await self.atelier.repos.runs.alive() if row.parent_run_id is not None]
        if not children:
            return
        runs, child = self.atelier.runs, children[-1].id
        if command == "tell_child":
            await runs.answering.answer_child(child, "You may.")
        elif command == "stop_child":
            await runs.cancel(child)
        elif command == "pause_child":
            await runs.steering.pause(child)
        elif command == "resume_child":
            await runs.steering.resume(child, raise_limits={LimitKind.ITERATIONS: 2, LimitKind.TOOL_CALLS: 2})
        else:
            await runs.steering.message(child, "Do something else.", Dispatch.REDIRECT)

    async def _change_context(self, command: str) -> None:
        head = (await self.atelier.repos.workflows.get(self.workflow_id)).head_run_id
        handle = self.atelier.runs.state_of(head) if head else None
        if handle is None or handle.state is None:
            return
        entry = handle.current.conversation[len(self.published) % len(handle.current.conversation)]
        if command == "pin":
            await self.atelier.runs.editing.pin(self.workflow_id, entry.origin, not entry.pinned)
        else:
            await self.atelier.runs.editing.undo_compaction(self.workflow_id, entry.origin)

    async def _steer(self, command: str) -> None:
        runs = self.atelier.runs
        head = (await self.atelier.repos.workflows.get(self.workflow_id)).head_run_id
        if head is None:
            return
        if command == "pause":
            await runs.steering.pause(head)
        elif command == "cancel":
            await runs.cancel(head)
        elif command == "resume":
            await runs.steering.resume(head)
        elif command == "raise":
            await runs.steering.resume(head, raise_limits={LimitKind.ITERATIONS: 2, LimitKind.TOOL_CALLS: 2})
        elif command == "finish":
            await runs.steering.resume(head, finish=True)
        else:
            await runs.steering.resume(head, mode=RunMode.STEPPING, steps=1)

    async def _send(self, strategy: Dispatch) -> None:
        config = agent(
            max_tool_iterations=6,
            budget=Budget(max_tool_calls=12),
            approval=self._mode,
            tools=(*TOOLS, "SpawnAgentTool", "wait_parent"),
        )
        await self.atelier.runs.send(self.workflow_id, "say something", agent=config, strategy=strategy)

    async def settle(self) -> None:
        """Let everything come to an end or to a wait."""
        async with asyncio.timeout(20):
            # Again, because one that was waited for may have started or woken another.
            while [run for run in await self._rest() if run.status is RunStatus.PROCESSING]:
                await asyncio.sleep(0)

    async def _rest(self) -> list[Run]:
        for run in await self.atelier.repos.runs.alive():
            await self.atelier.runs.wait(run.id)
        return await self.atelier.repos.runs.alive()


async def check(world: World) -> None:
    """What must hold whenever nothing is active."""
    atelier = world.atelier
    rows = await atelier.repos.runs.list(world.workflow_id)
    pending = await atelier.questions.pending(world.workflow_id)
    for row in rows:
        events = await run_events(atelier.repos, row.id)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        state = fold(events)
        assert state is not None
        assert (row.status, row.last_seq) == (state.status, len(events))
        # Only a person's changes of the conversation's context may follow an end.
        work = [event.body.type for event in events if event.body.type not in ("entry_pinned", "compaction_undone")]
        assert "run_finished" not in work[:-1]
        if row.status.final and not state.failed:
            begun = [event.body.call_id for event in events if isinstance(event.body, ToolCallStarted)]
            done = [event.body.call_id for event in events if isinstance(event.body, ToolCallFinished)]
            assert sorted(begun) == sorted(done)
            assert not [question for question in pending if question.run_id == row.id]
        assert {question.id for question in pending if question.run_id == row.id} == {
            question.id for question in state.questions
        }
        await check_family(atelier, row, rows, events)
    alive = [row.id for row in rows if not row.status.final and row.parent_run_id is None]
    assert len(alive) <= 1
    assert atelier.runs.live.alive.get(world.workflow_id) == (alive[0] if alive else None)
    workflow = await atelier.repos.workflows.get(world.workflow_id)
    replayed = [event async for event in atelier.runs.replay(world.workflow_id)]
    assert [event.seq for event in replayed] == list(range(1, workflow.stream_seq + 1))
    assert replayed == world.published
    assert workflow.pending_questions == len(pending)
    assert workflow.pending_approvals == len(await atelier.approvals.pending(world.workflow_id))
    assert workflow.usage.tokens_output == sum(row.usage.tokens_output for row in rows)
    assert not [row for row in rows if row.status is RunStatus.PROCESSING]


async def check_family(atelier: Atelier, row: Run, rows: list[Run], events: list[RunEvent]) -> None:
    """Check that a run and its sub-agents agree about each other, and that each ended for its parent at most once."""
    state = fold(events)
    assert state is not None
    own = {each.id: each for each in rows if each.parent_run_id == row.id}
    ended = [event.body.child_id for event in events if isinstance(event.body, ChildFinished)]
    assert len(ended) == len(set(ended))
    assert {event.body.child_id for event in events if isinstance(event.body, ChildStarted)} == set(own)
    if row.status.final and not state.failed:
        assert not [each for each in own.values() if not each.status.final], "somebody works for a run that is over"
        return
    for child in state.children:
        if child.started_at is not None:
            assert child.status.over == own[child.id].status.final
            assert (child.status is ChildStatus.ASKING) == bool(child.question)
            if child.question:
                asking = fold(await run_events(atelier.repos, child.id))
                assert asking is not None
                assert asking.asked_parent == child.question


async def play(folder: Path, seed: int, moves: list[tuple[str, int]]) -> None:
    world = World(folder, seed)
    await world.open()
    try:
        for command, pause in moves:
            await world.do(command)
            for _ in range(pause):
                await asyncio.sleep(0)
        await world.settle()
        await check(world)
    finally:
        await world.close()


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**16),
    moves=st.lists(
        st.tuples(st.sampled_from(COMMANDS), st.sampled_from((0, 1, 3, 10, 40, 150))), min_size=3, max_size=14
    ),
)
def test_the_journal_stays_consistent_whatever_is_done_to_runs(seed: int, moves: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), seed, [("send_queue", 0), *moves]))


def shape(value: Any, names: dict[str, str]) -> Any:
    """A journal without what differs from run to run: ids by order of appearance, no times."""
    if isinstance(value, dict):
        left_out = ("time", "created_at", "updated_at", "completed_at", "duration_ms", "reasoning_ms")
        return {key: shape(each, names) for key, each in value.items() if key not in left_out}
    if isinstance(value, list):
        return [shape(each, names) for each in value]
    if isinstance(value, str):
        return ID.sub(lambda found: names.setdefault(found[0], f"id {len(names)}"), value)
    return value


async def journal_of(folder: Path, seed: int, chunk: int) -> list[Any]:
    model = ScriptedModel([script(seed)] * 40, chunk=chunk)
    options: dict[str, Any] = {"embedder": WordEmbedder(), "vault": KeyVault(environ={}), "fsync": False}
    async with Atelier.open(folder, model_factory=lambda config: model, **options) as atelier:
        names: dict[str, str] = {}
        tokens: dict[str, str] = {}
        whole: dict[str, str] = {}

        def take(event: StreamEvent) -> None:
            if event.chunk_type.value == "token":
                tokens[event.data["message_id"]] = tokens.get(event.data["message_id"], "") + event.data["content"]
            elif event.chunk_type.value == "message" and event.data["role"] == "assistant":
                whole[event.data["message_id"]] = event.data["content"]

        atelier.bus.subscribe(take)
        events = [event async for event in atelier.run("go", agent=agent(max_tool_iterations=6))]
        assert tokens == {id: text for id, text in whole.items() if text}
        return [
            shape(event.model_dump(mode="json"), names) for event in await run_events(atelier.repos, events[0].run_id)
        ]


@settings(max_examples=3)
@given(seed=st.integers(0, 2**16), chunk=st.integers(1, 12))
def test_every_chunking_of_a_streamed_reply_gives_the_same_journal(seed: int, chunk: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = asyncio.run(journal_of(Path(folder) / "whole", seed, 10_000))
        assert asyncio.run(journal_of(Path(folder) / "cut", seed, chunk)) == whole
