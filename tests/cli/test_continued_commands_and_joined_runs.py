"""Commands that join a run already active, or take over one whose process has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.cli.dispatch import execute
from atelier_desk.domain.events.run import RunResumed
from atelier_desk.domain.model_messages import ChatReply, FinishReason
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.ipc.resumable_command import Request
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.cli.scripted_tool_calls import calculate
from tests.engine.conftest import WordEmbedder
from tests.engine.ipc.conftest import RecordingTerminal

Opened = Callable[[ScriptedModel], AbstractAsyncContextManager[Atelier]]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    def with_model(model: ScriptedModel) -> AbstractAsyncContextManager[Atelier]:
        return Atelier.open(tmp_path, model_factory=lambda agent: model, embedder=WordEmbedder(), fsync=False)

    return with_model


class Typing(RecordingTerminal):
    """A person who types when the test says so; the request at each note is recorded."""

    def __init__(self, request: Request | None = None) -> None:
        super().__init__(interactive=True)
        self.request = request or Request()
        self.typed: asyncio.Queue[str | None] = asyncio.Queue()
        self.at_notes: list[Request] = []

    def note(self, text: str, style: str = "dim") -> None:
        self.at_notes.append(replace(self.request))
        super().note(text, style)

    async def ask(self, prompt: str) -> str | None:
        self.asked.append(prompt)
        return await self.typed.get()

    async def until_noted(self, words: str) -> None:
        async with asyncio.timeout(20):
            while not any(words in text for text, _style in self.notes):
                self.noted.clear()
                await self.noted.wait()

    @property
    def err(self) -> str:
        return "\n".join(text for text, _style in self.notes)


async def test_chat_joins_an_active_run(opened: Opened) -> None:
    model = ScriptedModel(["here it is"], gate=asyncio.Event())
    assert model.gate is not None
    async with opened(model) as atelier:
        workflow = await atelier.workflows.create("w")
        await atelier.runs.send(workflow.id, "go")
        terminal = Typing()
        chatting = asyncio.create_task(execute(atelier, ["chat", "--workflow", workflow.id], terminal))
        await terminal.until_noted("The run is already in progress.")
        model.gate.set()
        terminal.typed.put_nowait("/quit")
        assert await chatting == 0, terminal.err
        assert terminal.out.endswith("here it is\n")


async def test_ctrl_c_in_a_chat_leaves_a_joined_run_active(opened: Opened) -> None:
    model = ScriptedModel(["here it is"], gate=asyncio.Event())
    assert model.gate is not None
    async with opened(model) as atelier:
        workflow = await atelier.workflows.create("w")
        run_id = await atelier.runs.send(workflow.id, "go")
        terminal = Typing()
        chatting = asyncio.create_task(execute(atelier, ["chat", "--workflow", workflow.id], terminal))
        await terminal.until_noted("The run is already in progress.")
        assert terminal.on_ctrl_c is not None
        assert terminal.on_ctrl_c() is True
        assert "continues in another process" in terminal.err
        terminal.typed.put_nowait("/quit")
        assert await chatting == 0, terminal.err
        assert (await atelier.repos.runs.get(run_id)).status is RunStatus.PROCESSING
        model.gate.set()
        assert (await atelier.runs.wait(run_id)).status is RunStatus.COMPLETED


@pytest.mark.parametrize("quiet", [False, True])
async def test_a_run_that_is_taken_over_prints_what_the_first_process_would_have(opened: Opened, quiet: bool) -> None:
    argv = ["run", "count", *(["--quiet"] if quiet else [])]
    async with opened(ScriptedModel([ChatReply(content="One, two,", finish_reason=FinishReason.LENGTH)])) as atelier:
        first = RecordingTerminal()
        assert await execute(atelier, argv, first) == 0
        # The person has seen nothing of it.
        second = Typing(Request(key=first.request.key, again=True))
        assert await execute(atelier, argv, second) == 0
        assert second.out == first.out == "One, two,\n"
        for words in ("The reply was cut off", "To continue:"):
            assert second.err.count(words) == 1, second.err
        assert ("tokens in" in second.err) is not quiet


async def raises(atelier: Atelier, run_id: str) -> list[Any]:
    """Every raise of a limit of the run."""
    bodies = [event.body for event in await atelier.repos.journal.events(run_id)]
    return [body.raise_limits for body in bodies if isinstance(body, RunResumed) and body.raise_limits]


async def test_a_limit_is_raised_once_whichever_process_performs_the_command(opened: Opened) -> None:
    model = ScriptedModel([calculate("6*7"), calculate("6*7"), calculate("6*7"), "42"])
    async with opened(model) as atelier:
        assert (
            await execute(
                atelier, ["run", "go", "--tools", "CalculatorTool", "--max-tokens", "10"], RecordingTerminal()
            )
            == 4
        )
        workflow = await atelier.workflows.latest()
        assert workflow.head_run_id is not None
        argv = ["resume", workflow.id, "--raise", "tokens=1"]
        # The first process ends before it raises anything: the next one raises the limit.
        begun = Request()
        begun.shown(workflow.id, workflow.head_run_id, workflow.stream_seq)
        begun.again = True
        second = Typing(begun)
        assert await execute(atelier, argv, second) == 4
        assert len(await raises(atelier, workflow.head_run_id)) == 1
        # It raises the limit, and ends before anything of the run was shown: the next one does not raise it again.
        first = Typing()
        assert await execute(atelier, argv, first) == 4
        assert "Resuming" in first.notes[0][0]
        third = Typing(replace(first.at_notes[0], again=True))
        assert await execute(atelier, argv, third) == 4, third.err
        assert len(await raises(atelier, workflow.head_run_id)) == 2


async def test_text_shown_before_the_holder_ended_is_not_shown_again(opened: Opened) -> None:
    model = ScriptedModel(["One, two, three.", "One, two, three, four."], gate=asyncio.Event(), chunk=5)
    assert model.gate is not None
    async with opened(model) as atelier:
        first = RecordingTerminal()
        running = asyncio.create_task(execute(atelier, ["run", "count"], first))
        async with asyncio.timeout(20):
            while "One, " not in first.out:
                first.noted.clear()
                await first.noted.wait()
        running.cancel()
        await asyncio.wait([running])
        assert first.out.strip() == "One,"
        model.gate.set()
        request = replace(first.request, again=True, streaming=True)
        second = Typing(request)
        assert await execute(atelier, ["run", "count"], second) == 0, second.err
        assert second.out == "\nOne, two, three, four.\n"


async def test_a_reply_read_from_the_journal_before_its_event_is_shown_once(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has a reply a moment before its event is published: its text is pending then, and no durable
    event has covered it.
    """
    model = ScriptedModel(["One, two, three.", "One, two, three, four."], gate=asyncio.Event(), chunk=5)
    assert model.gate is not None
    async with opened(model) as atelier:
        first = RecordingTerminal()
        running = asyncio.create_task(execute(atelier, ["run", "count"], first))
        async with asyncio.timeout(20):
            while "One, " not in first.out:
                first.noted.clear()
                await first.noted.wait()
        running.cancel()
        await asyncio.wait([running])
        model.gate.set()
        subscribe, replay = atelier.bus.subscribe, atelier.runs.replay
        held: list[Callable[[], None]] = []

        def late(callback: Callable[[StreamEvent], None], workflow_id: str) -> Callable[[], None]:
            def take(event: StreamEvent) -> None:
                if event.durable:
                    held.append(lambda: callback(event))
                else:
                    callback(event)

            return subscribe(take, workflow_id)

        async def of_the_whole_run(workflow_id: str) -> AsyncIterator[StreamEvent]:
            run = await atelier.workflows.get(workflow_id)
            assert run.head_run_id is not None
            await atelier.runs.wait(run.head_run_id)
            async for event in replay(workflow_id):
                yield event
            for publish in held:
                asyncio.get_running_loop().call_soon(publish)

        monkeypatch.setattr(atelier.bus, "subscribe", late)
        monkeypatch.setattr(atelier.runs, "replay", of_the_whole_run)
        second = Typing(replace(first.request, again=True, streaming=True))
        assert await execute(atelier, ["run", "count"], second) == 0, second.err
        assert second.out == "\nOne, two, three, four.\n"
