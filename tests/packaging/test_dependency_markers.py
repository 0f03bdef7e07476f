"""Every dependency's marker can be evaluated on common systems, also by pips that parse a kernel's name as a
version.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, Specifier
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = {
    "Debian 12": ("linux", "x86_64", "6.1.0-28-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)"),
    "Ubuntu 24.04": (
        "linux",
        "x86_64",
        "6.8.0-45-generic",
        "#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024",
    ),
    "Fedora 41": ("linux", "x86_64", "6.11.4-301.fc41.x86_64", "#1 SMP PREEMPT_DYNAMIC Sun Oct 20 15:02:33 UTC 2024"),
    "Arch": ("linux", "x86_64", "6.12.1-arch1-1", "#1 SMP PREEMPT_DYNAMIC Fri, 22 Nov 2024 16:04:27 +0000"),
    "WSL2": ("linux", "x86_64", "5.15.167.4-microsoft-standard-WSL2", "#1 SMP Tue Nov 5 00:21:55 UTC 2024"),
    "Raspberry Pi OS": ("linux", "aarch64", "6.6.51+rpt-rpi-v8", "#1 SMP PREEMPT Debian 1:6.6.51-1+rpt3 (2024-10-08)"),
    "macOS 13": ("darwin", "x86_64", "22.6.0", "Darwin Kernel Version 22.6.0: Wed Jul  5 22:21:56 PDT 2023"),
    "macOS 14": ("darwin", "arm64", "23.6.0", "Darwin Kernel Version 23.6.0: Mon Jul 29 21:14:30 PDT 2024"),
    "macOS 15": ("darwin", "arm64", "24.6.0", "Darwin Kernel Version 24.6.0: Mon Jul 14 11:30:29 PDT 2025"),
    "Windows 11": ("win32", "AMD64", "11", "10.0.22631"),
}
"""``sys_platform``, ``platform_machine``, and the kernel's name and version: ``platform.release()``,
``platform.version()``.
"""


def environment(system: str) -> dict[str, str]:
    platform, machine, release, version = SYSTEMS[system]
    os_name, name = {"linux": ("posix", "Linux"), "darwin": ("posix", "Darwin"), "win32": ("nt", "Windows")}[platform]
    values = {
        "sys_platform": platform,
        "platform_machine": machine,
        "platform_release": release,
        "platform_version": version,
    }
    values |= {"os_name": os_name, "platform_system": name, "extra": ""}
    return {**{variable: str(value) for variable, value in default_environment().items()}, **values}


def evaluate_strictly(marker: Marker, values: dict[str, str]) -> None:
    """Compare like pip 24.1 to 25.3: where the right side makes a specifier, the system's value must be a version.

    Raises:
        InvalidVersion: these pips end with a traceback.
    """

    def visit(part: Any) -> None:
        if isinstance(part, list):
            for each in part:
                visit(each)
        elif isinstance(part, tuple):
            left, operator, right = part
            text, variable = (right.value, left.value) if left.value in values else (left.value, right.value)
            try:
                specifier = Specifier(f"{operator.value}{text}")
            except InvalidSpecifier:
                return
            specifier.contains(Version(values[variable]), prereleases=True)

    visit(marker._markers)


def requirements() -> Iterator[Requirement]:
    """The requirements of Atelier, of its constraints, and of the installed packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    own = [
        *project["project"]["dependencies"],
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
    ]
    own += [each for extra in project["project"]["optional-dependencies"].values() for each in extra]
    own += [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    for text in (*own, *(each for found in distributions() for each in found.requires or ())):
        yield Requirement(text)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_marker_can_be_evaluated(system: str) -> None:
    markers = {requirement.marker for requirement in requirements() if requirement.marker is not None}
    assert len(markers) > 20
    for marker in markers:
        evaluate_strictly(marker, environment(system))
        marker.evaluate(environment(system))


def test_old_pips_fail_on_the_name_of_a_kernel() -> None:
    marker = Marker("sys_platform != 'darwin' or platform_release >= '24'")
    with pytest.raises(InvalidVersion):
        evaluate_strictly(marker, environment("Ubuntu 24.04"))
    evaluate_strictly(marker, environment("macOS 15"))


def test_no_dependency_of_atelier_asks_for_the_kernel() -> None:
    for file in ("pyproject.toml", "constraints.txt"):
        lines = [line.partition("#")[0] for line in (ROOT / file).read_text("utf-8").splitlines()]
        assert not [line for line in lines if "platform_release" in line or "platform_version" in line], file


def test_ocr_is_an_extra_only_on_a_mac() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (tesserocr,) = [each for each in map(Requirement, project["dependencies"]) if each.name == "tesserocr"]
    assert tesserocr.marker is not None
    assert {system for system in SYSTEMS if not tesserocr.marker.evaluate(environment(system))} == {
        "macOS 13",
        "macOS 14",
        "macOS 15",
    }
    assert [Requirement(each).name for each in project["optional-dependencies"]["ocr"]] == ["tesserocr"]
