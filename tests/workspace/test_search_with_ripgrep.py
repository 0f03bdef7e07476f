"""Searching with and without ``rg``: the results are the same, because ``rg`` only preselects files."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from atelier_desk.workspace import ripgrep
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.ripgrep import PLAIN
from atelier_desk.workspace.search import Results, search

PATTERNS = (
    *(
        "needle",
        r"need\w+ = \d",
        "^x",
        "y$",
        r"\bend\b",
        "a.c",
        "[^,]+,",
        "(one|two)",
        "n{2,3}",
        "é",
        "NEEDLE",
        "[]x]q",
        r"caf.",
        r"\s\S",
    ),
    *(r"foo(?!\s*bar)", r"(?<=a)b", r"a\s+$", r"x\s*+$", r"\Aneedle", "[[:alpha:]]+z", r"\.py", "a{", "", "|x"),
)


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    files: dict[str, bytes] = {
        "a.py": b"needle = 1\nx, y\nabc a.py\n",
        "crlf.txt": b"needle = 2\r\nx  \r\nend\r\nfoo\r\nbar\r\n",
        "mac.txt": b"one\rxtwo\ry",
        "win.txt": "café needles = 3\n".encode("cp1252"),
        "utf16.txt": "needle = 4\né\n".encode("utf-16"),
        "bin.dat": b"needle\0needle\n",
        "late.dat": b"x" * 9000 + b"\nneedle = 5\n\0",
        "foo.txt": b"foo\n  bar\nab  \nnnn ]q\n",
        "deep/er/b.txt": b"needle = 6\none,two\n",
        "line\nend.txt": b"needle = 7\n",
        "\xf0\x9f\x98\x80.txt".encode("latin-1").decode(): b"needle = 8\n",
        ".hidden": b"needle = 9\n",
        ".gitignore": b"left/\n*.log\n!keep.log\n",
        "left/c.txt": b"needle = 10\n",
        "d.log": b"needle = 11\n",
        "keep.log": b"needle = 12\n",
        "deep/.ignore": b"gone.txt\n",
        "deep/gone.txt": b"needle = 13\n",
        "empty": b"",
    }
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "outside.txt").write_text("needle = 14\n")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    return folder


def lines(found: Results) -> list[tuple[str, int, str]]:
    return [(hit.path, hit.line, hit.text) for hit in found.hits]


def own(ws: Path, pattern: str, monkeypatch: pytest.MonkeyPatch, **options: object) -> Results:
    with monkeypatch.context() as patch:
        patch.setattr(ripgrep, "program", lambda _folder: None)
        return search(ConfinedRoot(ws), pattern, most=1000, **options)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("rg") is None, reason="there is no rg on this machine")
def test_a_real_rg_changes_nothing(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pattern in PATTERNS:
        for options in ({}, {"ignore_case": True}, {"start": "deep"}, {"glob": "*.txt"}):
            with_rg = search(ConfinedRoot(ws), pattern, most=1000, **options)
            without = own(ws, pattern, monkeypatch, **options)
            assert (lines(with_rg), with_rg.searched >= without.searched) == (lines(without), True), (pattern, options)


def test_searching_complete_files_gives_the_same(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pattern in PATTERNS:
        quick = lines(own(ws, pattern, monkeypatch))
        with monkeypatch.context() as patch:
            patch.setattr("atelier_desk.workspace.search._FirstLook.may_hold", lambda *_: True)
            assert lines(own(ws, pattern, monkeypatch)) == quick, pattern
    assert [path for path, _line, _text in lines(own(ws, "needle", monkeypatch))].count("late.dat") == 1


def rg(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name, first in the search path."""
    folder.mkdir(exist_ok=True)
    made = folder / "rg"
    made.write_text(f"#!/bin/sh\n{script}\n")
    made.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return made


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
def test_rg_only_preselects_files(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = lines(own(ws, "needle", monkeypatch))
    bin = tmp_path / "bin"
    rg(bin, r"printf './a.py\0./../outside.txt\0./link.txt\0./.hidden\0'", monkeypatch)
    assert {path for path, _line, _text in lines(search(ConfinedRoot(ws), "needle"))} == {"a.py"}
    assert len(lines(search(ConfinedRoot(ws), r"needle(?= =)"))) > 1, "that pattern is not given to it"
    for broken in ("exit 2", "kill -9 $$", f"printf './a.py\\0'; echo >{tmp_path}/ran; exit 3"):
        rg(bin, broken, monkeypatch)
        assert lines(search(ConfinedRoot(ws), "needle", most=1000)) == everything
    rg(bin, "exec sleep 60", monkeypatch)
    began = time.monotonic()
    search(ConfinedRoot(ws), "needle", most=1000, seconds=0.3)
    assert time.monotonic() - began < 30, "it is not waited for"


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
def test_a_program_in_the_workspace_is_never_run(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rg(ws / "bin", f"echo >{tmp_path}/ran", monkeypatch)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "rg").symlink_to(ws / "bin" / "rg")
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", str(tmp_path / "elsewhere"), str(ws / "bin"))))
    monkeypatch.chdir(ws / "bin")
    assert lines(search(ConfinedRoot(ws), "needle"))
    assert not (tmp_path / "ran").exists()


def test_which_patterns_mean_the_same_to_both() -> None:
    same = ("needle", r"a\.b\w+", "^x$", "[a-z]+", "(?:a|b){2,3}", r"[^\]x]")
    other = (
        r"(a)\1",
        "(?i)a",
        "a(?!b)",
        "a++",
        "a*+",
        r"\Aa",
        "[[:alpha:]]",
        "[a&&b]",
        "{x}",
        r"\p{L}",
        "a{2}+",
        r"a\nb",
        "a\nb",
        "",
    )
    assert [pattern for pattern in (*same, *other) if PLAIN.fullmatch(pattern)] == list(same)
