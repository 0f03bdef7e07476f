"""Memories in files: what is exported comes back, however many there are."""

from __future__ import annotations

import json
from pathlib import Path

from atelier_desk.domain import limits
from tests.cli.conftest import Cli


def test_an_export_that_is_longer_than_other_files_comes_back(cli: Cli, tmp_path: Path) -> None:
    """50 000 memories of a hundred words are 30 MB; a workflow or an agent is never that long."""
    long = [{"type": "knowledge", "content": f"{number} " + "heron " * 8_000} for number in range(250)]
    memories = [{**each, "id": f"{number:032x}"} for number, each in enumerate(long)]
    path = tmp_path / "memories.json"
    path.write_text(json.dumps({"format": "atelier-memories", "version": 1, "memories": memories}))
    assert path.stat().st_size > limits.IMPORT_FILE
    done = cli("memory", "import", str(path), "--json")
    assert (done.status, done.json) == (0, {"added": 250, "overwritten": 0, "skipped": 0}), done.err


def test_a_pipe_brings_as_much_as_a_file(cli: Cli) -> None:
    long = [{"type": "knowledge", "content": f"{number} " + "heron " * 8_000, "id": f"{number:032x}"} for number in range(230)]
    text = json.dumps({"format": "atelier-memories", "version": 1, "memories": long})
    assert len(text) > limits.IMPORT_FILE
    done = cli("memory", "import", "-", "--json", piped=text)
    assert (done.status, done.json) == (0, {"added": 230, "overwritten": 0, "skipped": 0}), done.err
    assert "100 %" in done.err, "how far it is is told, away from what is piped on"
