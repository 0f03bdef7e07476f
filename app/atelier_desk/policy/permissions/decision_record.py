"""Store the facts of a verdict, and reach the same verdict again from the journal only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar, cast

from atelier_desk.domain.approval import ApprovalKind, RiskName
from atelier_desk.domain.permission import DecisionRecord, Verdict
from atelier_desk.policy.permissions.call_facts import CallFacts, CommandFact, Concern, HostFact, Path, TargetFact
from atelier_desk.policy.permissions.decide import VERSION, Level, decide

Value = TypeVar("Value")


class NamedFact(NamedTuple):
    """Facts that the call's own event already contains."""

    tool: str
    section: str = ""
    server: str = ""
    risk: str = "low"


def grounds(facts: CallFacts, level: Level, *, unread: bool = False) -> DecisionRecord:
    """Return the facts to store, and what they were decided by.

    ``unread`` marks a call that no rule was checked for.
    """
    return DecisionRecord(
        version=VERSION,
        level=level.name,
        unread=unread,
        kind=facts.kind.value,
        changes=facts.changes,
        writes=facts.writes,
        sends=facts.sends,
        paths=tuple(path.spellings for path in facts.paths),
        roots=facts.paths[0].roots if facts.paths else (),
        redirected=tuple(facts.paths.index(path) for path in facts.redirected),
        path_tools=facts.path_tools,
        reached=tuple((path.spellings, path.roots) for path in facts.revealed),
        taken=tuple((path.spellings, path.roots) for path in facts.contained),
        also=tuple(command.also for command in facts.commands)
        if any(command.also for command in facts.commands)
        else (),
        commands=tuple(command.words for command in facts.commands),
        safe=tuple(index for index, command in enumerate(facts.commands) if command.safe),
        folders=_unless_all("", [command.folder for command in facts.commands]),
        spelled_out=_unless_all(0, [command.spelled_out for command in facts.commands]),
        hosts=tuple(host.name for host in facts.hosts),
        agents=tuple(agent.name for agent in facts.agents),
        home=facts.home,
        concerns=tuple((concern.value, dict(facts.about).get(concern, "")) for concern in facts.concerns),
        settings=facts.settings,
    )


def _unless_all(usual: Value, values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values, or an empty tuple if all of them are the usual one."""
    return () if all(value == usual for value in values) else tuple(values)


def facts(kept: DecisionRecord, named: NamedFact) -> CallFacts:
    """Restore the facts for ``decide``."""
    count = len(kept.commands)
    paths = tuple(Path(spellings, kept.roots) for spellings in kept.paths)
    about = tuple((Concern(concern), what) for concern, what in kept.concerns)
    return CallFacts(
        tool=named.tool,
        kind=ApprovalKind(kept.kind),
        risk=cast(RiskName, named.risk),
        section=named.section,
        server=named.server,
        changes=kept.changes,
        writes=kept.writes,
        sends=kept.sends,
        paths=paths,
        redirected=tuple(paths[place] for place in kept.redirected),
        path_tools=kept.path_tools,
        revealed=tuple(Path(*each) for each in kept.reached),
        contained=tuple(Path(*each) for each in kept.taken),
        commands=tuple(
            CommandFact(words, place in kept.safe, folder, spelled_out, also)
            for place, (words, folder, spelled_out, also) in enumerate(
                zip(
                    kept.commands,
                    kept.folders or [""] * count,
                    kept.spelled_out or [0] * count,
                    kept.also or [()] * count,
                    strict=True,
                )
            )
        ),
        hosts=tuple(map(HostFact, kept.hosts)),
        agents=tuple(map(TargetFact, kept.agents)),
        home=kept.home,
        concerns=tuple(concern for concern, _what in about),
        about=about,
        settings=kept.settings,
    )


def again(kept: DecisionRecord, named: NamedFact, level: Level) -> Verdict:
    """Return the verdict about a past call under these rules."""
    return decide([Level((), level.policy) if kept.unread else level], facts(kept, named))
