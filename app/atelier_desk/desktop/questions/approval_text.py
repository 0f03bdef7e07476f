"""Approvals in words: what is asked, why, how risky it is, who asks, and the scope of approving."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.approval import (
    NOBODY_TO_ASK,
    Ancestor,
    ApprovalKind,
    ApprovalRequest,
    ApprovalScope,
    ApprovalStatus,
    OnTimeout,
    RiskName,
)
from atelier_desk.policy.permissions.call_facts import Concern
from atelier_desk.presentation.permission_rule_text import REASONS, always_text
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.registry.builtin import title_of
from atelier_desk.tools.registry.sections import SHELL, SectionRegistry

if TYPE_CHECKING:
    from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind

_MCP = "mcp__"
RISKS: dict[RiskName, str] = {"low": N_("low risk"), "medium": N_("medium risk"), "high": N_("high risk")}
_RISK_KINDS: dict[RiskName, PillKind] = {"low": "ok", "medium": "warn", "high": "err"}
_SELECTIVE = {
    ApprovalKind.TOOL: N_("Your settings require approval before tools are used."),
    ApprovalKind.SUB_AGENT: N_("Your settings require approval before agents are started."),
    ApprovalKind.MCP: N_("Your settings require approval before MCP servers are used."),
    ApprovalKind.FILE_OP: N_("Your settings require approval before files are changed."),
    ApprovalKind.DB_OP: N_("Your settings require approval before projects and the knowledge graph are used."),
}
_COMMANDS = N_("Your settings require approval before commands are run.")


@dataclass(frozen=True, slots=True)
class ApprovalChoice:
    """A way to approve: ``name`` is the suffix of its menu entry's object name."""

    name: str
    text: str
    scope: ApprovalScope
    rules: tuple[str, ...] = ()


def agent_name(request: ApprovalRequest) -> str:
    """The name of the agent that asks."""
    return _one_line(request.agent_name) or _("The agent")


def _one_line(name: str) -> str:
    """A name that a model may have chosen: lines of its own would look like the card's."""
    return " ".join(name.split())


def tool_name(request: ApprovalRequest) -> str:
    """The tool's display name: its quoted title, else its name without the server prefix, with the operation."""
    if request.presentation.title:
        return _("“{name}”", name=_(request.presentation.title))
    name = bare_tool(request.tool)
    return f"{name} · {request.operation}" if request.operation else name


def summary(request: ApprovalRequest) -> str:
    """The call in one line, as described by its tool: ``New task: …``; otherwise the tool's name and the values."""
    shown = request.presentation
    text = shown.summary.localized(_)
    return text if shown.summary.parts(_)[0] else " · ".join(filter(None, (_(shown.title), text)))


def line(request: ApprovalRequest) -> str:
    """The call as a line of its own."""
    text = (
        action(request)
        or _team_title("", request.details).strip()
        or " · ".join(filter(None, (tool_name(request), summary(request))))
    )
    return text[:1].upper() + text[1:]


def action(request: ApprovalRequest) -> str:
    """The call as a phrase after “wants to”; empty if its tool has no such text."""
    shown = request.presentation.summary
    text = shown.localized(_) if title_of(request.tool) and not request.server and shown.parts(_)[0] else ""
    return text[:1].lower() + text[1:]


def bare_tool(name: str) -> str:
    """A tool's name without the server prefix."""
    return name.removeprefix(_MCP).partition("__")[2] or name if name.startswith(_MCP) else name


def tool_title(name: str) -> str:
    """The title of a tool known only by name."""
    return _(found) if (found := title_of(name)) else bare_tool(name)


def title(request: ApprovalRequest) -> str:
    """The request as a sentence without its full stop."""
    agent, details = agent_name(request), request.details
    if team := _team_title(agent, details):
        return team
    if described := action(request):
        return _("{agent} wants to {action}", agent=agent, action=described)
    if request.server:
        tool = tool_name(request).replace(f"{request.server}: ", "", 1)  # the sentence mentions it
        return _(
            "{agent} wants to use {tool} from the server “{server}”", agent=agent, tool=tool, server=request.server
        )
    return _("{agent} wants to use {tool}", agent=agent, tool=tool_name(request))


def values(request: ApprovalRequest) -> str:
    """The arguments, if the title contains only the tool's name."""
    return "" if action(request) or _team_title("", request.details) else summary(request)


def group_title(requests: Sequence[ApprovalRequest]) -> str:
    """The title of several calls that wait together."""
    count = len(requests)
    return ngettext(
        "{agent} asks for {n} approval", "{agent} asks for {n} approvals", count, agent=agent_name(requests[0])
    )


def _team_title(agent: str, details: dict[str, Any]) -> str:
    """The title of calls that start agents or propose a plan; empty for others."""
    if details.get("sub_agent_name"):
        return _("{agent} wants to start the agent {name}", agent=agent, name=_one_line(str(details["sub_agent_name"])))
    if details.get("target_agent_name"):
        return _("{agent} wants to delegate to {name}", agent=agent, name=_one_line(str(details["target_agent_name"])))
    if details.get("task_count"):
        count = int(details["task_count"])
        return ngettext(
            "{agent} wants to give {n} agent a task", "{agent} wants to give {n} agents a task each", count, agent=agent
        )
    if details.get("action_count"):
        count = int(details["action_count"])
        return ngettext(
            "{agent} wants to run {n} action", "{agent} wants to run a sequence of {n} actions", count, agent=agent
        )
    return ""


def why(request: ApprovalRequest) -> str:
    """The reason for asking: the rule that applied."""
    if request.reason == "selective":
        text = _(_COMMANDS if request.section == SHELL else _SELECTIVE[request.kind])
    elif request.reason == "rule":
        text = _("Your rule “{rule}” requires approval.", rule=request.rule)
    else:
        text = _(REASONS.get(request.reason, request.reason))
    if request.about:
        text = f"{text}\n{request.about}" if request.reason == "repository" else f"{text} ({request.about})"
    if request.round > 1:
        text = " ".join(filter(None, (text, _("No decision was made in time, so you are asked again."))))
    return text


def risk(request: ApprovalRequest) -> tuple[str, PillKind]:
    """The risk pill. Unknown settings of a repository can run anything, however harmless the call itself is."""
    name: RiskName = "high" if is_high(request) else request.risk
    return _(RISKS[name]), _RISK_KINDS[name]


def is_high(request: ApprovalRequest) -> bool:
    """Whether approving must not be the highlighted button."""
    return request.risk == "high" or request.reason == Concern.REPOSITORY


def lineage(above: Iterable[Ancestor], agent: str) -> str:
    """Root → child → …; empty for a root run."""
    names = [_one_line(ancestor.agent_name) for ancestor in above]
    return " → ".join([*names, agent]) if names else ""


def section_name(section: str) -> str:
    """A section's translated name; its id if unknown."""
    known = SectionRegistry()
    return _(known.get(section).name) if known.has(section) else section


def is_lasting(request: ApprovalRequest) -> bool:
    """Whether a plain approval covers more than the call: for a repository's settings, until they change."""
    return request.reason == "repository" and bool(request.always)


def yes(request: ApprovalRequest, changed: bool) -> tuple[str, str]:
    """The approve button's text and tool tip; ``changed``: the arguments were edited."""
    if is_lasting(request):
        return _("Allow these settings"), _("Allow this call, and further git calls until these settings change (A)")
    return _("Allow as edited") if changed else _("Allow once"), _("Allow this call (A)")


def choices(request: ApprovalRequest) -> list[ApprovalChoice]:
    """The wider approvals: for this run, then permanent rules for similar calls, the tool, its section or its server.

    No rule can allow what asks each time, such as a protected file: it would open the tool and still ask.
    """
    if request.reason == "repository":
        # Approving a repository's settings always holds until they change, unless limited to this run.
        return [ApprovalChoice("run", _("Allow these settings in this run only"), ApprovalScope.RUN, request.always)]
    name = tool_name(request) if request.presentation.title else bare_tool(request.tool)
    found = [ApprovalChoice("run", _in_run(request, name), ApprovalScope.RUN)]
    if not request.always:
        return found
    where = partial(always_text, request.holds)
    if request.always != (request.tool,):
        narrow = " · ".join(shorten(_narrow(text), LONGEST_RULE) for text in request.always)
        found.append(ApprovalChoice("always", where(narrow), ApprovalScope.ALWAYS, request.always))
    found.append(ApprovalChoice("tool", where(name), ApprovalScope.ALWAYS, (request.tool,)))
    if request.section and not request.server:
        text = _("all tools in “{section}”", section=section_name(request.section))
        found.append(ApprovalChoice("section", where(text), ApprovalScope.ALWAYS, (f"section:{request.section}",)))
    if request.server:
        text = _("the server “{server}”", server=request.server)
        found.append(ApprovalChoice("server", where(text), ApprovalScope.ALWAYS, (f"mcp__{request.server}",)))
    return found


def _in_run(request: ApprovalRequest, name: str) -> str:
    """The wider yes on its button; that of a sub-agent holds for its own run, and names it."""
    if request.lineage:
        agent = shorten(request.agent_name or request.agent_id, LONGEST_AGENT)
        if request.details.get("sub_agent_name"):
            return _("Allow sub-agents of {agent}", agent=agent)
        if request.subjects.command:
            return _("Allow all commands from {agent}", agent=agent)
        return _("Allow {tool} for {agent}", tool=name, agent=agent)
    if request.details.get("sub_agent_name"):
        return _("Allow sub-agents in this run")
    if request.subjects.command:
        return _("Allow all commands in this run")
    return _("Allow {tool} in this run", tool=name)


def _narrow(rule: str) -> str:
    """A rule for one tool and some of its calls, by the tool's title: ``“Write file” (~/notes.md)``."""
    name, bracket, calls = rule.partition("(")
    known = tool_title(name)
    title = _("“{name}”", name=known) if known != name else name
    return f"{title} {bracket}{calls}".strip()


LONGEST_RULE = 80
"""Characters of a rule shown in a menu."""
LONGEST_AGENT = 24
"""Characters of a sub-agent's name on a button."""


def state(request: ApprovalRequest) -> tuple[str, PillKind]:
    """The status pill of a pending or decided request."""
    words: dict[ApprovalStatus, tuple[str, PillKind]] = {
        ApprovalStatus.PENDING: (_("waiting for you"), "warn"),
        ApprovalStatus.APPROVED: (_("allowed"), "ok"),
        ApprovalStatus.REJECTED: (_("rejected"), "err"),
        ApprovalStatus.CANCELLED: (_("stopped"), ""),
    }
    return words[request.status]


def decision(request: ApprovalRequest) -> str:
    """What was decided, by whom, and its scope; empty while pending."""
    if request.status is ApprovalStatus.PENDING:
        return ""
    timed_out = request.decided_by == "timeout"
    if request.status is ApprovalStatus.REJECTED:
        return rejection(request.decided_by, request.note)
    if request.status is ApprovalStatus.CANCELLED:
        return _("The run was stopped before you decided.")
    if timed_out:
        return _("Allowed automatically: no decision was made in time.")
    reach = {
        ApprovalScope.ONCE: _("You allowed this call."),
        ApprovalScope.RUN: _("You allowed this tool for this run."),
        ApprovalScope.ALWAYS: _("You chose to always allow this."),
    }[request.scope]
    return " ".join(filter(None, (reach, _("You edited the arguments.") if request.edited is not None else "")))


def rejection(decided_by: str, note: str) -> str:
    """Who rejected it, and why. Only a user's own reason is shown: other notes are written for the agent."""
    if decided_by == "timeout":
        return _("Rejected automatically: no decision was made in time.")
    if note == NOBODY_TO_ASK:
        return _("Rejected: nobody was available to ask.")
    return _("You rejected this call: {reason}", reason=note) if note else _("You rejected this call.")


def time_left(seconds: float, then: OnTimeout) -> tuple[str, str]:
    """The time pill and its tool tip."""
    rounded = max(0, round(seconds))
    words = {
        OnTimeout.REJECT: _("After that, the call is rejected."),
        OnTimeout.APPROVE: _("After that, the call is allowed."),
        OnTimeout.ASK_AGAIN: _("After that, you are asked again."),
    }
    return _("{time} left", time=f"{rounded // 60}:{rounded % 60:02d}"), words[then]
