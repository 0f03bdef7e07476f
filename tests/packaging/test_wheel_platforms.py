"""The table of systems with all wheels: uv's output is parsed, and a difference is a failure. Nothing is resolved
here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from packaging.specifiers import SpecifierSet

Load = Callable[[str], ModuleType]
ROOT = Path(__file__).resolve().parents[2]
NO_WHEEL = """error: No solution found when resolving dependencies
  cause: Because pyside6-essentials{python_full_version < '3.12'}==6.11.3 has no wheels with a matching \
platform tag (e.g.,
  `manylinux_2_34_aarch64`) and atelier-desk depends on pyside6-essentials{python_full_version < '3.12'}==6.11.3, \
we can conclude that
  your requirements are unsatisfiable."""
NO_USABLE_WHEEL = """error: No solution found when resolving dependencies
  cause: Because cryptography==50.0.2 has no usable wheels and trustme>=1.2.1 depends on cryptography==50.0.2, \
we can conclude that
  trustme>=1.2.1 cannot be used."""
NEWER_PYTHON = """error: No solution found when resolving dependencies
  cause: Because the current Python version (3.11.2) does not satisfy Python>=3.11.5 and soupsieve==4.1.2 depends on \
Python>=3.11.5, we can
  conclude that soupsieve==4.1.2 cannot be used."""
UNREACHABLE = """error: Request failed after 3 retries
  Caused by: Failed to fetch: `https://pypi.example/simple/cryptography/`
  Caused by: client error (Connect): dns error"""


@pytest.fixture
def script(load: Load) -> ModuleType:
    return load("check_wheel_platforms")


@pytest.mark.parametrize(
    ("error", "package"),
    [(NO_WHEEL, "pyside6-essentials"), (NO_USABLE_WHEEL, "cryptography"), (NEWER_PYTHON, "soupsieve")],
)
def test_the_package_without_a_wheel_is_reported(script: ModuleType, error: str, package: str) -> None:
    assert script.missing_package(error) == package


def test_an_unreachable_index_is_not_a_missing_wheel(script: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="Failed to fetch"):
        script.missing_package(UNREACHABLE)


@pytest.mark.parametrize(
    ("oldest", "shown"),
    [("2.34", "resolves from glibc 2.34"), ("2.39", "resolves from glibc 2.39"), ("", "no wheel of xllamacpp")],
)
def test_a_cell_shows_the_oldest_release_that_resolves(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, oldest: str, shown: str
) -> None:
    def resolve(uv: str, system: object, release: str, python: str, environment: dict[str, str]) -> str:
        return "" if oldest and float(release) >= float(oldest) else "xllamacpp"

    monkeypatch.setattr(script, "resolve", resolve)
    system = next(each for each in script.SYSTEMS if each.unit == "glibc")
    assert script.cell("uv", system, "3.13", {}) == shown


def test_a_system_without_releases_resolves_or_not(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    system = next(each for each in script.SYSTEMS if not each.unit)
    missing = ["", "lxml"]
    monkeypatch.setattr(script, "resolve", lambda *arguments: missing.pop(0))
    assert [script.cell("uv", system, "3.13", {}) for _each in "ab"] == ["resolves", "no wheel of lxml"]


def test_uv_uses_the_index_that_pip_is_configured_for(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://pypi.example/simple\nproxy = http://proxy.example:3128\n", "utf-8"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    for name in ("PIP_INDEX_URL", "PIP_PROXY", "UV_DEFAULT_INDEX", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    environment = script.uv_environment()
    assert environment["UV_DEFAULT_INDEX"] == "https://pypi.example/simple"
    assert environment["ALL_PROXY"] == "http://proxy.example:3128"


def test_a_difference_from_the_table_is_a_failure(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = tmp_path / "install.md"
    table.write_text(f"before\n{script.START}old\n{script.END}after\n", "utf-8")
    monkeypatch.setattr(script, "TABLE", table)
    monkeypatch.setattr(script, "cell", lambda uv, system, python, environment: f"{system.name} {python}")
    monkeypatch.setattr(script, "uv_environment", dict)
    monkeypatch.setattr(script.sys, "argv", ["platforms.py", "uv"])
    assert script.main() == 1
    monkeypatch.setattr(script.sys, "argv", ["platforms.py", "uv", "--update"])
    assert script.main() == 0
    assert "Windows x86_64 3.14" in table.read_text("utf-8")
    assert table.read_text("utf-8").endswith("after\n")
    monkeypatch.setattr(script.sys, "argv", ["platforms.py", "uv"])
    assert script.main() == 0


def test_an_unreachable_index_is_a_failure(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "uv_environment", dict)
    monkeypatch.setattr(script.sys, "argv", ["platforms.py", str(ROOT / "no-such-uv")])
    with pytest.raises(OSError, match="no-such-uv"):
        script.main()
    monkeypatch.setattr(script, "resolve", lambda *arguments: script.missing_package(UNREACHABLE))
    assert script.main() == 1


def test_the_committed_table_has_every_system_and_every_supported_python(script: ModuleType) -> None:
    committed = script.TABLE.read_text("utf-8").split(script.START)[1].split(script.END)[0]
    head, _line, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in committed.splitlines()]
    assert [row[0] for row in rows] == [system.name for system in script.SYSTEMS]
    assert head[1:] == [f"Python {python}" for python in script.PYTHONS]
    supported = SpecifierSet(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"])
    minors = {int(python.split(".")[1]) for python in script.PYTHONS}
    assert minors == {minor for minor in range(5, 30) if f"3.{minor}.99" in supported}
    assert all(cell.startswith((script.RESOLVES, "no wheel of ")) for row in rows for cell in row[1:])
