"""What a terminal says of one stream event, in words."""

from __future__ import annotations

import json
from typing import Any

from atelier_desk.cli import approval_words
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine.notice_words import COMPACTIONS, LIMITS, nudge_words, retry_words, too_little, unfinished_words
from atelier_desk.figures import cost, duration, number
from atelier_desk.i18n import N_, _
from atelier_desk.tools.failure_words import explain

SHOWN = 160
"""Characters of a call's arguments and result in its one line."""

TASK_STATES = {
    "pending": N_("to do"),
    "in_progress": N_("in progress"),
    "completed": N_("done"),
    "blocked": N_("blocked"),
}
ANSWERED = {
    "parent": N_("{agent} is answered: {text}"),
    "user": N_("{agent} is answered by the user: {text}"),
    "engine": N_("{agent} gets no answer any more: {text}"),
}
"""Who answered a sub-agent, by ``by``."""

Said = tuple[str, str]
"""Text, empty when there is nothing to say, and its style."""


def notice(event: StreamEvent) -> Said:
    """What happened, in one line or more."""
    data, kind = event.data, event.chunk_type
    match kind:
        case ChunkType.TOOL_START:
            return f"→ {data['tool']} {short(data.get('arguments'))}", "dim"
        case ChunkType.TOOL_END:
            mark = "✓" if data["success"] else "✗"
            error = data.get("error", "")
            shown = explain(data["tool"], data.get("result"), error) if error else short(data.get("result"))
            return f"{mark} {data['tool']} ({duration(data['duration_ms'])}) {shown}", "dim" if data["success"] else "warn"
        case ChunkType.MESSAGE:
            # Of a sub-agent; what it was told stands in the line of its start.
            return _said(data) if data.get("role") == "assistant" else ("", "")
        case ChunkType.SUB_AGENT_START | ChunkType.SUB_AGENT_COMPLETE | ChunkType.SUB_AGENT_ERROR:
            return _sub_agent(kind, data)
        case ChunkType.SUB_AGENT_QUESTION:
            return _(
                "{agent} asks {parent}: {question}", agent=data["sub_agent_name"], parent=event.agent_name, question=data["question"]
            ), ""
        case ChunkType.SUB_AGENT_ANSWER:
            answered = ANSWERED[data["by"]]
            return _(answered, agent=data["sub_agent_name"], text=data["content"]), ""
        case ChunkType.VALIDATION_REQUIRED | ChunkType.VALIDATION_RESPONSE:
            return _approval(kind, data)
        case ChunkType.ERROR:
            return _("Error: {problem}", problem=data["message"]), "error"
        case _:
            return _run_notice(kind, data), "dim"


def _said(data: dict[str, Any]) -> Said:
    """What a sub-agent said, with how it ended when that is not the whole of it."""
    content, ended = str(data.get("content", "")), unfinished(data)
    return ("\n".join(filter(None, (content, ended))), "warn" if ended else "dim")


def unfinished(data: dict[str, Any]) -> str:
    """How the reply of a ``message`` event ended, in one sentence; nothing for a whole one."""
    content, thought = bool(str(data.get("content", "")).strip()), bool(data.get("reasoning"))
    title, text = unfinished_words(str(data.get("finish_reason", "")), content=content, thought=thought)
    return _("{title}. {text}", title=title, text=text) if title else ""


def _sub_agent(kind: ChunkType, data: dict[str, Any]) -> Said:
    name = data["sub_agent_name"]
    if kind is ChunkType.SUB_AGENT_START:
        text = "▸ " + _("{name}: {text}", name=name, text=short(data.get("task_description")))
        return (text + " " + _("(in the background)") if data.get("background") else text), "dim"
    metrics = data.get("metrics") or {}
    spent = _(
        "{time}, {input} tokens in, {output} out",
        time=duration(metrics.get("duration_ms", 0)),
        input=number(metrics.get("tokens_input", 0)),
        output=number(metrics.get("tokens_output", 0)),
    )
    if kind is ChunkType.SUB_AGENT_COMPLETE:
        return f"◂ {name} ({spent}) {short(data.get('report'))}", "dim"
    return f"✗ {name} ({spent}) {data.get('error', '')}", "warn"


def _approval(kind: ChunkType, data: dict[str, Any]) -> Said:
    if kind is ChunkType.VALIDATION_REQUIRED:
        call = approval_words.call_name(data["tool"], data.get("operation", ""))
        why = approval_words.reason(data.get("reason", ""))
        return _("Needs an approval: {tool} {arguments} ({reason})", tool=call, arguments=short(data.get("arguments")), reason=why), "warn"
    return approval_words.decision(data["status"], data["decided_by"], data.get("note", ""), bool(data.get("edited"))), "dim"


def _run_notice(kind: ChunkType, data: dict[str, Any]) -> str:
    details = data.get("details") or {}
    match kind:
        case ChunkType.TASK_CREATE | ChunkType.TASK_UPDATE | ChunkType.TASK_COMPLETE:
            state = TASK_STATES[data["task_status"]]
            return _("Task {name}: {status}", name=data["task_name"], status=_(state))
        case ChunkType.RETRY:
            return retry_line(data["reason"], details)
        case ChunkType.CONTEXT_COMPACTED:
            method = str(data["reason"])
            return _(
                "The conversation was shortened for the model: {how}.", how=_(COMPACTIONS[method]) if method in COMPACTIONS else method
            )
        case ChunkType.LIMIT_REACHED:
            limit = str(data["reason"])
            used, most = (float(details.get(key) or 0) for key in ("value", "cap"))
            value, cap = _amount(limit, used), _amount(limit, most)
            text = _("{limit}: {value} of {cap}", limit=_(LIMITS.get(limit, N_("Limit reached"))), value=value, cap=cap)
            why = too_little(limit, used, most)
            return f"{text}. {why}" if why else text
        case ChunkType.NUDGE:
            return nudge_words(int(details.get("tasks") or 0))
        case ChunkType.LOOP_DETECTED:
            return _("The same call was made {count} times: {tool}", count=details.get("count"), tool=details.get("tool"))
        case _:
            return ""


def retry_line(reason: str, details: dict[str, Any]) -> str:
    """Why the request is sent again, and when."""
    delay_ms = float(details.get("delay_s") or 0) * 1000
    delay = duration(delay_ms) if delay_ms >= 50 else ""
    title, text = retry_words(reason, int(details.get("attempt") or 1), delay, str(details.get("message") or ""))
    return _("{title}. {text}", title=title, text=text)


def _amount(limit: str, value: float) -> str:
    """A value of a limit in its unit: dollars, a time, or a plain number."""
    return cost(value) if limit == "cost" else duration(1000 * value) if limit == "time" else number(value)


def short(value: Any) -> str:
    """A value on one line of at most ``SHOWN`` characters; nothing for nothing."""
    if value in (None, {}, ""):
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
