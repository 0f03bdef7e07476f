"""Paid requests from before they are sent until what they used is committed.

Each counts by the most it may use from before it leaves. The commit that has its usage, an event of its run or the
total of its time, ends that; so does a refusal. What a kill leaves goes on counting: ``recovery`` gives it to its run.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from atelier_desk.domain.base_model import new_id
from atelier_desk.engine.journal.journal import nothing_follows
from atelier_desk.storage.repositories.usage_totals import UsageRecord
from atelier_desk.storage.writing.sent_request_keys import SentKey
from atelier_desk.support.background_tasks import to_the_end

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.events.run import (
        MediaPaid,
        MemoryExtractionDone,
        PictureDescribed,
        RequestLost,
        SampledForServer,
        TitleGenerated,
    )
    from atelier_desk.domain.model_messages import Usage
    from atelier_desk.engine.costs.month_budget import Hold, MonthBudget
    from atelier_desk.engine.journal.journal import Follow, Journal, RunHandle
    from atelier_desk.engine.run.reducer.state import RunState
    from atelier_desk.storage.repositories.usage_totals import UsedRepository
    from atelier_desk.storage.writing.journal_commit import Rename

    SettlingEvent = (
        MediaPaid | MemoryExtractionDone | PictureDescribed | RequestLost | SampledForServer | TitleGenerated
    )


class SentRequests:
    """Notes requests and settles them. What a request holds of the monthly limit is freed with it; while its row is
    there, it counts by that.
    """

    def __init__(self, month: MonthBudget, used: UsedRepository, clock: Clock) -> None:
        self._month = month
        self._used = used
        self._clock = clock

    def record(self, provider: str, model: str, usage: Usage, state: RunState | None = None) -> UsageRecord:
        """Return how a request of a run, or of none, is counted while it is not settled."""
        workflow, agent = (state.workflow_id, state.agent.name) if state is not None else ("", "")
        return UsageRecord(workflow, agent, provider, model, self._clock.now(), usage, 1, 0)

    async def send(self, hold: Hold, provider: str, model: str, most: Usage, state: RunState | None = None) -> None:
        """Count a request by the most it may use; await it before the request is sent. One that is free is not noted.

        Raises:
            StorageError: it cannot be counted, so it must not be sent.
        """
        if not most.cost:
            return
        key = SentKey(state.run_id if state is not None else "", new_id())
        self._month.sending(hold, key, most.cost)
        try:
            cancelled = await to_the_end(self._used.send(key, self.record(provider, model, most, state)))
        except BaseException:
            self._month.free(hold)
            raise
        if cancelled:
            await self.refused(hold)
            raise asyncio.CancelledError

    async def refused(self, hold: Hold) -> None:
        """The request cost nothing: it was refused, or not sent.

        Raises:
            StorageError: this cannot be noted, so it goes on counting by the most it may have used.
        """
        cancelled = False
        try:
            if hold.key is not None:
                cancelled = await to_the_end(self._used.withdraw(hold.key))
        except BaseException:
            self._month.count(hold.most)
            raise
        finally:
            self._month.free(hold)
        if cancelled:
            raise asyncio.CancelledError

    async def settle(
        self,
        journal: Journal,
        handle: RunHandle,
        hold: Hold,
        body: SettlingEvent,
        *,
        follow: Follow = nothing_follows,
        rename: Rename | None = None,
    ) -> None:
        """Commit the event of a run that has the usage of the request.

        Raises:
            AtelierError: as ``Journal.append``; the request goes on counting by the most it may have used.
        """
        settles = (hold.key,) if hold.key is not None else ()
        try:
            cancelled = await to_the_end(journal.append(handle, body, follow=follow, rename=rename, settles=settles))
        except BaseException:
            self._month.count(hold.most)
            raise
        finally:
            self._month.free(hold)
        if cancelled:
            raise asyncio.CancelledError

    async def settle_outside(self, hold: Hold, record: UsageRecord) -> None:
        """Add the usage of a request outside runs to the total of its time."""
        try:
            await self._used.count(record, hold.key)
            self._month.count(record.usage.cost)
        except BaseException:
            self._month.count(hold.most)
            raise
        finally:
            self._month.free(hold)
