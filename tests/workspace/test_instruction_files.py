"""Instruction files of a folder: which are read, what they import, and that nothing outside is."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.permissions import path_denials
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.instruction_files import FILE, IMPORTED, IMPORTS, TOTAL, instructions, paths
from atelier_desk.workspace.path_restrictions import Denials


def write(ws: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (ws / name).parent.mkdir(parents=True, exist_ok=True)
        (ws / name).write_text(text)


def read(ws: Path) -> dict[str, str]:
    return {each.path: each.text for each in instructions(ConfinedRoot(ws))}


def test_the_top_comes_first_and_agents_md_wins_over_claude_md(ws: Path) -> None:
    write(
        ws,
        {"AGENTS.md": "top\r\n", "CLAUDE.md": "other", "b/CLAUDE.md": "b", "a/x/AGENTS.md": "ax", "a/README.md": "no"},
    )
    write(ws, {".gitignore": "left\n", "left/AGENTS.md": "ignored", "empty/AGENTS.md": " \n"})
    assert paths(ConfinedRoot(ws)) == ["AGENTS.md", "a/x/AGENTS.md", "b/CLAUDE.md", "empty/AGENTS.md"]
    assert list(read(ws).items()) == [("AGENTS.md", "top"), ("a/x/AGENTS.md", "ax"), ("b/CLAUDE.md", "b")]


def test_a_folder_without_such_files_has_no_instructions(ws: Path) -> None:
    write(ws, {"README.md": "AGENTS.md", ".hidden/AGENTS.md": "x"})
    assert paths(ConfinedRoot(ws)) == []
    assert read(ws) == {}


def test_imports_of_claude_md_are_inserted(ws: Path) -> None:
    write(
        ws,
        {
            "CLAUDE.md": "See @docs/style.md.\nMail me@host.org; `@docs/style.md` and\n```\n@docs/style.md\n```\n"
            "@missing.md @/etc/passwd @~/x @../out",
            "docs/style.md": "Four blanks. @more.md",
            "docs/more.md": "Short lines. @style.md",
        },
    )
    (ws.parent / "out").write_text("secret")
    text = read(ws)["CLAUDE.md"]
    assert text.count("Four blanks.") == 1, "not in code, not twice"
    assert text.count("Short lines. @style.md") == 1, "relative to the importing file, and no circle"
    assert "@missing.md @/etc/passwd @~/x @../out" in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("Read @docs/a and @b.md first", {"docs/a", "b.md"}),
        ("Read @docs/a, then @docs/my\\ notes.md.", {"docs/a", "docs/my notes.md"}),
        ("Read @docs/a and more", {"docs/a"}),
        ("Read @docs/my notes.md", set()),
    ],
)
def test_an_import_ends_at_a_space(ws: Path, line: str, taken: set[str]) -> None:
    files = ("docs/a", "b.md", "docs/my notes.md", "docs/a and")
    write(ws, {"CLAUDE.md": line} | {name: f"content of {name}!" for name in files})
    text = read(ws)["CLAUDE.md"]
    assert {name for name in files if f"content of {name}!" in text} == taken


def test_links_out_are_ignored_and_depth_and_size_are_limited(ws: Path) -> None:
    (ws.parent / "secret.md").write_text("secret")
    (ws / "AGENTS.md").symlink_to(ws.parent / "secret.md")
    (ws / "link.md").symlink_to("../../secret.md")
    write(ws, {"CLAUDE.md": "@link.md @0.md"} | {f"{n}.md": f"level {n} @{n + 1}.md" for n in range(9)})
    assert "secret" not in str(read(ws))
    text = read(ws)["CLAUDE.md"]
    assert f"level {IMPORTS - 1}" in text
    assert f"level {IMPORTS} " not in text
    write(ws, {f"d{n}/AGENTS.md": "word " * 5_000 for n in range(9)})
    found = instructions(ConfinedRoot(ws))
    assert all(len(each.text) <= FILE for each in found)
    assert sum(len(each.text) for each in found) <= TOTAL
    assert [each.cut for each in found][1:] == [True] * (len(found) - 1)


def test_files_that_import_each_other_are_read_at_most_a_hundred_times(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ws, {f"f{number}": f"@f{number + 1} " * 60 for number in range(IMPORTS + 1)})
    write(ws, {"CLAUDE.md": "@f0 " * 60})
    looked = 0
    plain = ConfinedRoot.read

    def counted(self: ConfinedRoot, path: str, most: int) -> bytes:
        nonlocal looked
        looked += 1
        return plain(self, path, most)

    monkeypatch.setattr(ConfinedRoot, "read", counted)
    assert read(ws)["CLAUDE.md"].startswith("@f0")
    assert looked <= IMPORTED + 1


def denied(ws: Path, *texts: str) -> Denials:
    rules = [PermissionRule(text=text, action=Action.DENY) for text in texts]
    return Denials(path_denials.bans(rules), (str(ws),), str(Path.home()))


@pytest.mark.parametrize(
    "imported",
    [
        "@.env", "@./.env", "@sub/../.env", "@.ENV", "@link.md", "@hard.md", "@folder/a.txt", "@linked/a.txt",
        "@way.md", "@sub/up.md",
    ],
)  # fmt: skip
def test_a_denied_file_is_imported_under_no_name(ws: Path, imported: str) -> None:
    write(
        ws,
        {
            ".env": "KEY=secret",
            "folder/a.txt": "secret",
            "way.md": "@.env",
            "sub/up.md": "@../.env",
            "CLAUDE.md": f"Use\n{imported}\n",
        },
    )
    (ws / "link.md").symlink_to(".env")
    (ws / "linked").symlink_to("folder")
    (ws / "hard.md").hardlink_to(ws / ".env")
    rules = denied(ws, "read_file(.env)", "file_ops(folder/**)")
    [found] = instructions(ConfinedRoot(ws), rules)
    assert "secret" not in found.text
    there = (ws / imported[1:]).exists()
    assert ("left out: the permission rule" in found.text) is there
    assert ("secret" in instructions(ConfinedRoot(ws))[0].text) is there, "without the rule it is imported"


def test_a_denied_instruction_file_is_only_named(ws: Path) -> None:
    write(ws, {"AGENTS.md": "secret", "b/AGENTS.md": "open"})
    assert [each.text for each in instructions(ConfinedRoot(ws), denied(ws, "read_file(/AGENTS.md)"))] == [
        "(left out: the permission rule “read_file(/AGENTS.md)” denies reading it)", "open",
    ]  # fmt: skip


def test_keys_in_a_granted_home_and_outside_files_are_only_named(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(ws))
    write(ws, {".ssh/id_rsa": "secret", "CLAUDE.md": "@.ssh/id_rsa\n@out.md"})
    (ws.parent / "out.md").write_text("secret")
    (ws / "out.md").symlink_to(ws.parent / "out.md")
    [found] = instructions(ConfinedRoot(ws))
    assert "secret" not in found.text
    assert found.text.count("left out:") == 2
