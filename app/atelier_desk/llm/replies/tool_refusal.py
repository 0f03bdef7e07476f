"""Recognise errors of servers that accept no tool definitions."""

from __future__ import annotations

import re

from atelier_desk.domain.errors import ProviderError

_CODES = frozenset({"bad_request", "not_found", "server_error"})
_WORDS = re.compile(
    # vLLM: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    r"tool[ _-]?choice[\"'` ]* requires"
    # Ollama: 'registry.ollama.ai/library/gemma:2b does not support tools'; others: "tools are not supported", "doesn't support tool use"
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
    r"|extra (inputs|fields)[^.]{0,30}\b(tools|tool_choice)\b|\b(tools|tool_choice)\b[^.]{0,20}(extra (inputs|fields)|not permitted)",
    re.IGNORECASE,
)


def refuses_tools(error: ProviderError) -> bool:
    """Whether an error says that this server, or model, accepts no tools."""
    if error.code not in _CODES:
        return False
    field = str(error.params.get("field", "")).partition(".")[0]
    return field in ("tools", "tool_choice", "functions") or _WORDS.search(str(error.params.get("detail", ""))) is not None
