"""Secret locations in the home folder: none of them can be read in the sandbox."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from atelier_desk.workspace.processes import sandbox_contents
from atelier_desk.workspace.processes.secret_locations import SECRETS
from tests.workspace.processes.run_launcher import launch

NAMED = {
    "snap/firefox", ".var/app", ".config/containers", ".local/share/fish/fish_history", ".local/share/atuin",
    ".config/helm", ".ssh",
    ".gnupg", ".aws", ".netrc", ".mozilla", ".config/google-chrome", ".config/atelier", ".local/share/atelier",
    ".bash_history",
}  # fmt: skip


def test_names() -> None:
    assert set(SECRETS) >= NAMED
    assert len(SECRETS) == len(set(SECRETS))
    assert not [name for name in SECRETS if name.startswith("/") or ".." in name.split("/")]


@pytest.mark.skipif(not sandbox_contents.available() or sys.platform != "linux", reason="this system has no Landlock")
def test_none_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, root = tmp_path / "home", tmp_path / "work"
    root.mkdir()
    folders = {name for name in SECRETS for other in SECRETS if other.startswith(name + "/")}
    for number, name in enumerate(SECRETS):
        place = home / name / "inner" if number % 2 or name in folders else home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"s3cret of {name}\n")
    (home / ".config/plain").mkdir(parents=True)
    (home / ".config/plain/settings").write_text("settings\n")
    monkeypatch.setenv("HOME", str(home))
    box = sandbox_contents.working([root], tmp_path / "tmp")
    ran = launch(
        ("/bin/bash", "-c", f"cat {home}/.config/plain/settings; grep -rs s3cret {home}; exit 0"), root, box=box
    )
    assert (ran.status, ran.output) == (0, "settings\n")
