"""``atelier queue`` and ``workflows choose``: queued messages, and the agent and model of a workflow, from a
script.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.cli.conftest import Cli
from tests.engine.conftest import Recorder, WordEmbedder


def stopped_with(*waiting: str) -> str:
    """A workflow whose turn was stopped while these messages were queued; returns its id."""

    async def work() -> str:
        gate = asyncio.Event()
        factory: Callable[[object], ScriptedModel] = lambda agent: ScriptedModel(["never"], gate=gate)  # noqa: E731
        async with Atelier.open(
            None, model_factory=factory, embedder=WordEmbedder(), vault=KeyVault(environ={}), fsync=False
        ) as atelier:
            seen = Recorder(atelier)
            workflow = await atelier.workflows.create()
            run_id = await atelier.runs.send(workflow.id, "hello")
            await seen.until(ChunkType.TOKEN)
            for text in waiting:
                await atelier.runs.send(workflow.id, text)
            await atelier.runs.cancel(run_id)
            return workflow.id

    return asyncio.run(work())


def test_queued_messages_are_listed_edited_removed_and_sent(cli: Cli) -> None:
    workflow = stopped_with("first", "second", "third")
    assert [each["content"] for each in cli("queue", "list", workflow, "--json").json] == ["first", "second", "third"]
    assert "second" in cli("queue", "list", workflow[:8]).out
    assert [each["content"] for each in cli("queue", "move", workflow, "3", "1", "--json").json] == [
        "third",
        "first",
        "second",
    ]
    assert [each["content"] for each in cli("queue", "edit", workflow, "2", "first, better", "--json").json][
        1
    ] == "first, better"
    assert [each["content"] for each in cli("queue", "remove", workflow, "1", "--json").json] == [
        "first, better",
        "second",
    ]
    assert cli("queue", "remove", workflow, "9").status == 2
    sent = cli("queue", "send", workflow, "2", steps=["To the second.", "To the first."])
    assert sent.status == 0
    assert "To the second." in sent.out
    assert cli("queue", "list", workflow, "--json").json == []
    again = cli("workflows", "regenerate", workflow, steps=["To it again.", "To the first again."])
    assert again.err.splitlines()[0] == "1 earlier message of this turn will also be resent and answered again."
    assert again.out.strip() == "To the first again."


def test_an_agent_and_a_model_are_chosen_permanently(cli: Cli) -> None:
    first = ScriptedModel(["one"])
    assert cli("run", "Say one", "--model", "tiny", steps=first).status == 0
    workflow = cli("workflows", "list", "--json").json[0]
    assert workflow["choices"]["model"] == "tiny"
    second = ScriptedModel(["two"])
    assert cli("run", "Say two", "--continue", steps=second).status == 0
    chosen = cli(
        "workflows", "choose", workflow["id"], "--model", "big", "--effort", "high", "--max-cost", "2", "--json"
    ).json
    assert (chosen["choices"]["model"], chosen["choices"]["thinking"], chosen["choices"]["budget"]["max_cost"]) == (
        "big",
        "high",
        2,
    )
    third = ScriptedModel(["three"])
    assert cli("run", "Say three", "--continue", steps=third).status == 0
    assert [model.requests[0].model for model in (first, second, third)] == ["tiny", "tiny", "big"]
    assert third.requests[0].effort == "high"
    reset = cli("workflows", "choose", workflow["id"], "--reset", "--json").json
    assert (reset["choices"]["model"], reset["choices"]["thinking"]) == ("", None)
    assert cli("workflows", "choose", workflow["id"], "--provider", "nowhere").status == 2
    assert cli("workflows", "choose", "missing").status == 2
