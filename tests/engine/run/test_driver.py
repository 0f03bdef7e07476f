"""The driver, as a person sees it: what a message in the middle, a pause, a stop, a limit and a fault make of a run at work."""

from __future__ import annotations

import asyncio

from atelier_desk.domain.chat import ChatRequest
from atelier_desk.domain.events.run import Dispatch
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.llm.scripted import ScriptedModel
from tests.engine.conftest import Opener, Recorder
from tests.engine.runs.test_manager import start


async def test_a_message_that_redirects_leaves_the_run_its_slot(open_atelier: Opener) -> None:
    """Who waits for a slot waits until the run is over, not only until its user says something else."""
    gate = asyncio.Event()
    asked: list[str] = []

    def reply(request: ChatRequest) -> str:
        asked.append(str(request.messages[-1].content))
        return "a reply"

    async with open_atelier(ScriptedModel([reply] * 3, gate=gate)) as atelier:
        atelier.runs.slots = 1
        seen = Recorder(atelier)
        workflow_id, first = await start(atelier, "one")
        await seen.until(ChunkType.TOKEN)
        _other, second = await start(atelier, "two")
        await atelier.runs.send(workflow_id, "one, but shorter", strategy=Dispatch.REDIRECT)
        gate.set()
        assert (await atelier.runs.wait(first)).status is RunStatus.COMPLETED
        assert (await atelier.runs.wait(second)).status is RunStatus.COMPLETED
    assert asked == ["one", "one, but shorter", "two"]
