"""Request options of Claude models: reasoning, effort, temperature.

Sources: platform.claude.com/docs, "Adaptive thinking", "Extended thinking" and "Effort"; models.dev at f3fc692
(``reasoning_options``, ``temperature``). The server's model list takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.llm.model_assumptions import bare_name

ADAPTIVE, ENABLED, DISABLED = "adaptive", "enabled", "disabled"
"""Types of ``thinking``."""
LEAST_BUDGET = 1024
"""Minimum reasoning budget of the API, in tokens."""
LEAST_ANSWER = 256
"""Minimum tokens of a reply left for the answer; with less room the reply is written without reasoning."""
SHARES = {"low": 0.25, "medium": 0.5, "high": 0.75}
"""Fraction of a reply's tokens for reasoning with a budget, by effort: the budget counts against ``max_tokens``."""


@dataclass(frozen=True, slots=True)
class Takes:
    """Options that a model accepts.

    Attributes:
        adaptive: it decides itself how long to reason.
        budget: it accepts a reasoning budget in tokens.
        off: reasoning can be disabled; ``adaptive`` models may reason otherwise.
        effort: ``output_config.effort``.
        temperature: any at all; never together with reasoning.
    """

    adaptive: bool = False
    budget: bool = False
    off: bool = True
    effort: bool = False
    temperature: bool = True


# The first pattern that matches the start of the bare name applies.
_FAMILIES = (
    (r"claude-3[-.]7", Takes(budget=True)),
    (r"claude-([23]|instant)", Takes()),
    (r"claude-opus-4[-.]5", Takes(budget=True, effort=True)),
    (r"claude-(opus|sonnet)-4[-.]6", Takes(adaptive=True, budget=True, effort=True)),
    (r"claude-(opus-4([-.][01])?|sonnet-4([-.][05])?|haiku-4[-.]5)(-\d{8})?(-latest)?$", Takes(budget=True)),
    (r"claude-(fable|mythos)", Takes(adaptive=True, off=False, effort=True, temperature=False)),
    (r"claude", Takes(adaptive=True, effort=True, temperature=False)),
    (r"", Takes(budget=True)),  # other users of this API
)


def thinking_support(model: str) -> Takes:
    """Return the options of a model, by name."""
    name = bare_name(model)
    return next(known for pattern, known in _FAMILIES if re.match(pattern, name))


def with_capabilities(known: Takes, capabilities: object) -> Takes:
    """Return the options updated by the model list (``capabilities``)."""
    types = {name: _supported(capabilities, "thinking", "types", name) for name in (ADAPTIVE, ENABLED, DISABLED)}
    facts = {"adaptive": types[ADAPTIVE], "budget": types[ENABLED], "off": types[DISABLED]}
    facts["effort"] = _supported(capabilities, "effort")
    return replace(known, **{field: value for field, value in facts.items() if value is not None})


def _supported(capabilities: object, *path: str) -> bool | None:
    for key in (*path, "supported"):
        capabilities = capabilities.get(key) if isinstance(capabilities, dict) else None
    return capabilities if isinstance(capabilities, bool) else None


def is_on(field: dict[str, object] | None, known: Takes, refused: Collection[str]) -> bool:
    """Whether a model reasons with this ``thinking``; without it, models do whose reasoning cannot be disabled."""
    return field["type"] != DISABLED if field is not None else not known.off or DISABLED in refused


def thinking(
    request: ChatRequest, known: Takes, refused: Collection[str], max_tokens: int, *, begun: bool
) -> dict[str, object] | None:
    """Return the field ``thinking`` of a request, None to omit it.

    Args:
        refused: types that the model has refused, among other names.
        begun: the continued turn began with reasoning, or there is none. With a budget, reasoning cannot be enabled in
            the middle of a turn.
    """
    if request.enable_thinking and (known.adaptive or ENABLED in refused) and ADAPTIVE not in refused:
        # Newer models only reveal their reasoning as a summary on request.
        return {"type": ADAPTIVE} if "display" in refused else {"type": ADAPTIVE, "display": "summarized"}
    if request.enable_thinking and begun and (known.budget or ADAPTIVE in refused) and ENABLED not in refused:
        budget = max(LEAST_BUDGET, int(max_tokens * SHARES[request.effort or "medium"]))
        if budget + LEAST_ANSWER <= max_tokens:
            return {"type": ENABLED, "budget_tokens": budget}
    return {"type": DISABLED} if known.off and known.adaptive and DISABLED not in refused else None
