"""The worker processes that read files: a file that crashes its process is reported, the others are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.errors import AtelierError
from atelier_desk.engine.projects import file_reader_client
from atelier_desk.engine.projects.file_reader_client import PROBLEMS, TOO_LONG, Reader

SERVED = """
import os, time
from atelier_desk.support.worker.child import serve

def answer(request, _data, tell):
    for path, _hash in request.get("read", ()):
        if path == "bad":
            {action}
        tell({{"path": path}})

serve(answer)
"""


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ("os._exit(3)", TOO_LONG),
        ("raise ValueError", TOO_LONG),
        ("bytearray(1 << 60)", PROBLEMS["memory"]),
        ("time.sleep(600)", PROBLEMS["timeout"]),
    ],
)
async def test_a_file_that_crashes_its_process_is_reported_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, problem: str
) -> None:
    (tmp_path / "served.py").write_text(SERVED.format(action=action))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(file_reader_client, "MODULE", "served")
    monkeypatch.setattr(file_reader_client, "SILENT_S", 2.0 if "sleep" in action else 60.0)
    reader = Reader(tmp_path, (), "0" * 8)
    try:
        found = [(each["path"], each.get("problem")) async for each in reader.read([("a", ""), ("bad", ""), ("c", "")])]
        assert found == [("a", None), ("bad", (problem, {})), ("c", None)]
    finally:
        await reader.aclose()


async def test_a_process_that_cannot_start_is_not_blamed_on_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader_client, "MODULE", "atelier_desk.no_such_module")
    with pytest.raises(AtelierError, match=r"could not be started: .*no_such_module"):
        _found = [each async for each in Reader(tmp_path, (), "0" * 8).read([("a", "")])]
