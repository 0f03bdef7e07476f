"""The program as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.database_templates import PlaceDatabase
from tests.helpers.forked_workers import ROOT, ForkedWorker

PROGRAM = "tests.cli.scripted_program"


class Process:
    """A command line in its own process; ``events`` are read as they arrive."""

    def __init__(
        self, folder: Path, *argv: str, steps: list[Any] | None = None, gate: bool = False, **env: str
    ) -> None:
        environ = {
            **os.environ,
            "ATELIER_DATA_DIR": str(folder),
            "TEST_STEPS": json.dumps(steps or []),
            "PYTHONPATH": str(ROOT),
            **env,
        }
        if gate:
            environ["TEST_GATE"] = "1"
        self.process = ForkedWorker(
            [sys.executable, "-m", PROGRAM, *argv],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
            cwd=folder.parent,
        )  # fmt: skip
        self.lines: list[str] = []
        self.errors = ""
        self.warned = threading.Event()
        self._watch = threading.Timer(60, self.process.kill)
        self._watch.start()
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line
            if "Ctrl-C" in line:
                self.warned.set()

    def until(self, kind: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            event = json.loads(line)
            if event["chunk_type"] == kind:
                return dict(event)
        raise AssertionError(f"the stream ended without {kind}: {self.lines} {self.errors}")

    def end(self) -> int:
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        status = self.process.wait(60)
        self._reader.join(60)
        self._watch.cancel()
        return status

    @property
    def out(self) -> str:
        return "".join(self.lines)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, place_database: PlaceDatabase) -> Path:
    """A data folder with an empty database."""
    folder = tmp_path_factory.mktemp("p") / "data"
    place_database(folder / "database")
    return folder


def finished(folder: Path, *argv: str, **options: Any) -> Process:
    process = Process(folder, *argv, **options)
    process.status = process.end()  # type: ignore[attr-defined]
    return process
