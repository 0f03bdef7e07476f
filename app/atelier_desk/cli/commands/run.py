"""``atelier run``: one turn, from a prompt to the exit status."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

from atelier_desk.cli.agent_options import (
    add_agent_options,
    add_schema_option,
    add_workflow_options,
    chosen_agent,
    chosen_workflow,
    schema_from,
    tell_missing,
    tell_unread,
    workspace,
)
from atelier_desk.cli.attaching import add_attach_option, attachments
from atelier_desk.cli.parser import Adder
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.cli.agent_options import Chosen
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.workflow import Run, Workflow
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    ends = _(
        "Exit status: 0 completed, 1 failed, 2 wrong usage, 3 abandoned by the agent, 4 limit reached, 5 "
        "waiting for an answer or an approval, 130 cancelled. A last reply that was cut, filtered or empty "
        "also exits with 0; standard error and finish_reason (length, content_filter, empty) of the events "
        "message and workflow_complete say so."
    )
    form = _(
        "With --schema, the event workflow_complete of --json has the parsed object under answer. An answer that still does not fit after "
        "a second try stands as it is: answer is missing then, and standard error, or the event misfit, says why."
    )
    parser = add.command("run", _("one turn in a new or an existing workflow"), "run:run", epilog=f"{ends} {form}")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "prompt",
        metavar="PROMPT",
        nargs="?",
        help=_("the prompt; - reads standard input, which is attached when a prompt is given"),
    )
    what.add_argument("--prompt", metavar="NAME", dest="own_prompt", help=_("in place of PROMPT, one of your own: atelier prompts list"))
    parser.add_argument(
        "--set",
        metavar="VARIABLE=VALUE",
        action="append",
        default=[],
        dest="values",
        help=_("fills in a variable of --prompt (repeatable)"),
    )
    add_workflow_options(parser)
    add_attach_option(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help=_("print only the answer; problems go to standard error"))
    add_schema_option(parser)
    parser.add_argument("--step", action="store_true", help=_("step by step: Enter takes the next one; without a terminal one alone"))
    add_agent_options(parser)


async def run(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.answers import Answers
    from atelier_desk.cli.commands.resume import take_up
    from atelier_desk.cli.decisions import Decisions
    from atelier_desk.cli.follow import Follower
    from atelier_desk.cli.render import renderer_for
    from atelier_desk.cli.stepper import Stepper
    from atelier_desk.domain.errors import LimitError, UsageError
    from atelier_desk.domain.workflow import RunMode
    from atelier_desk.engine.services.common.naming import name_from
    from atelier_desk.file_words import changed_words, path_words

    begun = await _begun(atelier, out)
    if begun is not None:
        return await take_up(atelier, arguments, out, begun)
    if arguments.prompt == arguments.schema == "-":
        raise UsageError(N_("Standard input is either the prompt or the schema."))
    schema = await schema_from(out, arguments.schema) if arguments.schema is not None else None
    prompt = await _prompt(atelier, arguments, out)
    existing = await chosen_workflow(atelier, arguments)
    attached = await attachments(atelier, arguments, out, existing)
    answers = await Answers.create(atelier, out, arguments.answers)
    who = await chosen_agent(atelier, arguments, existing, schema)
    folders = workspace(out, arguments)
    workflow = existing or await _new_workflow(atelier, out, name_from(prompt), who, folders)
    if existing is not None:
        await who.keep(atelier, existing)
    granted = tuple(dict.fromkeys((*workflow.workspace, *folders)))
    if granted != workflow.workspace:
        await atelier.workflows.set_workspace(workflow.id, granted)
    await tell_missing(atelier, out, granted)
    if not out.json and not arguments.quiet:
        await tell_unread(atelier, out, granted)
    decisions = Decisions(atelier, out, arguments.on_approval)
    stepper = Stepper(atelier, out) if arguments.step else None
    follower = Follower(atelier, out, workflow.id, renderer_for(out, quiet=arguments.quiet), answers, decisions, stepper)
    mode = RunMode.STEPPING if arguments.step else RunMode.AUTO
    try:
        run_id = await atelier.runs.send(
            workflow.id,
            prompt,
            agent=who.config,
            agent_id=who.agent_id,
            attachments=attached,
            mode=mode,
            message_id=out.request.key,
        )
    except BaseException as error:
        follower.close()
        if existing is None and (started := atelier.runs.active(workflow.id)) is not None:
            # The command was ended while its run began.
            await atelier.runs.interrupt(started)
        elif existing is None and isinstance(error, UsageError | LimitError):
            await atelier.workflows.purge(workflow.id)  # the message was refused: nothing was ever said in it
        raise
    status = await follower.follow(run_id)
    if not out.json and not arguments.quiet:
        changed = (await atelier.files.by_turn(workflow.id)).get(run_id, [])
        if changed:
            out.note(changed_words(list(dict.fromkeys(path_words(change) for change in reversed(changed)))))
        waiting = len([each for each in await atelier.memories.of_turns([run_id]) if each.proposed])
        if waiting:
            out.note(
                ngettext(
                    "{n} proposed memory needs your approval: atelier memory proposed",
                    "{n} proposed memories need your approval: atelier memory proposed",
                    waiting,
                )
            )
        out.note(_("Workflow {id}", id=workflow.id))
    return status


async def _begun(atelier: Atelier, out: Output) -> Run | None:
    """The run that an earlier process started, or reached, with this command's message; None when it did not come to that."""
    from atelier_desk.domain.errors import NotFoundError

    if not out.request.again:
        return None
    try:
        return await atelier.repos.runs.get((await atelier.repos.messages.get(out.request.key)).run_id)
    except NotFoundError:
        return None


async def _new_workflow(atelier: Atelier, out: Output, name: str, who: Chosen, folders: tuple[str, ...]) -> Workflow:
    from atelier_desk.domain.errors import NotFoundError

    if out.request.again:
        with suppress(NotFoundError):
            return await atelier.workflows.get(out.request.key)
    return await atelier.workflows.create(name, who.agent_id, folders, choices=who.choices, id=out.request.key)


NEEDS = N_("The prompt {name} needs values for: {missing}. Give them as in: {example}")


async def _prompt(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> str:
    from atelier_desk.domain import limits
    from atelier_desk.domain.errors import LimitError, UsageError

    given: str | None = arguments.prompt
    if given is None:
        try:
            return await atelier.prompts.filled(arguments.own_prompt, _values(arguments.values))
        except UsageError as error:
            if error.code != "missing_variables":
                raise
            missing = str(error.params["missing"])
            example = " ".join(f"--set {name}=…" for name in missing.split(", "))
            raise UsageError(NEEDS, code=error.code, name=error.params["name"], missing=missing, example=example) from error
    if arguments.values:
        raise UsageError(N_("--set fills in variables of --prompt NAME; beside PROMPT there are none."))
    text = await out.read_input() if given == "-" else given
    if not text.strip():
        raise UsageError(N_("The prompt is empty."))
    if len(text) > limits.MESSAGE:
        raise LimitError(N_("The prompt has {length} characters; at most {most} are allowed."), length=len(text), most=limits.MESSAGE)
    return text.strip()


def _values(given: list[str]) -> dict[str, str]:
    """``VARIABLE=VALUE`` by variable; the last one holds."""
    from atelier_desk.domain.errors import UsageError

    values = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise UsageError(N_("--set takes a variable and its value, as in --set language=French; {given} is none."), given=each)
        values[name.strip()] = value
    return values
