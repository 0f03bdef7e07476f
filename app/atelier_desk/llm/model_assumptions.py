"""Assumptions about models by name, for servers that do not report them: tools, reasoning, images, context, dialect.

Profiles are a last resort: values reported by the server, and then those edited by the user, take precedence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.provider import ModelInfo, ProviderKind
from atelier_desk.llm.prices import Prices, price_of
from atelier_desk.llm.provider_type_registry import find

TEXT, LINES, PATCH = "text", "lines", "patch"
"""Edit forms: exact text replacement, line numbers with a check of their content, patch."""
_USUAL_FORMS = (TEXT, LINES)


@dataclass(frozen=True, slots=True)
class Profile:
    """Assumptions about a model; None means unknown. ``context_window`` and ``max_output`` are in tokens.

    Attributes:
        edit_forms: the edit forms offered; others are accepted too.
    """

    supports_tools: bool | None = None
    supports_thinking: bool | None = None
    supports_vision: bool | None = None
    context_window: int | None = None
    max_output: int | None = None
    prices: Prices | None = None
    dialect: ToolDialect = ToolDialect.NATIVE
    edit_forms: tuple[str, ...] = _USUAL_FORMS


class _Family(NamedTuple):
    pattern: str
    tools: bool | None
    thinking: bool | None
    vision: bool | None
    window: int | None
    max_output: int | None


# The first match of the name (lower case, without owner and path) applies: put narrower patterns first. Sources: model
# cards and documentation of the vendors named in the comments.
_FAMILIES = (
    # OpenAI
    _Family(r"gpt-oss", True, True, False, 131_072, None),
    _Family(r"gpt-([5-9]|\d\d)", True, True, True, 400_000, 128_000),
    _Family(r"gpt-4\.1", True, False, True, 1_047_576, 32_768),
    _Family(r"gpt-4o|chatgpt-4o", True, False, True, 128_000, 16_384),
    _Family(r"gpt-4-turbo", True, False, True, 128_000, 4_096),
    _Family(r"gpt-4", True, False, False, 8_192, 8_192),
    _Family(r"gpt-3\.5", True, False, False, 16_385, 4_096),
    _Family(r"o[134](-|$)", True, True, True, 200_000, 100_000),
    # Mistral
    _Family(r"mistral-(small|medium)", True, True, True, 131_072, None),
    _Family(r"magistral", True, True, True, 131_072, None),
    _Family(r"mistral-large|pixtral", True, False, True, 131_072, None),
    _Family(r"ministral|mistral-nemo|devstral|codestral|mistral", True, False, None, None, None),
    _Family(r"mixtral", None, False, False, 32_768, None),
    # Qwen, DeepSeek, Moonshot, Zhipu, MiniMax
    _Family(r"qwen-?3.*instruct", True, False, None, None, None),
    _Family(r"qwen-?3|qwq", True, True, None, None, None),
    _Family(r"qwen-?2\.5-?vl", False, False, True, None, None),
    _Family(r"qwen-?2\.5", True, False, False, 32_768, None),
    _Family(r"deepseek-(r1|reasoner)", None, True, False, None, None),
    _Family(r"deepseek", True, None, False, None, None),
    _Family(r"kimi-k2|glm-4\.[5-9]|minimax-m", True, True, False, None, None),
    # Meta, Google, Microsoft, IBM, Cohere, Hugging Face, Nous, Anthropic
    _Family(r"llama-?4", True, False, True, None, None),
    _Family(r"llama-?3\.2-vision", False, False, True, 131_072, None),
    _Family(r"llama-?3\.[1-3]", True, False, False, 131_072, None),
    _Family(r"gemini", True, True, True, 1_048_576, 65_536),
    _Family(r"gemma-?3", False, False, True, 131_072, None),
    _Family(r"gemma", False, False, False, 8_192, None),
    _Family(r"phi-?4-mini", True, False, False, 131_072, None),
    _Family(r"phi|tinyllama|llama-?2|vicuna|smollm2?(-|:|$)", False, False, False, None, None),
    _Family(r"smollm3", True, True, False, 65_536, None),
    _Family(r"granite-?[34]", True, None, False, 131_072, None),
    _Family(r"command-(r|a)", True, False, False, 131_072, None),
    _Family(r"hermes-?[234]", True, None, False, None, None),
    _Family(r"claude-3[-.]7", True, True, True, 200_000, 64_000),
    _Family(r"claude-3[-.]5", True, False, True, 200_000, 8_192),
    _Family(r"claude-(3|instant|2)", True, False, True, 200_000, 4_096),
    _Family(r"claude-(opus-4[-.]5|sonnet-4([-.][05])?|haiku-4[-.]5)(-|$)(?!6)", True, True, True, 200_000, 64_000),
    _Family(r"claude-opus-4([-.][01])?(-\d{8})?$", True, True, True, 200_000, 32_000),
    _Family(r"claude-sonnet-4[-.]6", True, True, True, 1_000_000, 64_000),
    _Family(r"claude-(opus-4[-.][6-9]|[a-z]+-([5-9]|\d\d))", True, True, True, 1_000_000, 128_000),
    _Family(r"claude", True, True, True, 200_000, None),
)
# The patch format is OpenAI's (GPT-4.1 prompting guide, "apply_patch"), and its models were trained on it; others do
# not know it. Small models confuse forms, so they get only the simplest.
_EDIT_FORMS = (
    (r"gpt-(oss|[5-9]|\d\d|4\.1)|o[34](-|$)|codex", (TEXT, LINES, PATCH)),
    (r"phi|tinyllama|llama-?2|vicuna|smollm\d?|gemma|ministral|gpt-3\.5", (TEXT,)),
    (r".*[-_:](0\.\d|[1-9](\.\d)?)b([-_.:]|$)", (TEXT,)),
)
_EMBEDDERS = re.compile(r"embed|(^|[-_/])(bge|gte|e5|minilm|sentence)([-_.:]|$)")


def bare_name(model: str) -> str:
    """Return a model's name without owner, path and file extension, in lower case, for matching."""
    return model.replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".gguf")


@lru_cache(maxsize=256)
def _look_up(name: str) -> tuple[_Family | None, tuple[str, ...]]:
    """Return the family and edit forms of a bare name, cached because each request needs them."""
    family = next((entry for entry in _FAMILIES if re.search(rf"(^|[-_.])({entry.pattern})", name)), None)
    return family, next(
        (forms for pattern, forms in _EDIT_FORMS if re.search(rf"(^|[-_.])({pattern})", name)), _USUAL_FORMS
    )


def profile(kind: ProviderKind, model: str) -> Profile:
    """Return the assumptions about a model of this kind of provider; an empty kind means any, without prices."""
    name = bare_name(model)
    family, forms = _look_up(name)
    known_kind = find(kind) if kind else None
    prices = None
    if known_kind is not None:
        prices = Prices(0.0, 0.0) if known_kind.free else price_of(known_kind.prices, name)
    if family is None:
        return Profile(prices=prices, edit_forms=forms)
    known = Profile(
        family.tools, family.thinking, family.vision, family.window, family.max_output, prices, edit_forms=forms
    )
    return replace(known, dialect=_dialect(family.tools))


def merge_profile(kind: ProviderKind, info: ModelInfo, *, own: bool = True) -> ModelInfo:
    """Fill a model's unknown fields from its profile.

    ``own``: it runs on its vendor's server; elsewhere its price is unknown.
    """
    known = profile(kind, info.name)
    if not own:
        known = replace(known, prices=None)
    guesses = {
        "supports_tools": known.supports_tools,
        "supports_thinking": known.supports_thinking,
        "supports_vision": known.supports_vision,
        "context_window": known.context_window,
        "max_output_tokens": known.max_output,
        "price_input": known.prices.input if known.prices else None,
        "price_output": known.prices.output if known.prices else None,
    }
    update: dict[str, object] = {
        field: value for field, value in guesses.items() if value is not None and getattr(info, field) is None
    }
    if update and info.source == "assumed":
        update["source"] = "profile"
    return info.model_copy(update=update)


def dialect_for(config: AgentConfig, info: ModelInfo) -> ToolDialect:
    """How an agent's calls are written: as configured, else guided for the starter model, XML where tools do not work,
    else native.

    Unknown means native: most servers and models take ``tools`` by now, and some read nothing else. A server that
    refuses or ignores them (llama.cpp does, when a model's template has no place for them) is noticed at the first
    reply; see ``llm.replies.tool_refusal``.
    """
    if config.tool_dialect is not ToolDialect.AUTO:
        return config.tool_dialect
    if info.starter:
        return ToolDialect.GUIDED
    if info.supports_tools is not None:
        return _dialect(info.supports_tools)
    return profile("", info.name).dialect


def is_embedder_name(model: str) -> bool:
    """Whether a name looks like an embedding model."""
    return _EMBEDDERS.search(model.lower()) is not None


def _dialect(supports_tools: bool | None) -> ToolDialect:
    return ToolDialect.XML if supports_tools is False else ToolDialect.NATIVE
