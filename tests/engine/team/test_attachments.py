"""Attachments in a team: a sub-agent may read the attached texts of its parent's messages, and no others."""

from __future__ import annotations

import json

from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine.attachments.reading import text_file
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, send_and_wait
from tests.engine.team.conftest import Cast, lead, spawn, worker
from tests.helpers.tool_calls import tool_call


def reading(id: str, name: str) -> list[ToolCall]:
    return [tool_call("read_attachment", id, name=name)]


async def test_all_sub_agents_read_what_was_attached_to_the_first_message(open_atelier: Opener) -> None:
    first = ScriptedModel([[spawn("s", "Helper")], "done"])
    helper = ScriptedModel(["kept", reading("1", "notes.txt"), [spawn("t", "Deep")], "read"])
    deep = ScriptedModel([reading("2", "notes.txt"), reading("3", "other.txt"), "read, too"])
    async with open_atelier(Cast(Lead=first, Helper=helper, Deep=deep)) as atelier:
        other = await atelier.workflows.create()
        kept, asked = [text_file("other.txt", "not yours")], [text_file("notes.txt", "The sea is blue.")]
        await send_and_wait(atelier, other.id, "Keep", agent=worker("Helper"), attachments=kept)
        workflow = await atelier.workflows.create()
        await send_and_wait(atelier, workflow.id, "Look", agent=lead(), attachments=asked)
    assert "read_attachment" not in [tool.name for tool in first.requests[0].tools], "it was given all of it"
    for model in (helper, deep):
        request = model.requests[model is helper]
        assert "'notes.txt' (16 characters)" in request.messages[0].content
        assert "The sea is blue." not in "".join(message.content for message in request.messages)
        assert "read_attachment" in [tool.name for tool in request.tools]
        [read, *_] = (
            json.loads(message.content) for message in model.requests[-1].messages if message.role.value == "tool"
        )
        assert read["content"] == "The sea is blue."
    refused = [json.loads(message.content) for message in deep.requests[-1].messages if message.role.value == "tool"][1]
    assert "No text of the name other.txt" in refused["error"]


async def test_a_parent_without_attachments_passes_none_on(open_atelier: Opener) -> None:
    helper = ScriptedModel(["ok"])
    async with open_atelier(Cast(Lead=[[spawn("s", "Helper")], "done"], Helper=helper)) as atelier:
        workflow = await atelier.workflows.create()
        await send_and_wait(atelier, workflow.id, "Go", agent=lead())
    assert "read_attachment" not in [tool.name for tool in helper.requests[0].tools]
    assert "Attached to" not in helper.requests[0].messages[0].content
