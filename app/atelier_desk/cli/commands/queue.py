"""``atelier queue``: the messages of a workflow that wait until the turn before them is answered."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import Adder, number
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.events.run import UserMessage
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    group = add.group("queue", _("queued messages"))
    listing = group.command("list", _("list queued messages, the next one first"), "queue:list_")
    add_id(listing, "workflow", "workflow")
    for name, help, handler in (
        ("edit", _("edit a queued message"), "queue:edit"),
        ("move", _("move a queued message"), "queue:move"),
        ("remove", _("remove a queued message"), "queue:remove"),
        ("send", _("send a queued message now, interrupting the turn"), "queue:send"),
    ):
        command = group.command(name, help, handler)
        add_id(command, "workflow", "workflow")
        command.add_argument("number", metavar="N", type=number(int, least=1), help=_("its position in queue list"))
        if name == "edit":
            command.add_argument("text", metavar="TEXT")
        elif name == "move":
            command.add_argument("to", metavar="TO", type=number(int, least=1), help=_("its new position"))


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    waiting = await atelier.runs.waiting.list(arguments.workflow)
    if out.json:
        fields = [{"id": each.message_id, "content": each.content, "images": len(each.images)} for each in waiting]
        data(out, [{**each, "files": [file.name for file in kept.files]} for each, kept in zip(fields, waiting, strict=True)])
        return 0
    table(out, [(str(place), " ".join(each.content.split())) for place, each in enumerate(waiting, 1)], (_("place"), _("message")))
    return 0


async def edit(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    message = await _named(atelier, arguments)
    await atelier.runs.waiting.edit(arguments.workflow, message.message_id, arguments.text)
    return await list_(atelier, arguments, out)


async def move(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    message = await _named(atelier, arguments)
    await atelier.runs.waiting.move(arguments.workflow, message.message_id, arguments.to - 1)
    return await list_(atelier, arguments, out)


async def remove(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    message = await _named(atelier, arguments)
    await atelier.runs.waiting.take_back(arguments.workflow, message.message_id)
    return await list_(atelier, arguments, out)


async def send(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Send it and follow the turn to its end, as ``run`` does without questions."""
    from atelier_desk.cli.answers import Answers
    from atelier_desk.cli.decisions import Decisions
    from atelier_desk.cli.follow import Follower
    from atelier_desk.cli.render import renderer_for

    message = await _named(atelier, arguments)
    answers = await Answers.create(atelier, out, "ask")
    follower = Follower(atelier, out, arguments.workflow, renderer_for(out), answers, Decisions(atelier, out, "ask"), None)
    try:
        run_id = await atelier.runs.send_queued(arguments.workflow, message.message_id)
    except BaseException:
        follower.close()
        raise
    return await follower.follow(run_id)


async def _named(atelier: Atelier, arguments: argparse.Namespace) -> UserMessage:
    """The message at this place.

    Raises:
        UsageError: none waits there.
    """
    from atelier_desk.domain.errors import UsageError

    waiting = await atelier.runs.waiting.list(arguments.workflow)
    if arguments.number > len(waiting):
        raise UsageError(N_("There is no message {number}; {count} are queued."), count=len(waiting), number=arguments.number)
    found: UserMessage = waiting[arguments.number - 1]
    return found
