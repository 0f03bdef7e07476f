"""A run's events in a terminal: as text, or as JSON with one event a line."""

from __future__ import annotations

import json
from typing import Protocol

from atelier_desk.cli.event_text import Calls, notice
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain import final_answer_schema
from atelier_desk.domain.result_parts import ResultPart
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.presentation.answer_web_sources import used, words
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import cost, number


class Renderer(Protocol):
    def show(self, event: StreamEvent) -> None: ...


class JsonRenderer:
    """Writes ``StreamEvent.wire()``, one a line."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def show(self, event: StreamEvent) -> None:
        self._out.write(json.dumps(event.wire(), ensure_ascii=False) + "\n")


def renderer_for(out: Output, *, quiet: bool = False) -> JsonRenderer | TextRenderer | QuietRenderer:
    """JSON with ``--json``, else text; with ``quiet`` only the answer."""
    if out.json:
        return JsonRenderer(out)
    return QuietRenderer(out) if quiet else TextRenderer(out)


class QuietRenderer:
    """Writes the root agent's last answer to standard output and errors to standard error.

    Nothing is shown meanwhile.
    """

    def __init__(self, out: Output) -> None:
        self._out = out
        self._answer = ""

    def show(self, event: StreamEvent) -> None:
        if event.depth:
            return
        if isinstance(payload := event.payload, payloads.MessageAdded):
            if payload.role == "assistant" and payload.output_type != "progress":
                self._answer = payload.content
        elif isinstance(payload, payloads.WorkflowComplete) and payload.answer is not None:
            # For scripts: only the object, without text around it.
            self._answer = final_answer_schema.bare(self._answer)
        else:
            text, style = notice(event)
            if text and style in ("warn", "error"):
                self._out.note(text, style)

    def finish(self) -> None:
        """Print the answer after the turn."""
        if self._answer:
            self._out.write(self._answer if self._answer.endswith("\n") else self._answer + "\n")
        self._answer = ""


class TextRenderer:
    """Writes the root agent's answers to standard output while they arrive.

    Tool calls, notices, sub-agents and totals go to standard error. On a terminal, reasoning is shown too,
    dimmed. A sub-agent's lines are indented by its depth and start with its name.
    """

    def __init__(self, out: Output, *, usage: bool = True) -> None:
        self._out = out
        self._usage = usage
        self._streamed = ""
        self._begun: Calls = {}
        self._total = payloads.UsageTotals()
        self._found: list[ResultPart] = []
        self._answer = ""

    def show(self, event: StreamEvent) -> None:
        match payload := event.payload:
            case payloads.Token() if event.depth == 0:
                self._out.write(payload.content)
                self._streamed += payload.content
            case payloads.Reasoning(all_before=True) if event.depth == 0:
                # Printed text cannot be removed; the new answer starts on its own line.
                self._break()
            case payloads.Reasoning() if event.depth == 0:
                self._out.think(payload.content)
            case payloads.MessageAdded() if event.depth == 0:
                self._out.think("")
                self._message(payload)
            case payloads.UsageUpdated():
                self._total = payload.team or payload.run or payload
            case payloads.WorkflowComplete() if event.depth == 0:
                self._print_sources()
                self._complete()
            case _:
                if isinstance(payload, payloads.ToolEnd) and event.depth == 0:
                    self._found += payload.parts
                self._notice(event)

    def finish(self) -> None:
        """End the line of an answer that was cut off."""
        self._break()

    def _message(self, said: payloads.MessageAdded) -> None:
        if said.role != "assistant":
            return
        content = self._answer = said.content
        if said.output_type == "progress":
            self._out.note(content)
            return
        if self._streamed:
            rest = content[len(self._streamed) :] if content.startswith(self._streamed) else ""
            self._out.write(rest)
            self._streamed += rest
        elif content:
            self._out.write(content)
            self._streamed = content
        self._break()

    def _notice(self, event: StreamEvent) -> None:
        text, style = notice(event, self._begun)
        if not text:
            return
        self._break()
        before = "  " * event.depth + (f"[{event.agent_name}] " if event.depth else "")
        first, *rest = text.splitlines()
        self._out.note(before + first, style)
        for line in rest:
            self._out.note(" " * len(before) + line, style)

    def _print_sources(self) -> None:
        """Print the web pages the last answer cites."""
        found = used(self._answer, self._found)
        if found:
            self._break()
            self._out.note(_("Sources:"))
            for index, each in enumerate(found, 1):
                self._out.note(f"  {index}. {words(each)}  {each.url}")
        self._found, self._answer = [], ""

    def _complete(self) -> None:
        self._break()
        total = self._total
        if not self._usage or not (total.tokens_input or total.tokens_output):
            return
        parts = [
            _("{input} tokens in, {output} out", input=number(total.tokens_input), output=number(total.tokens_output))
        ]
        if total.cost:
            parts.append(cost(total.cost))
        self._out.note(" · ".join(parts))

    def _break(self) -> None:
        if self._streamed and not self._streamed.endswith("\n"):
            self._out.write("\n")
        self._streamed = ""
