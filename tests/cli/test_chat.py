"""``atelier chat``, and a start without a command where there is no screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from atelier_desk.cli.dispatch import execute
from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, TextDelta
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.cli.conftest import Cli, Result
from tests.engine.conftest import WordEmbedder
from tests.engine.ipc.conftest import RecordingTerminal
from tests.helpers.tool_calls import tool_call


def test_chat_answers_asks_and_shows(cli: Cli) -> None:
    ask = tool_call("UserQuestionTool", "q", operation="ask", question="Colour?", questionType="text")
    todo = tool_call("TodoTool", "t", operation="create", name="Paint")
    typed = "hello\n\n/tasks\npaint it\nred\n/tasks\n/memory\n/dance\n/help\n/quit\nnever sent\n"
    model = ScriptedModel(["Hi there.", [todo], [ask], "Painted."])
    result = cli("chat", steps=model, typed=typed)
    assert result.status == 0
    assert "Hi there." in result.out
    assert "Painted." in result.out
    assert "· Paint (to do)" in result.out
    assert "Unknown command /dance" in result.err
    model.assert_complete()
    [workflow] = cli("workflows", "list", "--json").json
    assert workflow["name"] == "hello"
    again = cli("chat", "--workflow", workflow["id"], typed="/quit\n")
    assert "Painted." in again.out


def test_chat_calls_prompts_skills_and_commands(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By ``/name`` as in the window: missing variables of a prompt are asked for, and an empty answer sends
    nothing.
    """
    monkeypatch.setenv("ATELIER_HOME", str(tmp_path / "home"))
    (tmp_path / "home/.claude/commands").mkdir(parents=True)
    (tmp_path / "home/.claude/commands/review.md").write_text("Review $ARGUMENTS with care.")
    (tmp_path / "home/.claude/commands/tasks.md").write_text("Never sent: the chat has a command of that name.")
    greet = tmp_path / "greet.md"
    greet.write_text("---\nname: greet\n---\nGreet {{who}} of {{place}} in {{language=French}}.")
    assert cli("prompts", "import", str(greet)).status == 0
    model = ScriptedModel(["one", "two", "three"])
    lines = [
        "/greet place=Rome",
        "Ann Lee",
        "/greet Ann Paris German",
        "/review a.py",
        "/greet Ann",
        "",
        "/tasks",
        "/dance",
        "/help",
        "/quit",
    ]
    result = cli("chat", steps=model, typed="\n".join(lines) + "\n")
    assert result.status == 0
    model.assert_complete()
    said = [request.messages[-1].content for request in model.requests]
    texts = ["Greet Ann Lee of Rome in French.", "Greet Ann of Paris in German.", "Review a.py with care."]
    assert [text in each for text, each in zip(texts, said, strict=True)] == [True] * 3
    assert "needs values for: place" in result.err
    assert "Unknown command /dance" in result.err
    assert "/review" in result.err.partition("Skills, commands and prompts:")[2]
    assert "/greet" in result.err.partition("Skills, commands and prompts:")[2]


class Endless:
    """A model whose answer never ends."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        yield TextDelta(content="One moment")
        self.asked.set()
        await asyncio.Event().wait()


async def test_ctrl_c_stops_the_answer_then_clears_the_line_then_exits(tmp_path: Path) -> None:
    model = Endless()
    typed: asyncio.Queue[str | None] = asyncio.Queue()

    class Typing(RecordingTerminal):
        async def ask(self, prompt: str) -> str | None:
            self.asked.append(prompt)
            return await typed.get()

    terminal = Typing(interactive=True)
    async with Atelier.open(
        tmp_path, model_factory=lambda agent: model, embedder=WordEmbedder(), fsync=False
    ) as atelier:
        chatting = asyncio.create_task(execute(atelier, ["chat"], terminal))
        typed.put_nowait("hello")
        await model.asked.wait()
        interrupt = terminal.on_ctrl_c
        assert interrupt is not None
        assert interrupt() is True
        while len(terminal.asked) < 2:
            await terminal.noted.wait()
            await asyncio.sleep(0)
        [run] = await atelier.repos.runs.list((await atelier.workflows.latest()).id)
        assert run.status is RunStatus.CANCELLED
        # At the prompt the first Ctrl-C explains how to exit and shows the prompt again; entering a line resets
        # that.
        assert interrupt() is True
        assert terminal.prompts == ["› "]
        typed.put_nowait("/help")
        while len(terminal.asked) < 3:
            await asyncio.sleep(0)
        assert interrupt() is True
        assert interrupt() is False
        typed.put_nowait(None)
        assert await chatting == 0
        assert terminal.on_ctrl_c is None


def test_chat_continues_with_a_waiting_question(cli: Cli) -> None:
    ask = tool_call("UserQuestionTool", "q", operation="ask", question="Colour?", questionType="text")
    workflow = cli("run", "go", "--json", steps=[[ask]]).events[0]["workflow_id"]
    result = cli("chat", "--workflow", workflow, steps=["Red it is."], typed="red\n")
    assert "Red it is." in result.out
    assert result.status == 0


def test_a_start_without_command_display_and_terminal_runs_an_example(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    result: Result = cli(steps=["84"])
    assert result.status == 0
    assert result.out == "84\n"
    assert "The desktop app cannot be opened." in result.err
    assert "12*7" in result.err
    chatting = cli(typed="/quit\n")
    assert chatting.status == 0
    assert "atelier chat" in chatting.err
