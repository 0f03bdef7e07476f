"""Base of the control tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from atelier_desk.domain.agent import ToolMode
from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.tools.base import ToolCategory
from atelier_desk.tools.definition.input_schema import parameters_of, variants_of
from atelier_desk.tools.registry.builtin import BuiltinTool

_SENT = ("type", "enum", "items", "properties", "required")
"""Schema keys sent for each parameter; limits and defaults are enforced by validation, whose errors name them."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """When definitions are sent.

    ``has_parent``: in a sub-agent's run; ``child_asks``: while a sub-agent waits for an answer; ``attached``: when a
    message contains an excerpt of an attachment; ``searching``: when there are too many tools to list.
    """

    mode: ToolMode
    has_parent: bool
    child_asks: bool
    attached: bool = False
    searching: bool = False


class ControlTool(BuiltinTool):
    """Base of the control tools: called directly by the model, in no section, idempotent.

    Their definitions accompany every request of every agent, so they are short instead of following the description
    template: one or two sentences, and parameters by name and type only.

    Attributes:
        what: the sentences.
    """

    category = ToolCategory.CONTROL
    section = ""
    idempotent = True
    awaits_external_response = True
    icon = "message-square"
    what: ClassVar[str]

    @property
    def description(self) -> str:
        return self.what

    def offered(self, offer: OfferedTool) -> bool:
        """Whether the model is offered it now; it can be called regardless."""
        return True

    def definition(self) -> ToolSpec:
        parameters = _brief(parameters_of(self.input))
        return ToolSpec(
            name=self.name,
            description=self.what,
            parameters=parameters,
            variants=variants_of(self.input),
            awaits_external_response=self.awaits_external_response,
        )


def _brief(schema: dict[str, Any]) -> dict[str, object]:
    """Return the schema reduced to names, types and choices."""
    brief = {key: schema[key] for key in _SENT if key in schema}
    if "items" in brief:
        brief["items"] = _brief(brief["items"])
    if "properties" in brief:
        brief["properties"] = {name: _brief(each) for name, each in brief["properties"].items()}
    return brief
