"""``atelier run``: one turn, from a prompt to the exit status."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress

from atelier_desk.cli.agent_model_folder_options import (
    Chosen,
    chosen_agent,
    chosen_workflow,
    warn_about_missing,
    warn_about_unread,
)
from atelier_desk.cli.attach_option import attachments
from atelier_desk.cli.commands.resume import continue_stream
from atelier_desk.cli.event_renderers import renderer_for
from atelier_desk.cli.file_arguments import schema_from, workspace
from atelier_desk.cli.questions_and_approvals import Responders
from atelier_desk.cli.run_follower import Follower
from atelier_desk.cli.stepper import Stepper
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, NotFoundError, UsageError
from atelier_desk.domain.workflow import Run, RunMode, Workflow
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.common.workflow_names import name_from
from atelier_desk.presentation.file_change_text import changed_text
from atelier_desk.support.i18n import N_, _, ngettext


async def run(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    begun = await _begun(atelier, out)
    if begun is not None:
        return await continue_stream(atelier, arguments, out, begun)
    if arguments.prompt == arguments.schema == "-":
        raise UsageError(N_("Standard input can be the prompt or the schema, not both."))
    schema = await schema_from(out, arguments.schema) if arguments.schema is not None else None
    prompt = await _prompt(atelier, arguments, out)
    existing = await chosen_workflow(atelier, arguments)
    attached = await attachments(atelier, arguments, out, existing)
    people = await Responders.create(atelier, out, arguments)
    who = await chosen_agent(atelier, arguments, existing, schema)
    folders = workspace(out, arguments)
    workflow = existing or await _new_workflow(atelier, out, name_from(prompt), who, folders)
    if existing is not None:
        await who.keep(atelier, existing)
    granted = tuple(dict.fromkeys((*workflow.workspace, *folders)))
    if granted != workflow.workspace:
        await atelier.workflows.set_workspace(workflow.id, granted)
    await warn_about_missing(atelier, out, granted)
    if not out.json and not arguments.quiet:
        await warn_about_unread(atelier, out, granted)
    stepper = Stepper(atelier, out) if arguments.step else None
    follower = Follower(atelier, out, workflow.id, renderer_for(out, quiet=arguments.quiet), people, stepper)
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
        if existing is None and (started := atelier.runs.live.alive.get(workflow.id)) is not None:
            # The command was ended while its run was starting.
            await atelier.runs.live.interrupt(started)
        elif existing is None and isinstance(error, UsageError | LimitError):
            await atelier.workflows.purge(workflow.id)  # the message was refused, so the workflow is empty
        raise
    status = await follower.follow(run_id)
    if not out.json and not arguments.quiet:
        changed = (await atelier.files.by_turn(workflow.id)).get(run_id, [])
        if changed:
            out.note(changed_text(reversed(changed)))
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
    """The run that an earlier process started with this command's message, or None."""
    if not out.request.again:
        return None
    try:
        return await atelier.repos.runs.get((await atelier.repos.messages.get(out.request.key)).run_id)
    except NotFoundError:
        return None


async def _new_workflow(atelier: Atelier, out: Output, name: str, who: Chosen, folders: tuple[str, ...]) -> Workflow:
    if out.request.again:
        with suppress(NotFoundError):
            return await atelier.workflows.get(out.request.key)
    return await atelier.workflows.create(name, who.agent_id, folders, choices=who.choices, id=out.request.key)


NEEDS = N_("The prompt {name} needs values for: {missing}. For example: {example}")


async def _prompt(atelier: Atelier, arguments: Namespace, out: Output) -> str:
    given: str | None = arguments.prompt
    if given is None:
        try:
            return await atelier.prompts.filled(arguments.own_prompt, _values(arguments.values))
        except UsageError as error:
            if error.code != "missing_variables":
                raise
            missing = str(error.params["missing"])
            example = " ".join(f"--set {name}=…" for name in missing.split(", "))
            raise UsageError(
                NEEDS, code=error.code, name=error.params["name"], missing=missing, example=example
            ) from error
    if arguments.values:
        raise UsageError(N_("--set fills in variables of --prompt NAME; PROMPT has none."))
    text = await out.read_input() if given == "-" else given
    if not text.strip():
        raise UsageError(N_("The prompt is empty."))
    if len(text) > limits.MESSAGE:
        raise LimitError(
            N_("The prompt has {length} characters; at most {most} are allowed."), length=len(text), most=limits.MESSAGE
        )
    return text.strip()


def _values(given: list[str]) -> dict[str, str]:
    """``VARIABLE=VALUE`` options by variable; the last one wins."""
    values = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise UsageError(
                N_("--set takes a variable and its value, such as --set language=French, not {given}."), given=each
            )
        values[name.strip()] = value
    return values
