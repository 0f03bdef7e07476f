"""Cleaning of checkpoints with persistent state, and leftovers that no workflow shows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import AtelierError
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.storage.repositories.housekeeping_state import Housekeeping
from atelier_desk.support.threads import in_storage_thread
from atelier_desk.workspace.checkpoints.cleaning import Cleaned, clean
from atelier_desk.workspace.checkpoints.leftover_undo_data import DAYS, Leftover, delete, survey, unclaimed
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles

log = logging.getLogger(__name__)
MB = 1024 * 1024


class CheckpointCleaning:
    """The cleaning of one open data folder.

    ``_leftovers`` caches the last result, because finding them reads every record.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._leftovers: list[Leftover] | None = None

    @property
    def _files(self) -> WorkspaceFiles:
        return self._context.workspace_files

    async def clean(self, *, asked: bool = True, stop: Callable[[], bool] = lambda: False) -> Cleaned:
        """Delete checkpoints beyond the configured age and size, and data unknown to the database for ``DAYS``.

        Args:
            asked: a person requested it. Otherwise nothing is deleted by age or size if another database cleaned here
                last: after a restore, settings and known data may be outdated.
            stop: called often, in another thread; once it returns True, nothing more is done.
        """
        context, now = self._context, self._context.clock.now()
        settings = await context.settings.get()
        known = await context.repos.workflows.ids()
        state = await context.repos.housekeeping.load()
        same = await in_storage_thread(self._files.store.cleaned_by) == state.token
        found = await in_storage_thread(unclaimed, self._files, known)
        # A first time in the future comes from a wrong clock.
        before = {key: min(first, now) for key, first in state.first_missed.items()} if same else {}
        missed = {key: before.get(key, now) for key in found}
        try:
            await self._remember(state, missed, now)
        except (AtelierError, OSError):
            # a full disk: free what is possible
            log.warning("the days of what is unknown cannot be counted: all of it stays", exc_info=True)
            missed = {}
        days = settings.checkpoint_days
        limited = same or asked
        done = await in_storage_thread(
            partial(
                clean,
                self._files,
                before=now - timedelta(days=days) if days and limited else None,
                most=settings.checkpoint_mb * MB if limited else None,
                known=known,
                expired={key for key, first in missed.items() if now - first >= timedelta(days=DAYS)},
                stop=stop,
            )
        )
        if done.given_up:
            log.info(
                "%d changes of files can no longer be undone: they are older or larger than what is kept", done.given_up
            )
        if not stop():
            await self._survey(known, missed, tell=bool(done.given_up))
        return done

    async def _remember(self, state: Housekeeping, missed: dict[str, datetime], now: datetime) -> None:
        """Store the state, database first: a kill before the folder has the token only restarts the days."""
        there = await in_storage_thread(self._files.store.folder.is_dir)
        token = new_id() if there else ""
        changed = state.model_copy(update={"token": token, "first_missed": missed, "cleaned_at": now})
        await self._context.repos.housekeeping.save(changed)
        if there:
            await in_storage_thread(self._files.store.set_cleaned_by, token)

    async def leftovers(self, *, again: bool = True) -> list[Leftover]:
        """Return data that no workflow shows, as last found. ``again``: search again."""
        if again or self._leftovers is None:
            state = await self._context.repos.housekeeping.load()
            same = await in_storage_thread(self._files.store.cleaned_by) == state.token
            await self._survey(await self._context.repos.workflows.ids(), state.first_missed if same else {})
        return self._leftovers or []

    async def _survey(self, known: Collection[str], missed: dict[str, datetime], *, tell: bool = False) -> None:
        before, self._leftovers = self._leftovers, await in_storage_thread(survey, self._files, known, missed)
        if tell or (before is not None and before != self._leftovers) or (before is None and self._leftovers):
            self._context.bus.changed("file", "")

    async def delete(self, keys: Collection[str]) -> int:
        """Delete leftovers; return the freed bytes.

        Raises:
            NotFoundError: a key does not exist.
            StorageError: one cannot be deleted.
        """
        try:
            return await in_storage_thread(delete, self._files, keys, await self._context.repos.workflows.ids())
        finally:
            self._leftovers = None
            self._context.bus.changed("file", "")

    def invalidate(self) -> None:
        """Discard the cached leftovers after a listing encountered an unreadable record."""
        self._leftovers = None

    def knows(self, keys: Collection[str]) -> bool:
        """Whether these keys are in the last result."""
        return set(keys) <= {each.key for each in self._leftovers or ()}

    async def lost(self, workflow_id: str = "") -> dict[str, int]:
        """Return, by workflow (or for one), how many changes have lost all their records.

        Their folder was deleted, or missing from a backup. Empty while the folder is unreadable.
        """
        present = await in_storage_thread(self._files.store.with_records, workflow_id)
        if present is None or workflow_id in present:
            return {}
        changes = await self._context.repos.executions.file_changes(workflow_id)
        return {id: count for id, count in changes.items() if id not in present}

    async def run_periodically(self, every_s: float) -> None:
        """Clean now and then periodically, until cancelled."""
        while True:
            try:
                await self.clean(asked=False)
            except (AtelierError, OSError):
                log.exception("checkpoints were not cleaned")
            await self._context.clock.sleep(every_s)
