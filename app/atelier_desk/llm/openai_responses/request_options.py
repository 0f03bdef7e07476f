"""Request options of OpenAI models: reasoning effort, temperature.

Sources: developers.openai.com/api/docs, "Reasoning"; models.dev at f3fc692 (``reasoning_options``, ``temperature``);
API errors reported by users.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.llm.model_assumptions import bare_name

EFFORTS = ("none", "minimal", "low", "medium", "high")
"""Efforts that are requested, lowest first."""


@dataclass(frozen=True, slots=True)
class Takes:
    """Options that a model accepts.

    Attributes:
        efforts: values of ``reasoning.effort``; empty for a model that does not reason.
        known: recognised by name; other models may reason, and nothing disables it.
        temperature: any at all.
    """

    efforts: tuple[str, ...] = ()
    known: bool = True
    temperature: bool = False


# The first pattern that matches the start of the bare name applies.
_FAMILIES = (
    (r"gpt-oss", Takes(EFFORTS[2:], temperature=True)),
    (r"gpt-[34]|chatgpt|gpt-5(\.\d+)?-chat", Takes(temperature=True)),
    (r"gpt-5-pro", Takes(("high",))),
    (r"gpt-5(\.\d+)?-pro", Takes(("medium", "high"))),
    (r"gpt-5(\.1)?-codex|o\d|codex", Takes(EFFORTS[2:])),
    (r"gpt-5(-|$)", Takes(EFFORTS[1:])),
    (r"gpt-", Takes(("none", *EFFORTS[2:]))),
    (r"", Takes(EFFORTS[2:], known=False, temperature=True)),  # other users of this API, and names of Azure deployments
)


def reasoning_support(model: str) -> Takes:
    """Return the options of a model, by name."""
    name = bare_name(model)
    return next(known for pattern, known in _FAMILIES if re.match(pattern, name))


def reasoning(request: ChatRequest, known: Takes, refused: Collection[str]) -> dict[str, object] | None:
    """Return the field ``reasoning`` of a request, None to omit it.

    Args:
        refused: what the model has refused: fields, ``summary``, and ``effort none`` and similar.
    """
    efforts = [effort for effort in known.efforts if f"effort {effort}" not in refused]
    if not efforts or "reasoning" in refused:
        return None
    least = EFFORTS[0] if known.known else None
    wanted = request.effort if request.enable_thinking else least
    field: dict[str, object] = (
        {"effort": _nearest(wanted, efforts)} if wanted is not None and "effort" not in refused else {}
    )
    if request.enable_thinking and "summary" not in refused:
        field["summary"] = "auto"
    return field or None


def _nearest(wanted: str, efforts: list[str]) -> str:
    """Return this effort or the next higher available one, otherwise the highest."""
    return next((effort for effort in efforts if EFFORTS.index(effort) >= EFFORTS.index(wanted)), efforts[-1])
