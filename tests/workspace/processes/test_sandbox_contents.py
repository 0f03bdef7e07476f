"""What a sandbox contains: each folder and file that a command reads, writes, cannot change or cannot see.

That the system enforces it is tested in ``test_command_supervisor`` and ``test_landlock_sandbox``, and for macOS in
``test_seatbelt``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.workspace.processes import landlock_sandbox, sandbox_contents, seatbelt
from tests.workspace.processes.seatbelt_profile_evaluation import allows

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/run/current-system", "/proc", "/dev")
"""What every program needs, except ``/etc``, whose parts are named one by one unless closed."""
STREAMS = ("/dev/random", "/dev/urandom", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")
SINKS = ("/dev/null", "/dev/zero", "/dev/full")
REPOSITORY = (".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".gitmodules")
SECRET = (
    "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d/one", "/run/user/1000/bus", "/run/secrets/key",
)  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a home that has a secret, and a workspace with a repository; its temporary folder does not
    exist yet.
    """
    top = Path(os.path.realpath(tmp_path))
    monkeypatch.setenv("HOME", str(top / "home"))
    for name in ("home/.ssh", "home/docs", "work/.git/hooks", "work/src", "plain", "data"):
        (top / name).mkdir(parents=True)
    for name in REPOSITORY[1:]:
        (top / "work" / name).touch()
    mask = os.umask(0)
    yield top
    os.umask(mask)


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock_sandbox, "available", lambda: True)
    monkeypatch.setattr(landlock_sandbox, "abi", lambda: 6)
    monkeypatch.setattr(seatbelt, "available", lambda: False)


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock_sandbox, "available", lambda: False)
    monkeypatch.setattr(seatbelt, "available", lambda: True)


def made(place: Path, name: str = "work", hidden: tuple[Path, ...] = (), **more: Any) -> dict[str, Any]:
    box = sandbox_contents.working([place / name], place / "tmp", hidden, **more)
    assert box is not None
    return box


def reads(box: dict[str, Any], path: Path | str) -> bool:
    """Whether a readable folder contains this path."""
    return any(Path(path).is_relative_to(each) for each in box["read"])


def test_without_a_confining_mechanism_there_is_no_sandbox(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock_sandbox, "available", lambda: False)
    monkeypatch.setattr(seatbelt, "available", lambda: False)
    found = (
        sandbox_contents.available(),
        sandbox_contents.means(),
        sandbox_contents.reading(place / "work"),
        sandbox_contents.working([place / "work"], place / "tmp"),
    )
    assert found == (False, "", None, None)
    assert not (place / "tmp").exists()


@pytest.mark.parametrize(("mac_there", "abi", "named", "held"), [
    (False, 5, "Landlock 5 + seccomp", False), (False, 6, "Landlock 6 + seccomp", True),
    (False, 7, "Landlock 7 + seccomp", True),
    (True, 0, "sandbox-exec", True),
])  # fmt: skip
def test_which_mechanism_confines_and_whether_signals_stay_inside(
    monkeypatch: pytest.MonkeyPatch, mac_there: bool, abi: int, named: str, held: bool
) -> None:
    monkeypatch.setattr(landlock_sandbox, "available", lambda: not mac_there)
    monkeypatch.setattr(landlock_sandbox, "abi", lambda: abi)
    monkeypatch.setattr(seatbelt, "available", lambda: mac_there)
    assert (sandbox_contents.means(), sandbox_contents.holds_signals()) == (named, held)


@pytest.mark.usefixtures("linux")
def test_the_sandbox_of_a_reading_command(place: Path) -> None:
    box = sandbox_contents.reading(place / "work", shown=[str(place / "home"), str(place / "home/.ssh")])
    assert box is not None
    assert {**box, "read": ()} == {"kind": "reading", "read": (), "write": list(SINKS)}
    assert set(SYSTEM) <= set(box["read"])
    assert [reads(box, each) for each in ("/etc/passwd", "/etc/shadow", "/etc/sudoers.d", "/run/user", "/var")] == [
        True,
        *[False] * 4,
    ]
    assert [reads(box, place / each) for each in ("work/src", "home/docs", "home/.ssh", "plain")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.usefixtures("linux")
def test_the_sandbox_of_a_writing_command(place: Path) -> None:
    box = made(place, "plain", (place / "data",))
    assert {**box, "read": ()} == {
        "kind": "workspace", "works": True, "network": False,
        "roots": [str(place / "plain")], "held": "", "changes_repositories": False,
        "read": (), "write": [str(place / "plain"), str(place / "tmp"), str(place / "tmp/shm"), *SINKS],
        "keep": [], "pinned": [], "shared": str(place / "tmp/shm"),
    }  # fmt: skip
    assert [reads(box, place / each) for each in ("plain", "home/docs", "home/.ssh", "data")] == [
        True,
        True,
        False,
        False,
    ]
    assert [each for each in box["read"] if each.startswith("/dev")] == list(STREAMS)
    assert stat.S_IMODE((place / "tmp/shm").stat().st_mode) == 0o700
    made(place, "plain")  # the folder exists already
    online = made(place, "plain", network=True, held=place / "held")
    assert (online["kind"], online["network"], online["held"]) == ("network", True, str(place / "held"))


@pytest.mark.usefixtures("linux")
def test_which_parts_of_a_repository_cannot_be_changed_or_replaced(place: Path) -> None:
    root = place / "work"
    box = made(place)
    assert (box["keep"], box["pinned"]) == ([str(root / name) for name in REPOSITORY], [str(root / ".git")])
    changing = made(place, changes_repositories=True)
    assert (changing["keep"], changing["pinned"]) == ([str(root / ".git/hooks")], [])
    assert changing["changes_repositories"] is True
    more = made(place, read_only=[root / "src", root / ".gitmodules", root / "gone"], pinned=[root / "src"])
    assert more["keep"] == [*(str(root / name) for name in REPOSITORY), str(root / "src")]
    assert more["pinned"] == [str(root / ".git"), str(root / "src")]


@pytest.mark.usefixtures("linux")
@pytest.mark.parametrize(("kind", "changes", "keep"), [
    ("file", False, [".git"]), ("file", True, []), ("link to a file", False, []), ("link to a folder", False, []),
])  # fmt: skip
def test_a_file_that_points_to_a_repository_cannot_be_changed(
    place: Path, kind: str, changes: bool, keep: list[str]
) -> None:
    top = place / "plain/.git"
    (place / "plain/real").touch()
    makes: dict[str, Callable[[], None]] = {
        "file": top.touch,
        "link to a file": lambda: top.symlink_to("real"),
        "link to a folder": lambda: top.symlink_to("../home"),
    }
    makes[kind]()
    box = made(place, "plain", changes_repositories=changes)
    assert (box["keep"], box["pinned"]) == ([str(place / "plain" / name) for name in keep], [])


@pytest.mark.usefixtures("linux")
def test_masked_paths_are_replaced_by_empty_read_only_ones(place: Path) -> None:
    wanted = sorted(str(place / "work" / name) for name in (".env", "src"))
    masked = [Path(each) for each in reversed(wanted)]
    for box in (made(place, masked=masked), sandbox_contents.reading(place / "work", masked=masked)):
        assert box is not None
        assert box["masked"] == wanted
        file, folder = Path(box["empty_file"]), Path(box["empty_folder"])
        assert (file.read_bytes(), list(folder.iterdir())) == (b"", [])
        assert file.parent == folder.parent
        assert not box["write"] or not any(file.is_relative_to(each) for each in box["write"])
        modes = [stat.S_IMODE(each.stat().st_mode) for each in (file, folder, file.parent)]
        assert (modes[0] & 0o222, modes[1:]) == (0, [0o555, 0o711])
        assert file.parent.name.startswith("atelier-commands-")
    assert not reads(made(place, masked=masked), file)
    only_reads = sandbox_contents.reading(place / "work", masked=masked)
    assert only_reads is not None
    assert only_reads["shared"] == str(folder)


@pytest.mark.usefixtures("linux")
def test_paths_that_are_visible_and_paths_that_are_only_readable(place: Path) -> None:
    shown = [place / "home/.ssh/skills", place / "work/src"]
    box = made(place, shown=shown)
    assert box["read"][-1] == str(shown[0])  # the other one is in the workspace, where a link could replace it
    hidden = made(place, hidden=(place / "work/src",), shown=shown)
    assert hidden["read"][-2:] == [str(each) for each in shown]
    alone = made(place, "plain", only=[place / "work", place / "home"])
    assert set(SYSTEM) - {"/dev"} <= set(alone["read"])
    assert [reads(alone, place / each) for each in ("plain", "work", "home/docs", "home/.ssh", "data")] == [
        True,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.usefixtures("linux")
def test_closed_paths_in_a_workspace_stay_closed(place: Path) -> None:
    (place / "work/data").mkdir()
    (place / "work/link").symlink_to("src")
    (place / "work/database").touch()
    box = made(place, hidden=(place / "work/data",))
    written = {each for each in box["write"] if each.startswith(str(place / "work"))}
    assert written == {str(place / "work" / name) for name in (".git", ".gitmodules", "database", "src")}
    assert made(place, hidden=(place / "work",))["write"] == [str(place / "tmp"), str(place / "tmp/shm"), *SINKS]
    assert made(place, hidden=(place,))["write"] == [str(place / "tmp"), str(place / "tmp/shm"), *SINKS]


@pytest.mark.parametrize(("path", "closed", "left"), [
    ("/w", set(), ["/w"]), ("/w", {"/w"}, []), ("/w", {"/"}, []), ("/w/a", {"/w"}, []),
    ("/w", {"/wide", "/w a"}, ["/w"]),
    ("/w", {"/w/gone"}, ["/w"]), ("/w", {"/dev"}, ["/w"]), ("/nowhere/at/all", {"/nowhere/at"}, []),
])  # fmt: skip
def test_the_readable_rest_of_a_folder_with_closed_paths(path: str, closed: set[str], left: list[str]) -> None:
    assert sandbox_contents._without(path, closed) == left


def test_an_unlistable_folder_with_closed_paths_is_not_readable(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(path: str) -> list[str]:
        raise PermissionError(path)

    monkeypatch.setattr(os, "listdir", refuses)
    assert sandbox_contents._without(str(place / "home"), {str(place / "home/.ssh")}) == []


@pytest.mark.parametrize(
    ("root", "dev_closed"), [("/dev/shm/work", False), ("/dev/shmwork", True), ("/home/work", True)]
)
def test_a_workspace_in_shared_memory_is_not_a_device(root: str, dev_closed: bool) -> None:
    assert ("/dev" in sandbox_contents._closed_in(root, {"/dev", "/run/user"})) is dev_closed


@pytest.mark.usefixtures("mac")
def test_the_sandbox_of_a_command_on_macos(place: Path) -> None:
    root = place / "work"
    box = made(place, hidden=(place / "data",), masked=[root / "src"], shown=[place / "home/.ssh/skills"])
    assert set(box) == {"kind", "roots", "held", "changes_repositories", "profile"}
    text = box["profile"]
    for path in SECRET:
        assert not allows(text, "file-read-data", path), path
    expected = {
        root / "a": (True, True), root / "src/a": (False, False), root / ".git/config.worktree": (True, False),
        place / "home/docs": (True, False), place / "home/.ssh/id": (False, False),
        place / "home/.ssh/skills/a": (True, False),
        place / "data/db": (False, False), place / "tmp/a": (True, True), Path("/dev/null"): (True, True),
        Path("/dev/zero"): (True, True),
        Path("/dev/tty"): (True, False),
    }  # fmt: skip
    found = {
        path: (allows(text, "file-read-data", str(path)), allows(text, "file-write-data", str(path)))
        for path in expected
    }
    assert found == expected
    assert ("network" in text, "network*" in made(place, network=True)["profile"]) == (False, True)
    alone = made(place, "plain", only=[place / "home"])["profile"]
    assert [allows(alone, "file-read-data", str(place / each)) for each in ("home/docs", "work/a")] == [True, False]
    reading = sandbox_contents.reading(root, masked=[root / "src"])
    assert reading is not None
    assert set(reading) == {"kind", "profile"}
    assert reading["kind"] == "reading"
    wanted = {"/dev/null": True, "/dev/zero": True, str(root / "a"): False}
    assert {path: allows(reading["profile"], "file-write-data", path) for path in wanted} == wanted
    assert [allows(reading["profile"], "file-read-data", str(root / each)) for each in ("a", "src/a")] == [True, False]
