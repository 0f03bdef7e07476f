"""Kills while an MCP server of the newest protocol waits for a person: the question is asked again, the call
continues with the answer, and nothing is silently sent twice.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from atelier_desk.domain.events.run import ToolCallFinished
from atelier_desk.engine.journal.journal import run_events
from tests.chaos.kill_harness import World
from tests.chaos.mcp_question_worker import VALUES

WORKER = "tests.chaos.mcp_question_worker"
SENT = {"who": {"action": "accept", "content": VALUES}}


async def ended(world: World) -> tuple[list[str], str]:
    """The event types of the run, and the code of its call's result."""
    async with world.read() as atelier:
        workflow = (await atelier.workflows.list())[0]
        events = [event.body for event in await run_events(atelier.repos, workflow.head_run_id or "")]
        assert not await world.lost(atelier, workflow.id)
        (result,) = (body.result for body in events if isinstance(body, ToolCallFinished))
        return [body.type for body in events], str(result.get("code", ""))


def answers(world: World) -> list[object]:
    file = world.folder / "effects"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


@pytest.mark.timeout(120)
def test_a_kill_while_the_server_waits_and_another_one(tmp_path: Path) -> None:
    world = World(tmp_path, WORKER)
    asked = set()
    for _kill in range(2):
        process = world.start()
        while not (line := process.stdout.readline()).startswith(b"waits"):
            assert line, process.communicate()[1].decode()[-2000:]
        asked.add(line)
        process.kill()
        world.finish(process)
    assert len(asked) == 1, "it is the same question"
    (tmp_path / "answer").touch()
    world.run_to_the_end()
    assert world.status == "completed"
    assert answers(world) == [SENT]
    types, code = asyncio.run(ended(world))
    assert (types.count("input_required"), types.count("question_asked"), types.count("input_sent"), code) == (
        1,
        1,
        1,
        "",
    )


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("point", "sent", "unknown"),
    [
        ("before_commit:input_required", 0, True),  # the first request was in flight: its effect is unknown
        ("after_commit:question_asked", 1, False),
        ("before_commit:question_answered", 1, False),
        ("after_commit:question_answered", 1, False),
        ("before_commit:input_sent", 1, False),
        ("after_commit:input_sent", 0, True),
        ("before_commit:tool_call_finished", 1, True),
    ],
)
def test_a_kill_at_every_commit(point: str, sent: int, unknown: bool, tmp_path: Path) -> None:
    world = World(tmp_path, WORKER)
    (tmp_path / "answer").touch()
    assert world.finish(world.start(point, "1")), f"{point} was not reached"
    world.run_to_the_end()
    assert world.status == "completed"
    assert len(answers(world)) == sent, "never twice"
    _types, code = asyncio.run(ended(world))
    assert code == ("unknown" if unknown else "")
