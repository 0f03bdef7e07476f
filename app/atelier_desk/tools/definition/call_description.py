"""A tool's description of one call: the single source for approvals, rules, budgets, cards and the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter
from typing import Any, Literal

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import CallText, Subjects
from atelier_desk.support.visible_and_shortened_text import shorten

SubjectKind = Literal["paths", "command", "hosts", "server", "agents"]
"""The fields of ``Subjects``."""
_SHOWN = 200
"""Maximum characters of one value in a summary."""
_VALUES = 4
"""Maximum values in a summary without a template."""


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
    """One call as described by its tool.

    Attributes:
        kind: its approval flag.
        subjects: the paths, command, hosts, server and agents it affects.
        timeout_s: seconds after which it is stopped; 0: never.
        idempotent: it may be repeated after a kill: the same ``idempotency_key`` has no further effect.
        details: what an approval card shows besides the arguments (see ``ApprovalRequest.details``).
        plans: running it changes nothing yet and only returns a request, so it can be tried before approval.
        alone: no other call runs concurrently, even if it only reads.
        unread: its tool failed to describe it: it asks in every mode.
        altered: its server now describes it differently than approved: it asks in every mode.
        summary: one-line display text, as something to be done.
        done: template of the same once done; if empty, the summary fits both.
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
    """Fill a template with a call's values, each on one line and shortened; without a template return the values."""
    if template:
        names = [name for _text, name, _format, _conversion in Formatter().parse(template) if name]
        return CallText(text=template, params={name: _brief(values.get(name)) for name in names})
    told = (value for value in values.values() if isinstance(value, str | int | float) and not isinstance(value, bool))
    plain = [brief for brief in map(_brief, told) if brief]  # a boolean is meaningless without its name
    return CallText(text="{values}", params={"values": " · ".join(plain[:_VALUES])}) if plain else CallText()


def subjects_of(values: Mapping[str, object], kinds: Mapping[str, SubjectKind]) -> Subjects:
    """Return the subjects named by a call's values; ``kinds`` gives the kind of each parameter."""
    found: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        value = values.get(name)
        texts = (
            [str(item) for item in value]
            if isinstance(value, list | tuple)
            else []
            if value in (None, "")
            else [str(value)]
        )
        found.setdefault(kind, []).extend(texts)
    return Subjects(
        paths=tuple(found.get("paths", ())),
        command="\n".join(found.get("command", ())),
        hosts=tuple(found.get("hosts", ())),
        server=", ".join(found.get("server", ())),
        agents=tuple(found.get("agents", ())),
    )


def _brief(value: object) -> str:
    text = " ".join(("" if value is None else str(value)).split())
    return shorten(text, _SHOWN)
