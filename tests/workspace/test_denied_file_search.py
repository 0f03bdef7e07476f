"""Which denied files exist, how git is told to exclude them, and what replaces them."""

# judges: app/atelier_desk/policy/permissions/path_denials.py
from __future__ import annotations

import os
from pathlib import Path

import pytest

from atelier_desk.domain.denied_paths import DeniedPattern
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.permissions import path_denials
from atelier_desk.workspace import denied_file_search
from atelier_desk.workspace.commands import git_denied_paths
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.denied_file_search import find
from atelier_desk.workspace.path_restrictions import Denials


def bans(*rules: str) -> tuple[DeniedPattern, ...]:
    return path_denials.bans(PermissionRule(text=rule, action=Action.DENY) for rule in rules)


def names(folder: Path, *rules: str, home: str = "/nobody") -> list[str]:
    found = find(bans(*rules), [str(folder)], home)
    return sorted(os.path.relpath(each.path, folder) for each in found.found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        ".env",
        "a/.ENV",
        "a/b/.env.local",
        "secrets/x/y.txt",
        "config/prod.yml",
        "other/config/prod.yml",
        "k.pem",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("read_file(.env)", [".env", "a/.ENV"]),
        ("search_files(.env*)", [".env", "a/.ENV", "a/b/.env.local"]),
        ("file_ops(secrets/**)", ["secrets"]),
        ("read_file(secrets/)", ["secrets"]),
        ("read_file(./config/prod.yml)", ["config/prod.yml"]),
        ("read_file(/config//prod.yml)", ["config/prod.yml"]),
        ("*(*.pem)", ["k.pem"]),
        ("read_file(a/*)", ["a"]),
        ("list_directory(.env)", []),
        ("read_file(nothing)", []),
    ],
)
def test_denied_files_are_found(folder: Path, rule: str, expected: list[str]) -> None:
    assert names(folder, rule) == expected


def test_a_rule_for_the_disk_or_the_home_folder_is_searched_there(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "notes").mkdir()
    found = find(
        bans("read_file(~/notes/**)", f"read_file(/{home}/notes)", "read_file(~/none)"), [str(folder)], str(home)
    )
    assert {each.real for each in found.found} == {str(home / "notes")}


def test_a_folder_behind_a_link_is_found_under_its_own_name(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    found = find(bans(f"read_file(/{folder.parent}/link/config/*)"), [str(folder)], "/nobody")
    assert [each.real for each in found.found] == [str(folder / "config")]


def test_another_name_of_a_denied_file_is_found(folder: Path) -> None:
    os.link(folder / ".env", folder / "a/hard.txt")
    os.link(folder / "config/prod.yml", folder / "a/of-a-folder.txt")
    found = find(bans("read_file(.env)", "read_file(config/**)"), [str(folder)], "").found
    other = {
        os.path.relpath(each.real, folder): os.path.relpath(each.path, folder)
        for each in found
        if each.real != each.path
    }
    assert other == {"a/hard.txt": ".env", "a/of-a-folder.txt": "config/prod.yml"}


def test_the_parents_of_an_anchored_path_keep_their_names(folder: Path) -> None:
    assert find(bans("read_file(a/b/.env*)"), [str(folder)], "").pinned == (str(folder / "a"), str(folder / "a/b"))
    assert find(bans("read_file(.env)"), [str(folder)], "").pinned == ()


def test_beyond_the_search_limit_the_result_is_unknown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not find(bans("read_file(.env)"), [str(folder)], "").unseen
    monkeypatch.setattr(denied_file_search, "FOUND", 1)
    assert find(bans("read_file(.env*)"), [str(folder)], "").unseen
    monkeypatch.setattr(denied_file_search, "ENTRIES", 3)
    assert find(bans("read_file(nothing)"), [str(folder)], "").unseen


def test_no_command_runs_unasked_when_the_search_was_incomplete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Denials(bans("read_file(.env)"), (str(folder),), "")
    assert held.hidden(judge("make", "")).masked
    monkeypatch.setattr(denied_file_search, "ENTRIES", 3)
    held = Denials(bans("read_file(.env)"), (str(folder),), "")
    for judgement in (None, judge("make", ""), judge("grep -r x .", ""), judge("cat *", "")):
        with pytest.raises(ToolError, match="could not be searched"):
            held.hidden(judgement)
    asked = held.exposed(judge("make", ""))
    assert asked
    held.hidden(judge("make", ""), asked)
    assert held.exposed(judge("make 'x", "")), "a line that cannot be read, too: a yes lets it start"
    held.hidden(judge("cat k.pem", ""))


@pytest.mark.parametrize(
    ("rule", "top", "expected"),
    [
        ("read_file(.env)", "/w", ("**/.env",)),
        ("read_file(config/prod.yml)", "/w", ("config/prod.yml",)),
        ("read_file(/config/prod.yml)", "/w/config", ("prod.yml",)),
        ("read_file(config/prod.yml)", "/w/other", ()),
        ("read_file(secrets/**)", "/w/secrets", ("**",)),
        ("read_file(secrets/)", "/w/secrets/deep", ("**",)),
        ("read_file(**/x.key)", "/w/sub", ("**/x.key",)),
        ("read_file(.env)", "/", ("w/**/.env",)),
        ("read_file(//w/sub/a)", "/w/sub", ("a",)),
        ("edit_file(.env)", "/w", ()),
    ],
)
def test_exclusions_for_git(rule: str, top: str, expected: tuple[str, ...]) -> None:
    assert git_denied_paths.patterns(bans(rule), top, ["/w"], "/home/ann") == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("HEAD:.env", [".env"]),
        (":.env", [".env"]),
        (":0:d/x", ["0:d/x", "d/x"]),
        ("a..b:.env", [".env"]),
        (":(top)x", []),
        ("HEAD", []),
    ],
)
def test_the_paths_of_revisions(word: str, expected: list[str]) -> None:
    assert git_denied_paths.named([word]) == expected
