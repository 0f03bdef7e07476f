"""Parts of a model request besides the conversation."""

from __future__ import annotations

from atelier_desk.domain.base_model import Model
from atelier_desk.domain.model_messages import ToolSpec


class PromptFrame(Model):
    """System message and tool definitions of a request, stored once for all requests of a workflow that share them.

    ``id`` is a hash of the workflow's id and the content; reply events refer to it.
    """

    id: str
    workflow_id: str
    system: str
    tools: tuple[ToolSpec, ...] = ()
