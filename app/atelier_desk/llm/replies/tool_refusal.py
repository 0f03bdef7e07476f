"""Tells a server that takes no tool definitions, or ignores them, from one that did not like something else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from atelier_desk.domain.errors import ProviderError

_CODES = frozenset({"bad_request", "not_found", "server_error"})
_WORDS = re.compile(
    # vLLM: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    r"tool[ _-]?choice[\"'` ]* requires"
    # Ollama: 'registry.ollama.ai/library/gemma:2b does not support tools'; others: "tools are not supported", "doesn't
    # support tool use"
    r"|(does not|doesn't|do not|don't|not) support(ed)?[^.]{0,30}\b(tools?|function[ _-]?call(ing|s)?)\b"
    r"|\b(tools?|functions?|tool[ _-]?(use|calls?|calling|choice)|function[ _-]?call(ing|s)?)[\"'`]* "
    r"(is|are|was|were) (not|un)[ -]?(supported|available|enabled|allowed|permitted)"
    r"|unsupported[^.]{0,30}\b(tools?|tool_choice|functions?)\b"
    # OpenRouter: 'No endpoints found that support tool use'
    r"|no (endpoints?|providers?)[^.]{0,40} support[^.]{0,20} tool"
    # llama.cpp: 'tools param requires --jinja flag'
    r"|\btools? param(eter)?s? requires?"
    # servers that know no such field
    r"|(unknown|unrecognized|unexpected|invalid)[^.]{0,40}(field|argument|parameter|property|input|key)[^.]{0,20}\b(tools|tool_choice)\b"
    r"|extra (inputs|fields)[^.]{0,30}\b(tools|tool_choice)\b|\b(tools|tool_choice)\b[^.]{0,20}(extra "
    r"(inputs|fields)|not permitted)",
    re.IGNORECASE,
)


def refuses_tools(error: ProviderError) -> bool:
    """Whether an error says that this server, or model, accepts no tools."""
    if error.code not in _CODES:
        return False
    field = str(error.params.get("field", "")).partition(".")[0]
    return (
        field in ("tools", "tool_choice", "functions") or _WORDS.search(str(error.params.get("detail", ""))) is not None
    )


_WRITTEN = re.compile(
    # Hermes, Qwen and others; Mistral; Llama 3; DeepSeek; our own XML; a fenced object
    r"<tool_calls?>|<function(=|_call)|\[TOOL_CALLS\]|<\|python_tag\|>|<｜tool▁call|```(json|tool_call|tool_code)?\s*\{\s*\"(name|tool|function)\""
)
MISJUDGED = 1.35
"""How far an estimate of tokens may be from the server's count, either way."""


def written_as_text(content: str, names: Iterable[str]) -> bool:
    """Whether a reply without calls writes one of these tools' calls as text: its server does not read the model's own
    form.
    """
    found = _WRITTEN.search(content)
    return found is not None and any(name in content[found.start() :] for name in names)


def ignores_tools(counted: int, estimated: float, tools: float) -> bool:
    """Whether a server left the tool definitions out of what its model read: it counted about as many tokens as the
    request has without them. False where they are too small a part of the request to tell, and where the count is that
    of another request or made up.

    Args:
        counted: the tokens of the request, by the server.
        estimated, tools: of the whole request, and of its definitions.
    """
    rest = estimated - tools
    return tools > (MISJUDGED**2 - 1) * rest and rest / MISJUDGED <= counted <= rest * MISJUDGED
