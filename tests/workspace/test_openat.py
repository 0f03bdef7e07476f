"""Opening a folder below another: the system call and the walk accept the same paths, and refuse others with the
same error.
"""

# survives: beneath.py _has_openat2: `return False` → `pass`
#   No test can take the top folder away.
# equivalent: beneath.py _has_openat2: `return False` → `pass` (2)
#   The function ends there, with nothing, which is as false.
from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from atelier_desk.workspace import openat


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, target in (
        ("in", "a"),
        ("up", "a/b/../.."),
        ("out", ".."),
        ("whole", str(tmp_path / "a")),
        ("one", "two"),
        ("two", "one"),
    ):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "a" / "deep").symlink_to("b")
    (tmp_path / "l0").symlink_to("a")
    for number in range(1, openat.LINKS + 1):
        (tmp_path / f"l{number}").symlink_to(f"l{number - 1}")
    openat._libc.cache_clear()
    openat._has_openat2.cache_clear()
    found = os.open(tmp_path, os.O_RDONLY)
    yield found
    os.close(found)
    openat._has_openat2.cache_clear()


@pytest.mark.parametrize("walk", [False, True], ids=["openat2", "walk"])
@pytest.mark.parametrize(("path", "leads"), [
    ("", ""), ("a/b", "a/b"), ("a/./b/..", "a"), ("in/b", "a/b"), ("a/deep", "a/b"), ("up/a", "a"),
    (f"l{openat.LINKS - 1}", "a"),
    ("..", errno.EXDEV), ("out/x", errno.EXDEV), ("a/../..", errno.EXDEV), ("whole", errno.EXDEV), ("one", errno.ELOOP),
    (f"l{openat.LINKS}", errno.ELOOP), ("gone", errno.ENOENT),
])  # fmt: skip
def test_the_target_of_a_path(root: int, tmp_path: Path, path: str, leads: str | int, walk: bool) -> None:
    if isinstance(leads, int):
        with pytest.raises(OSError, match=r".") as refused:
            openat.open_folder(root, path, walk=walk)
        assert refused.value.errno == leads
        return
    found = openat.open_folder(root, path, walk=walk)
    try:
        assert os.path.samestat(os.fstat(found), (tmp_path / leads).stat())
    finally:
        os.close(found)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such call")
def test_the_system_call_is_used_where_it_works_and_the_walk_elsewhere(
    root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_given: object) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    with monkeypatch.context() as patch:
        patch.setattr(openat, "_walked", refused)
        os.close(openat.open_folder(root, "a"))
    openat._has_openat2.cache_clear()
    monkeypatch.setattr(openat, "_openat2", refused)
    os.close(openat.open_folder(root, "a"))
