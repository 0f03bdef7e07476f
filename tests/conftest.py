"""Setup of every test: no screen, no system keyring, a temporary data folder, English, and no network beyond
loopback.
"""

from __future__ import annotations

import gc
import itertools
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# A screen of a usual size: with Qt's default of 800 x 800 every window would use its narrow layout.
os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={Path(__file__).with_name('helpers') / 'screen.json'}")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

# Without a bytecode cache each program that a test starts would compile all of Atelier again, which takes a second
# of processor time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)  # no notification on the desktop of the person who runs the tests

import pytest
from hypothesis import HealthCheck, settings

from atelier_desk.llm import secrets
from atelier_desk.support import i18n
from atelier_desk.support.garbage_collection import collect_due
from atelier_desk.support.shutdown import EndWatch
from tests.helpers import forked_workers
from tests.helpers.manual_clock import ManualClock

pytest_plugins = ["tests.helpers.database_templates", "tests.helpers.hang_watchdog"]

settings.register_profile(
    "default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("default")

COLLECT_EVERY = 30
"""Tests of the window, after which all garbage is collected: in a worker's heap that takes 0.2 s."""
_desktop_tests = itertools.count(1)
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def pytest_configure() -> None:
    """Write compiled test modules into the cache, too; collect garbage between tests, on the main thread.

    Another thread would destroy widgets that an earlier test left in a reference cycle, which crashes Qt.
    """
    sys.dont_write_bytecode = False
    gc.disable()


def pytest_collection_finish() -> None:
    """Collections look only at what tests make from here on, which takes milliseconds."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish(nodeid: str) -> None:
    """After a test and its fixtures: the objects of windows, which are left in reference cycles, take memory."""
    if "/desktop/" in nodeid and next(_desktop_tests) % COLLECT_EVERY == 0:
        gc.collect()
    else:
        collect_due()


@pytest.fixture(autouse=True, scope="session")
def _tests_are_not_ended() -> Iterator[None]:
    """A program called as a function that is slow to end on a busy machine would end the tests with it, as passed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EndWatch, "_end", lambda _watch: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _forked_workers() -> Iterator[None]:
    """Child processes that answer requests are forks: their imports take most of their processor time."""
    with forked_workers.forking():
        yield


@pytest.fixture
def real_start() -> Iterator[None]:
    """Child processes that answer requests are started by their command, as in the program."""
    with forked_workers.starting():
        yield


@pytest.fixture(autouse=True)
def _own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test its own data folder, and restore the language afterwards."""
    monkeypatch.setenv("ATELIER_DATA_DIR", str(tmp_path / "atelier-data"))
    monkeypatch.setenv("ATELIER_HOME", str(tmp_path / "home"))
    i18n.set_language("en")
    yield
    i18n.set_language("en")


@pytest.fixture(autouse=True)
def _own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of other tests are unknown: the end of a streamed piece that may begin a known key is held back."""
    monkeypatch.setattr(secrets, "_seen", set(secrets._seen))
    for name in ("_forms", "_reply_forms", "_compact_forms", "_beginnings", "_shortest_form"):
        monkeypatch.setattr(secrets, name, getattr(secrets, name))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections that leave the machine: they are a fault of the test or of the code."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def hang_ups() -> Iterator[None]:
    """Let programs that a test starts end with their terminal, even when the tests run under nohup: an ignored
    signal is inherited by a started program, a Python handler is not.
    """
    if not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, lambda number, frame: None)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    """An empty folder of a person, such as a workspace."""
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def clock() -> ManualClock:
    """Time that only the test moves."""
    return ManualClock()
