"""Error messages of servers that accept no tool definitions; they were seen at the servers named next to them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from atelier_desk.llm.dialects.native import TOO_MANY
from atelier_desk.llm.error_conversion import ErrorLocation, response_error
from atelier_desk.llm.replies.tool_refusal import refuses_tools


def error(status: int, body: str) -> Any:
    return response_error(ErrorLocation("server", "model"), status, {}, body.encode(), datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),  # vLLM
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),  # Ollama
        # OpenRouter
        (404, "No endpoints found that support tool use. To learn more about provider routing, visit: https://x"),
        (500, "tools param requires --jinja flag"),  # llama.cpp
        (400, "Function calling is not enabled for this model"),  # Mistral
        (400, "`tools` is not supported by this model"),
        (422, "Extra inputs are not permitted: tools"),
        (400, "Unrecognized request argument supplied: tools"),
    ],
)
def test_refusals_of_tools_are_recognised(status: int, text: str) -> None:
    import json

    assert refuses_tools(error(status, json.dumps({"error": {"message": text, "type": "invalid_request_error"}})))
    assert refuses_tools(error(status, json.dumps({"error": text})))


def test_the_named_field_is_sufficient() -> None:
    assert refuses_tools(
        error(422, '{"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}')
    )
    assert refuses_tools(error(400, '{"error": {"message": "bad", "param": "tools"}}'))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "temperature is not supported with this model"),
        (400, "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."),
        (400, "Invalid type for messages[3].tool_calls: expected an array"),
        (401, "This key does not support tools"),
        (429, "tools are not available at the moment"),
        (404, "model not found, try pulling it first"),
        (400, TOO_MANY),
    ],
)
def test_other_errors_are_not(status: int, text: str) -> None:
    import json

    assert not refuses_tools(error(status, json.dumps({"error": {"message": text}})))
