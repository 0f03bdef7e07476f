"""Child processes find this package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from atelier_desk.support.worker import environment


@pytest.mark.parametrize("inherited", [None, "/somewhere"])
def test_the_child_finds_this_package_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inherited: str | None
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if inherited:
        monkeypatch.setenv("PYTHONPATH", inherited)
    code = (
        "import atelier_desk, pathlib, sys; print(pathlib.Path(atelier_desk.__file__).parent); print('/somewhere' in "
        "sys.path)"
    )
    found = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env=environment.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    where, flag = found.stdout.split()
    assert Path(where) == Path(__file__).parents[3] / "app" / "atelier_desk"
    assert flag == str(inherited is not None)


def test_processes_that_read_untrusted_data_get_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "HTTPS_PROXY", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "kept to oneself")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    variables = environment.reader_environment()
    assert "kept to oneself" not in variables.values()
    assert {"PATH", "LC_ALL", "PYTHONPATH"} <= set(variables)
