"""Allow starting processes only in ``support/worker``, ``workspace/processes`` and the modules listed here with a
reason.

    python packaging/check_process_starts.py

Fails for any other module that can start a process, and for a listed one that no longer does. Use
``atelier_desk.support.worker`` for a child process that answers, and ``atelier_desk.workspace.processes`` for a
command of a person or an agent: they set limits, end all descendants, and report failures.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "atelier_desk"
STARTERS = ("support/worker/", "workspace/processes/")
LISTED = {
    "desktop/chat/text_to_speech.py": "the system's own voice, which outlives no window",
    "desktop/projects/code/open_in_editor.py": "a person's editor, which continues independently",
    "llm/embedders/install_sentence_transformers.py": "pip of this interpreter, whose output is the progress",
    "tools/shell/protected_names_in_commands.py": "git lists the tracked files, ignoring settings of the repository",
    "web/browser/process.py": "a browser, through the launcher of workspace/processes where there is an interpreter",
    "web/browser/launcher.py": "becomes that browser, with its pipes on the expected descriptors",
    "workspace/commands/git_denied_paths.py": "git lists objects, ignoring settings of the repository",
    "workspace/repository_inspection.py": "git lists settings, with those that run programs disabled",
    "workspace/ripgrep.py": "ripgrep, with patterns that Atelier writes",
}
"""Modules of the package that start a process themselves, and why."""
MODULES = {"subprocess", "multiprocessing", "pty", "QProcess", "ProcessPoolExecutor"}
"""Modules and functions that must not be imported."""
CALLS = {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}
OF_OS = {"fork", "forkpty", "popen", "system", "startfile"}
BEGIN = ("exec", "spawn", "posix_spawn")
"""Functions of ``os``: full names, and prefixes of others."""


def starts(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that can start a process, with the name used."""
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
    messages, used = [], set()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name.startswith(STARTERS):
            continue
        for line, what in starts(path.read_text("utf-8")):
            used.add(name)
            if name not in listed:
                messages.append(
                    f"{name}:{line}: {what}: start it with support/worker or workspace/processes, or list it in LISTED "
                    f"with the reason"
                )
    return messages + [
        f"{name}: it starts no process any more: remove it from LISTED" for name in sorted(set(listed) - used)
    ]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
