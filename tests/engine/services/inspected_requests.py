"""Requests to models as they were sent and as the inspector shows them."""

from __future__ import annotations

from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.engine import Atelier
from atelier_desk.engine.run.request.prompt_texts import SUMMARY_INSTRUCTIONS
from atelier_desk.engine.services.request.sent_request_data import SentRequest
from atelier_desk.llm.scripted_model import ScriptedModel


async def inspected(atelier: Atelier, workflow_id: str) -> list[SentRequest]:
    """Every request of a workflow, run by run."""
    found = []
    for run in await atelier.repos.runs.list(workflow_id):
        found += [
            await atelier.inspector.request(run.id, each.seq) for each in await atelier.inspector.requests(run.id)
        ]
    return found


def conversation_requests(*models: ScriptedModel) -> list[ChatRequest]:
    """The requests to models, without those for a summary."""
    return [
        request for model in models for request in model.requests if request.messages[0].content != SUMMARY_INSTRUCTIONS
    ]


def assert_exact(shown: list[SentRequest], recorded: list[ChatRequest]) -> None:
    """Check that every answered request is shown exactly as it was recorded."""
    left = list(recorded)
    for request in shown:
        match = next((each for each in left if (each.messages, each.tools) == (request.messages, request.tools)), None)
        assert match is not None, f"no model was sent what is shown of event {request.summary.seq}"
        assert (request.limit, request.temperature, request.window) == (
            match.max_tokens,
            match.temperature,
            match.context_window,
        )
        assert request.exact
        assert request.wire is None
        left.remove(match)
    assert left == [], "a request is not shown"
