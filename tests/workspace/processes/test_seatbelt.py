"""The macOS sandbox as text: what a profile allows, and that it is used where it works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.workspace.processes import sandbox_contents, seatbelt
from atelier_desk.workspace.processes.seatbelt import profile
from tests.workspace.processes.seatbelt_profile_evaluation import allows, rules


def test_what_a_command_may_do() -> None:
    text = profile(["/"], ["/w"], keep=["/w/.git/hooks"], closed=["/h/.ssh", "/data"], own=["/data/tmp"])
    assert rules(text)[:2] == [["version", "1"], ["deny", "default"]]
    for path, read, write in (
        ("/w/a", True, True),
        ("/w/.git/hooks/pre-commit", True, False),
        ("/w/.git/hooks", True, False),
        ("/wide/a", True, False),
        ("/h/.ssh/id", False, False),
        ("/h/x", True, False),
        ("/data/db", False, False),
        ("/data/tmp/x", True, True),
    ):
        assert (allows(text, "file-read-data", path), allows(text, "file-write-data", path)) == (read, write), path
    assert "network" not in text
    assert ["allow", "network*"] in rules(profile(["/"], [], network=True))


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).map(
            lambda name: f"/{name}"
        )
    )
)
def test_a_name_cannot_inject_a_rule(paths: list[str]) -> None:
    plain = rules(profile(["/r"], ["/w"]))
    named = rules(profile(["/r"], ["/w"], closed=paths))
    assert [rule for rule in named if rule not in plain] == (
        [
            [
                "deny",
                "file-read*",
                "file-write*",
                *(word for path in dict.fromkeys(paths) for word in ("subpath", seatbelt._quoted(path))),
            ]
        ]
        if paths
        else []
    )


def test_it_is_used_where_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seatbelt, "available", lambda: True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (root := tmp_path / "work").mkdir()
    (root / ".git").mkdir()
    (root / ".git/config").touch()
    home = tmp_path / "home"
    shown = [Path(os.path.realpath(each)) for each in (home / ".claude/skills/notes", root / "skills/mine")]
    box = sandbox_contents.working([root], tmp_path / "data/tmp", [tmp_path / "data"], shown=shown)
    assert box is not None
    assert (box["kind"], box["roots"]) == ("workspace", [os.path.realpath(root)])
    real = os.path.realpath(tmp_path)
    can = {
        name: (
            allows(box["profile"], "file-read-data", f"{real}/{name}"),
            allows(box["profile"], "file-write-data", f"{real}/{name}"),
        )
        for name in (
            "work/a",
            "work/.git/config",
            "home/.ssh/id",
            "home/x",
            "home/.claude/settings",
            "home/.claude/skills/notes/a",
            "data/db",
            "data/tmp/x",
        )
    }
    assert can == {
        "work/a": (True, True),
        "work/.git/config": (True, False),
        "home/.ssh/id": (False, False),
        "home/x": (True, False),
        "home/.claude/settings": (False, False),
        "home/.claude/skills/notes/a": (True, False),
        "data/db": (False, False),
        "data/tmp/x": (True, True),
    }
    reads = sandbox_contents.reading(root)
    assert reads is not None
    assert not allows(reads["profile"], "file-write-data", f"{real}/work/a")
    assert not allows(reads["profile"], "file-read-data", f"{real}/home/x")
    assert allows(reads["profile"], "file-read-data", f"{real}/work/a")


@pytest.mark.parametrize(("writes", "works"), [((True, False), True), ((True, True), False), ((False, False), False)])
def test_it_is_tested_before_anything_relies_on_it(
    monkeypatch: pytest.MonkeyPatch, writes: tuple[bool, bool], works: bool
) -> None:
    tried: list[tuple[str, ...]] = []

    def run(words: tuple[str, ...], **_more: object) -> subprocess.CompletedProcess[bytes]:
        tried.append(words)
        return subprocess.CompletedProcess(words, 0 if writes[len(tried) - 1] else 1)

    monkeypatch.setattr(seatbelt, "sys", type("Mac", (), {"platform": "darwin"}))
    monkeypatch.setattr(seatbelt, "PROGRAM", sys.executable)
    monkeypatch.setattr(subprocess, "run", run)
    seatbelt.available.cache_clear()
    try:
        assert seatbelt.available() is works
    finally:
        seatbelt.available.cache_clear()
    assert [words[:2] for words in tried] == [(sys.executable, "-p")] * 2
