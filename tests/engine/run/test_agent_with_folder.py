"""An agent with a folder: its tools are offered, writing needs approval, and what it read is known throughout the
run.
"""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.events.run import ToolCallFinished
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, create_workflow, send_and_wait
from tests.helpers.tool_calls import tool_calls

AGENT = AgentConfig(name="A", provider="test", model="m", sections=("file_ops",))
EDIT = ("edit_file", {"path": "a.py", "old_string": "1", "new_string": "2"})


def told(model: ScriptedModel) -> str:
    return "\n".join(message.content for message in model.requests[-1].messages)


async def test_file_tools_are_offered_only_with_a_folder(open_atelier: Opener, tmp_path: Path) -> None:
    model = ScriptedModel([tool_calls(("read_file", {"path": "a"})), "None.", "Fine."])
    async with open_atelier(model) as atelier:
        without = await create_workflow(atelier)
        await send_and_wait(atelier, without, "Read.", agent=AGENT)
        assert "read_file" not in {tool.name for tool in model.requests[0].tools}
        assert "no_workspace" in told(model)
        assert "--workspace" in told(model)
        granted = await create_workflow(atelier, workspace=(str(tmp_path),))
        await send_and_wait(atelier, granted, "Read.", agent=AGENT)
        assert {"read_file", "edit_file", "delete_path"} <= {tool.name for tool in model.requests[-1].tools}


async def test_reading_runs_and_writing_needs_approval(open_atelier: Opener, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    model = ScriptedModel([tool_calls(("read_file", {"path": "a.py"})), tool_calls(EDIT), "Done."])
    async with open_atelier(model) as atelier:
        workflow_id = await create_workflow(atelier, workspace=(str(tmp_path),))
        run_id = await send_and_wait(atelier, workflow_id, "Edit.", agent=AGENT)
        (asked,) = await atelier.approvals.pending()
        assert (asked.tool, asked.kind.value, asked.subjects.paths, asked.risk) == (
            "edit_file",
            "file_op",
            ("a.py",),
            "medium",
        )
        assert (tmp_path / "a.py").read_text() == "x = 1\n"
        await atelier.approvals.approve(asked.id)
        await atelier.runs.wait(run_id)
        assert (tmp_path / "a.py").read_text() == "x = 2\n"
        events = await atelier.repos.journal.events(run_id)
        (part,) = [part for event in events if isinstance(event.body, ToolCallFinished) for part in event.body.parts]
        assert isinstance(part, FileChange)
        assert "-x = 1\n+x = 2" in part.diff


async def test_all_files_read_by_calls_of_one_reply_are_known(open_atelier: Opener, tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("x = 1\n")
    reads = tool_calls(*(("read_file", {"path": name}) for name in ("a.py", "b.py", "c.py")))
    async with open_atelier([reads, tool_calls(EDIT)]) as atelier:
        workflow_id = await create_workflow(atelier, workspace=(str(tmp_path),))
        run_id = await send_and_wait(atelier, workflow_id, "Edit.", agent=AGENT)
        run = fold(await atelier.repos.journal.events(run_id))
        assert run is not None
        state = run.tool_state
        assert {Path(key).name for known in state.values() for key in known} == {"a.py", "b.py", "c.py"}
    # Somebody changes a file while the program is not running: the agent must read it again.
    (tmp_path / "a.py").write_text("x = 1  # mine\n")
    model = ScriptedModel(["I read it again."])
    async with open_atelier(model) as atelier:
        (asked,) = await atelier.approvals.pending()
        await atelier.approvals.approve(asked.id)
        await atelier.runs.wait(run_id)
    assert "changed by someone else" in told(model)
    assert (tmp_path / "a.py").read_text() == "x = 1  # mine\n"
