"""``atelier queue``: a workflow's messages that wait for the current turn to end."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.event_renderers import renderer_for
from atelier_desk.cli.questions_and_approvals import Responders
from atelier_desk.cli.run_follower import Follower
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.events.run import UserMessage
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import N_, _


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    waiting = await atelier.runs.waiting.list(arguments.workflow)
    return Result(
        [
            {
                "id": each.message_id,
                "content": each.content,
                "images": len(each.images),
                "files": [file.name for file in each.files],
            }
            for each in waiting
        ],
        Table((_("position"), _("message")), ((str(index), each.content) for index, each in enumerate(waiting, 1))),
    )


async def edit(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    message = await _named(atelier, arguments)
    await atelier.runs.waiting.edit(arguments.workflow, message.message_id, arguments.text)
    return await list_(atelier, arguments, out)


async def move(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    message = await _named(atelier, arguments)
    await atelier.runs.waiting.move(arguments.workflow, message.message_id, arguments.to - 1)
    return await list_(atelier, arguments, out)


async def remove(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    message = await _named(atelier, arguments)
    await atelier.runs.waiting.withdraw(arguments.workflow, message.message_id)
    return await list_(atelier, arguments, out)


async def send(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    """Send a queued message and follow its turn, as ``run`` does, without answering questions."""
    message = await _named(atelier, arguments)
    follower = Follower(atelier, out, arguments.workflow, renderer_for(out), await Responders.create(atelier, out))
    with follower.begun():
        run_id = await atelier.runs.send_queued(arguments.workflow, message.message_id)
    return await follower.follow(run_id)


async def _named(atelier: Atelier, arguments: Namespace) -> UserMessage:
    """The queued message at a position.

    Raises:
        UsageError: no message has this position.
    """
    waiting = await atelier.runs.waiting.list(arguments.workflow)
    if arguments.number > len(waiting):
        raise UsageError(
            N_("There is no message {number}. Messages in the queue: {count}."),
            count=len(waiting),
            number=arguments.number,
        )
    found: UserMessage = waiting[arguments.number - 1]
    return found
