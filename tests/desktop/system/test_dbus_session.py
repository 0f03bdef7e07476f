"""The session bus: pending calls can be cancelled at any moment."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from atelier_desk.desktop.system.dbus_session import DAEMON, DAEMON_PATH, Call, Incoming, SessionBus
from tests.desktop.system.conftest import until


async def test_a_call_cancelled_as_its_answer_arrives_stays_cancelled(daemon: subprocess.Popen[bytes]) -> None:
    """``asyncio.wait_for`` of Python 3.11 loses a cancellation that coincides with the result.

    The caller would go on waiting.
    """
    bus = SessionBus()
    await bus.connect()
    daemon.send_signal(19)  # SIGSTOP: the test controls the answer
    calling = asyncio.create_task(bus.call(Call(DAEMON, DAEMON_PATH, DAEMON, "GetId")))
    await until(lambda: bus._waiting)
    [answer] = bus._waiting.values()
    answer.set_result(Incoming((), ""))
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    daemon.send_signal(18)
    bus.close()
