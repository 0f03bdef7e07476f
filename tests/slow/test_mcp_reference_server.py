"""The MCP reference server from npm: ``npm install @modelcontextprotocol/server-everything`` in the folder that
``ATELIER_MCP_EVERYTHING`` names, or where npm finds it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.events.run import ToolCallFinished
from atelier_desk.domain.mcp import McpServer
from atelier_desk.domain.question import QuestionAnswer, QuestionType, UserQuestion
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways.model_gateway import FactoryGateway
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, open_atelier
from tests.helpers.form_answers import form_answer
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call
from tests.mcp.mcp_connections import answer_of, connected

__all__ = ["open_atelier"]

PACKAGE = "@modelcontextprotocol/server-everything"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    folder = Path(os.environ.get("ATELIER_MCP_EVERYTHING") or tmp_path_factory.mktemp("npm"))
    file = folder / "node_modules" / PACKAGE / "dist" / "index.js"
    if not file.exists():
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", PACKAGE], cwd=folder, capture_output=True, check=False
        )
        if done.returncode or not file.exists():
            pytest.skip(f"{PACKAGE} cannot be installed: {done.stderr.decode()[-300:]}")
    return str(file)


@pytest.fixture
def address(script: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["node", script, "streamableHttp"], env={**os.environ, "PORT": str(port)}, stderr=subprocess.DEVNULL
    )
    yield f"http://127.0.0.1:{port}/mcp"
    server.kill()
    server.wait()


async def tried(config: McpServer, clock: ManualClock) -> None:
    async with connected(config, clock) as connection:
        names = {tool["name"] for tool in await connection.tools()}
        assert {"echo", "get-sum", "get-tiny-image"} <= names
        assert (await answer_of(connection.call("echo", {"message": "hello"}))).text == "Echo: hello"
        picture = await answer_of(connection.call("get-tiny-image", {}))
        assert [each.media_type for each in picture.pictures] == ["image/png"]
        structured = await answer_of(connection.call("get-structured-content", {"location": "New York"}))
        assert structured.text or structured.structured
        links = await answer_of(connection.call("get-resource-links", {"count": 2}))
        assert len(links.links) == 2
        told: list[tuple[int, str]] = []
        await connection.call(
            "trigger-long-running-operation", {"duration": 1, "steps": 2}, lambda done, text: told.append((done, text))
        )
        assert told


async def test_over_standard_input(script: str, clock: ManualClock) -> None:
    await tried(McpServer(name="everything", command="node", args=(script, "stdio")), clock)


async def listening(address: str) -> None:
    for _attempt in range(100):
        try:
            _reader, writer = await asyncio.open_connection(
                "127.0.0.1", int(address.rpartition(":")[2].partition("/")[0])
            )
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.1)


async def test_over_http(address: str, clock: ManualClock) -> None:
    config = McpServer(name="everything", transport="http", url=address)
    await listening(address)
    await tried(config, clock)


async def asked(atelier: Atelier) -> UserQuestion:
    async with asyncio.timeout(60):
        while not (pending := await atelier.questions.pending()):
            await asyncio.sleep(0.02)
    return pending[0]


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_its_questions_are_answered(
    over: str, script: str, address: str, open_atelier: Opener, tmp_path: Path
) -> None:
    config = McpServer(name="everything", command="node", args=(script, "stdio"), roots=(str(tmp_path),))
    if over == "http":
        await listening(address)
        config = McpServer(name="everything", transport="http", url=address, roots=(str(tmp_path),))
    look: dict[str, object] = {"url": "https://example.org/page", "message": "Please look."}
    calls: list[tuple[str, dict[str, object]]] = [
        ("trigger-elicitation-request", {}),
        ("trigger-sampling-request", {"prompt": "Name a colour.", "maxTokens": 20}),
        ("trigger-url-elicitation", look),
        # refused until another page was opened, then it asks for this one
        ("trigger-url-elicitation", {**look, "errorPath": True}),
        ("get-roots-list", {}),
    ]
    steps: list[Step] = []
    for number, (name, arguments) in enumerate(calls):
        steps.append([tool_call(f"mcp__everything__{name}", f"c{number}", **arguments)])
        steps += ["Blue."] if name == "trigger-sampling-request" else []
    model = ScriptedModel([*steps, "Done."])
    async with open_atelier(model) as atelier:
        # The context window fits all definitions, so that none has to be searched for before a call.
        atelier.environment.gateway = FactoryGateway(lambda agent: model, window=200_000)
        await atelier.mcp.save(config, new=True)
        health = await atelier.mcp.test("everything")
        assert health.ok, health.message
        workflow = await atelier.workflows.create("W", workspace=(str(tmp_path),))
        free = agent(tools=(), mcp_servers=("everything",), approval=ApprovalMode.AUTO)
        run_id = await atelier.runs.send(workflow.id, "Go", agent=free)
        kinds = []
        for _question in range(5):
            question = await asked(atelier)
            form = question.spec.form
            kinds.append(question.spec.question_type)
            values = {**form.defaults(), "name": "Ada", "check": True} if form is not None else {}
            await atelier.questions.answer(
                question.id, form_answer(values) if form else QuestionAnswer(selected_options=("accept",))
            )
        assert kinds == [QuestionType.FORM, QuestionType.SAMPLING, QuestionType.URL, QuestionType.URL, QuestionType.URL]
        async with asyncio.timeout(60):
            await atelier.runs.wait(run_id)
        events = [event.body for event in await run_events(atelier.repos, run_id)]
        form_said, sampled, _page, page, roots = (body.text for body in events if isinstance(body, ToolCallFinished))
        assert "Ada" in form_said
        assert "Blue." in sampled
        assert "accept" in page.lower()
        assert tmp_path.as_uri() in roots
