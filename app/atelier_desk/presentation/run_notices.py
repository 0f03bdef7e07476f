"""Texts about events of a run, shared by window and command line: retries, incomplete replies, limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from atelier_desk.domain.model_messages import LOADING, FinishReason
from atelier_desk.presentation.unreadable_values import readable, unreadable
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import cost_bound, number

TOOLS_REFUSED = "tools_refused"
"""Reason of a retry without tool definitions."""
PICTURES_REFUSED = "pictures_refused"
PICTURES_LEFT_OUT = "pictures_left_out"
"""Reason of a retry without images."""
FIX_ANSWER = "fix_answer"
"""Reason for continuing an agent that had answered: its answer does not match its schema."""
RETRY_REASONS = {
    "rate_limited": N_("the rate limit of the server was reached"),
    "overloaded": N_("the server is busy"),
    "server_error": N_("the server had an internal error"),
    "unreachable": N_("the server cannot be reached"),
    "proxy": N_("the proxy does not answer"),
    "truncated": N_("the connection was lost"),
    "timeout": N_("the server did not answer in time"),
    "settings_changed": N_("the settings of the provider have changed"),
}
"""By error code; other values are already sentences."""
MONEY = frozenset({"cost", "month", "unpriced", "priced"})
"""Limits in US dollars."""
LIMITS = {
    "iterations": N_("Step limit reached"),
    "tool_calls": N_("Tool-call limit reached"),
    "tokens": N_("Token limit reached"),
    "cost": N_("Cost limit reached"),
    "time": N_("Time limit reached"),
    "month": N_("Monthly cost limit reached"),
    "unpriced": N_("The price of the model is unknown"),
    "priced": N_("The price of the model is now known"),
}
_MISSING_PRICES = {
    ("input",): N_("The input price of {model} is missing."),
    ("output",): N_("The output price of {model} is missing."),
    ("input", "output"): N_("The input and output prices of {model} are missing."),
}
TOO_LOW = {
    "tokens": N_("The next request would exceed the token limit"),
    "cost": N_("The next request could exceed the cost limit"),
    "month": N_("The next request could exceed the monthly cost limit"),
}
"""In their place if the limit is not used up."""
COMPACTIONS = {
    "cut_results": N_("old tool results were shortened"),
    "cut_message": N_("a long message was shortened"),
    "summary": N_("older messages were summarised by the model"),
    "digest": N_("older messages were summarised"),
}
"""By method of compaction."""
UNFINISHED = {
    FinishReason.LENGTH: (
        N_("The reply was cut off"),
        N_("The reply reached its length limit or the model's context limit."),
    ),
    FinishReason.CONTENT_FILTER: (
        N_("The reply was filtered"),
        N_("The server's content filter blocked or cut off the reply."),
    ),
    FinishReason.EMPTY: (N_("The reply is empty"), N_("The model returned neither text nor a tool call.")),
    FinishReason.REPETITION: (
        N_("The model repeated itself"),
        N_(
            "The model kept writing the same passage and was stopped. You can turn off this check in "
            "Settings → General."
        ),
    ),
}
ONLY_THOUGHT = (N_("The model thought but did not answer"), N_("The model returned its thinking but no answer."))
CUT_IN_THOUGHT = (
    N_("The reply was cut off"),
    N_("The model was still thinking when it reached the reply length limit."),
)
CONTINUE_TEXTS = {
    FinishReason.LENGTH: N_("Continue exactly where you stopped."),
    FinishReason.CONTENT_FILTER: N_("Continue, and leave out what the content filter blocked."),
    FinishReason.EMPTY: N_("Your last reply was empty. Please answer."),
    FinishReason.REPETITION: N_(
        "You repeated the same passage and were stopped. Continue from there without repeating it."
    ),
}
"""Messages that make the model continue: ordinary ones, which every server accepts."""


def retry_reason(reason: str) -> str:
    """Return the reason of a retry in the reader's language."""
    return _(RETRY_REASONS[reason]) if reason in RETRY_REASONS else reason


def retry_text(reason: str, details: Mapping[str, Any], delay: str = "") -> tuple[str, str]:
    """Return title and text of a retry; the title alone says so if the details are unreadable.

    Args:
        details: as in the event: ``attempt``, ``message`` (the server's), ``pictures`` (names of omitted ones).
        delay: the wait before it, in words; empty if none.
    """
    return readable(lambda: _retry_text(reason, details, delay), _no_text)


def _no_text() -> tuple[str, str]:
    return unreadable(), ""


def _retry_text(reason: str, details: Mapping[str, Any], delay: str) -> tuple[str, str]:
    attempt, message = int(details.get("attempt") or 1), str(details.get("message") or "")
    if reason == LOADING and delay:
        return _("Loading the model"), _("The server is not ready yet; retrying in {delay}.", delay=delay)
    if reason == LOADING:
        return _("Loading the model"), _("The model will answer once it is loaded.")
    if reason == TOOLS_REFUSED:
        text = _(
            "From now on, this model makes tool calls as text (XML). Server message: {message}",
            message=message,
        )
        return _("The server does not accept tool definitions"), text
    if reason == PICTURES_REFUSED:
        text = _(
            "From now on, images sent to this model are replaced by a note. Server message: {message}",
            message=message,
        )
        return _("The model does not support images"), text
    if reason == PICTURES_LEFT_OUT:
        text = _(
            "If this attempt works, the omitted images will not be sent again. Server message: {message}",
            message=message,
        )
        return _(
            "Retrying without {names}", names=", ".join(details.get("pictures") or ()) or _("the latest images")
        ), text
    if delay:
        text = _("Attempt {attempt} after {delay}: {reason}", attempt=attempt, delay=delay, reason=retry_reason(reason))
    else:
        text = _("Attempt {attempt}: {reason}", attempt=attempt, reason=retry_reason(reason))
    return _("Retrying the model"), text


def nudge_text(reason: str, tasks: int) -> str:
    """Return why an agent that had answered continues: the ``reason`` of its nudge, and the number of open tasks."""
    if reason == FIX_ANSWER:
        return _("Asked for a new answer: the last one did not match the answer schema")
    return ngettext("{n} task is open: the agent continues", "{n} tasks are open: the agent continues", tasks)


def narrowed_text(details: Mapping[str, Any]) -> str:
    """Describe the rights that a person withdrew from a running run: see ``payloads.RightsNarrowed``."""
    parts = [*map(str, details.get("denied") or ())]
    parts += [_("{rule} without asking", rule=rule) for rule in details.get("asked") or ()]
    parts += [_("the folder {path}", path=path) for path in details.get("folders") or ()]
    parts += [_("instructions and skills of {path}", path=path) for path in details.get("untrusted") or ()]
    if details.get("stricter"):
        parts.append(_("calls without approval where the stricter profile requires it"))
    return _("Permissions withdrawn from here on: {what}", what=", ".join(parts))


def schema_mismatch_text(problem: str) -> tuple[str, str]:
    """Return title and text of an answer that does not match the agent's schema and is kept.

    ``problem`` is the validator's.
    """
    return _("The answer does not match its schema"), _(
        "The answer was kept as is. Problem: {problem}", problem=problem
    )


SERVER_PROBLEMS = {
    "unknown": N_("{server}: no such server"),
    "off": N_("{server}: disabled"),
    "failed": N_("{server}: {detail}"),
    "nothing": N_("{server}: no tools, resources or prompts"),
    "left_out": N_("{server}: some entries cannot be used ({detail})"),
}
"""By code of a ``ServerProblem``."""


def servers_text(details: Mapping[str, Any]) -> tuple[str, str]:
    """Return title and text about incomplete MCP servers of the agent, one line each.

    ``details`` has the ``problems`` of the event.
    """
    lines, whole = [], False
    for each in details.get("problems") or ():
        code = str(each.get("code"))
        text = SERVER_PROBLEMS.get(code, "{server}: {detail}")
        lines.append(_(text, server=each.get("server", ""), detail=each.get("detail", "")))
        whole = whole or code != "left_out"
    title = (
        _("Some of the agent's MCP servers are not available")
        if whole
        else _("Some tools from MCP servers cannot be used")
    )
    return title, "\n".join(lines)


class NoticeKind(NamedTuple):
    """How a notice of a run is shown.

    Attributes:
        icon: its name in the window.
        make: returns title and text, from the ``details`` of the notice and its ``reason``; the text may be empty.
        warning: it is a problem.
        lines: the text consists of lines.
    """

    icon: str
    make: Callable[[Mapping[str, object]], tuple[str, str]]
    warning: bool = False
    lines: bool = False

    def text(self, details: Mapping[str, Any]) -> tuple[str, str]:
        """Return title and text; the title alone says so if the details are unreadable."""
        return readable(lambda: self.make(details), _no_text)

    def line(self, details: Mapping[str, Any]) -> str:
        """Return title and text together, for the terminal and exports."""
        title, text = self.text(details)
        if not text:
            return title
        return f"{title}\n{text}" if self.lines else _("{title}. {text}", title=title, text=text)


def _nudge(details: Mapping[str, Any]) -> tuple[str, str]:
    title = nudge_text(str(details.get("reason", "")), int(details.get("tasks") or 0))
    return title, _("The agent had already answered and is answering again.")


NOTICES = {
    "misfit": NoticeKind(
        "triangle-alert", lambda details: schema_mismatch_text(str(details.get("problem", ""))), warning=True
    ),
    "nudge": NoticeKind("list-todo", _nudge),
    "rights_narrowed": NoticeKind("shield", lambda details: (narrowed_text(details), "")),
    "servers_lacking": NoticeKind("plug", servers_text, warning=True, lines=True),
}
"""By topic, the ``chunk_type`` of its event: what window, terminal and exports show of notices that need nothing
else."""


def notice_kind(topic: str, details: Mapping[str, object]) -> NoticeKind | None:
    """Return how a notice is shown; None for one that has a view of its own."""
    if topic != "notice":
        return NOTICES.get(topic)
    return NoticeKind(str(details.get("icon", "")), _own_text, warning=bool(details.get("warning")))


def _own_text(details: Mapping[str, Any]) -> tuple[str, str]:
    """Title and text of a notice that has its own, see ``domain.events.base_event.EventNotice``."""
    values = {
        name: number(value) if type(value) is int else value for name, value in (details.get("values") or {}).items()
    }
    return _(str(details.get("title", "")), **values), _(str(details.get("text", "")), **values)


def limit_title(kind: str, details: Mapping[str, Any]) -> str:
    """Which limit stopped a run. ``details`` contain ``value`` and ``cap``, in the unit of the limit."""
    value, cap = (float(details.get(key) or 0) for key in ("value", "cap"))
    titles = {**LIMITS, **TOO_LOW} if value < cap else LIMITS
    return _(titles.get(kind, N_("Limit reached")))


def too_little(kind: str, value: float, cap: float, details: Mapping[str, Any]) -> str:
    """Why a run stopped before its cap: a request is sent only when what is left is enough for it, and when its price
    is known. Empty when the cap is used up. ``details`` may say what the request may take (``needed``) and what is
    ``left``, in the unit of the limit; of an unknown price the ``model``, and which are ``missing``."""
    if kind == "unpriced":
        missing = _MISSING_PRICES.get(tuple(details.get("missing") or ()))
        why = _(
            "Without a known price, the monthly cost limit cannot be enforced. Enter the price in the provider "
            "settings, or allow such requests this month."
        )
        return " ".join((_(missing, model=details.get("model", "")), why)) if missing else why
    if kind == "priced":
        return _("The run can continue.")
    if needed := float(details.get("needed") or 0):
        left = max(0.0, float(details.get("left") or 0))
        if kind not in MONEY:
            return _(
                "The next request needs at least {needed} tokens; only {left} are left.",
                needed=number(math.ceil(needed)),
                left=number(math.floor(left)),
            )
        return _(
            "The next request may cost up to {cost}; only {left} is left.",
            cost=cost_bound(needed, up=True),
            left=cost_bound(left, up=False),
        )
    return (
        _("The remaining amount is not enough for the next request.")
        if kind in ("tokens", "cost") and value < cap
        else ""
    )


def unfinished_text(finish: str, *, content: bool, thought: bool) -> tuple[str, str]:
    """Return title and text about an incomplete reply; both empty for a complete one.

    Args:
        content, thought: whether there is text, and reasoning.
    """
    reason = reason_of(finish)
    if reason.complete:
        return "", ""
    words = UNFINISHED[reason]
    if thought and not content:
        words = {FinishReason.EMPTY: ONLY_THOUGHT, FinishReason.LENGTH: CUT_IN_THOUGHT}.get(reason, words)
    return _(words[0]), _(words[1])


def continue_text(finish: str) -> str:
    """Return the message of the button "Continue", in the reader's language."""
    return _(CONTINUE_TEXTS.get(reason_of(finish), CONTINUE_TEXTS[FinishReason.LENGTH]))


def reason_of(finish: str) -> FinishReason:
    """Return the reason by value; unknown ones count as complete."""
    return FinishReason(finish) if finish in set(FinishReason) else FinishReason.STOP
