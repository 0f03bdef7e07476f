"""What a tool says of one call: the one answer that approvals, rules, budgets, cards and the journal use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter
from typing import Any, Literal

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call import CallText, Subjects
from atelier_desk.support.text import shorten

SubjectKind = Literal["paths", "command", "hosts", "server", "agents"]
"""The fields of ``Subjects``."""
_SHOWN = 200
"""Characters of one value in a summary."""
_VALUES = 4
"""Values a summary without words of its own shows."""


class Effect(StrEnum):
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    INTERACT = "interact"
    SPAWN = "spawn"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Call:
    """One call as its tool describes it.

    Attributes:
        kind: which of the owner's approval flags it falls under.
        subjects: the paths, command, hosts, server and agents it touches.
        timeout_s: seconds after which it is stopped; 0 never stops it.
        idempotent: it may be run again after a kill: the same ``idempotency_key`` has no second effect.
        details: what an approval card shows besides the arguments (see ``ApprovalRequest.details``).
        plans: running it changes nothing yet and only says what is wanted, so it can be tried before a person allows it.
        alone: no other call runs beside it, also when it only reads.
        unread: its tool failed to say what it touches: it asks in every mode.
        altered: its server says something else of it than what a person approved: it asks in every mode.
        summary: it in a line, for people, as something to be done.
        done: the template of the same once it is done; without one the summary fits both.
    """

    effect: Effect
    risk: Risk = Risk.LOW
    kind: ApprovalKind = ApprovalKind.TOOL
    subjects: Subjects = field(default_factory=Subjects)
    timeout_s: float = 60.0
    idempotent: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    plans: bool = False
    alone: bool = False
    unread: bool = False
    altered: bool = False
    summary: CallText = field(default_factory=CallText)
    done: str = ""


def summary_of(values: Mapping[str, object], template: str = "") -> CallText:
    """The words of a template filled with a call's values, each on one line and cut; without a template the plain values themselves."""
    if template:
        names = [name for _text, name, _format, _conversion in Formatter().parse(template) if name]
        return CallText(text=template, params={name: _brief(values.get(name)) for name in names})
    told = (value for value in values.values() if isinstance(value, str | int | float) and not isinstance(value, bool))
    plain = [brief for brief in map(_brief, told) if brief]  # a yes or no says nothing without its name
    return CallText(text="{values}", params={"values": " · ".join(plain[:_VALUES])}) if plain else CallText()


def subjects_of(values: Mapping[str, object], kinds: Mapping[str, SubjectKind]) -> Subjects:
    """The subjects that a call's values name; ``kinds`` says of which kind each parameter is."""
    found: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        value = values.get(name)
        texts = [str(item) for item in value] if isinstance(value, list | tuple) else [] if value in (None, "") else [str(value)]
        found.setdefault(kind, []).extend(texts)
    return Subjects(
        paths=tuple(found.get("paths", ())),
        command="\n".join(found.get("command", ())),
        hosts=tuple(found.get("hosts", ())),
        server=", ".join(found.get("server", ())),
        agents=tuple(found.get("agents", ())),
    )


def _brief(value: Any) -> str:
    text = " ".join(("" if value is None else str(value)).split())
    return shorten(text, _SHOWN)
