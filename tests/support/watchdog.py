"""Ends the process of a test that does not end, whatever it is stuck in.

pytest-timeout raises in the test, which says best what it waited for. That is not enough where the main thread is in foreign code, or where
the end of the test waits in its turn (the loop's close for a thread, a fixture for a process); and after a failed test, pytest-timeout and
pytest's own ``faulthandler_timeout`` measure no more. Then the stacks of all threads are printed and the process ends: of several workers
one is replaced, and the test is told to have crashed.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Generator

import pytest

GRACE_S = 60.0
"""How long a test may take, with its fixtures, to end after its time was over."""
_STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STDERR] = os.dup(2)  # what is captured later is not seen when the process ends


def _watch(item: pytest.Item) -> None:
    marker = item.get_closest_marker("timeout")
    limit = marker.args[0] if marker else item.config.getoption("timeout") or item.config.getini("timeout") or 0
    if float(limit):
        faulthandler.dump_traceback_later(float(limit) + GRACE_S, exit=True, file=item.config.stash[_STDERR])


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _watch(item)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """The test failed, and what comes after it is watched too."""
    if isinstance(node, pytest.Item):
        _watch(node)
