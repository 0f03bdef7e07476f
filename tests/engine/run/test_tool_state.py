"""The state that a tool keeps between its calls in a run is in the journal: it survives the process, and is in a
fork.
"""

from __future__ import annotations

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.events.run import ToolCallFinished
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, create_workflow, send_and_wait
from tests.helpers.tool_calls import tool_calls

MEMORY = AgentConfig(name="A", provider="test", model="m", tools=("MemoryTool", "UserQuestionTool"))


def results(model: ScriptedModel) -> str:
    return "\n".join(message.content for message in model.requests[-1].messages)


async def test_the_scope_of_memories_survives_the_process(open_atelier: Opener) -> None:
    scope = ("MemoryTool", {"operation": "activate_general"})
    question = ("UserQuestionTool", {"operation": "ask", "question": "Go on?", "questionType": "text"})
    async with open_atelier([tool_calls(scope), tool_calls(question)]) as atelier:
        workflow_id = await create_workflow(atelier)
        run_id = await send_and_wait(atelier, workflow_id, "Remember.", agent=MEMORY)
    adding = ("MemoryTool", {"operation": "add", "type": "decision", "content": "Kept for all."})
    model = ScriptedModel([tool_calls(adding), "Done."])
    async with open_atelier(model) as atelier:
        (asked,) = await atelier.questions.pending()
        await atelier.runs.answering.answer_question(asked.id, QuestionStatus.ANSWERED, text="yes")
        await atelier.runs.wait(run_id)
        events = await atelier.repos.journal.events(run_id)
        assert [event.body.state for event in events if isinstance(event.body, ToolCallFinished)] == [
            {"workflow_id": None},
            None,
            None,
        ]
        state = fold(events)
        assert state is not None
        assert state.tool_state == {"MemoryTool": {"workflow_id": None}}
        assert [memory.content for memory in await atelier.memories.proposed()] == ["Kept for all."]
    assert "Until they answer it is known in this workflow alone" in results(model)


async def test_later_calls_of_one_reply_see_the_switch(open_atelier: Opener) -> None:
    switch, describe = ("MemoryTool", {"operation": "activate_general"}), ("MemoryTool", {"operation": "describe"})
    model = ScriptedModel([tool_calls(describe, switch, describe), "Done."])
    async with open_atelier(model) as atelier:
        workflow_id = await create_workflow(atelier)
        await send_and_wait(atelier, workflow_id, "Look.", agent=MEMORY)
        told = [message.content for message in model.requests[-1].messages if message.tool_call_id]
    assert [f'"workflow_id": "{workflow_id}"' in text for text in told] == [True, False, False]


async def test_another_run_starts_afresh(open_atelier: Opener) -> None:
    switch, describe = ("MemoryTool", {"operation": "activate_general"}), ("MemoryTool", {"operation": "describe"})
    model = ScriptedModel([tool_calls(switch), "Done.", tool_calls(describe), "Done."])
    async with open_atelier(model) as atelier:
        workflow_id = await create_workflow(atelier)
        for text in ("One.", "Two."):
            await send_and_wait(atelier, workflow_id, text, agent=MEMORY)
    assert f'"workflow_id": "{workflow_id}"' in results(model).split("Two.")[1]
