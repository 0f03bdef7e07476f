"""What a model takes in a request: how its thinking is switched, effort, temperature. And what a request then says of them.

Sources: platform.claude.com/docs, "Adaptive thinking", "Extended thinking" and "Effort"; models.dev at f3fc692 (``reasoning_options``,
``temperature``). Where the server's list of models tells, that counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.llm.profiles import bare_name

ADAPTIVE, ENABLED, DISABLED = "adaptive", "enabled", "disabled"
"""Types of ``thinking``."""
LEAST_BUDGET = 1024
"""Tokens; the API takes no smaller budget."""
LEAST_ANSWER = 256
"""Tokens of a reply that a budget leaves for the answer; a reply with less room is written without thinking."""
SHARES = {"low": 0.25, "medium": 0.5, "high": 0.75}
"""How much of a reply's tokens may go into thinking, where it is held by a budget: a budget counts against ``max_tokens``."""


@dataclass(frozen=True, slots=True)
class Takes:
    """What a model takes.

    Attributes:
        adaptive: it decides itself how long it thinks.
        budget: it thinks for as many tokens as it is given.
        off: thinking can be switched off; ``adaptive`` models may think unless it is.
        effort: ``output_config.effort``.
        temperature: any at all; with thinking none does.
    """

    adaptive: bool = False
    budget: bool = False
    off: bool = True
    effort: bool = False
    temperature: bool = True


# The first that matches the beginning of the bare name counts.
_FAMILIES = (
    (r"claude-3[-.]7", Takes(budget=True)),
    (r"claude-([23]|instant)", Takes()),
    (r"claude-opus-4[-.]5", Takes(budget=True, effort=True)),
    (r"claude-(opus|sonnet)-4[-.]6", Takes(adaptive=True, budget=True, effort=True)),
    (r"claude-(opus-4([-.][01])?|sonnet-4([-.][05])?|haiku-4[-.]5)(-\d{8})?(-latest)?$", Takes(budget=True)),
    (r"claude-(fable|mythos)", Takes(adaptive=True, off=False, effort=True, temperature=False)),
    (r"claude", Takes(adaptive=True, effort=True, temperature=False)),
    (r"", Takes(budget=True)),  # others who speak this API
)


def takes(model: str) -> Takes:
    """What a model takes, by its name."""
    name = bare_name(model)
    return next(known for pattern, known in _FAMILIES if re.match(pattern, name))


def told(known: Takes, capabilities: Any) -> Takes:
    """The same with what the list of models says of it (``capabilities``)."""
    types = {name: _supported(capabilities, "thinking", "types", name) for name in (ADAPTIVE, ENABLED, DISABLED)}
    facts = {"adaptive": types[ADAPTIVE], "budget": types[ENABLED], "off": types[DISABLED]}
    facts["effort"] = _supported(capabilities, "effort")
    return replace(known, **{field: value for field, value in facts.items() if value is not None})


def _supported(capabilities: Any, *path: str) -> bool | None:
    for key in (*path, "supported"):
        capabilities = capabilities.get(key) if isinstance(capabilities, dict) else None
    return capabilities if isinstance(capabilities, bool) else None


def is_on(field: dict[str, Any] | None, known: Takes, refused: Collection[str]) -> bool:
    """Whether a model thinks with this ``thinking``; without any those do that cannot be kept from it."""
    return field["type"] != DISABLED if field is not None else not known.off or DISABLED in refused


def thinking(request: ChatRequest, known: Takes, refused: Collection[str], max_tokens: int, *, begun: bool) -> dict[str, Any] | None:
    """The field ``thinking`` of a request, None to leave it out.

    Args:
        refused: types that the model has refused, among other words.
        begun: the turn that goes on began with thinking, or none goes on. A turn that began without may not have it switched on
            in the middle, where thinking is held by a budget.
    """
    if request.enable_thinking and (known.adaptive or ENABLED in refused) and ADAPTIVE not in refused:
        # Newer models keep their thoughts to themselves unless they are asked for a summary.
        return {"type": ADAPTIVE} if "display" in refused else {"type": ADAPTIVE, "display": "summarized"}
    if request.enable_thinking and begun and (known.budget or ADAPTIVE in refused) and ENABLED not in refused:
        budget = max(LEAST_BUDGET, int(max_tokens * SHARES[request.effort or "medium"]))
        if budget + LEAST_ANSWER <= max_tokens:
            return {"type": ENABLED, "budget_tokens": budget}
    return {"type": DISABLED} if known.off and known.adaptive and DISABLED not in refused else None
