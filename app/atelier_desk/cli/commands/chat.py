"""``atelier chat``: a workflow in the terminal."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from atelier_desk.cli.agent_options import add_agent_options, chosen_agent, workspace
from atelier_desk.cli.dispatch import CANCELLED
from atelier_desk.cli.parser import Adder
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.follow import Follower
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.workflow import Workflow
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    parser = add.command("chat", _("a conversation in the terminal"), "chat:chat")
    parser.add_argument("--workflow", metavar="ID", help=_("go on in this workflow"))
    add_agent_options(parser)


async def chat(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Read a line, send it, show the answer, until the input ends. Commands begin with a slash."""
    from atelier_desk.domain.errors import UsageError

    if out.json:
        raise UsageError(N_("chat is for people; use run --json in scripts."))
    if out.request.again and out.request.workflow_id:
        arguments.workflow = out.request.workflow_id
    workflow = await atelier.workflows.get(arguments.workflow) if arguments.workflow else None
    config, agent_id = await chosen_agent(atelier, arguments, workflow)
    name = config.name if config is not None else (await atelier.agents.get(agent_id)).name
    out.note(_("{agent} listens. /help shows the commands, /quit ends.", agent=name), "bold")
    session = _Session(atelier, arguments, out, workflow)
    if workflow is not None:
        await session.go_on()
    task = asyncio.current_task()
    while True:
        if task is not None and task.cancelling():
            # A turn was interrupted because the command is to end.
            return CANCELLED
        typed = await out.ask("› ")
        if typed is None:
            return 0
        if not typed.strip():
            continue
        if typed.startswith("/"):
            if await session.command(typed[1:].strip()):
                return 0
        else:
            await session.say(typed)


class _Session:
    def __init__(self, atelier: Atelier, arguments: argparse.Namespace, out: Output, workflow: Workflow | None) -> None:
        self._atelier = atelier
        self._arguments = arguments
        self._out = out
        self._workflow = workflow

    async def say(self, text: str) -> None:
        """Send a message and show the turn; what goes wrong is said, and the conversation goes on."""
        from atelier_desk.domain.errors import AtelierError
        from atelier_desk.engine.services.naming import name_from

        try:
            config, agent_id = await chosen_agent(self._atelier, self._arguments, self._workflow)
            if self._workflow is None:
                self._workflow = await self._atelier.workflows.create(name_from(text), agent_id, workspace(self._out, self._arguments))
            follower = await self._follower(self._workflow.id)
            try:
                run_id = await self._atelier.runs.send(self._workflow.id, text, agent=config, agent_id=agent_id)
            except BaseException:
                follower.close()
                raise
            await follower.follow(run_id)
        except AtelierError as error:
            self._out.note(_("Error: {problem}", problem=error.localized(_)), "error")

    async def go_on(self) -> None:
        """Show the end of the conversation, and resume what was cut off or waits."""
        from atelier_desk.cli.follow import let_go_on

        assert self._workflow is not None
        for entry in await self._atelier.workflows.transcript(self._workflow.id, limit=6):
            if entry.message.content:
                who = "›" if entry.message.role.value == "user" else " "
                self._out.write(f"{who} {entry.message.content}\n")
        alive = [
            run for run in await self._atelier.repos.runs.alive() if run.workflow_id == self._workflow.id and run.parent_run_id is None
        ]
        for run in alive[-1:]:
            follower = await self._follower(self._workflow.id)
            await let_go_on(self._atelier, run)
            await follower.follow(run.id, pending=True)

    async def command(self, name: str) -> bool:
        """Perform a slash command; True ends the conversation."""
        match name.split(maxsplit=1)[0] if name else "":
            case "quit" | "exit" | "q":
                return True
            case "tasks":
                await self._tasks()
            case "memory":
                await self._memories()
            case "help":
                self._out.note(_("/tasks shows the tasks, /memory what is remembered, /quit ends. Anything else is sent to the agent."))
            case _:
                self._out.note(_("Unknown command /{name}. Commands: /help /tasks /memory /quit", name=name), "warn")
        return False

    async def _follower(self, workflow_id: str) -> Follower:
        from atelier_desk.cli.answers import Answers
        from atelier_desk.cli.decisions import Decisions
        from atelier_desk.cli.follow import Follower
        from atelier_desk.cli.render import TextRenderer
        from atelier_desk.cli.stepper import Stepper

        answers = await Answers.create(self._atelier, self._out, self._arguments.answers)
        decisions = Decisions(self._atelier, self._out, self._arguments.on_approval)
        stepper = Stepper(self._atelier, self._out, free=True)
        return Follower(self._atelier, self._out, workflow_id, TextRenderer(self._out), answers, decisions, stepper, talking=True)

    async def _tasks(self) -> None:
        from atelier_desk.cli.notices import TASK_STATES

        tasks = await self._atelier.tasks.list(self._workflow.id) if self._workflow else []
        if not tasks:
            self._out.note(_("No tasks."))
        for task in tasks:
            mark = "✓" if task.status.value == "completed" else "·"
            self._out.write(f"{mark} {task.name} ({_(TASK_STATES[task.status.value])})\n")

    async def _memories(self) -> None:
        memories = await self._atelier.memories.list(workflow_id=self._workflow.id if self._workflow else None, limit=20)
        if not memories:
            self._out.note(_("Nothing is remembered."))
        for memory in memories:
            self._out.write(f"· [{memory.type.value}] {' '.join(memory.content.split())[:200]}\n")
