"""Tool dialects: wire formats of calls. Each wraps a model and returns the same ``ToolCall`` values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.domain.agent import ToolDialect
from atelier_desk.llm.interfaces import ChatModel, Embedder

if TYPE_CHECKING:
    from atelier_desk.llm.guided import GuidedModel


def with_dialect(
    model: ChatModel,
    dialect: ToolDialect,
    *,
    grammar: bool = False,
    embedder: Embedder | None = None,
    language: str = "en",
) -> ChatModel:
    """Wrap a model in a dialect.

    Args:
        model: a provider, or a scripted model.
        dialect: not ``auto``, which the model's profile resolves before.
        grammar: restrict replies to valid calls; with ``xml``, for llama.cpp servers only.
        embedder, language: for ``guided`` only: finds the nearest examples, in the user's language.

    Raises:
        ValueError: the dialect is ``auto``, or ``guided`` without an embedder.
    """
    if dialect is ToolDialect.NATIVE:
        from atelier_desk.llm.dialects.native import NativeModel

        return NativeModel(model)
    if dialect is ToolDialect.XML:
        from atelier_desk.llm.dialects.xml import XmlModel

        return XmlModel(model, grammar=grammar)
    if dialect is ToolDialect.GUIDED and embedder is not None:
        return _guided(model, embedder, language)
    raise ValueError(
        f"no model can speak the dialect {dialect.value!r} as asked; guided needs an embedder, auto must be decided "
        f"before"
    )


def _guided(model: ChatModel, embedder: Embedder, language: str) -> GuidedModel:
    from atelier_desk.llm.guided import GuidedModel

    return GuidedModel(model, embedder, language)
