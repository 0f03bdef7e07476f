"""Find out for which systems and Pythons every pinned dependency has a wheel, and compare with the table in
docs/install.md:

    python packaging/check_wheel_platforms.py UV [--update]

For each cell uv resolves ``pyproject.toml`` (with the ``dev`` group) under ``constraints.txt``; nothing is built
or installed. It uses the package index that pip is configured for. A difference from the table, or an index that
cannot be reached, is a failure.
"""

from __future__ import annotations

import argparse
import bisect
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "install.md"
START, END = "<!-- platforms: written by `make platforms UPDATE=1` -->\n", "<!-- end of platforms -->\n"
PYTHONS = ("3.11.2", "3.11.9", "3.12", "3.13", "3.14")
RESOLVES = "resolves"


class System(NamedTuple):
    """A row of the table."""

    name: str
    target: str
    """uv's name of the platform; ``{}`` stands for the release."""
    releases: tuple[str, ...] = ("",)
    """Releases of glibc or macOS, the oldest first. What resolves for one resolves for later ones."""
    unit: str = ""
    extra: str = ""


GLIBC = tuple(f"2.{minor}" for minor in range(34, 41))
MACOS = ("12", "13", "14", "15")
SYSTEMS = (
    System("Linux x86_64, glibc 2.34 or later", "x86_64-manylinux_2_34"),
    System("Linux aarch64", "aarch64-manylinux_{}", GLIBC, "glibc"),
    System("Windows x86_64", "x86_64-pc-windows-msvc"),
    System("macOS arm64", "aarch64-apple-darwin", MACOS, "macOS"),
    System("macOS x86_64", "x86_64-apple-darwin", MACOS, "macOS"),
    System("macOS arm64 with `EXTRAS=ocr`", "aarch64-apple-darwin", MACOS, "macOS", "ocr"),
)


def uv_environment() -> dict[str, str]:
    """The environment variables for uv, which does not read pip's configuration: the same index, proxy and CA
    file.
    """
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    names = {"index-url": "UV_DEFAULT_INDEX", "proxy": "ALL_PROXY", "cert": "SSL_CERT_FILE"}
    configured = re.findall(r"^(?:global|install|:env:)\.(index-url|proxy|cert)='(.*)'$", listing, re.MULTILINE)
    return {**{names[name]: value for name, value in configured}, **os.environ}


def missing_package(error: str) -> str:
    """The package that has no wheel, from what uv printed.

    Raises:
        RuntimeError: uv failed for another reason, for example because the index could not be reached.
    """
    found = re.search(r"([a-z0-9._-]+)(?:\{[^}]*\})?==\S+ (?:has no (?:usable )?wheels|depends on Python)", error)
    if found is None:
        raise RuntimeError(error)
    return found[1]


def resolve(uv: str, system: System, release: str, python: str, environment: dict[str, str]) -> str:
    """The package that has no wheel for a system and a Python; empty when all have one."""
    command = [
        uv,
        "pip",
        "compile",
        "pyproject.toml",
        "--group",
        "dev",
        "-c",
        "constraints.txt",
        "--only-binary",
        ":all:",
        "--quiet",
    ]
    command += ["--python-platform", system.target.format(release.replace(".", "_")), "--python-version", python]
    command += [
        "--python",
        sys.executable,
        "--no-python-downloads",
        *(["--extra", system.extra] if system.extra else []),
    ]
    if system.unit == "macOS":
        environment = {**environment, "MACOSX_DEPLOYMENT_TARGET": f"{release}.0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return missing_package(done.stderr) if done.returncode else ""


def cell(uv: str, system: System, python: str, environment: dict[str, str]) -> str:
    """The text of the table's cell for a system and a Python."""
    missing: dict[str, str] = {}

    def resolves(release: str) -> bool:
        missing[release] = resolve(uv, system, release, python, environment)
        return not missing[release]

    first = bisect.bisect_left(system.releases, True, key=resolves)
    if first == len(system.releases):
        return f"no wheel of {missing[system.releases[-1]]}"
    return f"{RESOLVES} from {system.unit} {system.releases[first]}" if system.unit else RESOLVES


def table(uv: str) -> str:
    environment = uv_environment()
    with ThreadPoolExecutor(8) as pool:  # most of the time is spent waiting for the index
        rows = [[pool.submit(cell, uv, system, python, environment) for python in PYTHONS] for system in SYSTEMS]
        lines = [
            f"| System | {' | '.join(f'Python {python}' for python in PYTHONS)} |",
            "|---|" + "---|" * len(PYTHONS),
        ]
        try:
            for system, row in zip(SYSTEMS, rows, strict=True):
                lines.append(f"| {system.name} | {' | '.join(each.result() for each in row)} |")
                print(lines[-1], flush=True)
        except RuntimeError:
            pool.shutdown(cancel_futures=True)
            raise
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uv", help="the program uv")
    parser.add_argument("--update", action="store_true", help="write what was found into the table")
    options = parser.parse_args()
    before, rest = TABLE.read_text("utf-8").split(START)
    committed, after = rest.split(END)
    try:
        found = table(options.uv)
    except RuntimeError as error:
        print(f"uv could not resolve:\n{error}", file=sys.stderr)
        return 1
    if options.update:
        TABLE.write_text(before + START + found + END + after, "utf-8")
    elif found != committed:
        print(
            f"This differs from the table in {TABLE.name}. `make platforms UPDATE=1` writes it there.", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
