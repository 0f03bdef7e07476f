"""Text about MCP servers."""

from __future__ import annotations

import re

from atelier_desk.domain.mcp import McpState
from atelier_desk.support.i18n import N_, _

STATES = {
    McpState.OFF: N_("off"),
    McpState.IDLE: N_("starts when needed"),
    McpState.STARTING: N_("starting…"),
    McpState.READY: N_("running"),
    McpState.FAILED: N_("failed"),
    McpState.SIGN_IN: N_("sign-in required"),
}
TOOL_STATES = {
    "approved": N_("approved"),
    "new": N_("new: not available to agents yet"),
    "changed": N_("changed: every call needs approval"),
    "gone": N_("removed by its server"),
    "unusable": N_("cannot be used"),
}
HINTS = {
    "readOnlyHint": N_("declared read-only"),
    "destructiveHint": N_("declared destructive"),
    "idempotentHint": N_("declared safe to repeat"),
    "openWorldHint": N_("declares external access"),
}
"""Annotations of a tool by its server: shown, never trusted."""
REJECTED = {
    "tool": (N_("tool {name}: {why}"), N_("its tools: {why}")),
    "resource": (N_("resource {name}: {why}"), N_("its resources: {why}")),
    "template": (N_("resource template {name}: {why}"), N_("its resource templates: {why}")),
    "prompt": (N_("prompt {name}: {why}"), N_("its prompts: {why}")),
}
"""Rejected entries of a server's lists, by kind: with a name, and without or for the list."""


WHY = (
    N_("the entry does not follow the protocol"),
    N_("{place} is missing"),
    N_("{place} does not follow the protocol"),
    N_("its name must have 1 to {most} characters"),
    N_("another tool of this server has the same name"),
    N_("its name or address contains one of your secrets"),
    N_("it runs only as an MCP task, which Atelier does not support"),
    N_("a parameter cannot be sent as a header ({detail})"),
    N_("its parameters are not a valid JSON Schema ({detail})"),
    N_("its parameters are not a valid JSON Schema"),
    N_("its definition is nested too deeply"),
    N_("its definition has {length} characters; the maximum is {most}"),
    N_("its parameters are not an object schema"),
    N_("its parameters expand to more than {most} references"),
    N_("its parameters contain an infinite reference loop"),
    N_("its parameters cannot be used ({detail})"),
)
"""Reasons for rejecting an entry.

``mcp.list_validation`` and ``mcp.tool_definitions`` store one of these, in English.
"""
_WHY = {text: re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text)), re.DOTALL) for text in WHY}


def why_text(why: str) -> str:
    """A stored reason in the current language; one not in ``WHY`` is returned unchanged.

    A ``detail`` is the library's English text.
    """
    for text, form in _WHY.items():
        if (found := form.fullmatch(why)) is not None:
            return _(text, **found.groupdict())
    return why


def rejected_text(kind: str, name: str, why: str) -> str:
    """Text about a rejected entry; ``why`` is the stored reason."""
    named, unnamed = REJECTED[kind]
    why = why_text(why)
    return _(named, name=name, why=why) if name else _(unnamed, why=why)


def needed_value(name: str, description: str) -> str:
    """A value that an imported server needs; its description may be empty."""
    return _("needs {name}: {text}", name=name, text=description) if description else _("needs {name}", name=name)
