"""How risky a command line is, as the pill of its card says it. It decides nothing by itself but for who has high risks confirmed.

| risk | a line is it when |
|---|---|
| low | every part only reads, and only below the workspace |
| medium | every part is one of these, and the line runs in the sandbox: it reads; it changes the files that it names, in the workspace; it is a program that the table of commands does not know, or a script that a shell is given by its name alone: those can do what the sandbox lets them |
| high | any part deletes, names a file outside the workspace to be changed, or a pattern of files; installs packages; starts other programs (``sudo``, ``xargs``, ``sh -c``); the line cannot be taken apart; or it is to run without the sandbox or with the network |
"""  # noqa: E501

from __future__ import annotations

from atelier_desk.tools.base import Risk
from atelier_desk.workspace.commands.command_table import DELETES, SHELLS
from atelier_desk.workspace.commands.judge import JudgedCommand, Judgement
from atelier_desk.workspace.commands.package_install_detection import installs
from atelier_desk.workspace.processes.sandbox_contents import Kind as Box


def risk_of(judgement: Judgement, box: Box, *, reads_below: bool) -> Risk:
    """Return the risk of an assessed line.

    ``box``: its sandbox; ``reads_below``: it only reads, in a folder of the workspace.
    """
    if reads_below:
        return Risk.LOW
    if judgement.line is None or box in ("network", "none") or any(map(_high, judgement.commands)):
        return Risk.HIGH
    return Risk.MEDIUM


def _high(command: JudgedCommand) -> bool:
    words = command.command.arguments
    if command.wraps:
        return not _script(words)
    if words[0].rpartition("/")[2] in DELETES or installs(words):
        return True
    return any(file.outside or file.globs for file in command.writes)


def _script(words: tuple[str, ...]) -> bool:
    """Whether it is ``bash build.sh …``, equivalent to ``./build.sh …``; with options a shell does other things."""
    return words[0].rpartition("/")[2] in SHELLS and len(words) > 1 and not words[1].startswith(("-", "+"))
