"""Reads the calls of ``coverage.txt`` and ``verdicts.txt``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path as File

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.policy.permissions.facts import Command, Concern, Facts, Host, Path, Target

ROOT = "/work/app"
HOME = "/home/ann"


def rows(name: str) -> Iterator[list[str]]:
    """The cells of each line that is neither empty nor a remark."""
    for line in (File(__file__).parent / name).read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("# ") and not line.startswith("##"):
            yield [cell.strip() for cell in line.split("|")]


def call(text: str) -> Facts:
    """``tool key=value $command @path ^host &agent !concern`` as facts."""
    tool, _, rest = text.partition(" ")
    head, dollar, line = rest.partition("$")
    line, at, after = line.partition(" @") if dollar else ("", "", "")
    words = shlex.split(head + (f"@{after}" if at else ""), comments=False)
    plain = dict(word.split("=", 1) for word in words if word[0] not in "@^&!")
    concerns = tuple(Concern(word[1:]) for word in words if word[0] == "!")
    paths = tuple(_path(word[1:]) for word in words if word[0] == "@")
    return Facts(
        tool=tool,
        section=plain.get("section", ""),
        server=plain.get("server", ""),
        kind=ApprovalKind(plain.get("kind", "tool")),
        risk=plain.get("risk", "medium"),  # type: ignore[arg-type]
        changes=plain.get("changes") == "yes",
        writes=plain.get("writes") == "yes",
        paths=paths,
        redirected=paths if dollar else (),
        commands=tuple(Command(tuple(shlex.split(part)), plain.get("safe") == "yes") for part in line.split(" && ")) if dollar else (),
        hosts=tuple(Host(word[1:]) for word in words if word[0] == "^"),
        agents=tuple(Target(word[1:]) for word in words if word[0] == "&"),
        home=HOME,
        concerns=concerns,
    )


def _path(text: str) -> Path:
    return Path(tuple(part if part.startswith("/") else f"{ROOT}/{part}" for part in text.split("=")), (ROOT,))
