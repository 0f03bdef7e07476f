"""What happens in a run, in words that the window and the command line share: why a request is sent again, how a reply ended, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atelier_desk.domain.chat import LOADING, FinishReason
from atelier_desk.i18n import N_, _, ngettext

TOOLS_REFUSED = "tools_refused"
"""Why a request is sent again without tool definitions."""
PICTURES_REFUSED = "pictures_refused"
PICTURES_LEFT_OUT = "pictures_left_out"
"""Why a request is sent again without pictures."""
FIX_ANSWER = "fix_answer"
"""Why an agent that had answered goes on: its answer does not fit the form that its answers have."""
RETRY_REASONS = {
    "rate_limited": N_("the server limits the number of requests"),
    "overloaded": N_("the server is busy"),
    "server_error": N_("the server had an error of its own"),
    "unreachable": N_("the server cannot be reached"),
    "proxy": N_("the proxy does not answer"),
    "truncated": N_("the connection broke"),
    "timeout": N_("the server did not answer in time"),
}
"""By the code of the error; what is not here is a sentence already."""
LIMITS = {
    "iterations": N_("Limit of steps reached"),
    "tool_calls": N_("Limit of tool calls reached"),
    "tokens": N_("Limit of tokens reached"),
    "cost": N_("Limit of cost reached"),
    "time": N_("Limit of time reached"),
}
COMPACTIONS = {
    "cut_results": N_("old tool results are sent in short form"),
    "cut_message": N_("a long message is sent in short form"),
    "summary": N_("older messages were summed up by the model"),
    "digest": N_("older messages were summed up"),
}
"""By the method of a compaction."""
UNFINISHED = {
    FinishReason.LENGTH: (
        N_("The reply was cut off"),
        N_("It reached the most tokens a reply may have, or the end of the model's window."),
    ),
    FinishReason.CONTENT_FILTER: (N_("The reply was filtered"), N_("The model's server withheld or cut it with its content filter.")),
    FinishReason.EMPTY: (N_("The reply is empty"), N_("The model gave neither text nor a tool call.")),
    FinishReason.REPETITION: (
        N_("The model repeated itself"),
        N_("It wrote the same passage again and again and was stopped. Settings → General can turn this off."),
    ),
}
ONLY_THOUGHT = (N_("The model only thought"), N_("Its answer is missing: all it gave were thoughts."))
CUT_IN_THOUGHT = (N_("The reply was cut off"), N_("The model was still thinking when it reached the most tokens a reply may have."))
GO_ON = {
    FinishReason.LENGTH: N_("Go on exactly where you stopped."),
    FinishReason.CONTENT_FILTER: N_("Go on, and leave out what the content filter held back."),
    FinishReason.EMPTY: N_("Your last reply was empty. Please answer."),
    FinishReason.REPETITION: N_("You repeated the same passage and were stopped. Go on from there, without repeating it."),
}
"""What is said to the model so that it goes on: an ordinary message, which every kind of server takes."""


def retry_reason(reason: str) -> str:
    """Why a request is sent again, in the reader's language."""
    return _(RETRY_REASONS[reason]) if reason in RETRY_REASONS else reason


def retry_words(reason: str, details: Mapping[str, Any], delay: str = "") -> tuple[str, str]:
    """Title and text of a request that is sent again.

    Args:
        details: as the event has them: ``attempt``, ``message`` (what the server said), ``pictures`` (names of those left out).
        delay: the wait before it, in words; empty when there is none.
    """
    attempt, message = int(details.get("attempt") or 1), str(details.get("message") or "")
    if reason == LOADING and delay:
        return _("Loading the model"), _("The server is not done with it; it is asked again after {delay}.", delay=delay)
    if reason == LOADING:
        return _("Loading the model"), _("It is read from the disk; the answer comes after that.")
    if reason == TOOLS_REFUSED:
        text = _(
            "Calls are written as text (xml) from now on; this is remembered for the model. The server said: {message}", message=message
        )
        return _("The server does not take tool definitions"), text
    if reason == PICTURES_REFUSED:
        text = _("It is told that there were some; this is remembered for the model. The server said: {message}", message=message)
        return _("The model cannot see pictures"), text
    if reason == PICTURES_LEFT_OUT:
        text = _("If the server takes the request without them, it is not sent them again. It said: {message}", message=message)
        return _("Asked again without {names}", names=", ".join(details.get("pictures") or ()) or _("the newest pictures")), text
    if delay:
        text = _("Attempt {attempt} after {delay}: {reason}", attempt=attempt, delay=delay, reason=retry_reason(reason))
    else:
        text = _("Attempt {attempt}: {reason}", attempt=attempt, reason=retry_reason(reason))
    return _("Trying the model again"), text


def nudge_words(reason: str, tasks: int) -> str:
    """Why an agent that had answered goes on: the ``reason`` of its nudge, and how many tasks are open."""
    if reason == FIX_ANSWER:
        return _("Asked to answer once more: the answer does not fit its form")
    return ngettext("Asked to go on: {n} task is open", "Asked to go on: {n} tasks are open", tasks)


def narrowed_words(details: Mapping[str, Any]) -> str:
    """What a person took from a run that had begun: see ``payloads.RightsNarrowed``."""
    parts = [*map(str, details.get("denied") or ())]
    parts += [_("{rule} without asking", rule=rule) for rule in details.get("asked") or ()]
    parts += [_("the folder {path}", path=path) for path in details.get("folders") or ()]
    if details.get("stricter"):
        parts.append(_("what the permission level asks about"))
    return _("From here on: no longer allowed: {what}", what=", ".join(parts))


def misfit_words(problem: str) -> tuple[str, str]:
    """Title and text of an answer that does not fit the agent's schema and stands as it is; ``problem`` is in the checker's words."""
    return _("The answer does not fit its form"), _("It stands as it is. What does not fit: {problem}", problem=problem)


SERVER_PROBLEMS = {
    "unknown": N_("{server}: there is no such server"),
    "off": N_("{server}: it is switched off"),
    "failed": N_("{server}: {detail}"),
    "nothing": N_("{server}: it offers no tools, resources or prompts"),
    "left_out": N_("{server} offers what cannot be used: {detail}"),
}
"""By the code of a ``ServerProblem``."""


def servers_words(details: Mapping[str, Any]) -> tuple[str, str]:
    """Title and text of what MCP servers of the agent lack, a line for each; ``details`` has the ``problems`` of the event."""
    lines, whole = [], False
    for each in details.get("problems") or ():
        code = str(each.get("code"))
        text = SERVER_PROBLEMS.get(code, "{server}: {detail}")
        lines.append(_(text, server=each.get("server", ""), detail=each.get("detail", "")))
        whole = whole or code != "left_out"
    title = _("MCP servers of the agent are not available") if whole else _("Some tools of MCP servers cannot be used")
    return title, "\n".join(lines)


def too_little(kind: str, value: float, cap: float) -> str:
    """Why a run stopped before its cap: a request is sent only when what is left is enough for it. Empty when the cap is used up."""
    return _("What is left is not enough for the next request.") if kind in ("tokens", "cost") and value < cap else ""


def unfinished_words(finish: str, *, content: bool, thought: bool) -> tuple[str, str]:
    """Title and text of how a reply ended that is not whole; both empty for one that is.

    Args:
        content, thought: whether there is text, and whether there are thoughts.
    """
    reason = reason_of(finish)
    if reason.whole:
        return "", ""
    words = UNFINISHED[reason]
    if thought and not content:
        words = {FinishReason.EMPTY: ONLY_THOUGHT, FinishReason.LENGTH: CUT_IN_THOUGHT}.get(reason, words)
    return _(words[0]), _(words[1])


def go_on_words(finish: str) -> str:
    """What a person who presses "Go on" says, in their language."""
    return _(GO_ON.get(reason_of(finish), GO_ON[FinishReason.LENGTH]))


def reason_of(finish: str) -> FinishReason:
    """The reason by its value; anything unknown counts as whole."""
    return FinishReason(finish) if finish in set(FinishReason) else FinishReason.STOP
