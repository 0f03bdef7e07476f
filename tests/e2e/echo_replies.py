"""Replies that repeat the newest result."""

from __future__ import annotations

from atelier_desk.domain.model_messages import ChatRequest, Role


def newest_result(request: ChatRequest) -> str:
    """The newest tool result sent to the model."""
    return [message.content for message in request.messages if message.role is Role.TOOL][-1]


def echo(request: ChatRequest) -> str:
    return "You said: " + newest_result(request)
