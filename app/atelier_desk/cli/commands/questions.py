"""``atelier questions``: list, answer and skip questions of an active or waiting run."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table, report
from atelier_desk.cli.question_answers import server_lines
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.question import ACCEPT, DECLINE, UserQuestion, form_text
from atelier_desk.engine.atelier import Atelier
from atelier_desk.presentation import elicitation_form_text
from atelier_desk.support.i18n import N_, _


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if arguments.workflow:
        await atelier.workflows.get(arguments.workflow)
    pending = await atelier.questions.pending(arguments.workflow)
    rows = (
        (
            asked.id,
            asked.spec.question_type.value,
            asked.spec.question,
            ", ".join(option.id for option in asked.spec.options),
        )
        for asked in pending
    )
    return Result(
        pending,
        Table((_("id"), _("type"), _("question"), _("options")), rows),
        (("", asked.id, *server_lines(asked)) for asked in pending if asked.spec.asker is not None),
    )


async def answer(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    options, text = arguments.options, arguments.text
    asked = await atelier.questions.get(arguments.id)
    if arguments.set or arguments.accept or arguments.decline:
        options, text = _for_server(asked, arguments)
    answered = await atelier.questions.answer_with(arguments.id, options, text, go_on=_resumes_here(asked, arguments))
    status = report(out, _closed(answered, _("answered")))
    if answered.spec.url and "accept" in answered.selected_options:
        # Print the address only: a program without a window must not open a browser.
        out.note(_("Open this page in your browser: {url}", url=answered.spec.url))
    return status


def _resumes_here(asked: UserQuestion, arguments: Namespace) -> bool:
    """Whether the run resumes in this process.

    A command that ends at once must not start a call to a server and then cut it off.
    """
    return asked.spec.asker is None or bool(getattr(arguments, "holder", False))


def _for_server(asked: UserQuestion, arguments: Namespace) -> tuple[list[str], str]:
    """The answer to a server's question."""
    if asked.spec.asker is None:
        raise UsageError(
            N_(
                "--set, --accept and --decline are for requests from servers; answer this question with --options "
                "and --text."
            )
        )
    if arguments.decline and (arguments.accept or arguments.set):
        raise UsageError(N_("Use --accept or --decline, not both."))
    if arguments.decline:
        return [DECLINE], ""
    form = asked.spec.form
    if form is None:
        if arguments.set:
            raise UsageError(N_("The server's request has no form: use --accept or --decline."))
        return [ACCEPT], ""
    values = form.defaults()
    for pair in arguments.set:
        name, equals, typed = pair.partition("=")
        field = next((each for each in form.fields if each.name == name), None)
        if not equals or field is None:
            raise elicitation_form_text.problem(form, name, "unknown")
        values[name] = field.read(typed) if typed.strip() else None
    return [ACCEPT], form_text(values)


async def skip(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    asked = await atelier.questions.get(arguments.id)
    return _closed(await atelier.questions.skip(arguments.id, go_on=_resumes_here(asked, arguments)), _("skipped"))


def _closed(asked: UserQuestion, state: str) -> Result:
    return Result(asked, f"{asked.id}  {state}")
