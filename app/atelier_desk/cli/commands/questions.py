"""``atelier questions``: list, answer and skip, from outside a running or a waiting run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import DATABASE, Adder, names
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.question import UserQuestion
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    group = add.group("questions", _("what agents ask"))
    listing = group.command("list", _("questions that wait, the oldest first"), "questions:list_", needs=DATABASE)
    add_id(listing, "--workflow", "workflow", help=_("of this workflow alone"))
    answer = group.command("answer", _("answer a question"), "questions:answer")
    add_id(answer, "id", "question")
    answer.add_argument("--options", metavar="A,B", type=names, default=[], help=_("ids, labels or numbers of options"))
    answer.add_argument("--text", metavar="T", default="")
    skip = group.command("skip", _("skip a question"), "questions:skip")
    add_id(skip, "id", "question")


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    if arguments.workflow:
        await atelier.workflows.get(arguments.workflow)
    pending = await atelier.questions.pending(arguments.workflow)
    if out.json:
        data(out, [asked.model_dump(mode="json") for asked in pending])
        return 0
    rows = [
        (asked.id, asked.spec.question_type.value, asked.spec.question, ", ".join(option.id for option in asked.spec.options))
        for asked in pending
    ]
    table(out, rows, (_("id"), _("type"), _("question"), _("options")))
    return 0


async def answer(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    _done(out, await atelier.questions.answer_with(arguments.id, arguments.options, arguments.text), _("answered"))
    return 0


async def skip(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    _done(out, await atelier.questions.skip(arguments.id), _("skipped"))
    return 0


def _done(out: Output, asked: UserQuestion, state: str) -> None:
    from atelier_desk.cli.output import data, line

    if out.json:
        data(out, asked.model_dump(mode="json"))
    else:
        line(out, f"{asked.id}  {state}")
