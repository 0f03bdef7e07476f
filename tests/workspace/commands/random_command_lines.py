"""Random command lines, and what must hold for each."""

from __future__ import annotations

import random

from atelier_desk.workspace.commands import command_table
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.commands.parsing import read

HOME = "/home/ann"

WORDS = (
    *command_table.READS, *command_table.WRITES,
    "git", "status", "find", "sed", "cd", "sh", "-n", "-o", "--output=x", "-la", "--", "-",
    "x", "a/b", "../x",
    "/etc", "~", "*.py", "'a b'", '"q"', "&&", "||", ";", "|", ">", ">>", "<",
    "2>&1", "$x", "$(id)", "`id`", "\\", "\n", "#", "(", ")", "{", "}", "!",
    "1,2p", "é", "=", "&", "''", "[a]", "?",
)  # fmt: skip


def check_line(text: str) -> bool:
    """Judge a line: no exception, and an allowed line means the same when parsed again. Returns whether it may run
    without approval.
    """
    judgement = judge(text, HOME)
    if not judgement.safe:
        return False
    line = judgement.line
    assert line is not None
    again = read(line.rendered, HOME)
    assert again.rendered == line.rendered, text
    for one, other in zip(line.commands, again.commands, strict=True):
        globs = any(word.globs for word in one.words)
        assert globs or one.arguments == other.arguments, text
    assert judge(line.rendered, HOME).safe or any(word.globs for one in line.commands for word in one.words), text
    return True


def random_lines(count: int, seed: int) -> list[str]:
    """Lines of meaningful words, and some of any characters."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        if number % 4 == 3:
            found.append(
                "".join(
                    chr(chance.choice((chance.randint(32, 126), chance.randint(0, 0x2FFF))))
                    for _ in range(chance.randint(0, 40))
                )
            )
        else:
            found.append(chance.choice((" ", " ", "")).join(chance.choice(WORDS) for _ in range(chance.randint(1, 8))))
    return found
