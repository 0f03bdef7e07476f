"""Install the package of the sentence-transformers embedder.

With pip, in a child process, within the pinned versions.
"""

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
"""Same as the extra in ``pyproject.toml``."""
DOWNLOAD_MB = 3_100 if sys.platform == "linux" else 300
"""Download size in MB, from the wheels of sentence-transformers 5 and PyTorch 2.15 for Python 3.11.

On Linux PyTorch includes GPU libraries.
"""
DISK_MB = 3 * DOWNLOAD_MB
"""Approximate disk space during installation: wheels unpack to twice their size, and are kept until the end."""
STOP_TIMEOUT_S = 10.0
_PACKAGE_FOLDER = Path(__file__).resolve().parents[2]
_FAILURES = (
    ("No space left|Errno 28|quota exceeded", N_("The disk is full. Free up some space, then try again.")),
    (
        "ProxyError|Cannot connect to proxy|Tunnel connection failed",
        N_("The proxy did not answer, or refused the connection. Check HTTPS_PROXY."),
    ),
    (
        "CERTIFICATE_VERIFY_FAILED",
        N_("The certificate of the package index is not trusted. Run in a terminal: pip config set global.cert FILE"),
    ),
    ("40[137] (Client )?Error", N_("The package index requires a login. Check index-url in `pip config list`.")),
    (
        (
            "NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|timed out|Connection "
            "(broken|refused|reset)|IncompleteRead|HASH"
        ),
        N_(
            "The package index could not be reached, or a download was interrupted. Check the network, then install "
            "again."
        ),
    ),
    (
        "externally-managed-environment|Permission denied|Read-only file system|Errno (13|30)",
        N_("This Python installation does not accept packages. Run Atelier in a virtual environment (python -m venv)."),
    ),
    (
        "Could not find a version|No matching distribution",
        N_("The package is not available for this system or Python version. Choose another embedder."),
    ),
)
"""Output of pip, and the message for it.

The first match applies. ``packaging/bootstrap.py`` has the same for the set-up, before anything is installed.
"""


def installed() -> bool:
    """Whether the package is completely installed.

    Its file list is written last, so interrupted installations do not count.
    """
    importlib.invalidate_caches()
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.distribution(PACKAGE).files is not None
    return False


def can_install() -> bool:
    """Whether this Python can install packages.

    Installed bundles have no pip, and a read-only environment would only fail after the download.
    """
    return (
        not getattr(sys, "frozen", False)
        and util.find_spec("pip") is not None
        and os.access(sysconfig.get_path("purelib"), os.W_OK)
    )


def missing() -> ProviderError:
    """Return the error for a missing package, with what to do (code ``embedder_missing``)."""
    if not can_install():
        return ProviderError(
            N_(
                "sentence-transformers is not installed, and Atelier cannot install packages here. Choose the "
                "built-in embedder or one from a provider, such as Ollama, or run Atelier from source: {command}"
            ),
            code="embedder_missing",
            command=f"make run EXTRAS={PACKAGE}",
        )
    return ProviderError(
        N_(
            "sentence-transformers is not installed. Install it in Settings → Memory and projects ({size} "
            "MB will be downloaded), or run: {command}"
        ),
        code="embedder_missing",
        size=DOWNLOAD_MB,
        command=command_to_type(),
    )


def command_to_type() -> str:
    """Return the command for a terminal: the set-up of a checkout, otherwise pip."""
    if not _constraints().is_relative_to(_PACKAGE_FOLDER):
        return f"make setup EXTRAS={PACKAGE}"
    words = [sys.executable, "-m", "pip", "install", "-c", str(_constraints()), REQUIREMENT]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def pip_command() -> list[str]:
    """Return the ``pip install`` command with pinned versions.

    Wheels only, so that no compiler is needed, and no prompts.
    """
    words = [
        "--disable-pip-version-check",
        "--no-input",
        "--no-user",
        "--progress-bar",
        "off",
        "--only-binary",
        ":all:",
    ]
    return [sys.executable, "-m", "pip", "install", *words, "-c", str(_constraints()), REQUIREMENT]


async def install(told: Callable[[str], None]) -> None:
    """Install the package. ``told`` is called with each line of pip's progress. Cancelling ends pip; the next attempt
    starts afresh.

    Raises:
        UsageError: ``unsupported`` if this Python cannot install packages, ``disk_full`` without enough space.
        ProviderError: ``install_failed``: pip failed; the text has its last output and what to do.
    """
    if not can_install():
        raise missing()
    free = shutil.disk_usage(sys.prefix).free // 1_000_000
    if free < DISK_MB:
        raise UsageError(
            N_(
                "The installation takes about {needed} MB of disk space, but only {free} MB is available. Free up "
                "some space, then try again."
            ),
            code="disk_full",
            needed=DISK_MB,
            free=free,
        )
    process = await asyncio.create_subprocess_exec(
        *pip_command(), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
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
    advice = next(
        (text for pattern, text in _FAILURES if re.search(pattern, output)), N_("Try it in a terminal: {command}")
    )
    return ProviderError(
        N_("pip could not install the package ({detail}). {advice}"),
        code="install_failed",
        detail=problems[-1].removeprefix("ERROR: ") if problems else "",
        advice=UsageError(advice, command=command_to_type()),
    )


def _remove_unfinished() -> None:
    """Remove packages that pip was still copying.

    With metadata and without a file list they would count as installed.
    """
    for folder in Path(sysconfig.get_path("purelib")).glob("*.dist-info"):
        if not (folder / "RECORD").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _note_extra() -> None:
    """Record the extra, so that a checkout's ``make`` keeps it."""
    ready = Path(sys.prefix) / ".ready"
    try:
        state = json.loads(ready.read_text("utf-8"))
        state["extras"] = sorted({*state["extras"], PACKAGE})
        ready.write_text(json.dumps(state), "utf-8")
    except (OSError, ValueError, KeyError, TypeError):
        return  # not an environment of `make`


def _constraints() -> Path:
    """Return the file of pinned versions: of the checkout, or its copy inside an installed package."""
    packaged = _PACKAGE_FOLDER / "_resources" / "constraints.txt"
    return packaged if packaged.is_file() else _PACKAGE_FOLDER.parents[1] / "constraints.txt"


def _environment() -> dict[str, str]:
    """Return pip's environment: ignores packages from elsewhere, and makes the progress parsable."""
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return {
        **variables,
        "PIP_QUIET": "0",
        "PIP_DRY_RUN": "0",
        "PIP_NO_DEPS": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
    }
