"""Recognise errors about too long requests, with token counts. One row per server; a test has their messages."""

from __future__ import annotations

import re
from typing import NamedTuple


class Overflow(NamedTuple):
    """Tokens of the context and of the prompt in a refusal, None if not stated."""

    window: int | None = None
    prompt: int | None = None


CODES = frozenset(
    {
        "exceed_context_size_error",
        "context_length_exceeded",
        "context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
    }
)
"""Error types and codes with only this meaning."""
STATUSES = frozenset({None, 400, 413, 422, 500})
"""llama.cpp uses 500, TGI 422; None: during a reply."""

_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # Anthropic: 'prompt is too long: 208310 tokens > 200000 maximum', 'exceed context limit: 195000 + 8192 >
        # 200000, decrease'
        r"prompt is too long(?:: (?P<prompt>\d+) tokens > (?P<window>\d+))?",
        r"context limit: (?P<prompt>\d+) \+ \d+ > (?P<window>\d+)",
        # Google: 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).'
        r"input token count \((?P<prompt>\d+)\) exceeds the maximum number of tokens allowed \(?(?P<window>\d+)",
        # vLLM: 'The decoder prompt (length 60000) is longer than the maximum model length of 8192.'
        r"\(length (?P<prompt>\d+)\) is longer than the maximum model length of (?P<window>\d+)",
        # SGLang, Together: 'The input (60000 tokens) is longer than the model's context length (8192 tokens).'
        r"\((?P<prompt>\d+) tokens\) is longer than the model's context length \((?P<window>\d+)",
        # LM Studio: '… initial prompt is greater than the context length (n_keep: 9012>= n_ctx: 8192)', and before that
        # 'Trying to keep the first 9012 tokens when context the overflows. However, the model is loaded with context
        # length of only 8192'
        r"greater than the context length \(n_keep: \d+ ?>=? ?n_ctx: (?P<window>\d+)",
        r"context the overflows.{0,80}context length of only (?P<window>\d+)",
        # xAI: 'maximum prompt length is 8192 but the request contains 60000 tokens'
        r"maximum prompt length is (?P<window>\d+)(?: but the request contains (?P<prompt>\d+))?",
        # GitHub Copilot: 'prompt token count of 60000 exceeds the limit of 8192'
        r"prompt token count of (?P<prompt>\d+) exceeds the limit of (?P<window>\d+)",
        # Kimi: 'exceeded model token limit: 8192 (requested: 60000)'
        r"exceeded model token limit: (?P<window>\d+)(?: \(requested: (?P<prompt>\d+))?",
        # Qwen: 'Range of input length should be [1, 8192]'
        r"range of input length should be \[\d+, ?(?P<window>\d+)\]",
        # TGI: '`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 60000 `inputs` tokens'
        r"max_new_tokens`? must be <= (?P<window>\d+)(?:\. Given: (?P<prompt>\d+))?",
        # Cohere: 'too many tokens: size limit exceeded by 51808 tokens'
        r"too many tokens: size limit exceeded",
        # vLLM, OpenAI: 'This model's maximum context length is 8192 tokens', 'Please reduce the length of the messages
        # or completion.'
        r"maximum context length (?:is|of) (?P<window>\d+)|maximum context length",
        r"reduce the length of the (?:messages|prompt|input|completion)",
        # llama.cpp and those who follow it: 'request (60179 tokens) exceeds the available context size (8192 tokens)'
        r"exceed\w*[^.]{0,60}context (?:size|length|window)[^\d.]{0,20}(?P<window>\d+)",
        r"(?<!\d)(?P<window>\d+) maximum context length",
        (
            r"context[ _](?:length|size|window)[^.]{0,40}(?:exceed|too)|exceed\w*[^.]{0,60}(?:context|maximum number "
            r"of "
            r"tokens)"
        ),
        r"input (?:is )?too long|too large for model with|larger than the (?:context|model)",
    )
)


def overflow(status: int | None, message: str, codes: tuple[str, ...] = ()) -> Overflow | None:
    """Return the overflow described by an error; None for any other error.

    Args:
        codes: its type and code.
    """
    known = not CODES.isdisjoint(codes)
    if not known and status not in STATUSES:
        return None
    found = [match for match in (pattern.search(message) for pattern in _PATTERNS) if match is not None]
    if not known and not found:
        return None
    return Overflow(_first(found, "window"), _first(found, "prompt"))


def _first(found: list[re.Match[str]], name: str) -> int | None:
    return next((int(value) for match in found if (value := match.groupdict().get(name))), None)
