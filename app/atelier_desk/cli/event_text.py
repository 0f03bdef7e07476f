"""Text of one stream event in a terminal."""

from __future__ import annotations

from typing import Any

from atelier_desk.cli import approval_text
from atelier_desk.cli.approval_text import call_text, short
from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.presentation.call_failure_text import explain
from atelier_desk.presentation.run_notices import (
    COMPACTIONS,
    MONEY,
    limit_title,
    notice_kind,
    retry_text,
    too_little,
    unfinished_text,
)
from atelier_desk.presentation.unreadable_values import readable, unreadable
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import cost, duration, number

TASK_STATES = {
    "pending": N_("to do"),
    "in_progress": N_("in progress"),
    "completed": N_("completed"),
    "blocked": N_("blocked"),
}
ANSWERED = {
    "parent": N_("Answer to {agent}: {text}"),
    "user": N_("Your answer to {agent}: {text}"),
    "engine": N_("{agent} got no answer and decides on its own"),
}
"""Who answered a sub-agent, by ``by``."""

Notice = tuple[str, str]
"""Text and style; the text is empty when there is nothing to show."""
Calls = dict[tuple[str, str], payloads.ToolStart]
"""Calls by run and call id."""


def notice(event: StreamEvent, begun: Calls | None = None) -> Notice:
    """What happened, in one or more lines.

    ``begun`` stores the active calls, so that their ends use the same words.
    """
    return readable(lambda: _notice(event, begun), lambda: (unreadable(), "dim"))


def _notice(event: StreamEvent, begun: Calls | None) -> Notice:
    match said := event.payload:
        case payloads.ToolStart():
            if begun is not None:
                begun[event.run_id, said.call_id] = said
            return f"→ {call_text(said.presentation, said.tool, said.arguments)}", "dim"
        case payloads.ToolEnd():
            return _call_end(said, begun.pop((event.run_id, said.call_id), None) if begun else None)
        case payloads.MessageAdded():
            # A sub-agent's; its task is in the line of its start.
            return _reply(said) if said.role == "assistant" else ("", "")
        case payloads.SubAgentStart():
            text = "▸ " + _("{name}: {text}", name=said.sub_agent_name, text=short(said.task_description))
            return (text + " " + _("(in the background)") if said.background else text), "dim"
        case payloads.SubAgentComplete():
            return _sub_agent_end(said)
        case payloads.SubAgentQuestion():
            return _(
                "{agent} asks {parent}: {question}",
                agent=said.sub_agent_name,
                parent=event.agent_name,
                question=said.question,
            ), ""
        case payloads.SubAgentAnswer():
            return _(ANSWERED[said.by], agent=said.sub_agent_name, text=said.content), ""
        case payloads.ValidationRequired():
            call = call_text(said.presentation, said.tool, said.arguments)
            return _("Approval needed: {call} ({reason})", call=call, reason=approval_text.reason(said.reason)), "warn"
        case payloads.ValidationResponse():
            return approval_text.decision(said.status, said.decided_by, said.note, said.edited), "dim"
        case payloads.Failure():
            return _("Error: {problem}", problem=said.message), "error"
        case payloads.TaskCreate() | payloads.TaskUpdate() | payloads.TaskComplete():
            return _("Task {name}: {status}", name=said.task_name, status=_(TASK_STATES[said.task_status])), "dim"
        case payloads.Notice():
            if (known := notice_kind(said.chunk, said.details)) is None:
                return _run_notice(said), "dim"
            return known.line({**said.details, "reason": said.reason}), "warn" if known.warning else "dim"
        case _:
            return "", "dim"


def _call_end(said: payloads.ToolEnd, began: payloads.ToolStart | None) -> Notice:
    """A call's end: what it did and its result, or why it failed."""
    stopped = said.status == "cancelled"
    mark = "✓" if said.success else "■" if stopped else "✗"
    shown, arguments = (began.presentation, began.arguments) if began is not None else (Presentation(), {})
    call = call_text(shown, said.tool, arguments, over=said.success)
    gave = explain(_(shown.title) or said.tool, said.result, said.error) if said.error else short(said.result)
    return f"{mark} {call} ({duration(said.duration_ms)}) {gave}", "dim" if said.success or stopped else "warn"


def _reply(said: payloads.MessageAdded) -> Notice:
    """A sub-agent's reply, and how it ended when it is incomplete."""
    ended = unfinished(said)
    return ("\n".join(filter(None, (said.content, ended))), "warn" if ended else "dim")


def unfinished(said: payloads.MessageAdded) -> str:
    """How a reply ended, in one sentence; empty for a complete one."""
    title, text = unfinished_text(said.finish_reason, content=bool(said.content.strip()), thought=bool(said.reasoning))
    return _("{title}. {text}", title=title, text=text) if title else ""


def _sub_agent_end(said: payloads.SubAgentComplete) -> Notice:
    spent = _(
        "{time}, {input} tokens in, {output} out",
        time=duration(took) if (took := said.metrics.get("duration_ms")) is not None else _("not started"),
        input=number(said.metrics.get("tokens_input", 0)),
        output=number(said.metrics.get("tokens_output", 0)),
    )
    if isinstance(said, payloads.SubAgentError):
        return f"✗ {said.sub_agent_name} ({spent}) {said.error}", "warn"
    return f"◂ {said.sub_agent_name} ({spent}) {short(said.report)}", "dim"


def _run_notice(said: payloads.Notice) -> str:
    details = said.details
    match said:
        case payloads.Retry():
            return retry_line(said.reason, details)
        case payloads.ContextCompacted():
            how = _(COMPACTIONS[said.reason]) if said.reason in COMPACTIONS else said.reason
            return _("The history was shortened for the model: {how}.", how=how)
        case payloads.LimitReached():
            used, most = (float(details.get(key) or 0) for key in ("value", "cap"))
            value, cap = _amount(said.reason, used), _amount(said.reason, most)
            text = _("{limit}: {value} of {cap}", limit=limit_title(said.reason, details), value=value, cap=cap)
            why = too_little(said.reason, used, most, details)
            return f"{text}. {why}" if why else text
        case payloads.LoopDetected():
            from atelier_desk.tools.registry.builtin import title_of  # loads all tools, for a rare line

            tool = str(details.get("tool") or "")
            words = _(title) if (title := title_of(tool)) else tool
            return _("The same call was made {count} times: {tool}", count=details.get("count"), tool=words)
        case _:
            return ""


def retry_line(reason: str, details: dict[str, Any]) -> str:
    """Why and when a request is retried."""
    delay_ms = float(details.get("delay_s") or 0) * 1000
    delay = duration(delay_ms) if delay_ms >= 50 else ""
    title, text = retry_text(reason, details, delay)
    return _("{title}. {text}", title=title, text=text)


def _amount(limit: str, value: float) -> str:
    """A limit's value in its unit: dollars, a duration or a number."""
    return cost(value) if limit in MONEY else duration(1000 * value) if limit == "time" else number(value)
