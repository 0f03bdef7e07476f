"""The risk of a command line, as a table; ``tools.shell.risk`` explains the rules."""

from __future__ import annotations

import pytest

from atelier_desk.tools.base import Risk
from atelier_desk.tools.shell.command_risk import risk_of
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.processes.sandbox_contents import Kind

LOW, MEDIUM, HIGH = Risk.LOW, Risk.MEDIUM, Risk.HIGH
TABLE: tuple[tuple[str, Risk], ...] = (
    # Only reads, below the workspace.
    ("ls -la src", LOW), ("grep -rn x . | head", LOW), ("git status", LOW), ("cd src && cat a.py", LOW),
    # Reads elsewhere; changes files it names, in the workspace; a program of the project, however it is started.
    ("cat ../x", MEDIUM), ("touch a", MEDIUM), ("echo a > b", MEDIUM), ("mv a b && cp b c", MEDIUM), ("make", MEDIUM),
    ("python -m pytest -q", MEDIUM), ("./slow.sh", MEDIUM), ("bash slow.sh", MEDIUM), ("sh slow.sh -v", MEDIUM),
    ("git commit -m x", MEDIUM),
    # Deletes, alone or in a chain.
    ("rm -rf sub", HIGH), ("rm a.txt", HIGH), ("cd src && rm -rf sub", HIGH), ("ls; rmdir sub", HIGH),
    ("/bin/rm a", HIGH),
    # Writes elsewhere, or to whatever a pattern matches.
    ("touch ../x", HIGH), ("echo a > /tmp/x", HIGH), ("cp a /etc/x", HIGH), ("touch *.py", HIGH),
    # Installs, starts other programs, cannot be parsed.
    ("pip install x", HIGH), ("ls && npm i x", HIGH), ("sudo ls", HIGH), ("ls | xargs rm", HIGH), ("bash -c ls", HIGH),
    ("bash", HIGH),
    ("find . -exec rm x +", HIGH), ("echo $(id)", HIGH), ("for a in b; do ls; done", HIGH),
)  # fmt: skip


@pytest.mark.parametrize(("line", "risk"), TABLE)
def test_the_table(line: str, risk: Risk) -> None:
    judgement = judge(line, "/home/ann")
    assert risk_of(judgement, "workspace", reads_below=judgement.safe) is risk


@pytest.mark.parametrize("box", ["network", "none"])
def test_leaving_the_sandbox_is_high_risk(box: Kind) -> None:
    assert risk_of(judge("make"), box, reads_below=False) is HIGH
