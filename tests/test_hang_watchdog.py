"""A test that never ends does not block the suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STUCK = """
import threading, pytest
from tests.helpers import hang_watchdog
hang_watchdog.GRACE_S = 0.5

@pytest.fixture
def never_ends():
    yield
    while True:
        try:
            threading.Event().wait()
        except BaseException:
            pass

def test_it(never_ends):
    {body}
"""


@pytest.mark.parametrize("body", ["assert False", "threading.Event().wait()"])
def test_a_hanging_test_is_ended(tmp_path: Path, body: str) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_stuck.py").write_text(STUCK.format(body=body))
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.helpers.hang_watchdog", "--timeout", "0.5", "--rootdir", tmp_path,
        tmp_path],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "Timeout (0:00:0" in ended.stderr, "the stacks of all threads, wherever it was by then on a busy machine"
