"""What every test gets: no screen, no keyring of the machine, no data folder of the user, English, and no network
beyond loopback.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# a screen of a usual size: that of Qt, 800 x 800, makes every window a narrow one
os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={Path(__file__).with_name('support') / 'screen.json'}")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

# Each program that a test starts would compile all of Atelier again, a second of processor time, where Python keeps
# nothing it compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)  # no notification on the desktop of who runs the tests

import pytest
from hypothesis import HealthCheck, settings

from atelier_desk.support import i18n
from tests.support.clock import ManualClock

pytest_plugins = ["tests.support.databases", "tests.support.watchdog"]

settings.register_profile(
    "default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("default")

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def pytest_configure() -> None:
    """Keep what is compiled of the tests themselves, too."""
    sys.dont_write_bytecode = False


@pytest.fixture(autouse=True)
def _own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has a data folder of its own and ends in the language it began with."""
    monkeypatch.setenv("ATELIER_DATA_DIR", str(tmp_path / "atelier-data"))
    monkeypatch.setenv("ATELIER_HOME", str(tmp_path / "home"))
    i18n.set_language("en")
    yield
    i18n.set_language("en")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that leaves the machine is a fault of the test or of the code."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def hang_ups() -> Iterator[None]:
    """Programs the test starts end with their terminal, also where the tests were started under nohup: what is ignored
    is inherited, and a function as handler is none of the program that is started."""
    if not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, lambda number, frame: None)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def clock() -> ManualClock:
    """Time that moves only when the test says so."""
    return ManualClock()
