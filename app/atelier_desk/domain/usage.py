"""Usage over time: rows of tokens, cost and time by day, model, agent and workflow, and totals. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from atelier_desk.domain.model_messages import Usage
from atelier_desk.support.visible_and_shortened_text import no_formula

CSV_COLUMNS = (
    "day", "workflow_id", "workflow", "agent", "provider", "model", "requests",
    "tokens_input", "tokens_output", "tokens_cached", "tokens_stored", "tokens_unpriced", "cost_usd", "saved_usd",
    "duration_ms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MonthUsage:
    """What was spent in a month (``2026-11``) of this machine's calendar, of which ``limit``, in US dollars; 0 for no
    limit. ``unpriced``: whether requests whose price is not known are allowed in it. ``estimated``: of what was spent,
    for requests whose usage no server told: it is not known yet, or the reply was cut off or lost."""

    month: str
    spent: float
    limit: float
    unpriced: bool = False
    estimated: float = 0.0


def month_of(now: datetime) -> str:
    """Return the month in this machine's calendar: ``2026-11``."""
    return now.astimezone().strftime("%Y-%m")


def month_start(now: datetime) -> datetime:
    """Return when it began here; midnight may have had another UTC offset than now."""
    return now.astimezone().replace(day=1, hour=0, minute=0, second=0, microsecond=0, tzinfo=None).astimezone()


@dataclass(frozen=True, slots=True)
class EmbeddingOffer:
    """Texts that wait for vectors by a server: ``model`` is ``provider/model``, ``cost`` the most they may cost in US
    dollars, None where no price is known."""

    texts: int
    model: str
    cost: float | None


CheckAgain = Callable[[], Awaitable[None]]
"""Awaited before a request is sent once more; raises LimitError if it must not be."""


async def unchecked() -> None:
    """No limit to check before a request is sent again."""


@dataclass(slots=True)
class Payment:
    """A request of a fixed price that was counted before it is sent. ``accepted``: the service took it, and charges for
    it whatever comes after; ``returned``: it gives the money back; ``check_again``: awaited before the request is sent
    once more, see ``CheckAgain``."""

    accepted: bool = False
    returned: bool = False
    check_again: CheckAgain = unchecked


Paying = Callable[[str, str, float | None, str], AbstractAsyncContextManager[Payment]]
"""``paying(service, model, price, what)``: within it a request is sent, which was counted before; ``price`` in US
dollars, or None.
"""


@asynccontextmanager
async def uncounted(_service: str, _model: str, _price: float | None, _what: str) -> AsyncIterator[Payment]:
    """A ``Paying`` that counts nothing."""
    yield Payment()


class UsageBy(StrEnum):
    """Grouping of usage."""

    DAY = "day"
    MODEL = "model"
    AGENT = "agent"
    WORKFLOW = "workflow"


@dataclass(frozen=True, slots=True)
class UsageSum:
    """A total.

    Attributes:
        requests: to a model, including interrupted ones and those that shortened a conversation.
        duration_ms: reply time of the models; unknown for interrupted replies.
    """

    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    duration_ms: int = 0

    def __add__(self, other: UsageSum) -> UsageSum:
        return UsageSum(self.usage + other.usage, self.requests + other.requests, self.duration_ms + other.duration_ms)

    @property
    def tokens(self) -> int:
        return self.usage.tokens_input + self.usage.tokens_output

    @property
    def cost(self) -> float | None:
        """US dollars; None if no price is known for any of it."""
        return self.usage.known_cost


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Usage of one model by one agent in one workflow on one day of the reader's calendar.

    Names are as they were then.
    """

    day: date
    workflow_id: str
    workflow: str
    agent: str
    provider: str
    model: str
    total: UsageSum

    def key(self, by: UsageBy) -> str:
        """Return the group key."""
        keys = {
            UsageBy.DAY: self.day.isoformat(),
            UsageBy.MODEL: self._model(),
            UsageBy.AGENT: self.agent,
            UsageBy.WORKFLOW: self.workflow_id,
        }
        return keys[by]

    def name(self, by: UsageBy) -> str:
        """Return the display name of the group; empty if unknown."""
        return self.workflow if by is UsageBy.WORKFLOW else self.key(by)

    def _model(self) -> str:
        return f"{self.provider}/{self.model}" if self.provider else self.model


@dataclass(frozen=True, slots=True)
class UsageGroup:
    """The total of one group."""

    key: str
    name: str
    total: UsageSum


def grouped(rows: Iterable[UsageRow], by: UsageBy) -> list[UsageGroup]:
    """Return the totals, days in order, everything else by most tokens."""
    found: dict[str, UsageGroup] = {}
    for row in rows:
        key = row.key(by)
        before = found.get(key)
        found[key] = UsageGroup(key, row.name(by), before.total + row.total if before is not None else row.total)
    if by is UsageBy.DAY:
        return [found[key] for key in sorted(found)]
    return sorted(found.values(), key=lambda group: (-group.total.tokens, group.name, group.key))


def summed(rows: Iterable[UsageRow]) -> UsageSum:
    """Return the total of all rows."""
    return sum((row.total for row in rows), UsageSum())


def as_csv(rows: Iterable[UsageRow]) -> str:
    """Return the rows as CSV with plain numbers; ``cost_usd`` is empty if no price is known.

    ``saved_usd`` is what the cache saved, negative while it cost more than it saved.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")  # RFC 4180
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        total, usage = row.total, row.total.usage
        names = [no_formula(text) for text in (row.workflow, row.agent, row.provider, row.model)]
        cost = "" if total.cost is None else _dollars(total.cost)
        tokens = (
            usage.tokens_input,
            usage.tokens_output,
            usage.tokens_cached,
            usage.tokens_stored,
            usage.tokens_unpriced,
        )
        figures = (total.requests, *tokens, cost, _dollars(usage.saved), total.duration_ms)
        writer.writerow([row.day.isoformat(), row.workflow_id, *names, *figures])
    return out.getvalue()


def _dollars(value: float) -> str:
    text = f"{value:.8f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
