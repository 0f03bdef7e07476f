"""What Python programs import: ``from atelier_desk import Atelier``, without Qt, and loaded only on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import atelier_desk


def loaded_by(code: str) -> set[str]:
    shown = f"{code}\nimport sys; print('\\n'.join(sys.modules))"
    return set(
        subprocess.run(
            [sys.executable, "-c", shown], capture_output=True, text=True, timeout=60, check=True
        ).stdout.split()
    )


def test_importing_the_package_loads_nothing_else() -> None:
    assert not loaded_by("import atelier_desk") & {"asyncio", "pydantic", "logging", "atelier_desk.engine"}


def test_the_package_needs_no_qt() -> None:
    loaded = loaded_by("import sys; sys.modules['PySide6'] = None\nfrom atelier_desk import Answer, Atelier, tool")
    assert "atelier_desk.engine.atelier" in loaded
    assert not {name for name in loaded if name.startswith(("PySide6.", "surrealdb", "httpx", "numpy"))}


def test_the_exported_names_are_those_of_the_engine() -> None:
    from atelier_desk import Answer, Atelier, tool
    from atelier_desk.engine.atelier import Atelier as RealAtelier
    from atelier_desk.engine.runs.answer_collector import Answer as RealAnswer
    from atelier_desk.tools.custom import tool as real_tool

    assert (Answer, Atelier, tool) == (RealAnswer, RealAtelier, real_tool)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = atelier_desk.Nothing
