"""MCP servers in a person's words, for the window and the command line."""

from __future__ import annotations

from atelier_desk.domain.mcp import McpState
from atelier_desk.i18n import N_, _

STATES = {
    McpState.OFF: N_("off"),
    McpState.IDLE: N_("starts when needed"),
    McpState.STARTING: N_("starting…"),
    McpState.READY: N_("running"),
    McpState.FAILED: N_("failed"),
    McpState.SIGN_IN: N_("sign in"),
}
TOOL_STATES = {
    "approved": N_("approved"),
    "new": N_("new: not given to agents yet"),
    "changed": N_("changed: asks at every call"),
    "gone": N_("gone from its server"),
    "unusable": N_("cannot be used"),
}
HINTS = {
    "readOnlyHint": N_("says that it only reads"),
    "destructiveHint": N_("says that it can destroy"),
    "idempotentHint": N_("says that it can be repeated"),
    "openWorldHint": N_("says that it reaches others"),
}
"""What a server claims of a tool: shown, never trusted."""
REJECTED = {
    "tool": (N_("tool {name}: {why}"), N_("its tools: {why}")),
    "resource": (N_("resource {name}: {why}"), N_("its resources: {why}")),
    "template": (N_("resource template {name}: {why}"), N_("its resource templates: {why}")),
    "prompt": (N_("prompt {name}: {why}"), N_("its prompts: {why}")),
}
"""What a server lists and nobody can use, by its kind: one with a name, and one without or the whole list."""


def rejected_words(kind: str, name: str, why: str) -> str:
    """One entry of a server that cannot be used; ``why`` is in English, as the protocol's own words are."""
    named, unnamed = REJECTED[kind]
    return _(named, name=name, why=why) if name else _(unnamed, why=why)
