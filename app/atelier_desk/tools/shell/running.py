"""How a judged command line is started: without a shell when it is one plain command, its programs from outside of the workspace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.parts import TextPart
from atelier_desk.i18n import N_
from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.sections import FILES
from atelier_desk.tools.services import ToolServices
from atelier_desk.workspace.commands import git, places
from atelier_desk.workspace.commands.judge import Judgement
from atelier_desk.workspace.commands.judge import Kind as Does
from atelier_desk.workspace.commands.line import Line, Simple, Word
from atelier_desk.workspace.commands.options import UnknownOptionError
from atelier_desk.workspace.places import NO_WORKSPACE
from atelier_desk.workspace.processes import environment, sandbox
from atelier_desk.workspace.processes.commands import Commands, Kept, TooManyError
from atelier_desk.workspace.processes.process import Order
from atelier_desk.workspace.processes.sandbox import Kind
from atelier_desk.workspace.skills.find import folders_of

BUILT_IN = frozenset({"cd"})
"""Words of the shell that must stay words; every other program is named by its file."""
TOLD_EVERY_S = 0.2
TOLD_LINES, TOLD_CHARACTERS = 40, 4_000
SETTINGS_S = 10.0


@dataclass(frozen=True, slots=True)
class Where:
    """The workspace of a call and the folder in it where a command runs.

    ``roots``: all granted folders, ``root`` first; ``skills``: those of skills that were taken up, whose scripts can be read.
    """

    root: Path
    folder: Path
    roots: tuple[Path, ...]
    skills: tuple[Path, ...] = ()


def where(context: ToolContext, folder: str = "") -> Where:
    """The workspace; raises ``ToolError`` when there is none, or when ``folder`` is not a folder in it."""
    root = context.workspace
    if root is None:
        raise ToolError(NO_WORKSPACE, code="no_workspace")
    if not root.is_dir():
        raise ToolError(f"The workspace folder {root} is not there any more. Tell the user.", code="no_workspace")
    wanted = root / folder
    if not places.inside(wanted, root):
        raise ToolError(f"cwd {folder!r} is outside of the workspace. Give a folder in it, relative to {root}.", code="outside")
    if not wanted.is_dir():
        raise ToolError(f"cwd {folder!r} is not a folder of the workspace. Leave it out to run in the workspace itself.", code="not_found")
    return Where(root, wanted, context.roots or (root,), folders_of(context.skills))


def commands_of(services: ToolServices) -> Commands:
    """The commands of this Atelier; a registry made without one gets its own."""
    if services.commands is None:
        services.commands = Commands(services.hidden, services.told)
    return services.commands


def boxed(order: Order, kind: Kind, place: Where, commands: Commands, workflow_id: str, *, read_only: Iterable[Path] = ()) -> Order:
    """The command in the sandbox that it was allowed: ``workspace`` or ``network``; ``none`` leaves it as it is."""
    if kind not in ("workspace", "network"):
        return order
    temporary = commands.temporary(workflow_id)
    hidden = (*commands.hidden, commands.folder)
    box = sandbox.working(place.roots, temporary, hidden, network=kind == "network", shown=place.skills, read_only=read_only)
    if box is None:
        return order
    # Its own folders of the home cannot be written, nor settings with tokens be read.
    own = {"TMPDIR": str(temporary), "XDG_CACHE_HOME": str(temporary / "cache"), "npm_config_cache": str(temporary / "cache/npm")}
    return replace(order, sandbox=box, environment={**order.environment, **own, "npm_config_userconfig": os.devnull})


def same_with_files(judgement: Judgement) -> tuple[str, ...]:
    """The tools and the section that do with files what a line does with them: rules against their paths hold for the line too."""
    if not judgement.files:
        return ()
    return (FILES, "read_file", *(("write_file", "edit_file", "delete_path") if judgement.writes else ()))


def kind_of(wanted: Kind, *, safe: bool) -> Kind:
    """The sandbox that a command really gets on this system."""
    if not sandbox.available():
        return "none"
    return "reading" if safe else wanted


async def order_of(judgement: Judgement, place: Where, *, interactive: bool = False) -> Order:
    """What is started for a line, without a sandbox unless it only reads; raises ``ToolError``.

    A line that only reads runs although nobody was asked. So what asking would have shown is made sure of here: no file of it lies
    outside through a link, its programs are the system's, and git is told to run nothing that a repository names.
    """
    safe = judgement.safe
    if safe:
        away = places.outside(judgement.files, place.root, place.folder)
        if away:
            raise ToolError(
                f"{away} leads out of the workspace through a link. Name the file it leads to, so that the user is asked.", code="outside"
            )
    line = judgement.line
    if line is None:
        return replace(_in_shell(judgement.text, place, safe=False, reads_git=False), interactive=interactive)
    found: list[Simple] = []
    for judged, command in zip(judgement.commands, line.commands, strict=True):
        name = command.arguments[0]
        if name in BUILT_IN and not line.plain:
            found.append(command)
            continue
        file = environment.program(name, place.folder, place.root, system=safe or judgement.kind is Does.WRITES)
        if not file and not safe:
            file = environment.program(name, place.folder, place.root)
        if not file:
            raise _not_found(name, place, safe=safe)
        words = (Word(((file, False),)), *command.words[1:])
        if judged.safe and name == "git":
            words = _words(await hardened(file, command.arguments[1:], place), command)
        found.append(replace(command, words=words))
    program = found[0].arguments[0]
    if line.plain and program not in BUILT_IN:
        arguments = (line.commands[0].arguments[0], *found[0].arguments[1:])
        reads_git = judgement.commands[0].safe and arguments[0] == "git"
        environ = _environment(place, safe=safe, reads_git=reads_git)
        box = sandbox.reading(place.root, everything=reads_git) if safe else None
        return Order(program, arguments, place.folder, environ, interactive=interactive, sandbox=box)
    reads_git = all(judged.safe for judged in judgement.commands if judged.command.arguments[0] == "git")
    said = Line(tuple(found), line.operators).rendered
    has_git = any(judged.command.arguments[0] == "git" for judged in judgement.commands)
    box = sandbox.reading(place.root, everything=has_git) if safe else None
    return replace(_in_shell(said, place, safe=safe, reads_git=reads_git), interactive=interactive, sandbox=box)


def _words(arguments: tuple[str, ...], command: Simple) -> tuple[Word, ...]:
    """Plain words, but those of the command that may become file names stay as they are."""
    globbed = {word.text: word for word in command.words if word.globs}
    return tuple(globbed.get(text, Word(((text, False),))) for text in arguments)


def _not_found(name: str, place: Where, *, safe: bool) -> ToolError:
    if safe and environment.program(name, place.folder, place.root):
        return ToolError(f"{name} is not in the system's folders, so it is not run without asking. Use another tool.", code="not_found")
    return ToolError(
        f"There is no program {name!r} outside of the workspace. One inside is named by its path, for example ./{name}.", code="not_found"
    )


def not_found(name: str) -> ToolError:
    """The error for a program of the machine that a tool needs."""
    return ToolError(f"This machine has no {name}. Tell the user that it is needed.", code="not_found")


def environment_of(place: Where) -> dict[str, str]:
    """The environment of a command that a person was asked about."""
    return _environment(place, safe=False, reads_git=False)


def _environment(place: Where, *, safe: bool, reads_git: bool) -> dict[str, str]:
    said = {**environment.environment(place.root), **(git.ENVIRONMENT if reads_git else git.OPEN_ENVIRONMENT)}
    return {**said, "PATH": environment.system_path(place.root)} if safe else said


def _in_shell(text: str, place: Where, *, safe: bool, reads_git: bool) -> Order:
    shell = environment.program("bash", place.folder, place.root, system=True) or environment.program("bash", place.folder, place.root)
    if not shell:
        raise ToolError("This machine has no bash: run one command at a time, without pipes and redirections.", code="no_shell")
    arguments = ("bash", "--noprofile", "--norc", "-c", text)
    return Order(shell, arguments, place.folder, _environment(place, safe=safe, reads_git=reads_git))


async def hardened(file: str, arguments: tuple[str, ...], place: Where) -> tuple[str, ...]:
    """A reading git command that runs nothing a repository names; raises ``ToolError``."""
    environ = {**environment.environment(place.root), **git.ENVIRONMENT}
    process = await asyncio.create_subprocess_exec(
        *git.settings_command(file),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=place.folder,
        env=environ,
    )
    try:
        async with asyncio.timeout(SETTINGS_S):
            out, _err = await process.communicate()
    except TimeoutError:
        raise ToolError("git did not answer when it was asked for the repository's settings.", code="timeout") from None
    finally:
        if process.returncode is None:
            process.kill()
    try:
        return git.hardened((file, *arguments), [name for name in out.decode("utf-8", "replace").split("\0") if name])
    except UnknownOptionError as error:
        raise ToolError(f"git is not run here: {error.reason} ({error.part}). Tell the user.", code="unsafe_repository") from error


async def start(services: ToolServices, context: ToolContext, order: Order, line: str, *, background: bool = False) -> Kept:
    """Start it; raises ``ToolError``."""
    try:
        return await commands_of(services).start(
            order, line=line, workflow_id=context.workflow_id, run_id=context.run_id, call_id=context.call_id, background=background
        )
    except TooManyError:
        raise ToolError("Too many commands run in the background. Stop one with command_stop; list_commands shows them.") from None
    except OSError as error:
        raise ToolError(f"The command cannot be started: {error.strerror or error}.", code="not_started") from error


async def until_end(kept: Kept, context: ToolContext, timeout_s: float) -> None:
    """Wait for a command, showing what it prints; it is ended when its time is over or the call is stopped."""
    process = kept.process
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout_s
    shown = -1
    try:
        while not await process.wait(min(TOLD_EVERY_S, max(0.0, until - loop.time()))):
            if loop.time() >= until:
                await process.end("timeout")
                break
            if process.output.size != shown:
                shown = process.output.size
                context.progress(0, process.output.last(TOLD_LINES, TOLD_CHARACTERS, in_colour=True))
    finally:
        if process.running:
            # Also when the call itself is cancelled: nothing of it goes on.
            await asyncio.shield(process.end())


ENDED_BY: dict[str, Callable[[Kept], str]] = {
    "timeout": lambda kept: f"It was ended after {kept.process.duration_s:.0f} seconds. Give a longer timeout_ms, or background: true.",
    "processes": lambda kept: "It was ended: it started more than " + f"{kept.process.order.limits.processes} processes.",
    "memory": lambda kept: "It was ended: it needed more than " + f"{kept.process.order.limits.memory // 2**20} MB of memory.",
    "output": lambda kept: "It was ended: it printed more than " + f"{kept.process.order.limits.output // 2**20} MB.",
    "stopped": lambda kept: "It was stopped.",
    "user": lambda kept: "The user stopped it. Do not start it again unless they ask for it.",
}


def facts(kept: Kept) -> dict[str, Any]:
    """What every result says of a command: how it went, and its output or head and tail of it."""
    process = kept.process
    shown = process.output.shown()
    said: dict[str, Any] = {
        "exit_status": process.status,
        "output": shown.text,
        "duration_ms": round(process.duration_s * 1000),
        "sandbox": process.order.sandbox["kind"] if process.order.sandbox is not None else "none",
    }
    if process.put_back:
        said["put_back"] = list(process.put_back)
        said["note"] = "It changed what git runs outside of the sandbox; that was put back. Ask the user if it is needed."
    if not shown.whole:
        said |= {
            "output_file": str(process.output.path),
            "output_bytes": process.output.size,
            "output_lines": shown.lines,
            "command_id": kept.id,
            "hint": "The output is cut in the middle. Read on with command_output {command_id, offset}.",
        }
    return said


def result(kept: Kept) -> ToolResult:
    """The result of a command that is over: a success when its exit status is 0. Its output is a part of it that its card shows."""
    said = facts(kept)
    title, shown = TITLES[said["sandbox"]], kept.process.output.shown()
    text, in_colour = shown.text.rstrip("\n"), shown.coloured.rstrip("\n")
    part = TextPart(title=title, text=in_colour, language="ansi") if "\x1b[" in in_colour else TextPart(title=title, text=text)
    return replace(_ended(kept, said), parts=(part,) if text else ())


TITLES = {
    "reading": N_("Output"),
    "workspace": N_("Output · sandboxed"),
    "network": N_("Output · sandboxed, with the network"),
    "none": N_("Output · not sandboxed"),
}
"""What stands above an output, by the sandbox the command ran in."""


def _ended(kept: Kept, said: dict[str, Any]) -> ToolResult:
    process = kept.process
    if process.ended_by:
        code = "timeout" if process.ended_by == "timeout" else "ended"
        return ToolResult.failure(ENDED_BY[process.ended_by](kept), code, ended_by=process.ended_by, **said)
    if process.status == 0:
        return ToolResult.ok(**said)
    why = f"The command ended with exit status {process.status}."
    if process.status is not None and process.status > 128:
        why = f"The command was ended by signal {process.status - 128}."
    return ToolResult.failure(why, "exit_status", **said)
