"""Restores that are killed at each move."""

from __future__ import annotations

import asyncio
import signal

from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage.copies.backup_file import BackupInfo
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.storage.child_programs import run


async def fill(store: Store, datadir: DataDir) -> Workflow:
    repos = Repositories(store, datadir)
    workflow = await repos.workflows.create(Workflow(name="kept"))
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "# The plan")
    return workflow


MOVES = 8
"""Moves and deletions of folders in a restore of a database and reports: 1 ready, 2 unpacking deleted, 3 to 6 the
swap, 7 the replaced data to the backups, 8 ready deleted.
"""


async def check_killed_restore(made: BackupInfo, datadir: DataDir, moves: int) -> None:
    """Kill a restore before one of its moves: after the next start the data is exactly the old or the new, and
    nothing temporary is left.
    """
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        (workflow,) = await repos.workflows.list()
        await repos.workflows.update(workflow.id, name="changed")
        await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "newer")
    killed = await asyncio.to_thread(run, "restore-until-killed", datadir.root, made.path, moves)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    datadir.ensure()  # every start creates missing folders
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        (workflow,) = await repos.workflows.list()
        found = workflow.name, await repos.reports.read(workflow.id, "Plan")
        new = moves > 1
        assert found == (("kept", "# The plan") if new else ("changed", "newer"))
    assert not list(datadir.root.glob("*ing-*"))
    replaced = list(datadir.backups.glob("replaced-*"))
    assert len(replaced) == new
    if new:
        assert (replaced[0] / "reports" / workflow.id / "Plan.md").read_text() == "newer"
        async with await Store.open(replaced[0] / "database") as store:
            assert await store.query("SELECT VALUE name FROM workflow") == ["changed"]
