"""Asks the process that holds a data folder to show its window."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from atelier_desk.domain.errors import AtelierError
from atelier_desk.engine.ipc.client import find_holder
from atelier_desk.support.i18n import _


def ask_to_raise(root: Path, *, quick: bool) -> int | None:
    """Have the window shown, or its quick ask; returns as ``single_window.ask_holder_to_raise``."""

    async def ask() -> int | None:
        holder = await find_holder(root)
        if holder is None:
            return None
        try:
            if await holder.raise_window(quick=quick):
                return 0
            sys.stderr.write(
                _("A command is using the data folder {path} at the moment; try again when it has ended.", path=root)
                + "\n"
            )
            return 1
        finally:
            holder.close()

    try:
        return asyncio.run(ask())
    except AtelierError as error:
        sys.stderr.write(error.localized(_) + "\n")
        return 1
