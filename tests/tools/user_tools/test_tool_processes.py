"""Tool files run in separate processes: their results, what cannot disturb them, and that a stopped one is really
ended.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.result_parts import FileChange, TextPart
from atelier_desk.tools.base import AskUser, NewArtefact, Outcome, ToolContext, ToolResult
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.user_tools.tool_processes import ToolProcesses
from atelier_desk.tools.user_tools.user_tool import make
from tests.helpers.user_tool_files import HANGS, HEAD, begun, gone, tool_file, until, until_now


@pytest.fixture
async def processes() -> AsyncIterator[ToolProcesses]:
    made = ToolProcesses()
    yield made
    await made.aclose()
    assert made.pids == []


class Loaded:
    """The tools of one file in a registry."""

    def __init__(self, folder: Path, processes: ToolProcesses, context: ToolContext) -> None:
        self._folder, self._processes, self._context = folder, processes, context
        self.registry = ToolRegistry()

    async def load(self, text: str) -> None:
        file = tool_file(self._folder, text)
        self.registry.register_all([make(file, each, self._processes) for each in await self._processes.describe(file)])

    async def call(self, name: str, /, **arguments: Any) -> Outcome:
        return await self.registry.execute(name, arguments, self._context)

    async def data(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        result = await self.call(name, **arguments)
        assert isinstance(result, ToolResult)
        return result.data


@pytest.fixture
def loaded(tmp_path: Path, processes: ToolProcesses, context: ToolContext) -> Loaded:
    return Loaded(tmp_path / "tools", processes, context)


async def test_a_call_runs_in_another_process_whatever_the_tool_prints_or_reads(loaded: Loaded) -> None:
    await loaded.load(
        HEAD
        + textwrap.dedent('''
            print('{"result": {"data": {"success": true}}}')

            @tool(category="agent", effect="read", risk="low", idempotent=True, timeout_s=50)
            def noisy(name: str, times: int = 1) -> dict:
                """Greets."""
                print("to the screen"); sys.stderr.write("to the errors"); os.write(1, b'{"result": {}}\\n')
                return {"hello": name * times, "read": sys.stdin.read(), "pid": os.getpid()}
        ''')
    )
    tool = loaded.registry.get_tool("noisy")
    assert tool is not None
    assert (tool.category, tool.effect, tool.risk, tool.idempotent, tool.timeout_s) == (
        "agent",
        "read",
        "low",
        True,
        50,
    )
    assert tool.definition().parameters["required"] == ["name"]
    data = await loaded.data("noisy", name="Ada", times=2)
    assert data == {"success": True, "hello": "AdaAda", "read": "", "pid": data["pid"]}
    assert "times must be a whole number" in (await loaded.data("noisy", name="Ada", times="x"))["error"]


async def test_async_functions_get_the_facts_of_the_call_and_report_progress(
    loaded: Loaded, context: ToolContext
) -> None:
    told: list[tuple[int, str]] = []
    loaded._context = dataclasses.replace(context, progress=lambda percent, text: told.append((percent, text)))
    await loaded.load(
        HEAD
        + textwrap.dedent('''
            @tool
            async def who(context: ToolContext) -> str:
                """Says what it knows."""
                context.progress(40, "nearly")
                return f"{context.workflow_id} {context.idempotency_key} {context.workspace} {context.tasks}"
        ''')
    )
    assert (await loaded.data("who"))["result"] == f"{context.workflow_id} {context.idempotency_key} None None"
    assert told == [(40, "nearly")]


async def test_the_function_makes_the_final_check_of_its_arguments(loaded: Loaded) -> None:
    await loaded.load(
        HEAD
        + textwrap.dedent('''
            from typing import Annotated
            from pydantic import Field

            @tool
            def code(text: Annotated[str, Field(pattern="^[a-z]+$")]) -> str:
                """Takes small letters."""
                return text
        ''')
    )
    assert (await loaded.data("code", text="abc"))["result"] == "abc"
    refused = await loaded.data("code", text="ABC")
    assert refused["code"] == "invalid_arguments"
    assert "text" in refused["error"]


async def test_a_tool_can_ask_a_person(loaded: Loaded) -> None:
    await loaded.load(
        HEAD
        + textwrap.dedent('''
            from atelier_desk.domain.question import QuestionSpec, QuestionType
            from atelier_desk.tools.base import AskUser

            @tool(awaits_external_response=True)
            def colour() -> AskUser:
                """Asks for a colour."""
                return AskUser(QuestionSpec(question="Which?", question_type=QuestionType.TEXT), timeout_s=0)
        ''')
    )
    outcome = await loaded.call("colour")
    assert isinstance(outcome, AskUser)
    assert (outcome.question.question, outcome.timeout_s) == ("Which?", 0)
    tool = loaded.registry.get_tool("colour")
    assert tool is not None
    assert (tool.awaits_external_response, tool.timeout_s) == (True, 0)


async def test_errors_of_a_tool_are_reported_with_their_line_and_logged_in_full(
    loaded: Loaded, caplog: pytest.LogCaptureFixture
) -> None:
    await loaded.load(
        HEAD
        + textwrap.dedent('''
            @tool
            def fails() -> str:
                """Fails."""
                raise ValueError("not today " + "x" * 5000)

            @tool
            def leaves() -> str:
                """Ends its process."""
                sys.stderr.write("last words")
                sys.stderr.flush()
                os._exit(3)

            @tool
            def quits() -> str:
                """Ends like a script."""
                sys.exit("done here")

            @tool
            def huge() -> str:
                """Gives too much."""
                return "y" * 5_000_000

            @tool
            def odd() -> dict:
                """Gives what JSON cannot write."""
                return {"path": sys.stdin, "lone": "\\udcff"}
        ''')
    )
    caplog.set_level(logging.INFO)
    failed = await loaded.data("fails")
    assert failed["code"] == "internal_error"
    assert failed["error"].startswith("fails failed: ValueError: not today xxx")
    assert len(failed["error"]) < 700
    assert "Traceback" not in failed["error"]
    assert 'raise ValueError("not today' in caplog.text
    assert "exit status 3" in (await loaded.data("leaves"))["error"]
    await until(lambda: "last words" in caplog.text)
    assert "SystemExit: done here (own.py, line" in (await loaded.data("quits"))["error"]
    cut = await loaded.call("huge")
    assert isinstance(cut, ToolResult)
    assert cut.truncated
    assert len(str(cut.data["result"])) <= limits.RESULT_STORED
    assert (await loaded.data("odd"))["lone"] == "?"


async def test_a_stopped_call_is_really_stopped(loaded: Loaded, processes: ToolProcesses, tmp_path: Path) -> None:
    await loaded.load(HANGS)
    call = asyncio.create_task(loaded.call("hang", folder=str(tmp_path)))
    pid = await begun(tmp_path)
    assert processes.pids == [pid]
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert gone(pid)
    assert processes.pids == []
    (tmp_path / "go").touch()
    assert not (tmp_path / "effect-0").exists()
    assert (await loaded.data("hang", folder=str(tmp_path), number=1))["result"] == "done"


STUBBORN = (
    HEAD
    + '''
from pathlib import Path
import re, subprocess

@tool
def deaf(folder: str) -> str:
    """Hears no SIGTERM, and neither does what it started."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    (Path(folder) / "tmp").write_text(f"{os.getpid()} {child.pid}")
    (Path(folder) / "tmp").rename(Path(folder) / "pids")
    while True:
        time.sleep(600)

@tool
def busy(folder: str) -> str:
    """Lets no other thread of its process run: a search that goes back and forth for ever."""
    (Path(folder) / "tmp").write_text(str(os.getpid()))
    (Path(folder) / "tmp").rename(Path(folder) / "pids")
    return str(re.match(r"(a+)+$", "a" * 60 + "b"))

@tool
def leaves_a_child(folder: str) -> int:
    """Starts a process and does not wait for it."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid
'''
)


@pytest.mark.parametrize("name", ["deaf", "busy"])
async def test_a_tool_that_ignores_its_end_is_killed_with_its_children(
    loaded: Loaded, tmp_path: Path, name: str
) -> None:
    await loaded.load(STUBBORN)
    call = asyncio.create_task(loaded.call(name, folder=str(tmp_path)))
    await until((tmp_path / "pids").exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    for pid in (tmp_path / "pids").read_text().split():
        await until(lambda pid=int(pid): gone(pid))  # type: ignore[misc]


async def test_processes_started_by_a_call_end_with_it(loaded: Loaded, tmp_path: Path) -> None:
    await loaded.load(STUBBORN)
    pid = (await loaded.data("leaves_a_child", folder=str(tmp_path)))["result"]
    await until(lambda: gone(pid))


async def test_a_timed_out_call_is_killed_and_reported(
    loaded: Loaded, processes: ToolProcesses, tmp_path: Path
) -> None:
    await loaded.load(HANGS.replace("timeout_s=600", "timeout_s=0.5"))
    data = await loaded.data("hang", folder=str(tmp_path))
    assert (data["code"], data["timeout_s"]) == ("timeout", 0.5)
    assert "took longer than 0.5 seconds and was stopped" in data["error"]
    assert processes.pids == []


async def test_more_calls_than_workers_wait_for_one(tmp_path: Path, context: ToolContext) -> None:
    processes = ToolProcesses(most=1)
    loaded = Loaded(tmp_path / "tools", processes, context)
    await loaded.load(HANGS)
    first = asyncio.create_task(loaded.call("hang", folder=str(tmp_path)))
    second = asyncio.create_task(loaded.call("hang", folder=str(tmp_path), number=1))
    pid = await begun(tmp_path)
    assert processes.pids == [pid]
    (tmp_path / "go").touch()
    assert [isinstance(each, ToolResult) and each.success for each in await asyncio.gather(first, second)] == [
        True,
        True,
    ]


async def test_only_the_confirmed_bytes_run(tmp_path: Path, processes: ToolProcesses) -> None:
    file = tool_file(tmp_path, HANGS)
    with pytest.raises(UsageError, match="Review it again"):
        await processes.describe(dataclasses.replace(file, data=file.data + b"# changed"))
    # What runs is what was read at the confirmation, not the current content of the folder.
    file.path.write_text("raise SystemExit")
    assert [each["spec"]["name"] for each in await processes.describe(file)] == ["hang"]


PARENT = """
import asyncio, sys
from pathlib import Path
from atelier_desk.tools.user_tools.tool_processes import ToolProcesses
from tests.helpers.user_tool_files import HANGS, tool_file

folder = Path(sys.argv[1])
asyncio.run(ToolProcesses().call(tool_file(folder, HANGS), "hang", {"folder": str(folder)}, FACTS, print))
"""


def test_a_worker_does_not_outlive_a_killed_program(tmp_path: Path) -> None:
    facts: dict[str, object] = {
        **dict.fromkeys(("workflow_id", "run_id", "call_id", "agent_id", "agent_name", "language"), ""),
        "depth": 0, "enabled_tools": None, "state": {}, "workspace": None,
    }  # fmt: skip
    program = subprocess.Popen([sys.executable, "-c", PARENT.replace("FACTS", repr(facts)), str(tmp_path)])
    try:
        until_now((tmp_path / "begun-0").exists)
        pid = int((tmp_path / "begun-0").read_text())
        assert not gone(pid)
    finally:
        program.kill()
        program.wait(30)
    until_now(lambda: gone(pid))
    (tmp_path / "go").touch()
    assert not (tmp_path / "effect-0").exists()


async def test_text_subjects_state_and_parts_are_transferred(loaded: Loaded) -> None:
    await loaded.load(
        HEAD
        + textwrap.dedent('''
            from atelier_desk.domain.result_parts import FileChange, TextPart
            from atelier_desk.tools.base import NewArtefact, ToolContext, ToolResult

            @tool(title="Copier", icon="copy", summary="Copies {path}", subjects={"path": "paths"}, effect="write")
            def copy(path: str, context: ToolContext) -> ToolResult:
                """Copies."""
                times = context.state.get("times", 0) + 1
                change = FileChange(action="created", path=path)
                parts = (TextPart(text="done"), change, NewArtefact("a.bin", b"\\x00\\xff"))
                return ToolResult({"success": True, "times": times}, parts=parts, state={"times": times})
        ''')
    )
    known = loaded.registry.get_tool("copy")
    assert known is not None
    described = loaded.registry.prepare(known, {"path": "a.txt"}).described
    assert (known.title, known.icon, described.summary.params, described.subjects.paths) == (
        "Copier",
        "copy",
        {"path": "a.txt"},
        ("a.txt",),
    )
    result = await loaded.call("copy", path="a.txt")
    assert isinstance(result, ToolResult)
    assert result.state == {"times": 1}
    assert result.parts == (
        TextPart(text="done"),
        FileChange(action="created", path="a.txt"),
        NewArtefact("a.bin", b"\x00\xff"),
    )
