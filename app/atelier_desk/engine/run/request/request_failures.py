"""What a failed request, or an unusable reply, means for the run. Pure."""

from __future__ import annotations

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.events.run import RunFailed
from atelier_desk.domain.model_messages import ChatReply, ToolSpec
from atelier_desk.engine.run.request.toolset import tools_tokens
from atelier_desk.llm.replies.tool_refusal import ignores_tools, written_as_text
from atelier_desk.llm.secrets import redact
from atelier_desk.support.i18n import _

FUTILE = frozenset({"bad_request", "context_overflow"})
"""Error codes that recur for the same request: no retry is offered."""


def tools_unread(reply: ChatReply, tools: tuple[ToolSpec, ...], estimated: float) -> bool:
    """Whether the reply shows that the model was not given the tools, which its server accepted in its own form.

    Args:
        estimated: our estimate of the request with them, in tokens.
    """
    if reply.tool_calls:
        return False
    if written_as_text(reply.content, (tool.name for tool in tools)):
        return True
    usage = reply.usage
    return (
        usage is not None and not usage.estimated and ignores_tools(usage.tokens_input, estimated, tools_tokens(tools))
    )


def run_failure(error: ProviderError, message: str) -> RunFailed:
    """Return the event that ends a root run with this error; ``message``: its text, without secrets."""
    return RunFailed(
        code=error.code,
        message=message,
        words=redact(error.in_words(_)),
        detail=redact(str(error.params.get("detail") or "")),
        provider=str(error.params.get("provider") or ""),
        recoverable=error.recoverable or error.code not in FUTILE,
    )
