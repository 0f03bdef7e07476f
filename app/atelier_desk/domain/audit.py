"""The audit trail: what was decided about each call, by which rule or person, and why.

Entries are made from journal events in the transaction that stores these: the trail is a projection, not a separate
log.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from itertools import islice

from pydantic import Field

from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.support.visible_and_shortened_text import no_formula, shorten

DETAIL = 300
"""Maximum characters of a call in an entry; the journal has the whole call."""
MAX_SCANNED = 20 * DETAIL
"""Characters searched for secrets.

Hiding secrets shortens a text, so it is cut to ``DETAIL`` afterwards; searching a megabyte would block the engine for
0.5 s.
"""
HIDDEN = "•••"
CSV_COLUMNS = (
    "time", "workflow_id", "workflow", "run_id", "call_id", "agent", "tool", "call", "decision", "decided_by", "note",
    "profile",
    "reason", "rule", "about", "effect", "risk",
)  # fmt: skip


class AuditDecision(StrEnum):
    """Outcome for a call: allowed or denied by a rule or the profile, or the person's decision."""

    ALLOWED = "allowed"
    APPROVED = "approved"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    """The run was stopped before a decision."""
    DENIED = "denied"


class AuditEntry(Model):
    """One decision.

    Attributes:
        message_id: the reply that made the call, for display in the workflow.
        detail: summary of the call without secrets, at most ``DETAIL`` characters.
        decided_by: ``user``, ``timeout`` or ``stop`` if a person was asked, ``nobody`` if it was declared in advance
            that nobody will be there; empty if a rule or the profile decided.
        note: the person's reason for rejecting.
        edited: the person changed the arguments; ``detail`` shows the approved ones.
        mode: the run's mode, which decides where no rule does.
        reason, rule, about: as in ``Verdict``.
    """

    id: str = Field(default_factory=new_id)
    workflow_id: str
    run_id: str
    call_id: str
    message_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    tool: str
    server: str = ""
    detail: str = ""
    effect: str = ""
    risk: str = ""
    decision: AuditDecision
    decided_by: str = ""
    note: str = ""
    edited: bool = False
    mode: str = ""
    reason: str = ""
    rule: str = ""
    about: str = ""
    created_at: Timestamp = Field(default_factory=utc_now)


class AuditFilter(Model):
    """Filter of entries; empty fields do not filter.

    Attributes:
        agent: name or id. ``tool``: complete name.
        text: words that must all occur in the call, its tool, agent, rule or decision, ignoring case.
        since, until: from this time on; before that time.
    """

    workflow_id: str = ""
    agent: str = ""
    tool: str = ""
    decision: AuditDecision | None = None
    text: str = ""
    since: Timestamp | None = None
    until: Timestamp | None = None


class AuditLine(Model):
    """An entry for display: with its workflow's name, and whether that is in the bin."""

    entry: AuditEntry
    workflow: str = ""
    in_bin: bool = False


class AuditPage(Model):
    """Entries, newest first. ``next`` requests the following page; None on the last."""

    lines: tuple[AuditLine, ...] = ()
    next: tuple[datetime, str] | None = None


_NAME = (
    r"pass(?:word|wd|phrase)?s?|pwd|secret(?:s|[-_]?key)?|token|api[-_]?keys?|access[-_]?key|private[-_]?key"
    r"|credentials?|cookies?"
)
_SECRET_NAME = re.compile(rf"(?:^|[^a-z])(?:{_NAME}|auth(?:orization)?)(?:$|[^a-z])|(?:{_NAME})$", re.IGNORECASE)
_AFTER = r"(?:\d{1,3}|[_-][\w-]{1,20})?"
"""Possible ends of a name: ``PASSWORD_2``, ``TOKEN_GH``."""
_QUOTED = r"""\\?\"[^\"]*(?:\"|$)|\\?'[^']*(?:'|$)"""
"""Quoted text; if cut off, up to the end."""
_SECRETS = (
    (re.compile(r"(?<=://)[^/\s@]+(?=@)"), HIDDEN),
    (re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]*"), rf"\1{HIDDEN}"),
    (re.compile(r"\b(authorization\"?\s*[:=]\s*(?:[a-z]+[ \t]+(?=\S))?)[^\"'\n]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"(?<![\w-])(-u|--user|--proxy-user)(\s+|=)([\"']?[^\s:\"']{1,64}:)[^\s\"']+"), rf"\1\2\3{HIDDEN}"),
    (
        re.compile(
            r"\b((?:sshpass|mysql\w*|mariadb\w*|redis-cli|ldap\w+|docker login)\b[^|;&\n]{0,200}?\s-[paw]\s*)[^\s-]\S*"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"([?&](?:key|code|sig|[\w-]{0,20}signature)=)[^&\s\"']+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (
        re.compile(rf"(?<![\w-])(--?[\w-]*(?:{_NAME}){_AFTER})(\s+|=)({_QUOTED}|[^\s\"'&;|]+)", re.IGNORECASE),
        rf"\1\2{HIDDEN}",
    ),
    (
        re.compile(rf"(?<![\w-])([\w-]*(?:{_NAME}){_AFTER})(\"?\s*[=:]\s*)({_QUOTED}|[^\s\"'&;|,]+)", re.IGNORECASE),
        rf"\1\2{HIDDEN}",
    ),
    (
        re.compile(
            r"\b(?:sk-|sk_live_|rk_live_|ghp_|gho_|ghs_|github_pat_|glpat-|npm_|pypi-|xox[abprs]-|hf_|AKIA|AIza|eyJ)[\w.-]{12,}"
        ),
        HIDDEN,
    ),
)
"""Patterns of secrets in a command, an address or a text: by name, or by a vendor's prefix.

A name is only matched from its first character (lookbehind): starting at each character would take quadratic time on
long words.
"""


def hide_secrets(text: str) -> str:
    """Hide what looks like a secret; the program's own keys are hidden by ``llm.secrets.redact``."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def detail_of(subjects: Subjects, arguments: Mapping[str, object]) -> str:
    """Summarise a call on one line.

    Its command, otherwise addresses, files and agents, otherwise arguments. Not yet cut.
    """
    subject_names = [subjects.command] if subjects.command else [*subjects.hosts, *subjects.paths, *subjects.agents]
    text = " · ".join(subject_names) if subject_names else _compact(arguments)
    return " ".join(hide_secrets(text[:MAX_SCANNED]).split())


def cut(text: str) -> str:
    """Cut to ``DETAIL`` characters."""
    return shorten(text, DETAIL)


def _compact(arguments: Mapping[str, object]) -> str:
    return json.dumps(_hidden(arguments), ensure_ascii=False, default=str) if arguments else ""


def _hidden(value: object) -> object:
    """Hide values whose name marks them as secrets, and drop what would be cut anyway."""
    if isinstance(value, Mapping):
        items = islice(value.items(), DETAIL)
        return {str(name): HIDDEN if _SECRET_NAME.search(str(name)) else _hidden(each) for name, each in items}
    if isinstance(value, list | tuple):
        return [_hidden(each) for each in value[:DETAIL]]
    return shorten(hide_secrets(value[:MAX_SCANNED]), 2 * DETAIL) if isinstance(value, str) else value


def as_csv(lines: Iterable[AuditLine], words: Callable[[AuditEntry], Mapping[str, str]], *, header: bool = True) -> str:
    """Return the lines as CSV (RFC 4180); texts that spreadsheets would take for formulas get a leading apostrophe.

    ``words``: an entry's codes in the reader's language, by column.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    if header:
        writer.writerow(CSV_COLUMNS)
    for line in lines:
        one = line.entry
        row = {
            **one.model_dump(include={"workflow_id", "run_id", "call_id", "tool", "note", "rule", "about"}),
            "workflow": line.workflow, "agent": one.agent_name, "call": one.detail, **words(one),
        }  # fmt: skip
        texts = [no_formula(str(row[column])) for column in CSV_COLUMNS[1:]]
        writer.writerow([one.created_at.isoformat(timespec="seconds"), *texts])
    return out.getvalue()
