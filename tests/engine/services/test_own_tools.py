"""Custom tools: an agent uses a file's tools once its hash was confirmed, and no file prevents Atelier from
opening.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path

import pytest

from atelier_desk.domain.errors import ConflictError, NotFoundError, UsageError
from atelier_desk.domain.model_messages import ChatRequest, Role, ToolCall
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.own_tools import OwnToolFile, OwnToolService, OwnToolState
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.presentation.call_failure_text import explain
from atelier_desk.support.i18n import set_language
from tests.engine.conftest import Opener, status_after
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call
from tests.helpers.user_tool_files import HANGS, begun, gone

GREET = '''
from atelier_desk.tools.custom import tool

@tool
def greet(name: str, times: int = 1) -> dict:
    """Greets someone. Use it when a greeting is wanted."""
    return {"greeting": "hello " * times + name}
'''


def drop(atelier: Atelier, name: str, text: str) -> str:
    """Put a file into the tools folder; returns its hash."""
    (atelier.own_tools.folder / name).write_bytes(text.encode())
    return hashlib.sha256(text.encode()).hexdigest()


async def only(atelier: Atelier) -> OwnToolFile:
    (found,) = await atelier.own_tools.list()
    return found


async def test_an_agent_uses_a_custom_tool_in_this_session_and_the_next(open_atelier: Opener) -> None:
    steps = [[tool_call("greet", "c1", name="Ada", times=2)], "I greeted Ada."]
    config = agent(tools=("greet",))
    async with open_atelier(steps) as atelier:
        digest = drop(atelier, "greet.py", GREET)
        found = await only(atelier)
        assert (found.file, found.sha256, found.state, found.tools) == ("greet.py", digest, OwnToolState.NEW, ())
        assert not atelier.registry.has("greet")
        confirmed = await atelier.own_tools.confirm("greet.py", digest)
        assert (confirmed.state, confirmed.tools) == (OwnToolState.CONFIRMED, ("greet",))
        await atelier.agents.save(config)
        events = [event async for event in atelier.run("Greet Ada", agent="Tester")]
        (end,) = [event for event in events if event.chunk_type is ChunkType.TOOL_END]
        assert end.data["result"] == {"success": True, "greeting": "hello hello Ada"}
    async with open_atelier(steps) as atelier:
        assert (await only(atelier)).state is OwnToolState.CONFIRMED
        events = [event async for event in atelier.run("Greet Ada", agent="Tester")]
        assert any(event.chunk_type is ChunkType.TOOL_END and event.data["success"] for event in events)


async def test_a_changed_file_is_not_loaded_until_it_is_confirmed_again(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        await atelier.own_tools.confirm("greet.py", drop(atelier, "greet.py", GREET))
        changed = drop(atelier, "greet.py", GREET.replace("def greet", "def welcome"))
        found = await only(atelier)
        assert (found.state, found.tools) == (OwnToolState.CHANGED, ("greet",))
    async with open_atelier() as atelier:
        found = await only(atelier)
        assert (found.state, found.tools) == (OwnToolState.CHANGED, ())
        assert not atelier.registry.has("greet")
        assert not atelier.registry.has("welcome")
        assert (await atelier.own_tools.confirm("greet.py", changed)).tools == ("welcome",)
        assert atelier.registry.has("welcome")


async def test_a_file_that_was_not_reviewed_is_not_confirmed(atelier: Atelier) -> None:
    drop(atelier, "greet.py", GREET)
    reviewed = await atelier.own_tools.read("greet.py")
    assert reviewed.text == GREET
    drop(atelier, "greet.py", GREET + "raise SystemExit('swapped')")
    with pytest.raises(ConflictError, match="Review it again"):
        await atelier.own_tools.confirm("greet.py", reviewed.sha256)
    with pytest.raises(NotFoundError, match=r"other\.py.*greet\.py"):
        await atelier.own_tools.confirm("other.py", reviewed.sha256)
    assert (await only(atelier)).state is OwnToolState.NEW
    assert (await atelier.settings.get()).confirmed_tools == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise SystemExit(3)", "SystemExit"),
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("def (", "SyntaxError"),
        ("import os; os._exit(7)", "exit status 7"),
        ("import os; os.kill(os.getpid(), 11)", "signal 11"),
        ("print('{\"tools\": []}')", "defines no tool"),
        (GREET.replace("def greet", "def TodoTool"), "TodoTool"),
        (GREET.replace("@tool", "@tool(section='nowhere')"), "nowhere"),
    ],
)
async def test_a_broken_file_is_explained(text: str, reason: str, atelier: Atelier) -> None:
    broken = await atelier.own_tools.confirm("broken.py", drop(atelier, "broken.py", text))
    assert (broken.state, broken.tools) == (OwnToolState.BROKEN, ())
    assert "broken.py" in broken.reason or reason in ("TodoTool", "nowhere")
    assert reason in broken.reason
    tool = atelier.registry.get_tool("TodoTool")
    assert tool is not None
    assert type(tool).__module__.startswith("atelier_desk.tools.core")


async def test_a_broken_file_does_not_prevent_the_others_from_loading(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        for name, content in (("a_broken.py", "raise SystemExit(3)"), ("b_good.py", GREET)):
            await atelier.own_tools.confirm(name, drop(atelier, name, content))
    async with open_atelier() as atelier:
        broken, good = await atelier.own_tools.list()
        assert (broken.state, broken.tools) == (OwnToolState.BROKEN, ())
        assert "SystemExit" in broken.reason
        assert (good.state, good.tools) == (OwnToolState.CONFIRMED, ("greet",))


async def test_a_hanging_file_does_not_prevent_atelier_from_opening(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OwnToolService, "load_s", 0.05)
    async with open_atelier() as atelier:
        hangs = "import threading\nthreading.Event().wait(3)"
        confirmed = await atelier.own_tools.confirm("slow.py", drop(atelier, "slow.py", hangs))
        assert confirmed.state is OwnToolState.BROKEN
        assert "longer than 0.05 seconds" in confirmed.reason
        assert atelier.own_tools.processes.pids == []


async def test_a_file_is_never_run_in_this_process(open_atelier: Opener, tmp_path: Path) -> None:
    tells = f"import os\nopen({str(tmp_path / 'ran')!r}, 'a').write(f'{{os.getpid()}} ')\n" + GREET
    async with open_atelier() as atelier:
        await atelier.own_tools.confirm("greet.py", drop(atelier, "greet.py", tells))
    ran = (tmp_path / "ran").read_text().split()
    assert ran
    assert str(os.getpid()) not in ran


async def test_stop_really_stops_a_custom_tool(open_atelier: Opener, tmp_path: Path) -> None:
    calls = [[tool_call("hang", "c1", folder=str(tmp_path))], "Done."]
    async with open_atelier(calls) as atelier:
        await atelier.own_tools.confirm("hang.py", drop(atelier, "hang.py", HANGS))
        workflow = await atelier.workflows.create("Hangs")
        run_id = await atelier.runs.send(workflow.id, "Go", agent=agent(tools=("hang",)))
        pid = await begun(tmp_path)
        await atelier.runs.cancel(run_id)
        assert gone(pid)
        assert (await status_after(atelier, run_id)).value == "cancelled"
        (tmp_path / "go").touch()
    assert not (tmp_path / "effect-0").exists()


async def test_closing_ends_a_custom_tool_and_the_next_start_shows_it_as_interrupted(
    open_atelier: Opener, tmp_path: Path
) -> None:
    calls = [[tool_call("hang", "c1", folder=str(tmp_path))]]
    async with open_atelier(calls) as atelier:
        await atelier.own_tools.confirm("hang.py", drop(atelier, "hang.py", HANGS))
        workflow = await atelier.workflows.create("Hangs")
        await atelier.runs.send(workflow.id, "Go", agent=agent(tools=("hang",)))
        pid = await begun(tmp_path)
    assert gone(pid)
    (tmp_path / "go").touch()
    async with open_atelier(["I saw that."]) as atelier:
        (run_id,) = await atelier.runs.recovery.resume_all()
        assert (await status_after(atelier, run_id)).value == "completed"
        (row,) = await atelier.repos.executions.recent(workflow.id)
        assert row.status == "unknown"
    assert not (tmp_path / "effect-0").exists()


async def test_a_timed_out_call_is_recorded_as_failed_and_reported_in_both_languages(
    open_atelier: Opener, tmp_path: Path
) -> None:
    calls = [[tool_call("hang", "c1", folder=str(tmp_path))], "It took too long."]
    async with open_atelier(calls) as atelier:
        text = HANGS.replace("timeout_s=600", "timeout_s=0.5")
        await atelier.own_tools.confirm("hang.py", drop(atelier, "hang.py", text))
        events = [event async for event in atelier.run("Go", agent=agent(tools=("hang",)))]
        (end,) = [event.data for event in events if event.chunk_type is ChunkType.TOOL_END]
        assert end["success"] is False
        assert end["result"]["code"] == "timeout"
        (row,) = await atelier.repos.executions.recent(events[0].workflow_id)
        assert row.status == "timeout"
        assert explain("hang", end["result"], end["error"]) == "“hang” took longer than 0.5 s and was stopped."
        set_language("fr")
        assert explain("hang", row.result, row.error) == "«\u00a0hang\u00a0» a dépassé 0,5\u00a0s et a été arrêté."


async def test_eight_hanging_tools_block_nothing(open_atelier: Opener, tmp_path: Path) -> None:
    hanging = [tool_call("hang", f"c{number}", folder=str(tmp_path), number=number) for number in range(8)]
    written = ToolCall(
        id="r", name="ReportTool", arguments={"operation": "write", "name": "Notes", "content": "# Notes"}
    )

    def step(request: ChatRequest) -> Step:
        if "hang" in request.messages[-1].content:
            return hanging
        return "Written." if request.messages[-1].role is Role.TOOL else [written]

    async with open_atelier(ScriptedModel([step] * 4)) as atelier:
        # Read-only calls run in parallel.
        text = HANGS.replace("timeout_s=600", "timeout_s=600, effect='read'")
        await atelier.own_tools.confirm("hang.py", drop(atelier, "hang.py", text))
        workflow = await atelier.workflows.create("Hangs")
        stuck = await atelier.runs.send(workflow.id, "hang", agent=agent(tools=("hang",)))
        pids = [await begun(tmp_path, number) for number in range(8)]
        async with asyncio.timeout(30):
            events = [event async for event in atelier.run("Write a report", agent=agent(tools=("ReportTool",)))]
        assert events[-1].data["status"] == "completed"
        assert any(event.chunk_type is ChunkType.TOOL_END and event.data["success"] for event in events)
        await atelier.runs.cancel(stuck)
        assert all(gone(pid) for pid in pids)


async def test_revoking_removes_the_tools_and_agents_stay_editable(open_atelier: Opener) -> None:
    async with open_atelier(["No tool for that."]) as atelier:
        heard: list[tuple[str, str]] = []
        atelier.bus.on_changed(lambda topic, id: heard.append((topic, id)))
        digest = drop(atelier, "greet.py", GREET)
        await atelier.own_tools.confirm("greet.py", digest)
        stored = await atelier.agents.save(agent(tools=("greet", "TodoTool")))
        await atelier.own_tools.revoke("greet.py")
        assert heard.count(("tool", "greet.py")) == 2
        assert (await only(atelier)).state is OwnToolState.NEW
        assert not atelier.registry.has("greet")
        events = [event async for event in atelier.run("Greet Ada", agent="Tester")]
        assert events[-1].data["status"] == "completed"
        renamed = await atelier.agents.save(stored.config.model_copy(update={"name": "Greeter"}), stored.id)
        assert renamed.config.tools == ("greet", "TodoTool")
        with pytest.raises(UsageError, match="greet"):
            await atelier.agents.save(agent(tools=("greet",)))
        with pytest.raises(NotFoundError, match="none"):
            await atelier.own_tools.revoke("greet.py")
        await atelier.own_tools.confirm("greet.py", digest)
        assert atelier.registry.has("greet")


async def test_reload_follows_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, atelier: Atelier) -> None:
    await atelier.own_tools.confirm("greet.py", drop(atelier, "greet.py", GREET))
    needs = "import wanted_package\n" + GREET.replace("def greet", "def later")
    assert (await atelier.own_tools.confirm("later.py", drop(atelier, "later.py", needs))).state is OwnToolState.BROKEN
    heard: list[tuple[str, str]] = []
    atelier.bus.on_changed(lambda topic, id: heard.append((topic, id)))
    kept = atelier.registry.get_tool("greet")
    (tmp_path / "wanted_package.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert [each.tools for each in await atelier.own_tools.reload()] == [("greet",), ("later",)]
    assert atelier.registry.get_tool("greet") is kept
    assert heard == [("tool", "later.py")]
    assert "wanted_package" not in sys.modules
    (atelier.own_tools.folder / "greet.py").unlink()
    drop(atelier, "later.py", needs + "# changed")
    (later,) = await atelier.own_tools.reload()
    assert (later.state, later.tools) == (OwnToolState.CHANGED, ())
    assert not atelier.registry.has("greet")
    assert not atelier.registry.has("later")
