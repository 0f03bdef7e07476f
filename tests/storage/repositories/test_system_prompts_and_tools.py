"""System messages and tool definitions sent to models."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.writing.journal_commit import Commit


async def test_a_frame_is_stored_once_and_read_completely(repos: Repositories, workflow: Workflow) -> None:
    tool = ToolSpec(
        name="look", description="Looks.", parameters={"type": "object", "properties": {"à": {"type": "string"}}}
    )
    frame = PromptFrame(id="f", workflow_id=workflow.id, system="Sois brève.\n", tools=(tool,))
    await repos.frames.save(frame)
    await repos.journal.commit(Commit(frames=(frame,)))
    assert await repos.frames.get("f") == frame
    assert await repos.frames.list(workflow.id) == [frame]
    assert await repos.frames.list("other") == []
    assert (await repos.store.counts())["prompt_frame"] == 1
    with pytest.raises(NotFoundError):
        await repos.frames.get("missing")
