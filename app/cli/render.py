"""A run's stream as a person reads it in a terminal, or as JSON, one event a line."""

from __future__ import annotations

import json
from typing import Any, Protocol

from app.cli.output import Output
from app.domain.stream import ChunkType, StreamEvent
from app.i18n import N_, _

SHOWN = 160
"""Characters of a call's arguments and result in its one line."""


TASK_STATES = {
    "pending": N_("to do"),
    "in_progress": N_("in progress"),
    "completed": N_("done"),
    "blocked": N_("blocked"),
}


class Renderer(Protocol):
    def show(self, event: StreamEvent) -> None: ...


class JsonRenderer:
    """``StreamEvent.wire()``, one a line."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def show(self, event: StreamEvent) -> None:
        self._out.write(json.dumps(event.wire(), ensure_ascii=False) + "\n")


class TextRenderer:
    """Answers to standard output as they come; tool calls, notices and totals to standard error."""

    def __init__(self, out: Output, *, usage: bool = True) -> None:
        self._out = out
        self._usage = usage
        self._streamed = ""
        self._totals: dict[str, Any] = {}

    def show(self, event: StreamEvent) -> None:
        data = event.data
        match event.chunk_type:
            case ChunkType.TOKEN:
                self._out.write(data["content"])
                self._streamed += data["content"]
            case ChunkType.MESSAGE:
                self._message(data)
            case ChunkType.TOOL_START:
                self._break()
                self._out.note(f"→ {data['tool']} {_short(data.get('arguments'))}")
            case ChunkType.TOOL_END:
                mark = "✓" if data["success"] else "✗"
                shown = data.get("error") or _short(data.get("result"))
                self._out.note(f"{mark} {data['tool']} ({data['duration_ms']} ms) {shown}", "dim" if data["success"] else "warn")
            case ChunkType.USAGE:
                self._totals = data
            case ChunkType.WORKFLOW_COMPLETE:
                self._complete(data)
            case _:
                self._notice(event.chunk_type, data)

    def finish(self) -> None:
        """End an answer that was cut off."""
        self._break()

    def _message(self, data: dict[str, Any]) -> None:
        if data.get("role") != "assistant":
            return
        if data.get("output_type") == "progress":
            self._out.note(data["content"])
            return
        content = data.get("content", "")
        if self._streamed:
            rest = content[len(self._streamed) :] if content.startswith(self._streamed) else ""
            self._out.write(rest)
            self._streamed += rest
        elif content:
            self._out.write(content)
            self._streamed = content
        self._break()

    def _notice(self, kind: ChunkType, data: dict[str, Any]) -> None:
        details = data.get("details") or {}
        text = ""
        match kind:
            case ChunkType.TASK_CREATE | ChunkType.TASK_UPDATE | ChunkType.TASK_COMPLETE:
                state = TASK_STATES[data["task_status"]]
                text = _("Task {name}: {status}", name=data["task_name"], status=_(state))
            case ChunkType.RETRY:
                text = _("Trying again in {delay} s ({reason})", delay=details.get("delay_s"), reason=data["reason"])
            case ChunkType.CONTEXT_COMPACTED:
                text = _("The conversation was compacted ({method}).", method=data["reason"])
            case ChunkType.LIMIT_REACHED:
                text = _(
                    "Limit reached: {limit} {value} of {cap}", limit=data["reason"], value=details.get("value"), cap=details.get("cap")
                )
            case ChunkType.LOOP_DETECTED:
                text = _("The same call was made {count} times: {tool}", count=details.get("count"), tool=details.get("tool"))
            case ChunkType.ERROR:
                text = _("Error: {problem}", problem=data["message"])
        if text:
            self._break()
            self._out.note(text, "error" if kind is ChunkType.ERROR else "dim")

    def _complete(self, data: dict[str, Any]) -> None:
        self._break()
        if self._usage and self._totals:
            run = self._totals.get("run") or self._totals
            if not run.get("tokens_input") and not run.get("tokens_output"):
                return
            parts = [_("{input} tokens in, {output} out", input=run.get("tokens_input", 0), output=run.get("tokens_output", 0))]
            if run.get("cost"):
                parts.append(f"${run['cost']:.4f}")
            self._out.note(" · ".join(parts))

    def _break(self) -> None:
        if self._streamed and not self._streamed.endswith("\n"):
            self._out.write("\n")
        self._streamed = ""


def _short(value: Any) -> str:
    if value in (None, {}, ""):
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
