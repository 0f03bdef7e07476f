"""``atelier run`` with each kind of server, as separate processes: the same command gives the same events."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.forked_workers import ROOT, ForkedWorker
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Reply

CALCULATE = Call("CalculatorTool", {"operation": "eval", "expression": "12*7"}, id="abcdef123")
PROMPT = "What is 12*7? Use the calculator."
SERVERS: dict[str, type[Any]] = {
    "openai": FakeOpenAI,
    "mistral": FakeMistral,
    "ollama": FakeOllama,
}


async def atelier(data: Path, *argv: str) -> tuple[int, str]:
    """Run the program; returns its exit status and standard output."""
    with ForkedWorker(
        [sys.executable, "-m", "atelier_desk", "--data-dir", str(data), *argv],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "SERVER_KEY": "k" * 24}, cwd=ROOT,
    ) as process:  # fmt: skip
        out, err = await asyncio.to_thread(process.communicate)
    assert "k" * 24 not in out + err
    return process.returncode or 0, out


@pytest.mark.parametrize("kind", SERVERS)
async def test_run_over_a_server(kind: str, tmp_path: Path) -> None:
    async with SERVERS[kind]() as server:
        server.script(Reply(calls=[CALCULATE]), Reply(text="It is 84."))
        options = ["--kind", kind, "--base-url", server.url, "--api-key-env", "SERVER_KEY"]
        assert (await atelier(tmp_path, "providers", "add", "server", *options))[0] == 0
        run = [
            "run",
            PROMPT,
            "--provider",
            "server",
            "--model",
            "test-model",
            "--tools",
            "CalculatorTool",
            "--tool-dialect",
            "native",
        ]
        status, out = await atelier(tmp_path, *run, "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    (end,) = [event for event in events if event["chunk_type"] == "tool_end"]
    assert end["result"]["result"] == 84
    assert [event["content"] for event in events if event["chunk_type"] == "message"][-1] == "It is 84."
    assert events[-1]["chunk_type"] == "workflow_complete"
    used = [event for event in events if event["chunk_type"] == "usage"]
    # The price of a service's unknown model is unknown, which is different from free.
    known = 0.0 if kind == "ollama" else None
    assert {
        each["cost"] for event in used for each in (event, event["own"], event["run"], event["team"], event["workflow"])
    } == {known}


async def test_an_agent_without_a_control_tool_gives_up_and_the_program_reports_it(tmp_path: Path) -> None:
    async with FakeOpenAI() as server:
        server.script(Reply(calls=[Call("task_abandon", {"reason": "There is no such file."}, id="c1")]))
        options = ["--kind", "openai", "--base-url", server.url, "--api-key-env", "SERVER_KEY"]
        assert (await atelier(tmp_path, "providers", "add", "server", *options))[0] == 0
        run = ["run", "Restore it.", "--provider", "server", "--model", "test-model", "--tools", "CalculatorTool"]
        status, out = await atelier(tmp_path, *run, "--tool-mode", "direct", "--tool-dialect", "native", "--json")
        sent = [tool["function"]["name"] for tool in server.requests[-1].json["tools"]]
    assert status == 3
    assert sent == ["CalculatorTool", "wait_user_response", "output", "task_complete", "task_abandon"]
    (end,) = [event for event in map(json.loads, out.splitlines()) if event["chunk_type"] == "workflow_complete"]
    assert end["status"] == "abandoned"


@pytest.mark.model
async def test_run_with_the_built_in_model(tmp_path: Path) -> None:
    status, out = await atelier(tmp_path, "run", PROMPT, "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    (end,) = [event for event in events if event["chunk_type"] == "tool_end"]
    assert end["result"]["result"] == 84
    assert "84" in [event["content"] for event in events if event["chunk_type"] == "message"][-1]
