"""What of a folder is read, and when a scan ends early."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.engine.projects import file_selection
from atelier_desk.support.visible_and_shortened_text import is_storable_name
from atelier_desk.workspace.confined_root import ConfinedRoot


@pytest.mark.parametrize(("least", "found"), [(1, True), (20, True), (300, True), (301, False)])
def test_a_folder_has_as_many_files(tmp_path: Path, least: int, found: bool) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}.md").write_text("")
    assert file_selection.has_files(ConfinedRoot(tmp_path, real=True), least) is found


def test_the_first_files_end_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether indexing is offered must not take a walk through a whole disk."""
    for number in range(300):
        (tmp_path / f"{number:03}.md").write_text("")
    looked: list[str] = []

    def looking(path: str) -> bool:
        looked.append(path)
        return is_storable_name(path)

    monkeypatch.setattr(file_selection, "is_storable_name", looking)
    root = ConfinedRoot(tmp_path, real=True)
    assert file_selection.has_files(root, 20)
    assert file_selection.any_file(root)
    assert len(looked) < 30
