"""Adding the package of the sentence-transformers embedder to this Python: with pip, in a child process, within the committed versions."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path

from atelier_desk.domain.errors import ProviderError, UsageError
from atelier_desk.support.i18n import N_

PACKAGE = "sentence-transformers"
REQUIREMENT = "sentence-transformers>=3.0"
"""The same as the extra of ``pyproject.toml``."""
DOWNLOAD_MB = 3_100 if sys.platform == "linux" else 300
"""What is downloaded, from the sizes of the wheels of sentence-transformers 5 and PyTorch 2.15 for Python 3.11: on Linux PyTorch
comes with the libraries for graphics cards."""
DISK_MB = 3 * DOWNLOAD_MB
"""Disk space it takes while it is installed, about: wheels unpack to twice their size, and lie beside that until the end."""
STOP_TIMEOUT_S = 10.0
_PACKAGE_FOLDER = Path(__file__).resolve().parents[2]
_FAILURES = (
    ("No space left|Errno 28|quota exceeded", N_("The disk is full. Free some space and install again.")),
    ("ProxyError|Cannot connect to proxy|Tunnel connection failed", N_("The proxy did not answer or refused. Check HTTPS_PROXY.")),
    ("CERTIFICATE_VERIFY_FAILED", N_("The certificate of the package index is not trusted. Type: pip config set global.cert FILE")),
    ("40[137] (Client )?Error", N_("The package index wants a login. Check index-url in `pip config list`.")),
    (
        "NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|timed out|Connection (broken|refused|reset)|IncompleteRead|HASH",
        N_("The package index could not be reached, or a download broke off. Check the network, then install again."),
    ),
    (
        "externally-managed-environment|Permission denied|Read-only file system|Errno (13|30)",
        N_("This Python takes no packages. Run Atelier from an environment of its own (python -m venv)."),
    ),
    ("Could not find a version|No matching distribution", N_("This system or Python has no such package. Choose another embedder.")),
)
"""What pip prints, and what to do; the first that fits is said. ``packaging/bootstrap.py`` has the same for the set-up, before anything
is installed."""


def installed() -> bool:
    """Whether the whole package is there: its list of files is written last, so that an installation that was ended does not count."""
    importlib.invalidate_caches()
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.distribution(PACKAGE).files is not None
    return False


def can_install() -> bool:
    """Whether this Python can add packages: an installed bundle has no pip, and one that may not be written to would be found out
    after the whole download."""
    return not getattr(sys, "frozen", False) and util.find_spec("pip") is not None and os.access(sysconfig.get_path("purelib"), os.W_OK)


def missing() -> ProviderError:
    """The refusal of what needs the package, with what to do instead (code ``embedder_missing``)."""
    if not can_install():
        return ProviderError(
            N_(
                "sentence-transformers is not installed, and this program cannot add packages. Choose the built-in embedder or one of a "
                "provider, such as Ollama, or run Atelier from its source: {command}"
            ),
            code="embedder_missing",
            command=f"make run EXTRAS={PACKAGE}",
        )
    return ProviderError(
        N_(
            "sentence-transformers is not installed (a download of {size} MB). Install it in the settings, under Memory, or type: {command}"
        ),
        code="embedder_missing",
        size=DOWNLOAD_MB,
        command=command_to_type(),
    )


def command_to_type() -> str:
    """What installs it from a terminal: the set-up of a checkout, else pip."""
    if not _constraints().is_relative_to(_PACKAGE_FOLDER):
        return f"make setup EXTRAS={PACKAGE}"
    words = [sys.executable, "-m", "pip", "install", "-c", str(_constraints()), REQUIREMENT]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def pip_command() -> list[str]:
    """``pip install`` with the committed versions. Wheels only, so that no compiler is needed; no question, as nobody would see it."""
    words = ["--disable-pip-version-check", "--no-input", "--no-user", "--progress-bar", "off", "--only-binary", ":all:"]
    return [sys.executable, "-m", "pip", "install", *words, "-c", str(_constraints()), REQUIREMENT]


async def install(told: Callable[[str], None]) -> None:
    """Install it. ``told`` is called with each line that pip prints of its progress. Cancelling ends pip; the next try starts afresh.

    Raises:
        UsageError: ``unsupported`` when this Python cannot add packages, ``disk_full`` when there is no room.
        ProviderError: ``install_failed``: pip failed; the text says what it printed last and what to do.
    """
    if not can_install():
        raise missing()
    free = shutil.disk_usage(sys.prefix).free // 1_000_000
    if free < DISK_MB:
        raise UsageError(
            N_("Installing it takes about {needed} MB of disk space, and there are {free} MB. Free some space and install again."),
            code="disk_full",
            needed=DISK_MB,
            free=free,
        )
    process = await asyncio.create_subprocess_exec(
        *pip_command(), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env=_environment(), limit=1 << 20,
    )  # fmt: skip
    lines: list[str] = []
    try:
        assert process.stdout is not None
        async for raw in process.stdout:
            lines.append(raw.decode("utf-8", "replace").strip())
            told(lines[-1])
        status = await process.wait()
    finally:
        if process.returncode is None:
            await _end(process)
    if status or not installed():
        _remove_unfinished()
        raise _failed(lines)
    _note_extra()


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    _remove_unfinished()


def _failed(lines: list[str]) -> ProviderError:
    output = "\n".join(lines)
    problems = [line for line in lines if line.startswith("ERROR")] or lines
    advice = next((text for pattern, text in _FAILURES if re.search(pattern, output)), N_("Try it in a terminal: {command}"))
    return ProviderError(
        N_("pip could not install it ({detail}). {advice}"),
        code="install_failed",
        detail=problems[-1].removeprefix("ERROR: ") if problems else "",
        advice=UsageError(advice, command=command_to_type()),
    )


def _remove_unfinished() -> None:
    """Forget packages that pip was still copying: with their description and without a list of files they would count as installed."""
    for folder in Path(sysconfig.get_path("purelib")).glob("*.dist-info"):
        if not (folder / "RECORD").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _note_extra() -> None:
    """Have the set-up of a checkout keep it: ``make`` knows the extras from this file of the environment."""
    ready = Path(sys.prefix) / ".ready"
    try:
        state = json.loads(ready.read_text("utf-8"))
        state["extras"] = sorted({*state["extras"], PACKAGE})
        ready.write_text(json.dumps(state), "utf-8")
    except (OSError, ValueError, KeyError, TypeError):
        return  # no environment of `make`


def _constraints() -> Path:
    """The file of versions: of the checkout, or its copy inside an installed package."""
    packaged = _PACKAGE_FOLDER / "_resources" / "constraints.txt"
    return packaged if packaged.is_file() else _PACKAGE_FOLDER.parents[1] / "constraints.txt"


def _environment() -> dict[str, str]:
    """The variables for pip: packages from elsewhere must not count as installed, and its progress is read from what it prints."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return {**kept, "PIP_QUIET": "0", "PIP_DRY_RUN": "0", "PIP_NO_DEPS": "0", "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
