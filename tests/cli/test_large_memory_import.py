"""Memories in files: an export can be imported again, however many there are."""

from __future__ import annotations

import json
from pathlib import Path

from atelier_desk.domain import limits
from tests.cli.conftest import Cli


def exported(count: int) -> str:
    """Memories as a file longer than any workflow or agent file; 50 000 of a hundred words are 30 MB."""
    memories = [{"type": "knowledge", "content": f"heron {number}", "id": f"{number:032x}"} for number in range(count)]
    text = json.dumps({"format": "atelier-memories", "version": 1, "memories": memories})
    return text + "\n" * (limits.IMPORT_FILE + 1 - len(text))


def test_an_export_longer_than_other_files_can_be_imported(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_text(exported(3))
    done = cli("memory", "import", str(path), "--json")
    assert (done.status, done.json) == (0, {"added": 3, "overwritten": 0, "skipped": 0}), done.err


def test_a_pipe_may_be_as_long_as_a_file(cli: Cli) -> None:
    done = cli("memory", "import", "-", "--json", piped=exported(230))
    assert (done.status, done.json) == (0, {"added": 230, "overwritten": 0, "skipped": 0}), done.err
    assert "100%" in done.err, "how far it is is told, away from what is piped on"
