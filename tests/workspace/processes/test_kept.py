"""What git runs is as it was after a command, whatever the command did."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atelier_desk.workspace.processes.kept import Kept


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / ".git/hooks").mkdir(parents=True)
    (made / ".git/config").write_text("[core]\n")
    (made / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    (made / ".git/hooks/pre-commit").chmod(0o755)
    return made


def write_hook(root: Path) -> None:
    (root / ".git/hooks/post-checkout").write_text("evil")


def change_hook(root: Path) -> None:
    (root / ".git/hooks/pre-commit").write_text("evil")


def link_hooks(root: Path) -> None:
    shutil.rmtree(root / ".git/hooks")
    (root.parent / "evil").mkdir()
    (root / ".git/hooks").symlink_to(root.parent / "evil")


def close_hooks(root: Path) -> None:
    write_hook(root)
    (root / ".git/hooks").chmod(0)


def change_settings(root: Path) -> None:
    (root / ".git/config").write_text("[core]\nfsmonitor = evil\n")


def remove_settings(root: Path) -> None:
    (root / ".git/config").unlink()


def pipe_for_settings(root: Path) -> None:
    remove_settings(root)
    os.mkfifo(root / ".git/config")


def module(root: Path) -> None:
    (root / ".gitmodules").write_text("evil")


@pytest.mark.parametrize(
    ("act", "name"),
    [
        (write_hook, ".git/hooks"),
        (change_hook, ".git/hooks"),
        (link_hooks, ".git/hooks"),
        (close_hooks, ".git/hooks"),
        (change_settings, ".git/config"),
        (remove_settings, ".git/config"),
        (pipe_for_settings, ".git/config"),
        (module, ".gitmodules"),
    ],
)
def test_it_is_put_back(root: Path, act: Callable[[Path], None], name: str) -> None:
    kept = Kept(str(root))
    act(root)
    assert kept.put_back() == [name]
    assert sorted(path.name for path in (root / ".git").iterdir()) == ["config", "hooks"]
    assert (root / ".git/config").read_text() == "[core]\n"
    assert [path.name for path in (root / ".git/hooks").iterdir()] == ["pre-commit"]
    assert (root / ".git/hooks/pre-commit").read_text() == "#!/bin/sh\n"
    assert (root / ".git/hooks/pre-commit").stat().st_mode & 0o777 == 0o755
    assert not (root / ".gitmodules").exists()
    if act is link_hooks:
        assert list((root.parent / "evil").iterdir()) == []


def test_what_is_as_it_was_is_left_alone(root: Path) -> None:
    kept = Kept(str(root))
    (root / "new.py").write_text("x")
    (root / ".git/HEAD").write_text("ref")
    assert kept.put_back() == []
    assert Kept(str(root.parent)).put_back() == []


@pytest.mark.parametrize("by", ["link", "folder", "file", "nothing"])
def test_another_repository_in_its_place_is_moved_aside(root: Path, by: str) -> None:
    kept = Kept(str(root))
    (root / ".git").rename(root / "old")
    outside = root.parent / "elsewhere"
    (outside / "hooks").mkdir(parents=True)
    match by:
        case "link":
            (root / ".git").symlink_to(outside)
        case "folder":
            (root / ".git/hooks").mkdir(parents=True)
        case "file":
            (root / ".git").write_text(f"gitdir: {outside}")
    assert kept.put_back() == [".git"]
    assert not os.path.lexists(root / ".git")
    assert os.path.lexists(root / ".git-replaced-1") is (by != "nothing")
    assert list((outside / "hooks").iterdir()) == []


def test_a_pointer_to_a_repository_is_kept_too(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: ../main/.git/worktrees/x\n")
    kept = Kept(str(tmp_path))
    (tmp_path / ".git").write_text("gitdir: evil\n")
    assert kept.put_back() == [".git"]
    assert (tmp_path / ".git").read_text() == "gitdir: ../main/.git/worktrees/x\n"


def test_more_than_can_be_remembered_is_refused(root: Path) -> None:
    with (root / ".git/hooks/huge").open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(OSError, match="8 MB"):
        Kept(str(root))


def nested(root: Path, at: str) -> Path:
    """A repository below the workspace, or one that its ``.git`` keeps for a module."""
    made = root / at
    (made / "hooks").mkdir(parents=True)
    (made / "config").write_text("[core]\n")
    (made / "HEAD").write_text("ref: refs/heads/main\n")
    return made


@pytest.mark.parametrize("at", ["vendor/lib/.git", ".git/modules/lib", ".git/modules/vendor/lib", ".git/modules/lib/modules/inner"])
def test_repositories_below_are_put_back_too(root: Path, at: str) -> None:
    inner = nested(root, at)
    kept = Kept(str(root))
    (inner / "hooks/post-checkout").write_text("evil")
    (inner / "config").write_text("[core]\nfsmonitor = evil\n")
    (inner / "config.worktree").write_text("evil")
    assert sorted(kept.put_back()) == [f"{at}/config", f"{at}/config.worktree", f"{at}/hooks"]
    assert list((inner / "hooks").iterdir()) == []
    assert (inner / "config").read_text() == "[core]\n"
    assert not (inner / "config.worktree").exists()


def test_a_repository_below_that_was_moved_is_put_back_where_it_is_now(root: Path) -> None:
    inner = nested(root, "vendor/lib/.git")
    kept = Kept(str(root))
    (root / "vendor/lib").rename(root / "vendor/new")
    (root / "vendor/new/.git/hooks/pre-commit").write_text("evil")
    (root / "vendor/lib").symlink_to(root.parent)
    assert kept.put_back() == ["vendor/lib/.git/hooks"]
    assert not (root / "vendor/new/.git/hooks/pre-commit").exists()
    assert not inner.exists()


def test_a_repository_below_may_be_made_and_deleted(root: Path) -> None:
    nested(root, "vendor/old/.git")
    nested(root, ".git/modules/old")
    kept = Kept(str(root))
    shutil.rmtree(root / "vendor/old")
    shutil.rmtree(root / ".git/modules/old")
    nested(root, "vendor/new/.git")
    assert kept.put_back() == []
    assert (root / "vendor/new/.git/config").exists()


def test_another_repository_in_the_place_of_one_below_is_moved_aside(root: Path) -> None:
    nested(root, "vendor/lib/.git")
    kept = Kept(str(root))
    (root / "vendor/lib/.git").rename(root / "vendor/lib/aside")
    nested(root, "vendor/lib/.git")
    assert kept.put_back() == ["vendor/lib/.git"]
    assert sorted(path.name for path in (root / "vendor/lib").iterdir()) == [".git-replaced-1", "aside"]


def test_more_repositories_than_can_be_kept_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atelier_desk.workspace.processes.kept.MOST_REPOSITORIES", 2)
    nested(root, "a/.git")
    Kept(str(root))
    nested(root, "b/.git")
    with pytest.raises(OSError, match="more than 2 repositories"):
        Kept(str(root))
