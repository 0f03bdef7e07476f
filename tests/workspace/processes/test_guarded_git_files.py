"""Files that git executes are unchanged after a command, whatever the command did."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from atelier_desk.workspace.processes import guarded_git_files, held_git_files, link_safe_file_trees, repository_scan
from atelier_desk.workspace.processes.guarded_git_files import GuardedFiles


@pytest.fixture
def held(tmp_path: Path) -> Path:
    return tmp_path / "data/held"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / ".git/hooks").mkdir(parents=True)
    (made / ".git/config").write_text("[core]\n")
    (made / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    (made / ".git/hooks/pre-commit").chmod(0o755)
    (made / ".git/HEAD").write_text("ref: refs/heads/main\n")
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
def test_each_change_is_reverted(root: Path, act: Callable[[Path], None], name: str) -> None:
    guard = GuardedFiles([str(root)], str(root.parent / "held"))
    act(root)
    assert guard.restore()["put_back"] == [name]
    assert sorted(path.name for path in (root / ".git").iterdir()) == ["HEAD", "config", "hooks"]
    assert (root / ".git/config").read_text() == "[core]\n"
    assert [path.name for path in (root / ".git/hooks").iterdir()] == ["pre-commit"]
    assert (root / ".git/hooks/pre-commit").read_text() == "#!/bin/sh\n"
    assert (root / ".git/hooks/pre-commit").stat().st_mode & 0o777 == 0o755
    assert not (root / ".gitmodules").exists()
    if act is link_hooks:
        assert list((root.parent / "evil").iterdir()) == []


def test_unchanged_files_are_left_alone(root: Path) -> None:
    guard = GuardedFiles([str(root)], str(root.parent / "held"))
    (root / "new.py").write_text("x")
    (root / ".git/HEAD").write_text("ref: refs/heads/other")
    assert guard.restore()["put_back"] == []
    assert GuardedFiles([str(root.parent)]).restore()["put_back"] == []


@pytest.mark.parametrize("by", ["link", "folder", "file", "nothing"])
def test_a_renamed_repository_is_moved_back(root: Path, held: Path, by: str) -> None:
    guard = GuardedFiles([str(root)], str(held))
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
    (root / "old/config").write_text("evil")
    said = guard.restore()
    assert said["put_back"] == [".git", ".git/config"]
    assert (said["gone"], said["not_restored"]) == ([], [])
    assert (root / ".git/config").read_text() == "[core]\n"
    assert not (root / "old").exists()
    assert (root / ".git-replaced-1").is_dir() is (by == "folder")
    assert [each["path"] for each in said["held"]] == ([".git"] if by in ("link", "file") else []) + [".git/config"]
    assert list((outside / "hooks").iterdir()) == []


def test_a_deleted_repository_is_reported(root: Path) -> None:
    guard = GuardedFiles([str(root)])
    shutil.rmtree(root / ".git")
    said = guard.restore()
    assert (said["gone"], said["put_back"]) == ([".git"], [])


def test_nothing_is_lost(root: Path, held: Path) -> None:
    guard = GuardedFiles([str(root)], str(held))
    change_settings(root)
    link_hooks(root)
    said = guard.restore()
    found = {each["path"]: Path(each["file"]) for each in said["held"]}
    assert found[".git/config"].read_text() == "[core]\nfsmonitor = evil\n"
    assert found[".git/hooks"].is_symlink()
    assert all(path.is_relative_to(held) for path in found.values())
    record = json.loads((found[".git/config"].parent / "held.json").read_text())
    assert record == {"path": str(root / ".git/config"), "root": str(root), "why": "changed"}


def test_a_file_that_cannot_be_copied_stays_under_another_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = GuardedFiles([str(root)])
    change_settings(root)
    assert [each["file"] for each in guard.restore()["held"]] == [str(root / ".git/config.held-1")]
    assert (root / ".git/config.held-1").read_text() == "[core]\nfsmonitor = evil\n"
    monkeypatch.setattr(held_git_files, "MOST_HELD", 100)
    guard = GuardedFiles([str(root)], str(root.parent / "held"))
    (root / ".git/hooks/huge").write_bytes(b"x" * 101)
    said = guard.restore()
    assert said["put_back"] == [".git/hooks"]
    assert said["held"][0]["file"] == str(root / ".git/hooks.held-1")
    assert (root / ".git/hooks.held-1/huge").stat().st_size == 101


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_failed_restoration_is_reported(root: Path) -> None:
    guard = GuardedFiles([str(root)])
    change_settings(root)
    (root / ".git").chmod(0o500)
    assert guard.restore()["put_back"] == [".git", ".git/config"]


def test_an_error_is_never_reported_as_restored(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: int, name: str, tree: object) -> None:
        raise OSError("disk full")

    guard = GuardedFiles([str(root)])
    change_settings(root)
    monkeypatch.setattr(link_safe_file_trees, "write", refuse)
    said = guard.restore()
    assert said["put_back"] == []
    assert said["not_restored"] == [".git/config (disk full)"]


def test_a_pointer_to_a_repository_is_guarded_too(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: ../main/.git/worktrees/x\n")
    guard = GuardedFiles([str(tmp_path)])
    (tmp_path / ".git").write_text("gitdir: evil\n")
    assert guard.restore()["put_back"] == [".git"]
    assert (tmp_path / ".git").read_text() == "gitdir: ../main/.git/worktrees/x\n"


def test_too_many_files_to_remember_are_refused(root: Path) -> None:
    with (root / ".git/hooks/huge").open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(OSError, match="8 MB"):
        GuardedFiles([str(root)])


def nested(root: Path, at: str) -> Path:
    """A repository below the workspace, or one that its ``.git`` contains for a module."""
    made = root / at
    for name in ("hooks", "objects", "refs"):
        (made / name).mkdir(parents=True)
    (made / "config").write_text("[core]\n")
    (made / "HEAD").write_text("ref: refs/heads/main\n")
    return made


@pytest.mark.parametrize(
    "at", ["vendor/lib/.git", ".git/modules/lib", ".git/modules/vendor/lib", ".git/modules/lib/modules/inner"]
)
def test_nested_repositories_are_restored_too(root: Path, at: str) -> None:
    inner = nested(root, at)
    guard = GuardedFiles([str(root)], str(root.parent / "held"))
    (inner / "hooks/post-checkout").write_text("evil")
    (inner / "config").write_text("[core]\nfsmonitor = evil\n")
    (inner / "config.worktree").write_text("evil")
    assert sorted(guard.restore()["put_back"]) == [f"{at}/config", f"{at}/config.worktree", f"{at}/hooks"]
    assert list((inner / "hooks").iterdir()) == []
    assert (inner / "config").read_text() == "[core]\n"
    assert not (inner / "config.worktree").exists()


def test_a_moved_nested_repository_is_restored_in_its_new_location(root: Path) -> None:
    inner = nested(root, "vendor/lib/.git")
    guard = GuardedFiles([str(root)], str(root.parent / "held"))
    (root / "vendor/lib").rename(root / "vendor/new")
    (root / "vendor/new/.git/hooks/pre-commit").write_text("evil")
    (root / "vendor/lib").symlink_to(root.parent)
    assert guard.restore()["put_back"] == ["vendor/new/.git/hooks"]
    assert not (root / "vendor/new/.git/hooks/pre-commit").exists()
    assert not inner.exists()


def test_folders_deeper_than_git_supports_are_not_inspected(root: Path) -> None:
    guard = GuardedFiles([str(root)], str(root.parent / "held"))
    at = os.open(root, os.O_RDONLY)
    for _ in range(700):
        os.mkdir("x" * 200, dir_fd=at)
        inner = os.open("x" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.mkdir(".git", dir_fd=at)
    os.close(at)
    tracemalloc.start()
    assert guard.restore()["not_restored"] == []
    assert tracemalloc.get_traced_memory()[1] < 35_000_000
    tracemalloc.stop()
    subprocess.run(("rm", "-rf", str(root)), check=True)


def test_a_nested_repository_may_be_created_and_deleted(root: Path) -> None:
    nested(root, "vendor/old/.git")
    nested(root, ".git/modules/old")
    guard = GuardedFiles([str(root)], str(root.parent / "held"))
    shutil.rmtree(root / "vendor/old")
    shutil.rmtree(root / ".git/modules/old")
    nested(root, "vendor/new/.git")
    assert guard.restore()["put_back"] == []
    assert (root / "vendor/new/.git/config").exists()


def test_a_replacement_of_a_nested_repository_is_moved_aside(root: Path) -> None:
    nested(root, "vendor/lib/.git")
    guard = GuardedFiles([str(root)])
    (root / "vendor/lib/.git").rename(root / "vendor/lib/aside")
    nested(root, "vendor/lib/.git")
    assert guard.restore()["put_back"] == ["vendor/lib/.git"]
    assert sorted(path.name for path in (root / "vendor/lib").iterdir()) == [".git", ".git-replaced-1"]


def test_too_many_repositories_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atelier_desk.workspace.processes.guarded_git_files.MOST_REPOSITORIES", 2)
    nested(root, "a/.git")
    GuardedFiles([str(root)])
    nested(root, "b/.git")
    with pytest.raises(OSError, match="more than 2 repositories"):
        GuardedFiles([str(root)])


def test_too_many_files_to_search_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_git_files, "MOST_ENTRIES", 20)
    GuardedFiles([str(root)])
    for number in range(20):
        (root / str(number)).touch()
    with pytest.raises(OSError, match="more than 20 files and folders"):
        GuardedFiles([str(root)])
    (root / "19").unlink()


def test_a_command_cannot_hide_a_change_among_many_files(
    root: Path, held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_git_files, "MOST_ENTRIES", 20)
    guard = GuardedFiles([str(root)], str(held))
    for number in range(30):
        (root / str(number)).touch()
    write_hook(root)
    assert guard.restore()["put_back"] == [".git/hooks"]


def test_endless_changes_end_the_check(root: Path, held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = GuardedFiles([str(root)], str(held))
    for number in range(guarded_git_files.MOST_CHANGES):
        (root / ".git/hooks/update").write_text(str(number))
        assert guard.check(lambda: True)
        assert not (root / ".git/hooks/update").exists()
        (root / ".git/hooks/update").write_text(str(number))
        assert guard.check(lambda: True)
    assert len(guard.report()["held"]) == guarded_git_files.MOST_CHANGES, "the same again is held once"
    (root / ".git/hooks/update").write_text("last")
    assert not guard.check(lambda: True)
    monkeypatch.setattr(guarded_git_files, "MOST_CHANGES", 1_000)
    monkeypatch.setattr(guarded_git_files, "MOST_ENTRIES", 20)
    for number in range(30):
        (root / str(number)).mkdir()
    assert not guard.check(lambda: True)
    assert guard.check(lambda: False), "it stops at once when the command is to be ended"
    (root / ".git/hooks/update").write_text("evil")
    assert guard.restore()["not_restored"] == []
    assert not (root / ".git/hooks/update").exists()


def test_too_many_links_to_remember_are_refused(root: Path, held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository_scan, "MOST_LINKS", 5)
    guard = GuardedFiles([str(root)], str(held))
    for number in range(6):
        (root / str(number)).symlink_to(".git")
    assert guard.restore()["not_restored"] == [". (it has more than 5 links)"]
    with pytest.raises(OSError, match="more than 5 links"):
        GuardedFiles([str(root)], str(held))


def test_a_repository_moved_out_of_its_folder_is_named(root: Path, held: Path) -> None:
    nested(root, "vendor/lib/.git")
    (root / "other").mkdir()
    guard = GuardedFiles([str(root)], str(held))
    (root / "vendor/lib/.git").rename(root / "other/.git")
    assert guard.restore()["gone"] == ["vendor/lib/.git"]


@pytest.mark.parametrize(
    "target", ["vendor", "vendor/later", "vendor/file", "vendor/.git/refs", ".git/modules/lib", ".git/modules"]
)
def test_a_link_into_another_repository_is_held_whatever_its_target(root: Path, held: Path, target: str) -> None:
    inner = nested(root, "vendor/.git")
    for repository in (inner, nested(root, ".git/modules/lib")):
        (repository / "config").write_text("[core]\n\tfsmonitor = x\n")
    (root / "vendor/file").touch()
    (root / "old").symlink_to("vendor")
    guard = GuardedFiles([str(root)], str(held))
    (root / "src").symlink_to(target)
    (root / "vendor/own").symlink_to("file")
    said = guard.restore()
    assert [(each["path"], each["why"]) for each in said["held"]] == [("src", "new")]
    assert (root / "old").is_symlink()
    assert (root / "vendor/own").is_symlink()
    assert not (root / "src").is_symlink()


def test_links_to_the_repository_around_a_granted_folder_stay(root: Path, held: Path) -> None:
    (root / "app").mkdir()
    (root / "lib").mkdir()
    elsewhere = nested(root.parent, "elsewhere/.git").parent
    (elsewhere / ".git/hooks/pre-commit").touch()
    guard = GuardedFiles([str(root / "app")], str(held))
    (root / "app/lib").symlink_to("../lib")
    (root / "app/plain").symlink_to(root.parent)
    assert guard.restore()["held"] == []
    guard = GuardedFiles([str(root / "app")], str(held))
    (root / "app/there").symlink_to(elsewhere)
    assert [each["path"] for each in guard.restore()["held"]] == ["there"]


def test_hook_folders_are_limited(root: Path) -> None:
    (root / ".git/config").write_text("[core]\nhooksPath = tools\n")
    (root / "tools").mkdir()
    with (root / "tools/huge").open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(OSError, match="tools, which git's settings name, is larger than 8 MB"):
        GuardedFiles([str(root)])


def test_a_deeply_nested_folder_is_inspected(root: Path, held: Path) -> None:
    guard = GuardedFiles([str(root)], str(held))
    here = os.open(root, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d" * 20, dir_fd=here)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    for name in ("objects", "refs", "hooks"):
        os.mkdir(name, dir_fd=here)
    for name in ("HEAD", "hooks/update"):
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here))
    said = guard.restore()
    assert [each["path"].rpartition("/")[2] for each in said["held"]] == ["hooks"]
    assert sorted(os.listdir(here)) == ["HEAD", "objects", "refs"]  # noqa: PTH208
    os.close(here)
    subprocess.run(("rm", "-rf", str(root)), check=True)


def test_long_lists_of_names_are_reported_completely(root: Path) -> None:
    for number in range(100):
        nested(root, f"a/{'long-name-' * 8}{number}/.git")
    guard = GuardedFiles([str(root)])
    for number in range(100):
        (root / f"a/{'long-name-' * 8}{number}/.git/hooks/update").touch()
    assert len(guard.restore()["put_back"]) == 100
