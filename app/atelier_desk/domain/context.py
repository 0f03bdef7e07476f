"""What a model request is made of besides the conversation."""

from __future__ import annotations

from atelier_desk.domain.base import Model
from atelier_desk.domain.model_messages import ToolSpec


class PromptFrame(Model):
    """The system message and the tool definitions of a request, kept once for all requests of a workflow that share them.

    ``id`` is a hash of the workflow's id and the content; a reply's event names it.
    """

    id: str
    workflow_id: str
    system: str
    tools: tuple[ToolSpec, ...] = ()
