"""``atelier tools``: list, schema and call; ``own_tools`` adds the user's own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.agent_options import add_people_options
from atelier_desk.cli.commands import own_tools
from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import TOOLS, Adder
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.stream import payloads
    from atelier_desk.domain.stream.event import StreamEvent
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.tools.base import Tool

RISKS = {"low": N_("low"), "medium": N_("medium"), "high": N_("high")}


def register(add: Adder) -> None:
    group = add.group("tools", _("what agents can do"))
    listing = group.command("list", _("all tools"), "tools:list_", needs=TOOLS)
    listing.add_argument("--section", metavar="S", help=_("of this section only"))
    schema = group.command("schema", _("a tool's definition as models see it"), "tools:schema", needs=TOOLS)
    schema.add_argument("name", metavar="NAME")
    call = group.command("call", _("call a tool as an agent would"), "tools:call")
    call.add_argument("name", metavar="NAME")
    call.add_argument("arguments", metavar="JSON", help=_("the arguments as a JSON object; - reads standard input"))
    add_id(call, "--workflow", "workflow", help=_("in this workflow; without it a new one is made"))
    call.add_argument("--workspace", metavar="DIR", action="append", default=[], help=_("a folder the call may use (repeatable)"))
    add_people_options(call)
    own_tools.register(group)


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    registry = atelier.registry
    tools = (
        registry.get_tools_by_section(arguments.section)
        if arguments.section
        else [tool for name in registry.get_all_tool_names() if (tool := registry.get_tool(name)) is not None]
    )
    if out.json:
        data(out, [_described(tool) for tool in tools])
        return 0
    rows = [
        (tool.name, tool.category.value, tool.section or "-", tool.effect.value, _(RISKS[tool.risk.value]), _(tool.purpose))
        for tool in tools
    ]
    table(out, rows, (_("name"), _("category"), _("section"), _("effect"), _("risk"), _("what it does")))
    return 0


def _described(tool: Tool) -> dict[str, Any]:
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


async def schema(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data

    data(out, _tool(atelier, arguments.name).definition().model_dump(mode="json"))
    return 0


async def call(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when the tool succeeded, 1 when it failed, 5 when it asks, or needs an approval, and nobody answers here."""
    from atelier_desk.cli.agent_options import workspace
    from atelier_desk.cli.answers import Answers
    from atelier_desk.cli.decisions import Decisions, parse_arguments
    from atelier_desk.cli.follow import Follower
    from atelier_desk.engine.gateways.direct_call import direct_agent, direct_message

    tool = _tool(atelier, arguments.name)
    given = parse_arguments(await out.read_input() if arguments.arguments == "-" else arguments.arguments)
    answers = await Answers.create(atelier, out, arguments.answers)
    decisions = Decisions(atelier, out, arguments.on_approval)
    folders = workspace(out, arguments)
    if arguments.workflow:
        workflow = await atelier.workflows.get(arguments.workflow)
    else:
        workflow = await atelier.workflows.create(_("Call of {tool}", tool=tool.name), workspace=folders)
    names = atelier.registry.get_all_tool_names() if tool.hands_on else []
    others = tuple(name for name in names if name != tool.name)
    renderer = _Result(tool.name)
    follower = Follower(atelier, out, workflow.id, renderer, answers, decisions)
    try:
        run_id = await atelier.runs.send(workflow.id, direct_message(tool.name, given), agent=direct_agent(tool.name, others))
    except BaseException:
        follower.close()
        raise
    status = await follower.follow(run_id)
    return _show(renderer, status, out)


class _Result:
    """Remembers what the call gave."""

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self.end: payloads.ToolEnd | None = None
        self.error = ""

    def show(self, event: StreamEvent) -> None:
        from atelier_desk.domain.stream import payloads

        match event.payload:
            case payloads.ToolEnd() as end:
                self.end = end
            case payloads.Failure(message=message):
                self.error = message


def _show(renderer: _Result, status: int, out: Output) -> int:
    from atelier_desk.cli.output import data

    if renderer.end is None:
        if renderer.error:
            out.note(_("Error: {problem}", problem=renderer.error), "error")
        return status
    data(out, renderer.end.result)
    return status if status else (0 if renderer.end.success else 1)


def _tool(atelier: Atelier, name: str) -> Tool:
    from atelier_desk.domain.errors import NotFoundError

    tool = atelier.registry.get_tool(name)
    if tool is None:
        near = atelier.registry.closest(name) or atelier.registry.get_all_tool_names()
        raise NotFoundError(N_("There is no tool {name}. Closest: {names}."), name=name, names=", ".join(near))
    return tool
