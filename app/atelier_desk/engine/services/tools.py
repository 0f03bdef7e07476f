"""Tools for display, and validation of arguments."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.approval import RiskName
from atelier_desk.engine.services.common.service import Service
from atelier_desk.tools.base import ToolCategory
from atelier_desk.tools.calls.argument_validation import validate

if TYPE_CHECKING:
    from atelier_desk.tools.base import Tool


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """A parameter for models; ``kind`` is its JSON type or its allowed values."""

    name: str
    kind: str
    required: bool
    told: str


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool for display.

    Attributes:
        section, title, purpose: translatable English texts if known; control tools, which every agent has, have no
            section.
        told: its description for models.
    """

    name: str
    section: str
    told: str
    risk: RiskName
    title: str = ""
    purpose: str = ""
    icon: str = ""
    parameters: tuple[ParameterInfo, ...] = ()


class ToolService(Service):
    """Reads the registry; changes nothing."""

    async def list(self) -> builtins.list[ToolInfo]:
        """Return every registered tool, by section, control tools last."""
        registry = self._context.registry
        found = [
            _info(tool, section.name)
            for section in registry.sections.all()
            for tool in registry.get_tools_by_section(section.id)
        ]
        return found + [_info(tool, "") for tool in registry.get_tools_by_category(ToolCategory.CONTROL)]

    async def check(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Check arguments; unknown tools accept anything.

        Raises:
            ToolError: they are invalid; an ``InvalidArgumentsError`` explains each field.
        """
        known = self._context.registry.get_tool(tool)
        if known is not None:
            validate(known, arguments)


def _info(tool: Tool, section: str) -> ToolInfo:
    schema = tool.definition().parameters
    required = schema.get("required", ())
    parameters = tuple(
        ParameterInfo(name, _kind(each), name in required, str(each.get("description", "")))
        for name, each in schema["properties"].items()
    )
    return ToolInfo(
        tool.name, section, tool.description.strip(), tool.risk.value, tool.title, tool.purpose, tool.icon, parameters
    )


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    kind = str(schema.get("type", ""))
    return f"{kind}: {_kind(schema['items'])}" if kind == "array" and schema.get("items") else kind
