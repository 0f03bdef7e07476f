"""The line that shows progress, time and outcome of running work."""

from __future__ import annotations

import asyncio
from typing import Any

import shiboken6

from atelier_desk.desktop.settings.progress_line import Busy
from tests.helpers.fake_bridge import settle


async def test_a_line_that_is_gone_ignores_the_end_of_its_work() -> None:
    """A window closes while its work is cancelled: the task ends after the widgets."""
    busy, problems = Busy(), list[Any]()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: problems.append(context))
    work = asyncio.ensure_future(asyncio.Event().wait())
    busy.watch(work, "Reading…")
    shiboken6.delete(busy)
    work.cancel()
    await settle()
    assert work.cancelled()
    assert problems == []
