"""A backup or export of another machine is restored or imported, and killed at one step after the other.

    python -m tests.chaos.foreign_data_worker restore|import DATA_DIR SOURCE STEP

A step is any change to the data folder: a file opened for writing, a move, a deletion, a new folder, and the
moments before and after each commit of the database. The process kills itself at step ``STEP``; with 0 it runs to
the end and prints the number of steps.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.imported_grant import HeldKind
from atelier_desk.domain.mcp import McpEntry, McpServer
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.settings import Settings, WebSettings
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.data_folder_and_backups import restore_backup
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage.copies import backup, jsonl_export_import
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Statement, Store

ROOT = Path(__file__).resolve().parents[2]
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink"})
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
TOOL = "from atelier_desk import tool\n"


async def fill(datadir: DataDir, name: str) -> None:
    """A data folder with one of everything that grants rights or has a name."""
    (datadir.tools / "own.py").write_text(TOOL)
    async with await Store.open(datadir.database, fsync=False) as store:
        repos = Repositories(store, datadir)
        await repos.workflows.create(Workflow(name=name, workspace=("/srv/work",)))
        await repos.rules.save(PermissionRule(text="write_file", action=Action.ALLOW))
        await repos.providers.save(ProviderConfig(name="OpenAI", kind="openai", base_url=f"https://{name}.example/v1"))
        await repos.mcp_servers.save(McpEntry(name="run", config=McpServer(name="run", command="/bin/false")))
        settings = Settings(
            web=WebSettings(search="brave", address=f"https://{name}.example"),
            folder_trust={"/srv/work": True},
            confirmed_tools={"own.py": "0" * 64},
        )
        await repos.settings.save(settings)


async def prepare(folder: Path) -> tuple[DataDir, Path, Path]:
    """A data folder of this machine, and a backup and an export of another one."""
    own, other = DataDir(folder / "own").ensure(), DataDir(folder / "other").ensure()
    await fill(own, "mine")
    await fill(other, "theirs")
    async with await Store.open(other.database, fsync=False) as store:
        await backup.create(store, other, folder / "theirs.zip")
        await jsonl_export_import.export_jsonl(store, folder / "theirs", datadir=other)
    return own, folder / "theirs.zip", folder / "theirs"


async def granted(root: Path) -> tuple[str, list[str]]:
    """Whose data is in a folder (``""`` for none), and which rights are in force that were not granted on this
    machine.
    """
    async with Atelier.open(root, vault=KeyVault(environ={}), fsync=False) as atelier:
        repos = atelier.repos
        workflows = await repos.workflows.list()
        names = [each.name for each in workflows]
        settings = await repos.settings.load()
        held = {each.kind for each in settings.held}
        found = [f"rule {each.text}" for each in await repos.rules.list() if not each.held]
        found += [f"server {each.name}" for each in await repos.mcp_servers.list() if each.config.enabled]
        found += [
            f"provider {each.name}"
            for each in await repos.providers.list()
            if each.base_url and HeldKind.PROVIDER not in held
        ]
        found += ["search"] if settings.web.address and HeldKind.SEARCH not in held else []
        found += [f"folder {folder}" for each in workflows for folder in each.workspace]
        found += [f"trust {folder}" for folder, yes in settings.folder_trust.items() if yes]
        found += [f"tool {name}" for name in settings.confirmed_tools]
        found += ["free" for each in await repos.agents.list() if each.config.approval is ApprovalMode.AUTO]
        found += ["not read from outside" for each in workflows if not each.tainted]
        return (names[0] if len(names) == 1 else ", ".join(names)), found


def killed_at(step: int, kind: str, root: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Run the program below, which kills itself at this step."""
    command = [sys.executable, "-u", "-m", "tests.chaos.foreign_data_worker", kind, str(root), str(source), str(step)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)


class Steps:
    """Counts changes to the folder, and kills this process at one of them."""

    def __init__(self, root: Path, last: int) -> None:
        self.root, self.last, self.count = str(root), last, 0
        sys.addaudithook(self._observe)
        write = Store.write

        async def counted(store: Store, *statements: Statement) -> None:
            self.step()
            await write(store, *statements)
            self.step()

        Store.write = counted  # type: ignore[assignment, method-assign]

    def step(self) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def _observe(self, event: str, arguments: tuple[Any, ...]) -> None:
        changes = event in CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING)
        if changes and any(self.root in str(each) and f"{os.sep}logs" not in str(each) for each in arguments[:2]):
            self.step()


async def main(kind: str, root: Path, source: Path, last: int) -> None:
    steps = Steps(root, last)
    if kind == "restore":
        await restore_backup(source, root, from_elsewhere=True)
        async with Atelier.open(root, vault=KeyVault(environ={}), fsync=False):
            pass
    else:
        async with Atelier.open(root, vault=KeyVault(environ={}), fsync=False) as atelier:
            await atelier.data.import_jsonl(source)
    print(steps.count, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
    os._exit(0)
