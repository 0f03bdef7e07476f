"""Interrupted runs, by a kill or the end of the program: found when the engine opens, resumed on request."""

from __future__ import annotations

import logging
from functools import partial

from atelier_desk.domain.errors import AtelierError, NotFoundError
from atelier_desk.domain.events.run import EventBody, PauseReason, RequestLost
from atelier_desk.domain.workflow import Run, RunStatus
from atelier_desk.engine.journal.journal import Part
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.runs.live_runs import LiveRuns, lost_reply
from atelier_desk.engine.runs.pause_resume_step import Steering
from atelier_desk.storage.writing.sent_request_keys import OWN

log = logging.getLogger(__name__)


class Recovery:
    """Resumes unfinished runs of the database."""

    def __init__(self, env: RunEnvironment, runs: LiveRuns, steering: Steering) -> None:
        self._env = env
        self._runs = runs
        self._steering = steering

    async def settle_sent(self) -> None:
        """Give requests that a kill left unsettled to their runs, at the time at which they were sent: they count as
        the most they may have used. Those outside runs, and of runs that are gone, go on counting by themselves.
        """
        for key, sent in await self._env.repos.used.sent():
            if not key.run_id or key in self._env.month.in_flight:
                continue
            try:
                live = await self._runs.load(key.run_id)
                own, over = key.name == OWN, live.handle.current.status.final
                lost: list[EventBody] = await lost_reply(self._env.repos, key.run_id) if own and not over else []
                lost = lost or [RequestLost(provider=sent.provider, model=sent.model, usage=sent.usage)]
                last = live.handle.current.last_time
                time = max(sent.time, last) if last is not None else sent.time
                parts = [Part(live.handle, lost, own, time=time, settles=(key,))]
                await self._env.journal.append_together([live.handle], partial(list, parts))
            except NotFoundError:
                continue
            except (AtelierError, ValueError):
                log.exception("a request of run %s is not given to it", key.run_id)
        self._env.month.reread()

    async def index(self) -> None:
        """Load which runs are unfinished; called once when the engine opens.

        A run marked as running was interrupted by a kill, because nobody else has the data folder open: it is marked as
        interrupted. So is one that was about to start its sub-agents.
        """
        await self.settle_sent()
        rows = await self._env.repos.runs.alive()
        self._runs.add_unfinished(rows)
        # Requests in a session are lost: it ended with the program.
        gone = {
            each.run_id
            for each in await self._env.repos.questions.pending()
            if each.spec.asker is not None and each.spec.asker.live
        }
        for row in rows:
            cut_off = row.status in (RunStatus.PROCESSING, RunStatus.AWAITING_CHILDREN)
            if cut_off or (row.status is RunStatus.AWAITING_USER and row.id in gone):
                try:
                    await self._runs.mark_interrupted([await self._runs.load(row.id)], "killed")
                except (AtelierError, ValueError):
                    # One unreadable journal must not prevent opening the others.
                    log.exception("run %s cannot be read", row.id)

    async def resume_all(self, *, chosen: bool = False) -> list[str]:
        """Resume all runs interrupted by a kill or the end of the program.

        With ``chosen`` only those whose person chose so when closing: a start alone costs nothing. Runs that wait for a
        person, are paused, or were interrupted because a person ended their command are left.
        """
        resumed = []
        rows = await self._env.repos.runs.alive()
        known = {row.id for row in rows}
        for row in rows:
            live = self._runs.get(row.id)
            if row.status is RunStatus.PAUSED or (live is not None and live.at_work):
                continue
            try:
                if row.status is RunStatus.INTERRUPTED:
                    ended = (await self._runs.load(row.id)).handle.current.ended
                    if ended != "next_start" if chosen else ended == "command":
                        continue
                if row.parent_run_id is not None and row.parent_run_id not in known:
                    above = (await self._runs.load(row.parent_run_id)).handle.current
                    if above.status.final and not above.failed:
                        # Its parent ended while it was being stopped.
                        await self._runs.cancel(row.id)
                        continue
                if await self._held_above(row):
                    continue
                await self._steering.resume(row.id, below=False)
            except AtelierError as error:
                log.warning("run %s cannot go on: %s", row.id, error)
            except ValueError:
                # One unreadable journal must not block the others.
                log.exception("run %s cannot be read", row.id)
            else:
                if row.status in (RunStatus.PROCESSING, RunStatus.INTERRUPTED):
                    resumed.append(row.id)
        return resumed

    async def _held_above(self, row: Run) -> bool:
        """Whether a person paused a run above a sub-agent that a kill kept from pausing itself."""
        if row.parent_run_id is None:
            return False
        above = await self._runs.above(await self._runs.load(row.id))
        return any(live.handle.current.pause is PauseReason.USER for live in above)
