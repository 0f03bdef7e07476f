"""``atelier questions``: list, answer and skip, from outside a running or a waiting run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import DATABASE, Adder, names
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.question import UserQuestion
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    group = add.group("questions", _("what agents ask"))
    listing = group.command("list", _("questions that wait, the oldest first"), "questions:list_", needs=DATABASE)
    add_id(listing, "--workflow", "workflow", help=_("of this workflow only"))
    answer = group.command("answer", _("answer a question"), "questions:answer")
    add_id(answer, "id", "question")
    answer.add_argument("--options", metavar="A,B", type=names, default=[], help=_("ids, labels or numbers of options"))
    answer.add_argument("--text", metavar="T", default="")
    answer.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help=_("a field of a server's form (repeatable)"))
    answer.add_argument("--accept", action="store_true", help=_("accept a server's request with its form as is"))
    answer.add_argument("--decline", action="store_true", help=_("decline a server's request; skip cancels it"))
    skip = group.command("skip", _("skip a question"), "questions:skip")
    add_id(skip, "id", "question")


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line, table

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
    for asked in pending:
        if asked.spec.asker is not None:
            from atelier_desk.cli.answers import server_lines

            line(out, "")
            for each in (asked.id, *server_lines(asked)):
                line(out, each)
    return 0


async def answer(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    options, text = arguments.options, arguments.text
    asked = await atelier.questions.get(arguments.id)
    if arguments.set or arguments.accept or arguments.decline:
        options, text = _for_server(asked, arguments)
    answered = await atelier.questions.answer_with(arguments.id, options, text, go_on=_goes_on(asked, arguments))
    _done(out, answered, _("answered"))
    if answered.spec.url and "accept" in answered.selected_options:
        # Only told: a program that is not looked at opens nothing.
        out.note(_("Open this page in your browser: {url}", url=answered.spec.url))
    return 0


def _goes_on(asked: UserQuestion, arguments: argparse.Namespace) -> bool:
    """Whether the run goes on in this process: a command that is over at once must not begin a call to a server that it then cuts off."""
    return asked.spec.asker is None or bool(getattr(arguments, "holder", False))


def _for_server(asked: UserQuestion, arguments: argparse.Namespace) -> tuple[list[str], str]:
    """The answer to what a server asks."""
    from atelier_desk import form_words
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.domain.question import ACCEPT, DECLINE, form_text

    if asked.spec.asker is None:
        raise UsageError(N_("--set, --accept and --decline are for what servers ask; this question has --options and --text."))
    if arguments.decline and (arguments.accept or arguments.set):
        raise UsageError(N_("Accept, or decline: not both."))
    if arguments.decline:
        return [DECLINE], ""
    form = asked.spec.form
    if form is None:
        if arguments.set:
            raise UsageError(N_("The server asks for no form; it takes --accept or --decline."))
        return [ACCEPT], ""
    values = form.defaults()
    for pair in arguments.set:
        name, equals, typed = pair.partition("=")
        field = next((each for each in form.fields if each.name == name), None)
        if not equals or field is None:
            raise form_words.problem(form, name, "unknown")
        values[name] = field.read(typed) if typed.strip() else None
    return [ACCEPT], form_text(values)


async def skip(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    asked = await atelier.questions.get(arguments.id)
    _done(out, await atelier.questions.skip(arguments.id, go_on=_goes_on(asked, arguments)), _("skipped"))
    return 0


def _done(out: Output, asked: UserQuestion, state: str) -> None:
    from atelier_desk.cli.output import outcome

    outcome(out, asked.model_dump(mode="json"), f"{asked.id}  {state}")
