"""Details of messages that no version of the program wrote, as an edited export or another program may bring them."""

from __future__ import annotations

from typing import Any

NOTHING: list[Any] = [None, True, 3, -1, float("nan"), float("inf"), 10**400, "x", "\ud800", [], [[]], {}, {"a": {}}]
"""Values of every type and of bad sizes; ``10**400`` is no float, ``\\ud800`` no UTF-8."""
FIELDS = (
    "files",
    "attachments",
    "images",
    "finish_reason",
    "values",
    "title",
    "text",
    "icon",
    "warning",
    "reason",
    "message",
    "pictures",
    "attempt",
    "delay_s",
    "problems",
    "denied",
    "asked",
    "folders",
    "tasks",
    "limit",
    "value",
    "cap",
    "needed",
    "count",
    "tool",
    "tokens_before",
    "tokens_after",
    "status",
)
NOTICES = (
    "notice",
    "nudge",
    "misfit",
    "rights_narrowed",
    "servers_lacking",
    "retry",
    "limit_reached",
    "loop_detected",
    "context_compacted",
    "run_interrupted",
    "run_finished",
    "error",
    "never_heard_of",
)
"""Kinds of notices."""
POISON: list[dict[str, Any]] = [{name: value} for name in FIELDS for value in NOTHING]
POISON += [dict.fromkeys(FIELDS, value) for value in NOTHING]
POISON += [{name: [value]} for name in ("files", "attachments", "images") for value in NOTHING]
FORMATS = ["{n:>99999999999}", "{n.__class__.__mro__}", "{n!r}", "{}", "{0}", "{n[0]}", "{missing}", "{", "}", "{{n}}"]
"""Texts that ``str.format`` fails at, or takes for requests."""
