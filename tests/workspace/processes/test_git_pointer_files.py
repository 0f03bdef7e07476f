"""Pointer files of a repository are interpreted as git does, and never block."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from atelier_desk.domain.denied_paths import DeniedPattern
from atelier_desk.workspace import denied_file_search, repository_inspection
from atelier_desk.workspace.commands import git_denied_paths
from atelier_desk.workspace.processes import git_pointer_files
from tests.helpers.git_repositories import commit, git

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.skipif(os.name == "nt", reason="its names cannot be those of files"),
]
POINTERS = (
    "gitdir: R", "gitdir: R\n", "gitdir: R\r\n\n", "gitdir: R\0/x", "gitdir:R", "gitdir:  R", " gitdir: R", "GITDIR: R",
    "gitdir: R\nx", "",
    "gitdir: R ",
)  # fmt: skip
NAMES = ("plain", "a\nb", "end ", "é", "a b")
ALTERNATES = (
    "O", "O\n", "#x\nO", '"O"', '"\\117"', '"O"x', '"x"yO', '"O', "\x0bO", "x\u2028O", 'x\n"O"\n', "O\r\n", "\nO",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_where_a_pointer_leads(tmp_path: Path, name: str) -> None:
    commit(tmp_path / "of")
    shutil.move(tmp_path / "of/.git", tmp_path / name)
    work = tmp_path / "work"
    work.mkdir()
    for text in POINTERS:
        (work / ".git").write_bytes(text.replace("R", f"../{name}").encode())
        said = git("rev-parse", "--absolute-git-dir", cwd=work, check=False).removesuffix("\n")
        led = git_pointer_files.led_to(f"{work}/.git")
        assert (led if led and Path(led).is_dir() else "") == said, text


@pytest.mark.parametrize("entry", ALTERNATES)
def test_alternates_of_a_repository(tmp_path: Path, entry: str) -> None:
    lender = tmp_path / "lender"
    commit(lender)
    head = git("rev-parse", "HEAD", cwd=lender).strip()
    objects = tmp_path / "work/.git/objects"
    git("init", "-q", str(tmp_path / "work"), cwd=tmp_path)
    shutil.move(lender / ".git/objects", objects / "O")
    (objects / "info").mkdir(exist_ok=True)
    (objects / "info/alternates").write_bytes(entry.encode())
    borrows = git("cat-file", "-t", head, cwd=tmp_path / "work", check=False).strip() == "commit"
    assert (str(objects / "O") in git_pointer_files.alternates(str(objects))) is borrows


def test_a_pipe_instead_of_a_pointer_file_does_not_block(tmp_path: Path) -> None:
    commit(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git/objects/info").mkdir(exist_ok=True)
    for name in ("sub/.git", ".git/commondir", ".git/objects/info/alternates"):
        os.mkfifo(tmp_path / name)
    ban = DeniedPattern(
        "read_file(.env)", ".env", "workspace", reads=True, writes=False, matches=lambda path: path == ".env"
    )
    assert denied_file_search.find([ban], [str(tmp_path)], "/nowhere").repositories == (f"{tmp_path}/.git",)
    assert git_denied_paths.objects(f"{tmp_path}/.git") == (f"{tmp_path}/.git/objects",)
    (tmp_path / ".git/commondir").unlink()
    (tmp_path / ".git/objects/info/alternates").unlink()
    program = shutil.which("git")
    assert program is not None
    assert repository_inspection.inspect(program, tmp_path / "sub", [tmp_path]).unknown == ()
