"""Request options of Gemini models: reasoning, temperature, signatures.

Sources: ai.google.dev/gemini-api/docs, "Thinking", "Thought signatures" and "Gemini 3"; models.dev at f3fc692; API
errors reported by users (dhyansraj/mcp-mesh #1346, Roo-Code #10700).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.llm.model_assumptions import bare_name

LEVELS = ("minimal", "low", "medium", "high")
SHARES = {"low": 0.25, "medium": 0.5, "high": 0.75}
"""Fraction of a reply's tokens for reasoning with a budget, by effort: reasoning counts against ``maxOutputTokens``."""


@dataclass(frozen=True, slots=True)
class Takes:
    """Options that a model accepts.

    Attributes:
        levels: values of ``thinkingLevel``, lowest first; empty if unsupported.
        budget: minimum and maximum ``thinkingBudget``, in tokens.
        off: a budget of zero, which disables reasoning.
        temperature: any; for others Google recommends the default, because lower values cause repetition.
        signs: calls of a continued turn must have their signatures.
    """

    levels: tuple[str, ...] = ()
    budget: tuple[int, int] | None = None
    off: bool = True
    temperature: bool = True
    signs: bool = False


_NEWER = Takes(levels=LEVELS, temperature=False, signs=True)
# The first pattern that matches the start of the bare name applies.
_FAMILIES = (
    (r"gemini-(1|2\.0)|gemma-?[1-3]|learnlm", Takes()),
    (r"gemini-2\.5-.*(image|tts|audio)", Takes()),
    (r"gemini-2\.5-flash-lite", Takes(budget=(512, 24_576))),
    (r"gemini-2\.5-pro", Takes(budget=(128, 32_768), off=False)),
    (r"gemini-2\.5", Takes(budget=(1, 24_576))),
    (r"gemma", Takes(levels=("minimal", "high"))),
    (r"gemini-3-pro", Takes(levels=("low", "high"), temperature=False, signs=True)),
    (r"gemini-.*pro", Takes(levels=LEVELS[1:], temperature=False, signs=True)),
    (r"gemini", _NEWER),
    (r"", Takes(levels=LEVELS)),  # other users of this API
)


def thinking_support(model: str) -> Takes:
    """Return the options of a model, by name."""
    name = bare_name(model)
    return next(known for pattern, known in _FAMILIES if re.match(pattern, name))


def thinking(request: ChatRequest, known: Takes, refused: Collection[str], max_tokens: int) -> dict[str, object] | None:
    """Return the field ``thinkingConfig`` of a request, None to omit it.

    Args:
        refused: what the model has refused: fields, ``level high`` and similar, and ``budget 0``.
    """
    if "thinkingConfig" in refused:
        return None
    config: dict[str, object] = {}
    if known.levels:
        levels = [level for level in known.levels if f"level {level}" not in refused]
        wanted = request.effort if request.enable_thinking else LEVELS[0]
        if wanted is not None and levels and "thinkingLevel" not in refused:
            config["thinkingLevel"] = _nearest(wanted, levels).upper()
    elif known.budget is not None:
        if "thinkingBudget" not in refused and (request.effort is not None or not request.enable_thinking):
            config["thinkingBudget"] = _budget(
                request, known.budget, max_tokens, off=known.off and "budget 0" not in refused
            )
    else:
        return None
    if request.enable_thinking and "includeThoughts" not in refused:
        config["includeThoughts"] = True
    return config or None


def _nearest(wanted: str, levels: list[str]) -> str:
    """Return this level or the next higher available one, otherwise the highest."""
    return next((level for level in levels if LEVELS.index(level) >= LEVELS.index(wanted)), levels[-1])


def _budget(request: ChatRequest, limits: tuple[int, int], max_tokens: int, *, off: bool) -> int:
    least, most = limits
    if not request.enable_thinking:
        return 0 if off else least
    return max(least, min(most, int(max_tokens * SHARES[request.effort or "medium"])))
