"""``atelier tools call``: call a tool the way an agent does."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.approval_decisions import parse_arguments
from atelier_desk.cli.command_result import Result
from atelier_desk.cli.commands.tools import tool_named
from atelier_desk.cli.file_arguments import workspace
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.questions_and_approvals import Responders
from atelier_desk.cli.run_follower import Follower
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.gateways.direct_tool_call import direct_agent, direct_message
from atelier_desk.support.i18n import _


async def call(atelier: Atelier, arguments: Namespace, out: Output) -> Result | int:
    """Call a tool.

    Exit status 0 when it succeeds, 1 when it fails, 5 when it has a question or needs approval that nobody
    gives here.
    """
    tool = tool_named(atelier, arguments.name)
    given = parse_arguments(await out.read_input() if arguments.arguments == "-" else arguments.arguments)
    people = await Responders.create(atelier, out, arguments)
    folders = workspace(out, arguments)
    if arguments.workflow:
        workflow = await atelier.workflows.get(arguments.workflow)
    else:
        workflow = await atelier.workflows.create(_("Call to {tool}", tool=tool.name), workspace=folders)
    names = atelier.registry.get_all_tool_names() if tool.hands_on else []
    others = tuple(name for name in names if name != tool.name)
    renderer = _Result(tool.name)
    follower = Follower(atelier, out, workflow.id, renderer, people)
    with follower.begun():
        run_id = await atelier.runs.send(
            workflow.id, direct_message(tool.name, given), agent=direct_agent(tool.name, others)
        )
    status = await follower.follow(run_id)
    return _shown(renderer, status, out)


class _Result:
    """Stores the result of the call."""

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self.end: payloads.ToolEnd | None = None
        self.error = ""

    def show(self, event: StreamEvent) -> None:
        match event.payload:
            case payloads.ToolEnd() as end:
                self.end = end
            case payloads.Failure(message=message):
                self.error = message


def _shown(renderer: _Result, status: int, out: Output) -> Result | int:
    if renderer.end is None:
        if renderer.error:
            out.note(_("Error: {problem}", problem=renderer.error), "error")
        return status
    return Result(renderer.end.result, status=status or (OK if renderer.end.success else FAILED))
