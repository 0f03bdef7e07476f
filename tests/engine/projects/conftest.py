"""A folder of code that is indexed as a project."""

from __future__ import annotations

from pathlib import Path

import pytest

STORE = '''"""Where things are kept."""


class Store:
    """Keeps rows on the disk."""

    def save(self, row: str) -> None:
        """Write one row."""
        check(row)


def check(row: str) -> None:
    """Refuse a row that is blank."""
    if not row:
        raise ValueError(row)
'''
USE = """from store import Store, check


def main() -> None:
    check("one")
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "docs").mkdir(parents=True)
    (folder / "store.py").write_text(STORE)
    (folder / "use.py").write_text(USE)
    (folder / "docs" / "guide.md").write_text("# Guide\n\nHow herons are counted.\n")
    (folder / ".gitignore").write_text("build/\n")
    (folder / "build").mkdir()
    (folder / "build" / "made.py").write_text("def made(): pass\n")
    (folder / "secrets.json").write_text('{"key": "hunter2"}')
    return folder
