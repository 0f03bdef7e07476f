"""After a kill the history index reads only what it missed."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.usage import summed
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import Opener, send_and_wait

ROOT = Path(__file__).resolve().parents[2]
IMPORTED = 6
AGENT = AgentConfig(name="Ada", provider="p", model="m")


async def grow_and_die(folder: Path) -> None:
    """The actions of another process: imports, runs, a search, one more run, and a kill before the index can
    include that.
    """
    model = ScriptedModel(["a zebra", "late"])
    async with Atelier.open(folder, model_factory=lambda _agent: model, vault=KeyVault(environ={})) as atelier:
        first = await atelier.workflows.create("first")
        await send_and_wait(atelier, first.id, "question", agent=AGENT)
        text = await atelier.workflows.export(first.id)
        assert len(await atelier.repos.history.search("zebra")) == 1  # from here on the index follows each commit
        for _copy in range(IMPORTED):
            await atelier.workflows.import_(text)
        await atelier.workflows.create("without a turn")
        assert len(await atelier.repos.history.search("zebra")) == IMPORTED + 1
        run_id = await atelier.runs.send(first.id, "one more okapi", agent=AGENT)
        atelier.bus.subscribe(
            lambda event: os.kill(os.getpid(), signal.SIGKILL) if event.durable and event.run_id == run_id else None
        )
        await atelier.runs.wait(run_id)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
async def test_unchanged_workflows_are_not_read_again(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier():
        pass
    command = [sys.executable, "-m", __name__, str(tmp_path / "data")]
    killed = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    async with open_atelier() as atelier:
        store, read = atelier.repos.store, []
        query = store.query

        async def noted(sql: str, /, **params: Any) -> list[Any]:
            if re.search(r"FROM (message|tool_execution|run_event) WHERE workflow", sql):
                read.append(params["workflow"].id)
            return await query(sql, **params)

        store.query = noted  # type: ignore[method-assign]
        assert len(await atelier.repos.history.search("zebra")) == IMPORTED + 1
        assert [hit.workflow_name for hit in await atelier.repos.history.search("okapi")] == ["first"]
        assert len(set(read)) == 1
        assert summed(await atelier.usage.rows()).requests >= 1
        assert await atelier.usage.leaves_out(), "what the imported ones used before"


if __name__ == "__main__":
    asyncio.run(grow_and_die(Path(sys.argv[1])))
