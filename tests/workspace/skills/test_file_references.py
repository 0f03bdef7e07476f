"""Files that a skill refers to: only those of its folder, and no secret under another name."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine.attachments.names_and_decoding import is_secret_name
from atelier_desk.policy.permissions import path_denials
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.skills.file_references import included


def test_a_link_with_a_harmless_name_exposes_no_secret(tmp_path: Path) -> None:
    folder = tmp_path / "skill"
    folder.mkdir()
    (folder / ".env").write_text("KEY=abc")
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "config").write_text("Host abc")
    (tmp_path / "outside.txt").write_text("abc")
    (folder / "real.txt").write_text("what it needs")
    links = {"notes.txt": ".env", "more": ".ssh", "out.txt": "../outside.txt", "fine.txt": "real.txt"}
    for name, target in links.items():
        (folder / name).symlink_to(target)
    text = included(
        "Read @notes.txt, @more/config, @out.txt, @.env and @fine.txt", [ConfinedRoot(folder)], is_secret_name
    )
    assert "abc" not in text
    assert '<named_file path="fine.txt">\nwhat it needs\n</named_file>' in text


def test_a_denied_file_is_named_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "prod.yml").write_text("abc")
    (tmp_path / "other.txt").symlink_to("prod.yml")
    rule = PermissionRule(text="read_file(prod.yml)", action=Action.DENY)
    denials = Denials(path_denials.bans([rule]), (str(tmp_path),), str(tmp_path))
    for name in ("prod.yml", "other.txt"):
        assert "abc" in included(f"See @{name}", [ConfinedRoot(tmp_path)], is_secret_name)
        text = included(f"See @{name}", [ConfinedRoot(tmp_path)], is_secret_name, denials)
        assert "abc" not in text
        assert f"[@{name} is left out: the permission rule “read_file(prod.yml)” denies reading it.]" in text
