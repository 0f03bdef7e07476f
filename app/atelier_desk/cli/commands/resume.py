"""``atelier resume``: continue runs that were interrupted or are waiting."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.agent_model_folder_options import warn_about_missing
from atelier_desk.cli.command_arguments.resume import LIMITS
from atelier_desk.cli.event_renderers import renderer_for
from atelier_desk.cli.parser import ABANDONED, FAILED, LIMITED, WAITING
from atelier_desk.cli.questions_and_approvals import Responders
from atelier_desk.cli.run_follower import Follower, resume_team
from atelier_desk.cli.stepper import Stepper
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.events.run import LimitKind
from atelier_desk.domain.workflow import Run, RunMode, Workflow
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.ipc.resumable_command import Request
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.shutdown import CANCELLED

WORST_FIRST = (CANCELLED, FAILED, WAITING, LIMITED, ABANDONED)
"""Exit statuses of several runs, worst first."""


async def resume(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    if arguments.workflow and arguments.all:
        raise UsageError(N_("Specify a workflow or --all, not both."))
    raised = _amounts(arguments.raised)
    run_id, statuses = out.request.run_id if out.request.again else "", []
    if run_id:
        given = arguments if await _nothing_since(atelier, out.request) else None
        statuses.append(await continue_stream(atelier, arguments, out, await atelier.repos.runs.get(run_id), given))
        if not arguments.all:
            return statuses[0]
    people = await Responders.create(atelier, out, arguments)
    workflow = await atelier.workflows.get(arguments.workflow) if arguments.workflow else None
    alive = [run for run in await atelier.repos.runs.alive() if run.parent_run_id is None and run.id != run_id]
    if workflow is not None:
        alive = [run for run in alive if run.workflow_id == workflow.id] or await _failed(atelier, workflow)
    # A run already at work in the data folder's process needs nobody: prefer the latest of the others.
    alive.sort(key=lambda run: (run.status.value != "processing", run.updated_at))
    chosen = alive if arguments.all else alive[-1:]
    if not chosen and not statuses:
        out.note(_("Nothing to resume."))
        return 0
    for id in dict.fromkeys(run.workflow_id for run in chosen):
        await warn_about_missing(atelier, out, (await atelier.workflows.get(id)).workspace)
    statuses += [await _resume_one(atelier, out, run, people, arguments, raised) for run in chosen]
    return next((status for status in WORST_FIRST if status in statuses), 0)


async def _nothing_since(atelier: Atelier, request: Request) -> bool:
    """Whether the run is unchanged since the command found it, so its limits are not raised yet."""
    return (await atelier.workflows.get(request.workflow_id)).stream_seq == request.since


async def continue_stream(
    atelier: Atelier, arguments: Namespace, out: Output, run: Run, resuming: Namespace | None = None
) -> int:
    """Continue a run and its stream after the process that performed this command has ended.

    ``resuming``: arguments of a ``resume`` that has not yet taken effect.
    """
    people = await Responders.create(atelier, out, arguments)
    given = resuming or Namespace(step=arguments.step, finish=False, quiet=getattr(arguments, "quiet", False))
    raised = _amounts(resuming.raised) if resuming else {}
    return await _resume_one(atelier, out, run, people, given, raised, after=out.request.seq)


def _amounts(given: list[str]) -> dict[str, float]:
    """Amounts to add with ``--raise``, by limit.

    Raises:
        UsageError: not ``LIMIT=AMOUNT`` with a known limit and a positive number.
    """
    amounts: dict[str, float] = {}
    for text in given:
        name, _equals, number = text.partition("=")
        try:
            amount = float(number)
        except ValueError:
            amount = 0.0
        if name not in LIMITS or not 0 < amount < float("inf"):
            raise UsageError(
                N_("--raise takes LIMIT=AMOUNT with a number above 0, not {text}; limits: {limits}."),
                text=text,
                limits=", ".join(LIMITS),
            )
        amounts[name] = amounts.get(name, 0.0) + amount
    return amounts


async def _failed(atelier: Atelier, workflow: Workflow) -> list[Run]:
    """The workflow's last turn if it failed before reaching its model; it can be retried."""
    if workflow.head_run_id is None:
        return []
    run = await atelier.repos.runs.get(workflow.head_run_id)
    return [run] if run.status.value == "error" else []


async def _resume_one(
    atelier: Atelier,
    out: Output,
    run: Run,
    people: Responders,
    arguments: Namespace,
    raised: dict[str, float],
    after: int | None = None,
) -> int:
    """``after``: last event shown of a run that is taken over; the run may have ended by now."""
    workflow = await atelier.workflows.get(run.workflow_id)
    if after is None:
        # Sent with the note: whoever takes over then knows the run, and later events show whether it was
        # resumed.
        out.shown(workflow.id, run.id, workflow.stream_seq)
        out.note(_("Resuming {name} ({id})", name=workflow.name, id=workflow.id))
    stepper = Stepper(atelier, out, free=not arguments.step)
    renderer = renderer_for(out, quiet=getattr(arguments, "quiet", False))
    follower = Follower(atelier, out, workflow.id, renderer, people, stepper)
    await follower.begin(run.id, _resume(atelier, run, arguments, raised), may_be_over=after is not None)
    return await follower.follow(run.id, pending=True, after=after)


async def _resume(atelier: Atelier, run: Run, arguments: Namespace, raised: dict[str, float]) -> None:
    """Resume the run; with ``--step`` it stops before its next step."""
    amounts = {LimitKind(name): amount for name, amount in raised.items()}
    if not arguments.step:
        await resume_team(atelier, run, amounts, finish=arguments.finish)
    elif raised or arguments.finish:
        await resume_team(atelier, run, amounts, finish=arguments.finish, stepping=True)
    elif not any(each.root_run_id == run.id for each in await atelier.stepping.waiting(run.workflow_id)):
        await atelier.runs.steering.resume(run.id, mode=RunMode.STEPPING, steps=0)
