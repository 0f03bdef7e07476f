"""How much of a command a rule with a star must spell out: what ``sort:*`` or ``pytest:*`` does not include.

For a program in the table, such a rule means the known options only, and none that runs a program or writes a file
(``sort --compress-program``, ``rg --pre``, ``sed -i``). For another program it applies as written, except for the
options in ``indirect_execution``. Whether files lie in the workspace is checked by code with disk access.
"""

from __future__ import annotations

from dataclasses import replace

from atelier_desk.workspace.commands import git_safety, indirect_execution
from atelier_desk.workspace.commands.command_table import READS, WRAPPERS, WRITES
from atelier_desk.workspace.commands.judge import Kind, program
from atelier_desk.workspace.commands.option_parsing import Operands
from atelier_desk.workspace.commands.parsing import ShellWord, Simple


def spelled_out(command: Simple) -> int:
    """Return how many leading words a rule must match literally: 0 for none, all if no star covers it."""
    words = command.arguments
    if any(word.globs and word.text.startswith("-") for word in command.words):
        return len(words)
    name = indirect_execution.program_name(words[0])
    if name in WRAPPERS:
        return len(words)
    if not in_table(name, words):
        row = indirect_execution.ROWS.get(name)
        names_files = any(
            word.globs and "/" not in word.pieces[0][0] and not word.pieces[0][1] for word in command.words
        )
        # A file may be called ``SHELL=.`` or ``xIf``: the pattern could then expand to an option.
        special = row is not None and (row.assigns or row.bundled) and names_files
        return len(words) if special else indirect_execution.spelled_out(words)
    plain = replace(command, words=(ShellWord(((name, False),)), *command.words[1:]))
    return len(words) if program(plain)[0] is Kind.RUNS else 0


def in_table(name: str, words: tuple[str, ...]) -> bool:
    """Whether the table defines what a rule for the command means."""
    if name != "git":
        return name in READS or name in WRITES or name in ("cd", "find", "sed")
    command = next((word for word in words[1:] if not word.startswith("-")), "")
    rules = git_safety.READING.get(command)
    # For commands without known operands (``git tag``), a rule refers to their unknown ones.
    return rules is not None and rules.operands is not Operands.NONE
