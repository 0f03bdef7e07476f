"""Reads the calls and rules of ``rule_coverage.txt`` and ``verdicts.txt``."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as File
from typing import TypedDict

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalKind, ApprovalPolicy
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.policy.permissions.call_facts import (
    CallFacts,
    CommandFact,
    Concern,
    HostFact,
    Path,
    TargetFact,
    protected,
)
from atelier_desk.policy.permissions.decide import Level
from atelier_desk.workspace.commands import parsing
from atelier_desk.workspace.commands.judge import JudgedCommand, judge
from atelier_desk.workspace.commands.prefix_rules import spelled_out

ROOT = "/work/app"
HOME = "/home/ann"
OWN = "/data/atelier"
"""The program's own data folder."""
WHERE = {RuleScope.RUN: "r1", RuleScope.WORKFLOW: "w1", RuleScope.AGENT: "a1"}
"""Root run, workflow and agent of every call in the tables."""
SIGNS = {"+": Action.ALLOW, "?": Action.ASK, "-": Action.DENY}


class _Effect(TypedDict, total=False):
    kind: ApprovalKind
    changes: bool
    writes: bool
    sends: bool


DOES: dict[str, _Effect] = {
    "": {},
    "write": {"kind": ApprovalKind.FILE_OP, "changes": True, "writes": True},
    "run": {"kind": ApprovalKind.FILE_OP, "changes": True},
    "change": {"changes": True},
    "send": {"changes": True, "sends": True},
    "spawn": {"kind": ApprovalKind.SUB_AGENT},
}
"""Effect of a call: it changes files of the workspace or something else, runs a command, sends data out, or starts
an agent; otherwise it reads.
"""


def rows(name: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line that is neither empty nor a comment."""
    for number, text in enumerate((File(__file__).parent / name).read_text("utf-8").splitlines(), 1):
        if text.strip() and not text.startswith("# ") and not text.startswith("##"):
            yield number, [cell.strip() for cell in re.split(r"(?<= )\|(?= |$)", text)]


def levels(modes: str, written: str) -> list[Level]:
    """The runs of a lineage: modes and rules, the root's first, separated by ``>``."""
    each = [part.strip() for part in modes.split(">")]
    texts = re.split(r"(?:^| )> ", written) + [""] * len(each)
    return [
        Level(_rules(text), ApprovalPolicy(mode=ApprovalMode(mode))) for mode, text in zip(each, texts, strict=False)
    ]


def _rules(written: str) -> tuple[PermissionRule, ...]:
    rules = [_rule(text.strip()) for text in written.split("; ") if text.strip()]
    return tuple(rule for rule in rules if rule.holds_for(run_id="r1", workflow_id="w1", agent_id="a1"))


def _rule(text: str) -> PermissionRule:
    scope, scope_id, action = RuleScope.ALWAYS, "", SIGNS[text[0]]
    if text[1] == "[":
        head, text = text[2:].split("] ", 1)
        scope, scope_id = RuleScope(head.split()[0]), head.split()[1]
    else:
        text = text[1:]
    return PermissionRule(text=text, action=action, scope=scope, scope_id=scope_id)


def call(text: str) -> CallFacts:
    """``tool key=value @path ^host &agent !concern $command line`` as facts, with the concerns that follow from
    its targets.
    """
    tool, _, rest = text.partition(" ")
    head, dollar, said = rest.partition("$")
    words = shlex.split(head, comments=False)
    plain = dict(word.split("=", 1) for word in words if word[0] not in "@^&!")
    facts = CallFacts(
        tool=tool,
        section=plain.get("section", ""),
        server=plain.get("server", ""),
        risk=plain.get("risk", "medium"),  # type: ignore[arg-type]
        paths=tuple(_path(word[1:]) for word in words if word[0] == "@"),
        hosts=tuple(HostFact(word[1:]) for word in words if word[0] == "^"),
        agents=tuple(TargetFact(word[1:]) for word in words if word[0] == "&"),
        home=HOME,
    )
    facts = replace(facts, **DOES[plain.get("does", "")])
    if "kind" in plain:
        facts = replace(facts, kind=ApprovalKind(plain["kind"]))
    about = {Concern(word[1:]): "" for word in words if word[0] == "!"}
    if dollar:
        facts = _with_line(facts, said.strip(), about, safe=plain.get("safe") == "yes", folder=plain.get("in", ""))
    if facts.changes and (guarded := protected(facts.paths, [OWN])):
        about[Concern.PROTECTED] = guarded
    return replace(facts, concerns=tuple(about), about=tuple(about.items()))


def _with_line(facts: CallFacts, said: str, about: dict[Concern, str], *, safe: bool, folder: str) -> CallFacts:
    try:
        found = parsing.read(said, HOME)
    except parsing.UnreadableError:
        about[Concern.UNPARSED] = said
        return facts
    redirects = [
        each
        for one in found.commands
        for each in one.redirects
        if each.file is not None and each.file.text != "/dev/null"
    ]
    read, written = (
        tuple(_path(each.file.text) for each in redirects if each.file and each.writes is wanted)
        for wanted in (False, True)
    )
    commands = tuple(_command(one, folder, safe=safe) for one in judge(said, HOME).commands)
    return replace(facts, commands=commands, paths=(*facts.paths, *read, *written), redirected=written)


def _command(one: JudgedCommand, folder: str, *, safe: bool) -> CommandFact:
    words = one.command.arguments
    spelled = spelled_out(one.command) if one.inside else len(words)
    return CommandFact(words, safe or (words[0] == "cd" and one.safe), _in(folder, one.folder), spelled)


def _in(folder: str, below: str | None) -> str | None:
    whole = posixpath.normpath(posixpath.join(folder, below or ""))
    return None if below is None else "" if whole == "." else whole


def _path(text: str) -> Path:
    home = [HOME + part[1:] if part.startswith("~/") else part for part in text.split("=")]
    return Path(tuple(part if part.startswith("/") else f"{ROOT}/{part}" for part in home), (ROOT,))
