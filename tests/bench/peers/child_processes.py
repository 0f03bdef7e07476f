"""Processes that the comparisons with other frameworks start and send work to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PEERS = ROOT / ".venv-peers" / "bin" / "python"


class Ended(SystemExit):
    """A process ended before it answered."""


class Child:
    """A process that answers each line on its input with a line of JSON."""

    def __init__(self, python: Path, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        self._process = subprocess.Popen(
            [str(python), "-m", *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """The next line it prints. Raises ``Ended`` when there is none."""
        assert self._process.stdout is not None
        found = self._process.stdout.readline()
        if not found:
            raise Ended(f"a process of the bench ended early ({self._process.wait()})")
        return found

    def send(self, **order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def order(self, **order: Any) -> dict[str, Any]:
        self.send(**order)
        answer: dict[str, Any] = json.loads(self.line())
        return answer

    def check(self) -> None:
        """Raise ``Ended`` if the process has ended."""
        if self._process.poll() is not None:
            raise Ended(f"a process of the bench ended early ({self._process.returncode})")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        assert self._process.stdin is not None
        if self._process.poll() is None:
            self._process.stdin.close()
        self._process.wait()


@contextmanager
def scripted_server() -> Iterator[str]:
    """The scripted server in its own process; yields its address."""
    server = Child(Path(sys.executable), "tests.bench.peers.scripted_server")
    try:
        yield f"http://127.0.0.1:{int(server.line())}/v1"
    finally:
        server.close()
