"""Run a command in the process that holds the data folder, and serve other processes."""

from __future__ import annotations

import asyncio
import logging
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from atelier_desk.cli.dispatch import perform, register_commands
from atelier_desk.cli.logging_setup import start_logging
from atelier_desk.cli.parser import ENGINE
from atelier_desk.cli.slow_command_notes import every_second
from atelier_desk.cli.startup import early_language
from atelier_desk.cli.terminal_io import ReaderGone, Terminal
from atelier_desk.domain.errors import AtelierError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.ipc.server import IpcServer
from atelier_desk.engine.maintenance.housekeeping import once_a_day
from atelier_desk.presentation.file_change_text import upgrade_text
from atelier_desk.storage.data_folder.schema_version import UpgradeStep
from atelier_desk.support.i18n import _
from atelier_desk.support.shutdown import CANCELLED, EndWatch

STAY_NOTE_S = 1.0


async def hold(root: Path, arguments: Namespace, argv: Sequence[str], terminal: Terminal, watch: EndWatch) -> int:
    """Open the data folder, run the command, and stay until the work of other processes is done."""

    between = every_second(lambda percent, _whole: terminal.note(upgrade_text(at, percent)))
    at: UpgradeStep = "copy"

    def upgrading(step: UpgradeStep, percent: int) -> None:
        nonlocal at
        at = step
        if percent:
            between(percent, 100)
        else:
            terminal.note(upgrade_text(step))

    start, loss = arguments.needs == ENGINE, arguments.accept_loss
    async with Atelier.open(
        root, language=early_language(argv), accept_loss=loss, start=start, upgrading=upgrading
    ) as atelier:
        start_logging(arguments.log_level, Path(atelier.datadir.logs))
        async with serving(atelier) as server:
            try:
                watch.status = await perform(atelier, arguments, terminal)
                await _tidy(atelier, watch.status, started=start)
                return watch.status
            finally:
                await _stay(server, terminal)


async def _tidy(atelier: Atelier, status: int, *, started: bool) -> None:
    """Run daily maintenance, as the window does; not after a command that was interrupted."""
    task = asyncio.current_task()
    if status == CANCELLED or (task is not None and task.cancelling()):
        return
    with suppress(asyncio.CancelledError):  # the command itself is done, and its status stays
        await once_a_day(atelier, started=started)


async def _stay(server: IpcServer, terminal: Terminal) -> None:
    """Serve other processes until they need nothing more; when asked to end, hand them over."""
    task = asyncio.current_task()
    assert task is not None
    if task.cancelling():
        return
    unused = asyncio.create_task(server.until_unused())
    try:
        await asyncio.wait({unused}, timeout=STAY_NOTE_S)
        if not unused.done():
            with suppress(ReaderGone):
                terminal.note(
                    _(
                        "Done. Other commands are still using this process; press Ctrl-C to hand them over to "
                        "another process."
                    )
                )
            await unused
    except asyncio.CancelledError:
        # The command itself is done, and its status stays.
        task.uncancel()
    finally:
        unused.cancel()


@asynccontextmanager
async def serving(atelier: Atelier) -> AsyncIterator[IpcServer]:
    """Serve other processes while this one holds the data folder.

    On a machine that provides no socket the command runs without it.
    """
    register_commands()
    server = IpcServer(atelier, atelier.datadir)
    try:
        await server.start()
    except (AtelierError, OSError) as error:
        logging.getLogger(__name__).warning("other processes cannot be served: %s", error)
    try:
        yield server
    finally:
        await server.aclose()
