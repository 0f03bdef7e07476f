"""``atelier tools``: list, schema and call; ``own_tools`` adds the person's own."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import N_, _
from atelier_desk.tools.base import Tool

RISKS = {"low": N_("low"), "medium": N_("medium"), "high": N_("high")}


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    registry = atelier.registry
    tools = (
        registry.get_tools_by_section(arguments.section)
        if arguments.section
        else [tool for name in registry.get_all_tool_names() if (tool := registry.get_tool(name)) is not None]
    )
    rows = (
        (
            tool.name,
            tool.category.value,
            tool.section or "-",
            tool.effect.value,
            _(RISKS[tool.risk.value]),
            _(tool.purpose),
        )
        for tool in tools
    )
    return Result(
        [_described(tool) for tool in tools],
        Table((_("name"), _("category"), _("section"), _("effect"), _("risk"), _("what it does")), rows),
    )


def _described(tool: Tool) -> dict[str, object]:
    return {
        "name": tool.name,
        "category": tool.category.value,
        "section": tool.section,
        "effect": tool.effect.value,
        "risk": tool.risk.value,
        "idempotent": tool.idempotent,
        "awaits_external_response": tool.awaits_external_response,
        "title": _(tool.title),
        "purpose": _(tool.purpose),
        "icon": tool.icon,
        "description": tool.description,
    }


async def schema(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return Result(tool_named(atelier, arguments.name).definition())


def tool_named(atelier: Atelier, name: str) -> Tool:
    tool = atelier.registry.get_tool(name)
    if tool is None:
        near = atelier.registry.closest(name) or atelier.registry.get_all_tool_names()
        raise NotFoundError(N_("There is no tool {name}. Closest: {names}."), name=name, names=", ".join(near))
    return tool
