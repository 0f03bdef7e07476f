"""A workflow as one file: importable JSON, or readable Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import Base64Bytes, Field

from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.base_model import Model, Timestamp, utc_now
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.memory import Memory
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.result_parts import ResultPart, SourcePart
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Report, Run, ToolExecution, Workflow
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.presentation.answer_web_sources import used, words
from atelier_desk.presentation.run_notices import notice_kind, retry_text, unfinished_text
from atelier_desk.presentation.unreadable_values import readable, unreadable
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import moment


class ReportFile(Model):
    """A report with its text."""

    report: Report
    text: str


class ArtefactFile(Model):
    """A tool's file or attachment, in base64; ``sha256`` is the journal's hash."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    data: Base64Bytes


class WorkflowFile(Model):
    """Everything that belongs to one workflow. General memories are exported separately."""

    format: Literal["atelier-workflow"]
    version: Literal[1]
    exported_at: Timestamp = Field(default_factory=utc_now)
    workflow: Workflow
    runs: tuple[Run, ...] = ()
    events: tuple[RunEvent, ...] = ()
    messages: tuple[Message, ...] = ()
    executions: tuple[ToolExecution, ...] = ()
    tasks: tuple[Task, ...] = ()
    questions: tuple[UserQuestion, ...] = ()
    approvals: tuple[ApprovalRequest, ...] = ()
    frames: tuple[PromptFrame, ...] = ()
    memories: tuple[Memory, ...] = ()
    reports: tuple[ReportFile, ...] = ()
    artefacts: tuple[ArtefactFile, ...] = ()


def to_json(file: WorkflowFile) -> str:
    """Return the file's JSON, indented, in Unicode; ``WorkflowFile.model_validate_json`` reads it back."""
    return json.dumps(file.model_dump(mode="json"), ensure_ascii=False, indent=1)


CALL_STATES = {
    "error": N_("failed"),
    "cancelled": N_("cancelled"),
    "unknown": N_("effect unknown"),
    "timeout": N_("took too long"),
    "running": N_("running"),
}
"""Texts for the status of unsuccessful calls."""


def to_markdown(workflow: Workflow, entries: list[TranscriptEntry], tasks: list[Task], *, details: bool = True) -> str:
    """Return the displayed branch as a document.

    Turns, tool calls (with ``details`` their names, arguments and results), questions with answers, tasks.
    """
    lines = [f"# {_plain(workflow.name)}", ""]
    called: dict[str, list[ResultPart]] = {}
    for entry in entries:
        parts = called.setdefault(entry.message.run_id, [])
        lines += _each(partial(_turn, details), [entry])
        if entry.calls:
            parts += (part for call in entry.calls for part in call.parts)
        elif entry.message.role is MessageRole.ASSISTANT:
            lines += _each(_sources, [used(entry.message.content, parts)])
    if tasks:
        lines += ["## " + _("Tasks"), ""]
        lines += [
            f"- [{'x' if task.status.value == 'completed' else ' '}] {_plain(task.name)} ({_status(task)})"
            for task in tasks
        ]
        lines.append("")
    return "\n".join(lines)


def _turn(details: bool, entry: TranscriptEntry) -> list[str]:
    message = entry.message
    if message.role is MessageRole.NOTICE:
        lines = [f"> {line}" for line in message.content.splitlines() or [_notice(message)]]
        return [*lines, ""]
    who = _("You") if message.role is MessageRole.USER else (message.agent_name or _("Agent"))
    lines = [f"## {_plain(who)} · {moment(message.created_at)}" + (" · " + _("pinned") if message.pinned else ""), ""]
    if message.content:
        lines += [message.content, ""]
    lines += _each(_attached, message.details.get("files"))
    lines += _each(_attached, message.details.get("attachments"))
    if message.role is MessageRole.USER:
        lines += _each(lambda _image: ["- " + _("Attached image")], message.details.get("images"))
    if len(lines) > 2 and lines[-1]:
        lines.append("")
    finish = str(message.details.get("finish_reason", ""))
    title, text = unfinished_text(finish, content=bool(message.content.strip()), thought=bool(message.reasoning))
    if title:
        said = _("{title}. {text}", title=title, text=text)
        lines += [f"> {said}", ""]
    lines += _each(_call if details else _call_line, entry.calls)
    if lines[-1]:
        lines.append("")
    lines += _each(_question, entry.questions)
    return lines


def _each(lines: Callable[[Any], list[str]], rows: Iterable[object] | None) -> list[str]:
    """Return the lines of rows; a line stands for a row that cannot be read, or for rows that are none."""
    otherwise = [f"> {unreadable()}", ""]
    found = readable(lambda: list(rows or ()), lambda: None)
    if found is None:
        return otherwise
    return [line for row in found for line in readable(partial(lines, row), lambda: otherwise)]


def _attached(file: Mapping[str, Any]) -> list[str]:
    return ["- " + _("Attached file: {name}", name=_plain(file["name"]))]


def _sources(found: Sequence[SourcePart]) -> list[str]:
    if not found:
        return []
    return [
        _("Sources:"),
        "",
        *(f"{number}. {_plain(words(each))} <{each.url}>" for number, each in enumerate(found, 1)),
        "",
    ]


def _notice(message: Message) -> str:
    """Return the text of a notice without its own."""
    details = message.details
    if (known := notice_kind(message.kind, details)) is not None:
        return known.line(details)
    if message.kind != "retry":
        return message.kind
    title, text = retry_text(str(details.get("reason", "")), details)
    return _("{title}. {text}", title=title, text=text)


def _call(call: ToolExecution) -> list[str]:
    result = call.error or json.dumps(call.result, ensure_ascii=False, indent=1)
    return [
        "- " + _with_outcome(call, f"{_words(call)} (`{call.tool}`)"),
        "",
        *_fenced(json.dumps(call.arguments, ensure_ascii=False, indent=1)),
        *_fenced(result),
    ]


def _call_line(call: ToolExecution) -> list[str]:
    return ["- " + _with_outcome(call, _words(call))]


def _words(call: ToolExecution) -> str:
    said = call.presentation.words(over=call.status == "ok")
    return _plain(said.localized(_) if said.parts(_)[0] else _(call.presentation.title) or call.tool)


def _with_outcome(call: ToolExecution, words: str) -> str:
    if call.status == "ok":
        return words
    return _("{name}: {text}", name=words, text=_(CALL_STATES.get(call.status, call.status)))


def _fenced(text: str) -> list[str]:
    longest = max((len(run) for run in text.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}json", text, fence, ""]


def _question(asked: UserQuestion) -> list[str]:
    shown = asked.answer or asked.status.value
    return [
        "- " + _("Question: {question}", question=asked.spec.question),
        "  " + _("Answer: {answer}", answer=shown),
        "",
    ]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _status(task: Task) -> str:
    return {
        "pending": _("to do"),
        "in_progress": _("in progress"),
        "completed": _("completed"),
        "blocked": _("blocked"),
    }[task.status.value]
