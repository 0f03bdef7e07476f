"""``atelier chat``: a workflow in the terminal."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Coroutine

from atelier_desk.cli.agent_model_folder_options import (
    chosen_agent,
    chosen_workflow,
    grant,
    warn_about_missing,
    warn_about_unread,
)
from atelier_desk.cli.attach_option import attached_files
from atelier_desk.cli.event_renderers import TextRenderer
from atelier_desk.cli.event_text import TASK_STATES
from atelier_desk.cli.file_arguments import workspace
from atelier_desk.cli.questions_and_approvals import Responders
from atelier_desk.cli.run_follower import Follower, resume_team
from atelier_desk.cli.stepper import Stepper
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.attachments.reading import PreparedAttachments
from atelier_desk.engine.services.common.workflow_names import name_from
from atelier_desk.support.i18n import N_, _
from atelier_desk.workspace.skills.argument_placeholders import joined_by_name, values_of, variables


async def chat(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    """Read a line, send it, show the answer, until the input ends. Commands begin with a slash.

    The first Ctrl-C clears the line or stops the answer; a second one in a row exits.
    """
    if out.json:
        raise UsageError(N_("chat is interactive; use run --json in scripts."))
    if out.request.again and out.request.workflow_id:
        arguments.workflow, arguments.latest = out.request.workflow_id, False
    workflow = await chosen_workflow(atelier, arguments)
    who = await chosen_agent(atelier, arguments, workflow)
    attached = await attached_files(atelier, arguments, out, workflow)
    if workflow is not None:
        await who.keep(atelier, workflow)
        await grant(atelier, out, workflow, workspace(out, arguments))
    name = who.config.name if who.config is not None else (await atelier.agents.get(who.agent_id)).name
    out.note(_("Chatting with {agent}. /help shows the commands, /quit exits.", agent=name), "bold")
    session = _Session(atelier, arguments, out, workflow, attached)
    out.catch_ctrl_c(session.ctrl_c)
    try:
        if workflow is not None:
            await session.stoppable(session.resume())
        while True:
            typed = await out.ask(PROMPT)
            session.pressed_once = False
            if typed is None:
                return 0
            if not typed.strip():
                continue
            if typed.startswith("/"):
                if await session.command(typed.strip()):
                    return 0
            else:
                await session.stoppable(session.send(typed))
    finally:
        out.catch_ctrl_c(None)


PROMPT = "› "


class _Session:
    """State of the chat.

    ``pressed_once``: Ctrl-C was pressed since the last line or since the answer began.
    """

    def __init__(
        self,
        atelier: Atelier,
        arguments: Namespace,
        out: Output,
        workflow: Workflow | None,
        attached: list[PreparedAttachments],
    ) -> None:
        self._attached = attached
        self._atelier = atelier
        self._arguments = arguments
        self._out = out
        self._workflow = workflow
        self._answering: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._run_id = ""
        self._owns = True
        self._prompt = PROMPT
        self.pressed_once = False

    async def stoppable(self, turn: Coroutine[object, None, None]) -> None:
        """Run a turn that Ctrl-C can stop; its text up to then is stored, and the chat continues."""
        self.pressed_once = False
        self._answering = asyncio.ensure_future(turn)
        try:
            await asyncio.wait([self._answering])
            if not self._answering.cancelled():
                self._answering.result()
        except asyncio.CancelledError:
            self._answering.cancel()
            await asyncio.wait([self._answering])
            raise
        finally:
            self._answering = None
            self._run_id = ""
            self._owns = True
            self.pressed_once = False

    def ctrl_c(self) -> bool:
        """Handle Ctrl-C; False the second time in a row, which ends the chat."""
        if self.pressed_once:
            return False
        self.pressed_once = True
        if self._answering is not None:
            if self._run_id:
                # Cancelled, not interrupted, like the Stop button: the next line starts a new turn.
                self._stopping = asyncio.ensure_future(self._atelier.runs.cancel(self._run_id))
            else:
                self._answering.cancel()
            stopping = _("Stopping the answer. Press Ctrl-C again to exit.")
            leaving = _("The run continues in another process. Press Ctrl-C again to exit.")
            self._out.note(stopping if self._owns else leaving, "warn")
        else:
            # The terminal has discarded the typed text.
            self._out.note("\n" + _("Press Ctrl-C again or type /quit to exit."), "warn")
            self._out.prompt(self._prompt)
        return True

    async def send(self, text: str) -> None:
        """Send a message and show the turn; errors are reported, and the chat continues."""
        try:
            who = await chosen_agent(self._atelier, self._arguments, self._workflow)
            if self._workflow is None:
                folders = workspace(self._out, self._arguments)
                self._workflow = await self._atelier.workflows.create(
                    name_from(text), who.agent_id, folders, choices=who.choices
                )
                await warn_about_unread(self._atelier, self._out, folders)
            await warn_about_missing(
                self._atelier, self._out, (await self._atelier.workflows.get(self._workflow.id)).workspace
            )
            follower = await self._follower(self._workflow.id)
            with follower.begun():
                run_id = await self._atelier.runs.send(
                    self._workflow.id, text, agent=who.config, agent_id=who.agent_id, attachments=self._attached
                )
            self._run_id, self._attached = run_id, []
            await follower.follow(run_id)
        except AtelierError as error:
            self._out.note(_("Error: {problem}", problem=error.localized(_)), "error")

    async def resume(self) -> None:
        """Show the end of the workflow, and continue a run that was interrupted or is waiting."""
        assert self._workflow is not None
        for entry in await self._atelier.workflows.transcript(self._workflow.id, limit=6):
            if entry.message.content:
                who = "›" if entry.message.role.value == "user" else " "
                self._out.write(f"{who} {entry.message.content}\n")
        alive = [
            run
            for run in await self._atelier.repos.runs.alive()
            if run.workflow_id == self._workflow.id and run.parent_run_id is None
        ]
        for run in alive[-1:]:
            follower = await self._follower(self._workflow.id)
            await follower.begin(run.id, resume_team(self._atelier, run), may_be_over=True)
            self._owns = follower.owns
            if follower.owns:
                self._run_id = run.id
            await follower.follow(run.id, pending=True)

    async def command(self, typed: str) -> bool:
        """Run a slash command, or send what ``/name`` refers to; True ends the chat."""
        name = typed[1:].strip()
        match name.split(maxsplit=1)[0] if name else "":
            case "quit" | "exit" | "q":
                return True
            case "attach":
                await self._attach(name.partition(" ")[2].strip())
            case "tasks":
                await self._tasks()
            case "memory":
                await self._memories()
            case "help":
                self._out.note(
                    _(
                        "/attach FILE adds a file to the next message, /tasks shows tasks, /memory shows memories, "
                        "/quit "
                        "exits. Anything else is sent to the agent."
                    )
                )
                if names := await self._callable():
                    self._out.note(
                        _("Skills, commands and prompts: {names}", names=" ".join(f"/{each}" for each in names))
                    )
            case _:
                await self._call(typed)
        return False

    async def _folders(self) -> tuple[str, ...]:
        if self._workflow is None:
            return workspace(self._out, self._arguments)
        return (await self._atelier.workflows.get(self._workflow.id)).workspace

    async def _callable(self) -> list[str]:
        """Names for ``/``: skills, commands, the person's own prompts, prompts of MCP servers."""
        names = [row.name for row in await self._atelier.skills.callable(await self._folders())]
        names += [prompt.name for prompt in await self._atelier.prompts.list()]
        names += [f"{server}:{prompt.call}" for server, prompt in await self._atelier.mcp.content.prompts()]
        return list(dict.fromkeys(names))

    async def _call(self, typed: str) -> None:
        """Send a skill, command or prompt; a prompt's variables are asked for first."""
        name = typed[1:].split(maxsplit=1)[0] if typed[1:].strip() else ""
        try:
            if name not in await self._callable():
                words = _("Unknown command /{name}. Commands: /help /attach /tasks /memory /quit", name=name)
                self._out.note(words, "warn")
                return
            text = await self._with_values(typed, name)
        except AtelierError as error:
            self._out.note(_("Error: {problem}", problem=error.localized(_)), "error")
            return
        await self.stoppable(self.send(text))

    async def _with_values(self, typed: str, name: str) -> str:
        """The input with the missing values of a person's own prompt; values left empty are omitted."""
        files = {row.name for row in await self._atelier.skills.callable(await self._folders())}
        prompt = next(
            (each for each in await self._atelier.prompts.list() if each.name == name and name not in files), None
        )
        found = variables(prompt.content) if prompt is not None else ()
        values = values_of(typed[1:].strip().removeprefix(name), [each.name for each in found])
        lacking = [each.name for each in found if each.default is None and each.name not in values]
        for each in lacking:
            self._prompt = f"{each}: "
            line = await self._out.ask(self._prompt)
            self._prompt = PROMPT
            if not (line or "").strip():
                break
            values[each] = (line or "").strip()
        return f"/{name} {joined_by_name(values)}" if lacking else typed

    async def _attach(self, name: str) -> None:
        if name in ("", "-"):
            self._out.note(_("/attach needs a file name."), "warn")
            return
        try:
            found = await attached_files(
                self._atelier, Namespace(**{**vars(self._arguments), "attach": [name]}), self._out
            )
        except AtelierError as error:
            self._out.note(_("Error: {problem}", problem=error.localized(_)), "error")
            return
        self._attached = [*self._attached, *found]
        self._out.note(_("{name} will be attached to the next message.", name=found[0].name))

    async def _follower(self, workflow_id: str) -> Follower:
        people = await Responders.create(self._atelier, self._out, self._arguments)
        stepper = Stepper(self._atelier, self._out, free=True)
        return Follower(self._atelier, self._out, workflow_id, TextRenderer(self._out), people, stepper, talking=True)

    async def _tasks(self) -> None:
        tasks = await self._atelier.tasks.list(self._workflow.id) if self._workflow else []
        if not tasks:
            self._out.note(_("No tasks."))
        for task in tasks:
            mark = "✓" if task.status.value == "completed" else "·"
            self._out.write(f"{mark} {task.name} ({_(TASK_STATES[task.status.value])})\n")

    async def _memories(self) -> None:
        memories = await self._atelier.memories.list(
            workflow_id=self._workflow.id if self._workflow else None, limit=20
        )
        if not memories:
            self._out.note(_("No memories."))
        for memory in memories:
            self._out.write(f"· [{memory.type.value}] {' '.join(memory.content.split())[:200]}\n")
