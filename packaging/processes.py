"""Where the program starts processes: ``support/worker`` and ``workspace/processes``, and the modules listed here, each
with its reason.

    python packaging/processes.py

Fails for any other module that can start one, and for a listed one that no longer does. A child process that answers is
made with ``atelier_desk.support.worker``, a person's or an agent's command with ``atelier_desk.workspace.processes``:
there are the limits, the end of all that was started, and the words for what went wrong.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "atelier_desk"
ROOMS = ("support/worker/", "workspace/processes/")
LISTED = {
    "desktop/chat/speech.py": "the system's own voice, which outlives no window",
    "desktop/projects/code/editor.py": "a person's editor, which is let go of",
    "llm/embedders/installing.py": "pip of this interpreter, whose lines are the progress",
    "tools/shell/protected_names.py": "git is asked what it tracks, with no setting of the repository",
    "web/browser/process.py": "a browser, through the launcher of workspace/processes where there is an interpreter",
    "web/browser/launcher.py": "becomes that browser, with its pipes in their places",
    "workspace/commands/git_denied.py": "git is asked about objects, with no setting of the repository",
    "workspace/repository.py": "git is asked for settings, with none that runs anything",
    "workspace/ripgrep.py": "the program that searches, with patterns of Atelier's own",
}
"""Modules of the package, and why they start a process by themselves."""
MODULES = {"subprocess", "multiprocessing", "pty", "QProcess", "ProcessPoolExecutor"}
"""What cannot be imported, alone or from another module."""
CALLS = {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}
OF_OS = {"fork", "forkpty", "popen", "system", "startfile"}
BEGIN = ("exec", "spawn", "posix_spawn")
"""Functions of ``os``, and how the names of others begin."""


def starts(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that can start a process, with what does."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found = {part for each in names for part in each.name.split(".")} & MODULES
            case ast.ImportFrom(module=module, names=names):
                given = {each.name for each in names}
                found = {*(module or "").split("."), *given} & (MODULES | CALLS)
                if module == "os":
                    found |= set(filter(of_os, given))
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if of_os(name):
                found = {f"os.{name}"}
            case ast.Attribute(attr=name) if name in CALLS or name in MODULES:
                found = {name}
            case _:
                continue
        yield from ((node.lineno, each) for each in sorted(found))


def of_os(name: str) -> bool:
    """Whether a function of ``os`` starts or becomes a process."""
    return name in OF_OS or name.startswith(BEGIN)


def problems(package: Path = PACKAGE, listed: Mapping[str, str] = LISTED) -> list[str]:
    """What is wrong, a line each."""
    said, used = [], set()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name.startswith(ROOMS):
            continue
        for line, what in starts(path.read_text("utf-8")):
            used.add(name)
            if name not in listed:
                said.append(
                    f"{name}:{line}: {what}: start it with support/worker or workspace/processes, or say in LISTED "
                    f"why not"
                )
    return said + [
        f"{name}: it starts no process any more: take it off the list" for name in sorted(set(listed) - used)
    ]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
