"""End the process of a test that does not end.

pytest-timeout raises in the test, which shows best what it waited for. That is not enough when the main
thread is in foreign code, or when the end of the test waits itself (closing the loop for a thread, a fixture
for a process); and after a failed test, pytest-timeout and pytest's ``faulthandler_timeout`` no longer
measure. Then the stacks of all threads are printed and the process ends: a worker is replaced, and the test
counts as crashed.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Generator

import pytest

GRACE_S = 60.0
"""Seconds a test may take to end, with its fixtures, after its timeout."""
_STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STDERR] = os.dup(2)  # output captured later is lost when the process ends


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
    """Also watch what follows a failed test."""
    if isinstance(node, pytest.Item):
        _watch(node)
