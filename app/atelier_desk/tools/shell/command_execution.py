"""Start an assessed command line.

Without a shell if it is one plain command; programs come from outside the workspace.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.result_parts import TextPart
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.registry.sections import FILES
from atelier_desk.tools.registry.tool_services import ToolServices
from atelier_desk.tools.shell import command_result_notes
from atelier_desk.workspace import repository_inspection
from atelier_desk.workspace.commands import git_safety, link_resolution
from atelier_desk.workspace.commands.judge import JudgedCommand, Judgement
from atelier_desk.workspace.commands.judge import Kind as Does
from atelier_desk.workspace.commands.parsing import Line, ShellWord, Simple
from atelier_desk.workspace.path_resolution import NO_WORKSPACE
from atelier_desk.workspace.path_restrictions import Hidden
from atelier_desk.workspace.processes import command_environment, sandbox_contents
from atelier_desk.workspace.processes.command_process import CHECK_S, Order
from atelier_desk.workspace.processes.running_commands import Commands, KeptOutput, TooManyError
from atelier_desk.workspace.processes.sandbox_contents import Kind
from atelier_desk.workspace.skills.skill_discovery import folders_of

_WORDS = """
: . alias bg bind break builtin caller cd compgen complete compopt continue declare dirs disown enable eval exec exit
export fc fg getopts hash help history jobs let local logout mapfile popd pushd read readarray readonly return set shift
shopt source suspend times trap type typeset ulimit umask unalias unset wait
"""
BUILT_IN = frozenset(_WORDS.split())
"""Words executed by the shell itself, which must stay words (bash(1), "SHELL BUILTIN COMMANDS", except those that are
also programs, like ``echo`` and ``test``).

Every other program is named by its file.
"""
NOTHING = Hidden()
LAST_SIGNAL = 64
"""Highest Linux signal; a higher exit status, such as git's 255, was chosen by the program."""
PROGRESS_INTERVAL_S = 0.2
PROGRESS_LINES, PROGRESS_CHARACTERS = 40, 4_000


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """The workspace of a call and the subfolder where a command runs.

    ``roots``: all granted folders, ``root`` first; ``skills``: folders of used skills, whose scripts can be read;
    ``settings_allowed``: whether a person approved a repository's settings (``Repository.rule``).
    """

    root: Path
    folder: Path
    roots: tuple[Path, ...]
    skills: tuple[Path, ...] = ()
    settings_allowed: Callable[[str], bool] = lambda rule: False


def where(context: ToolContext, folder: str = "") -> CommandPlace:
    """Return the workspace; raises ``ToolError`` if there is none, or if ``folder`` is not a folder in it."""
    root = context.workspace
    if root is None:
        raise ToolError(NO_WORKSPACE, code="no_workspace")
    if not root.is_dir():
        raise ToolError(f"The workspace folder {root} is not there any more. Tell the user.", code="no_workspace")
    wanted = root / folder
    if not link_resolution.inside(wanted, root):
        raise ToolError(
            f"cwd {folder!r} is outside the workspace. Give a folder in it, relative to {root}.", code="outside"
        )
    if not wanted.is_dir():
        raise ToolError(
            f"cwd {folder!r} is not a folder of the workspace. Leave it out to run in the workspace itself.",
            code="not_found",
        )
    return CommandPlace(root, wanted, context.roots or (root,), folders_of(context.skills), context.settings_allowed)


def commands_of(services: ToolServices) -> Commands:
    """Return this Atelier's commands; a registry without them gets its own."""
    if services.commands is None:
        services.commands = Commands(services.hidden, services.on_changed)
    return services.commands


async def hidden(context: ToolContext, judgement: Judgement | None) -> Hidden:
    """Return what rules hide from a command that is started now; a program without a line has no judgement."""
    if not context.denied or not sandbox_contents.hides():
        # Where nothing can be hidden, a person was asked.
        return Hidden()
    return await in_tool_thread(context.denied.hidden, judgement, context.denied_allowed)


def boxed(
    order: Order,
    kind: Kind,
    place: CommandPlace,
    commands: Commands,
    workflow_id: str,
    kept_from: Hidden = NOTHING,
    *,
    read_only: Iterable[Path] = (),
    only: tuple[Path, ...] | None = None,
    changes_repositories: bool = False,
) -> Order:
    """Return the command in its approved sandbox: ``workspace`` or ``network``; ``none`` leaves it unchanged.

    Args:
        kept_from: what rules hide from it.
        read_only: further read-only paths.
        only: readable paths besides the workspace, see ``named``.
        changes_repositories: see ``sandbox.working``.
    """
    if kind not in ("workspace", "network"):
        return order
    temporary = commands.temporary(workflow_id)
    hidden = (*commands.hidden, commands.folder)
    box = sandbox_contents.working(
        place.roots, temporary, hidden, network=kind == "network", shown=place.skills, only=only,
        read_only=(*kept_from.read_only, *read_only), masked=kept_from.masked, pinned=kept_from.pinned,
        held=sandbox_contents.held_in(commands.hidden), changes_repositories=changes_repositories,
    )  # fmt: skip
    if box is None:
        return order
    # It cannot write to its usual home folders, nor read settings with tokens.
    own = {
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(temporary / "cache"),
        "npm_config_cache": str(temporary / "cache/npm"),
    }
    own |= {"COMPOSER_HOME": str(temporary / "composer"), "POETRY_CONFIG_DIR": str(temporary / "poetry")}
    own |= dict.fromkeys(("npm_config_userconfig", "BUNDLE_USER_CONFIG"), os.devnull)
    # A user namespace has only one user: fakeroot must not try to change owners.
    own["FAKEROOTDONTTRYCHOWN"] = "1"
    # Interactive ones run in the background, while people work in the same folders.
    checked = CHECK_S if order.interactive else 0.0
    return replace(order, sandbox=box, environment={**order.environment, **own}, check_s=checked)


def named(judgement: Judgement, place: CommandPlace) -> tuple[Path, ...] | None:
    """Return the files that an unasked, read-only line may read: those it names.

    None for any other line, for git, whose repository may be anywhere, and for programs outside the system, which may
    need files beside them.
    """
    programs = [command.arguments[0] for command in judgement.line.commands] if judgement.line is not None else []
    found = [command_environment.program(name, place.folder, place.root) for name in programs if name not in BUILT_IN]
    if (
        judgement.kind is not Does.READS
        or "git" in programs
        or not all(sandbox_contents.is_of_system(file) for file in found)
    ):
        return None
    # A pattern of names refers to files in its leading folder.
    starts = (
        file.name[: file.first_glob].rpartition("/")[:2] if file.globs else (file.name, "") for file in judgement.files
    )
    return tuple(place.folder / (before or slash) for before, slash in starts)


def same_with_files(judgement: Judgement) -> tuple[str, ...]:
    """Return the tools and section equivalent to what a line does with files.

    Their path rules apply to the line too.
    """
    if not judgement.files:
        return ()
    return (FILES, "read_file", *(("write_file", "edit_file", "delete_path") if judgement.writes else ()))


def kind_of(wanted: Kind, *, safe: bool) -> Kind:
    """Return the sandbox that a command really gets on this system."""
    if not sandbox_contents.available():
        return "none"
    return "reading" if safe else wanted


async def order_of(
    judgement: Judgement,
    place: CommandPlace,
    *,
    data: Sequence[Path],
    interactive: bool = False,
    context: ToolContext | None,
) -> Order:
    """Return the order to start a line, unsandboxed unless it only reads; raises ``ToolError``.

    Read-only lines run without asking, so everything that asking would have shown is checked here: no link leads
    outside, programs are the system's, and git executes nothing that a repository names. ``data``, the program's own,
    is hidden wherever it lies.
    """
    safe = judgement.safe
    masked = (await hidden(context, judgement)).masked if safe and context is not None else ()
    if safe:
        away = link_resolution.outside(judgement.files, place.root, place.folder)
        if away:
            raise ToolError(
                (
                    f"{away} leads out of the workspace through a link. Name the file it leads to, so that the user is "
                    f"asked."
                ),
                code="outside",
            )
    line = judgement.line
    if line is None:
        return replace(_in_shell(judgement.text, place, safe=False, reads_git=False), interactive=interactive)
    found: list[Simple] = []
    shown: list[str] = []
    for judged, command in zip(judgement.commands, line.commands, strict=True):
        name = command.arguments[0]
        if name in BUILT_IN:
            found.append(command)
            continue
        file = command_environment.program(name, place.folder, place.root, system=safe or judgement.kind is Does.WRITES)
        if not file and not safe:
            file = command_environment.program(name, place.folder, place.root)
        if not file:
            raise _not_found(name, place, safe=safe)
        words = (ShellWord(((file, False),)), *command.words[1:])
        if _reads_git(judged) and judged.folder is not None:
            names, reads = await _settings(file, place, judged.folder)
            asked = git_safety.hardened((file, *command.arguments[1:]), names)
            if context is not None and context.denied:
                asked = await in_tool_thread(
                    context.denied.git, asked, command.arguments[1:], place.folder / judged.folder
                )
            words = _words(asked, command)
            shown += reads
        found.append(replace(command, words=words))
    program = found[0].arguments[0]
    if line.plain and program not in BUILT_IN:
        arguments = (line.commands[0].arguments[0], *found[0].arguments[1:])
        reads_git = _reads_git(judgement.commands[0])
        environ = _environment(place, safe=safe, reads_git=reads_git)
        box = sandbox_contents.reading(*place.roots, hidden=data, shown=shown, masked=masked) if safe else None
        return Order(program, arguments, place.folder, environ, interactive=interactive, sandbox=box)
    reads_git = all(_reads_git(judged) for judged in judgement.commands if judged.command.arguments[0] == "git")
    rendered = Line(tuple(found), line.operators).rendered
    box = sandbox_contents.reading(*place.roots, hidden=data, shown=shown, masked=masked) if safe else None
    return replace(_in_shell(rendered, place, safe=safe, reads_git=reads_git), interactive=interactive, sandbox=box)


def _reads_git(judged: JudgedCommand) -> bool:
    """Whether a command is a read-only git, wherever its output goes."""
    return judged.command.arguments[0] == "git" and judged.kind is not Does.RUNS


def _words(arguments: tuple[str, ...], command: Simple) -> tuple[ShellWord, ...]:
    """Return plain words, keeping those of the command that the shell may expand to file names."""
    globbed = {word.text: word for word in command.words if word.globs}
    return tuple(globbed.get(text, ShellWord(((text, False),))) for text in arguments)


def _not_found(name: str, place: CommandPlace, *, safe: bool) -> ToolError:
    if safe and command_environment.program(name, place.folder, place.root):
        return ToolError(
            f"{name} is not in the system's folders, so it is not run without asking. Use another tool.",
            code="not_found",
        )
    return ToolError(
        f"There is no program {name!r} outside the workspace. One inside is named by its path, for example ./{name}.",
        code="not_found",
    )


def not_found(name: str) -> ToolError:
    """Return the error for a missing program of the machine."""
    return ToolError(f"This machine has no {name}. Tell the user that it is needed.", code="not_found")


def environment_of(place: CommandPlace) -> dict[str, str]:
    """Return the environment of a command that was approved."""
    return _environment(place, safe=False, reads_git=False)


def _environment(place: CommandPlace, *, safe: bool, reads_git: bool) -> dict[str, str]:
    variables = {
        **command_environment.environment(place.root),
        **(git_safety.ENVIRONMENT if reads_git else git_safety.OPEN_ENVIRONMENT),
    }
    return {**variables, "PATH": command_environment.system_path(place.root)} if safe else variables


def _in_shell(text: str, place: CommandPlace, *, safe: bool, reads_git: bool) -> Order:
    shell = command_environment.program("bash", place.folder, place.root, system=True) or command_environment.program(
        "bash", place.folder, place.root
    )
    if not shell:
        raise ToolError(
            "This machine has no bash: run one command at a time, without pipes and redirections.", code="no_shell"
        )
    arguments = ("bash", "--noprofile", "--norc", "-c", text)
    return Order(shell, arguments, place.folder, _environment(place, safe=safe, reads_git=reads_git))


async def _settings(file: str, place: CommandPlace, folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of git's settings in the folder after ``cd``, and the files outside the workspace that it must
    read.

    They may have changed since the decision: raises ``ToolError`` unless a person approved the present ones.
    """
    found = await in_tool_thread(repository_inspection.inspect, file, place.folder / folder, place.roots)
    if found.rule and not place.settings_allowed(found.rule):
        raise ToolError(
            f"git is not run here: settings of the repository may run programs or use files elsewhere "
            f"({found.about}), and the user has "
            "not allowed them as they are now. Go on without git here, or tell the user.",
            code="unsafe_repository",
        )
    return found.settings, found.reads


async def start(
    services: ToolServices, context: ToolContext, order: Order, line: str, *, background: bool = False
) -> KeptOutput:
    """Start a command; raises ``ToolError``."""
    try:
        return await commands_of(services).start(
            order,
            line=line,
            workflow_id=context.workflow_id,
            run_id=context.run_id,
            call_id=context.call_id,
            background=background,
        )
    except TooManyError:
        raise ToolError(
            "Too many commands run in the background. Stop one with command_stop; list_commands shows them."
        ) from None
    except OSError as error:
        raise ToolError(f"The command cannot be started: {error.strerror or error}.", code="not_started") from error


async def until_end(kept: KeptOutput, context: ToolContext, timeout_s: float) -> None:
    """Wait for a command while showing its output; end it on timeout or when the call is stopped."""
    process = kept.process
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout_s
    shown = -1
    try:
        while not await process.wait(min(PROGRESS_INTERVAL_S, max(0.0, until - loop.time()))):
            if loop.time() >= until:
                await process.end("timeout")
                break
            if process.output.size != shown:
                shown = process.output.size
                context.progress(0, process.output.last(PROGRESS_LINES, PROGRESS_CHARACTERS, in_colour=True))
    finally:
        if process.running:
            # Also when the call itself is cancelled: nothing of it continues.
            await asyncio.shield(process.end())


ENDED_BY: dict[str, Callable[[KeptOutput], str]] = {
    "timeout": lambda kept: (
        f"It was ended after {kept.process.duration_s:.0f} seconds. Give a longer timeout_ms, or background: true."
    ),
    "processes": lambda kept: (
        "It was ended: it started more than " + f"{kept.process.order.limits.processes} processes."
    ),
    "memory": lambda kept: (
        "It was ended: it needed more than " + f"{kept.process.order.limits.memory // 2**20} MB of memory."
    ),
    "disk": lambda kept: (
        "It was ended: while it ran, a disk fell below 1 GB or a tenth of its size: "
        + f"{', '.join(kept.process.low_disks)}. "
        "Write less, or delete what is not needed, before you run it again; tell the user if other files fill the disk."
    ),
    "unknown": lambda kept: (
        "It was ended: the system no longer tells which processes it started. Run it again; if that happens each "
        "time, tell the user."
    ),
    "repositories": lambda kept: (
        "It was ended: it changed hooks and settings of git again and again, and each time they were put back, or it "
        "made so many files "
        "that they can no longer be watched. Tell the user; what it made for git to run is held and waits for them."
    ),
    "output": lambda kept: "It was ended: it printed more than " + f"{kept.process.order.limits.output // 2**20} MB.",
    "stopped": lambda kept: "It was stopped.",
    "user": lambda kept: "The user stopped it. Do not start it again unless they ask for it.",
}


def explained(result: ToolResult, kept_from: Hidden) -> ToolResult:
    """Add what rules hid to the result of a failed command."""
    if result.success or not kept_from.note:
        return result
    return replace(result, data={**result.data, "hidden": kept_from.note})


def facts(kept: KeptOutput) -> dict[str, Any]:
    """Return the common facts of a command's results: how it ended, and its output or head and tail."""
    process = kept.process
    shown = process.output.shown()
    said: dict[str, object] = {
        "exit_status": process.status,
        "output": shown.text,
        "duration_ms": round(process.duration_s * 1000),
        "sandbox": process.order.sandbox["kind"] if process.order.sandbox is not None else "none",
    }
    said |= command_result_notes.of_repositories(process.guarded)
    said |= command_result_notes.git_read_only(shown.text, process.order.sandbox) | command_result_notes.no_network(
        shown.text, process.order.sandbox
    )
    if process.low_disks:
        said["low_disk"] = (
            f"Less than 1 GB or a tenth of the disk is free at: {', '.join(process.low_disks)}. Write little there."
        )
    if process.ended_others:
        said["ended"] = (
            "What it started with & still ran and was ended with it. Start it alone, in the background, to keep it "
            "running."
        )
    if process.left:
        said["left"] = "Something that it started could not be ended. Tell the user."
    if not shown.complete:
        said |= {
            "output_file": str(process.output.path),
            "output_bytes": process.output.size,
            "output_lines": shown.lines,
            "command_id": kept.id,
            "hint": "The output is cut in the middle. Read on with command_output {command_id, offset}.",
        }
    return said


def result(kept: KeptOutput) -> ToolResult:
    """Return the result of an ended command: success if its exit status is 0. Its card shows the output."""
    fields = facts(kept)
    title, shown = TITLES[fields["sandbox"]], kept.process.output.shown()
    text, in_colour = shown.text.rstrip("\n"), shown.coloured.rstrip("\n")
    part = (
        TextPart(title=title, text=in_colour, language="ansi")
        if "\x1b[" in in_colour
        else TextPart(title=title, text=text)
    )
    return replace(
        _ended(kept, fields), parts=(*((part,) if text else ()), *command_result_notes.parts(kept.process.guarded))
    )


TITLES = {
    "reading": N_("Output"),
    "workspace": N_("Output · sandboxed"),
    "network": N_("Output · sandboxed, with network access"),
    "none": N_("Output · not sandboxed"),
}
"""Headings of an output, by sandbox."""


def _ended(kept: KeptOutput, said: dict[str, object]) -> ToolResult:
    process = kept.process
    if process.ended_by:
        code = "timeout" if process.ended_by == "timeout" else "ended"
        return ToolResult.failure(ENDED_BY[process.ended_by](kept), code, ended_by=process.ended_by, **said)
    if process.status == 0:
        return ToolResult.ok(**said)
    why = f"The command ended with exit status {process.status}."
    if process.status is not None and 128 < process.status <= 128 + LAST_SIGNAL:
        why = f"The command was ended by signal {process.status - 128}."
    return ToolResult.failure(why, "exit_status", **said)
