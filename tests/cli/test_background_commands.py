"""``atelier commands``: a script lists, reads, writes to and ends background commands."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.cli.command_result import report
from atelier_desk.cli.commands import background_commands
from atelier_desk.cli.terminal_io import Terminal
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.tools.base import ToolContext
from tests.cli.conftest import Cli


async def test_a_script_reads_writes_to_and_ends_a_command(tmp_path: Path) -> None:
    (tmp_path / "ask.sh").write_text('read name\necho "hello $name"\nsleep 60\n')
    async with Atelier.open(temporary=True, model_factory=lambda _agent: ScriptedModel([])) as atelier:

        async def said(handler: Any, **given: Any) -> Any:
            text = io.StringIO()
            out = Terminal(json=True, cwd=str(tmp_path), stdout=text, stderr=io.StringIO(), stdin=io.StringIO())
            assert report(out, await handler(atelier, argparse.Namespace(**given), out)) == 0
            return json.loads(text.getvalue())

        workflow = await atelier.workflows.create()
        context = ToolContext(workflow_id=workflow.id, run_id="r", call_id="c", workspace=tmp_path)
        call = {"command": "bash ask.sh", "modifies_files": False, "background": True}
        begun: Any = await atelier.registry.execute("run_command", call, context)
        command_id = begun.data["command_id"]
        (listed,) = await said(background_commands.list_, workflow="")
        assert (listed["id"], listed["line"], listed["workflow_id"]) == (command_id, "bash ask.sh", workflow.id)
        assert await said(background_commands.list_, workflow=workflow.id) == [listed]
        assert (await said(background_commands.output, command_id=command_id, offset=0))["text"] == ""
        short = command_id[:-1]
        assert (await said(background_commands.input_, command_id=short, text="Ann"))["id"] == command_id
        async with asyncio.timeout(20):
            while (part := await said(background_commands.output, command_id=short, offset=0))["text"] != "hello Ann\n":
                await asyncio.sleep(0.02)
        assert part == {"text": "hello Ann\n", "next_offset": 10, "size": 10, "status": None}
        assert (await said(background_commands.output, command_id=short, offset=6))["text"] == "Ann\n"
        assert (await said(background_commands.stop, command_id=short))["id"] == command_id
        assert await said(background_commands.list_, workflow="") == []
        assert (await said(background_commands.output, command_id=command_id, offset=0))["text"] == "hello Ann\n", (
            "it can be read when it is over"
        )
        for handler in (background_commands.stop, background_commands.input_, background_commands.output):
            with pytest.raises(NotFoundError):
                await said(handler, command_id="cmd_no", text="x", offset=0)
        again = [await atelier.registry.execute("run_command", call, context) for _ in range(2)]
        assert len(again) == 2
        with pytest.raises(UsageError, match="2 commands"):
            await said(background_commands.stop, command_id="cmd_")


def test_an_empty_list_is_reported_to_a_script(cli: Cli) -> None:
    assert cli("commands", "list", "--json").json == []
    gone = cli("commands", "stop", "cmd_1")
    assert gone.status != 0
    assert "There is no command cmd_1" in gone.err
