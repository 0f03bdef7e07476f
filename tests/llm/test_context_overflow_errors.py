"""Error messages about a too long request, as seen at each server."""

# ruff: noqa: E501 - the words as they were said

from __future__ import annotations

import pytest

from atelier_desk.llm.context_overflow_errors import Overflow, overflow

SAID = {
    "Anthropic": (400, "prompt is too long: 208310 tokens > 200000 maximum", Overflow(200_000, 208_310)),
    "Anthropic, with the reply": (
        400,
        "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000",
        Overflow(200_000, 195_000),
    ),
    "Google": (
        400,
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        Overflow(1_048_576, 1_200_293),
    ),
    "vLLM": (
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 60000 tokens",
        Overflow(8192),
    ),
    "vLLM, prompt": (
        400,
        "The decoder prompt (length 60000) is longer than the maximum model length of 8192. Make sure",
        Overflow(8192, 60_000),
    ),
    "SGLang": (
        400,
        "The input (60000 tokens) is longer than the model's context length (8192 tokens).",
        Overflow(8192, 60_000),
    ),
    "LM Studio": (
        400,
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9012>= n_ctx: 8192).",
        Overflow(8192),
    ),
    "LM Studio, older": (
        400,
        "Trying to keep the first 9012 tokens when context the overflows. However, the model is loaded with context length of only 8192 tokens",
        Overflow(8192),
    ),
    "xAI": (
        400,
        "This model's maximum prompt length is 8192 but the request contains 60000 tokens.",
        Overflow(8192, 60_000),
    ),
    "Copilot": (400, "prompt token count of 60000 exceeds the limit of 8192", Overflow(8192, 60_000)),
    "Kimi": (
        400,
        "Invalid request: Your request exceeded model token limit: 8192 (requested: 60000)",
        Overflow(8192, 60_000),
    ),
    "Qwen": (
        400,
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 8192]",
        Overflow(8192),
    ),
    "TGI": (
        422,
        "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 60000 `inputs` tokens and 1000 `max_new_tokens`",
        Overflow(8192, 60_000),
    ),
    "Cohere": (
        400,
        "too many tokens: size limit exceeded by 51808 tokens. Try using shorter or fewer inputs",
        Overflow(),
    ),
    "OpenAI": (
        400,
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        Overflow(),
    ),
    "Bedrock": (400, "Input is too long for requested model.", Overflow()),
    "older OpenAI": (400, "Please reduce the length of the messages or completion.", Overflow()),
    "llama.cpp": (500, "Context size has been exceeded.", Overflow()),
    "llama.cpp, with sizes": (
        400,
        "request (60179 tokens) exceeds the available context size (8192 tokens), try increasing it",
        Overflow(8192),
    ),
    "Mistral": (
        400,
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        Overflow(32_768),
    ),
}


@pytest.mark.parametrize("server", SAID)
def test_each_servers_message_is_recognised(server: str) -> None:
    status, text, wanted = SAID[server]
    assert overflow(status, text) == wanted
    assert overflow(429, text) is None, "a limit of requests a minute is another thing"


def test_an_error_code_is_sufficient() -> None:
    assert overflow(429, "", ("", "context_length_exceeded")) == Overflow()
    assert overflow(400, "", ("invalid_request_error", "")) is None


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens exceeds the limit of 4096",
        "the context of the question is unclear",
        "too many requests",
        "reduce the length",
    ],
)
def test_other_refusals(text: str) -> None:
    assert overflow(400, text) is None
