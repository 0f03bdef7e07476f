"""Messages between a worker process and Atelier as JSON values; see ``worker`` for the protocol."""

from __future__ import annotations

import base64
from typing import Any

from pydantic import TypeAdapter

from atelier_desk.domain.result_parts import FileChange, PicturePart, SourcePart, TextPart
from atelier_desk.tools.base import NewArtefact, Tool, ToolResult
from atelier_desk.tools.calls.outcomes import Part

PLAIN = ("section", "idempotent", "timeout_s", "awaits_external_response", "title", "icon", "summaries", "subjects")
"""JSON-compatible attributes of a tool; the rest is in its definition, category, effect and risk."""
_PLAIN_RESULT = ("data", "end", "end_summary", "output", "truncated", "state")
_PARTS: TypeAdapter[TextPart | PicturePart | FileChange | SourcePart] = TypeAdapter(
    TextPart | PicturePart | FileChange | SourcePart
)


def described(tool: Tool) -> dict[str, object]:
    """Return what Atelier's process needs to know of a tool; see ``atelier_desk.tools.user_tools.user_tool``."""
    plain = {name: getattr(tool, name) for name in PLAIN}
    definition = tool.definition().model_dump(mode="json")
    return {**plain, "spec": definition, "category": tool.category, "effect": tool.effect, "risk": tool.risk}


def content(result: ToolResult) -> dict[str, object]:
    """Serialise a result."""
    return {**{name: getattr(result, name) for name in _PLAIN_RESULT}, "parts": [_sent(part) for part in result.parts]}


def result(content: dict[str, Any]) -> ToolResult:
    """Inverse of ``content``."""
    output = tuple(content["output"]) if content["output"] is not None else None
    return ToolResult(**{**content, "output": output, "parts": tuple(_received(part) for part in content["parts"])})


def _sent(part: Part) -> dict[str, object]:
    if isinstance(part, NewArtefact):
        return {
            "type": "artefact",
            "name": part.name,
            "data": base64.b64encode(part.data).decode(),
            "media_type": part.media_type,
        }
    return part.model_dump(mode="json")


def _received(part: dict[str, Any]) -> TextPart | PicturePart | FileChange | SourcePart | NewArtefact:
    if part["type"] == "artefact":
        return NewArtefact(part["name"], base64.b64decode(part["data"]), part["media_type"])
    return _PARTS.validate_python(part)
