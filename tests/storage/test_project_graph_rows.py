"""Ids of a project's graph: related ones share a prefix, and creating them imports no other storage module."""

from __future__ import annotations

import subprocess
import sys

from atelier_desk.storage.project_graph_rows import (
    entity_id,
    file_entity,
    file_key,
    is_entity_id,
    package_of,
    project_key,
)

PROJECT = "p" * 18 + "01234567"


def test_ids_of_related_rows_share_a_prefix() -> None:
    home = file_key(PROJECT, "a.py")
    own = entity_id(home, "scope", "Store.save")
    assert home.startswith(project_key(PROJECT))
    assert own.startswith(home)
    assert file_entity(home).startswith(home)
    assert package_of(project_key(PROJECT), "numpy").startswith(project_key(PROJECT))
    assert all(map(is_entity_id, (own, file_entity(home), package_of(project_key(PROJECT), "numpy"))))
    assert not is_entity_id("Store.save")


def test_other_kinds_names_and_files_get_other_ids() -> None:
    home, beside = file_key(PROJECT, "a.py"), file_key(PROJECT, "b.py")
    ids = {entity_id(key, kind, name) for key in (home, beside) for kind in ("scope", "import") for name in ("f", "g")}
    assert len(ids) == 8


def test_a_process_that_reads_files_starts_without_the_repositories() -> None:
    code = (
        "import sys, atelier_desk.engine.projects.worker; print(any('.repositories' in name for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
