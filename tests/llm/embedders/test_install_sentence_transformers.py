"""Installing an embedder's package with the real pip, from a folder instead of a package index."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import sysconfig
import zipfile
from importlib import util
from pathlib import Path

import pytest

from atelier_desk.domain.errors import AtelierError, ProviderError, UsageError
from atelier_desk.domain.settings import EmbedderSettings
from atelier_desk.knowledge.embedder_factory import create_embedder
from atelier_desk.llm.embedders import install_sentence_transformers
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.knowledge.missing_embedding_server import no_server

FAKE = Path(__file__).with_name("fake_sentence_transformers.py")
HANGS = (
    "import sys; print('Collecting torch', flush=True); sys.stdin.close(); import threading; threading.Event().wait()"
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which pip looks for packages; it installs into another one, which this process imports
    from.
    """
    index, target = tmp_path / "index", tmp_path / "target"
    index.mkdir()
    target.mkdir()
    for name, value in {
        "NO_INDEX": "1",
        "FIND_LINKS": str(index),
        "TARGET": str(target),
        "CACHE_DIR": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.syspath_prepend(target)
    monkeypatch.setattr(install_sentence_transformers, "DISK_MB", 0)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(target))
    return index


def wheel(index: Path, needs: str = "") -> None:
    about = f"Metadata-Version: 2.1\nName: sentence-transformers\nVersion: 3.1\n{needs}"
    files = {
        "sentence_transformers/__init__.py": FAKE.read_text("utf-8"),
        "sentence_transformers-3.1.dist-info/METADATA": about,
        "sentence_transformers-3.1.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files["sentence_transformers-3.1.dist-info/RECORD"] = "".join(f"{name},,\n" for name in files)
    with zipfile.ZipFile(index / "sentence_transformers-3.1-py3-none-any.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


async def chosen(clock: ManualClock) -> object:
    return await create_embedder(
        EmbedderSettings(kind=install_sentence_transformers.PACKAGE), no_server, KeyVault(session=True), clock
    )


async def test_an_embedder_is_refused_until_installed_and_the_set_up_keeps_it(
    index: Path, clock: ManualClock, tmp_path: Path
) -> None:
    wheel(index)
    (tmp_path / ".ready").write_text(json.dumps({"inputs": "x", "extras": ["ocr"]}))
    with raises_code(
        ProviderError, "embedder_missing", match=r"not installed.*make setup EXTRAS=sentence-transformers"
    ):
        await chosen(clock)
    said: list[str] = []
    await install_sentence_transformers.install(said.append)
    assert any(line.startswith("Installing collected packages: sentence-transformers") for line in said)
    assert await chosen(clock) is not None
    assert json.loads((tmp_path / ".ready").read_text()) == {"inputs": "x", "extras": ["ocr", "sentence-transformers"]}


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        (None, "Could not find|No matching.*Choose another embedder"),
        ("Requires-Dist: numpy==0.1\n", "ResolutionImpossible|conflicting dependencies|Choose another"),
        ("Requires-Dist: no-such-package-here\n", "no-such-package-here.*Choose another embedder"),
    ],
)
async def test_a_pip_failure_is_reported_with_advice(
    index: Path, clock: ManualClock, needs: str | None, said: str
) -> None:
    if needs is not None:
        wheel(index, needs)
    with raises_code(ProviderError, "install_failed", match=said):
        await install_sentence_transformers.install(lambda _line: None)
    with pytest.raises(ProviderError):
        await chosen(clock)


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("OSError: [Errno 28] No space left on device", "Free up some space"),
        ("ProxyError('Cannot connect to proxy.')", "HTTPS_PROXY"),
        ("SSLError: CERTIFICATE_VERIFY_FAILED", "global.cert"),
        ("HTTP error 403 Client Error: Forbidden", "login"),
        ("NameResolutionError: Failed to resolve 'pypi.org'", "Check the network"),
        ("error: externally-managed-environment", "python -m venv"),
        ("OSError: [Errno 30] Read-only file system: '/opt/lib'", "python -m venv"),
        ("Segmentation fault", "Try it in a terminal: make setup EXTRAS=sentence-transformers"),
    ],
)
def test_each_failure_has_advice(printed: str, said: str) -> None:
    problem = str(install_sentence_transformers._failed(["Collecting torch", printed]))
    assert printed in problem
    assert said in problem


async def test_stopping_ends_pip_and_leaves_nothing_half_installed(
    index: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(install_sentence_transformers, "pip_command", lambda: [sys.executable, "-c", HANGS])
    half = tmp_path / "target" / "sentence_transformers-3.1.dist-info"
    half.mkdir()
    (half / "METADATA").write_text("Metadata-Version: 2.1\nName: sentence-transformers\nVersion: 3.1\n")
    started = asyncio.Event()
    processes: list[asyncio.subprocess.Process] = []
    real = asyncio.create_subprocess_exec

    async def start(*words: str, **options: object) -> asyncio.subprocess.Process:
        processes.append(await real(*words, **options))  # type: ignore[arg-type]
        return processes[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    task = asyncio.create_task(install_sentence_transformers.install(lambda _line: started.set()))
    await asyncio.wait_for(started.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes[0].returncode is not None
    assert not half.exists()
    with pytest.raises(ProviderError):
        await chosen(clock)


async def test_a_full_disk_is_reported_before_anything_is_downloaded(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_sentence_transformers, "DISK_MB", 10**9)
    with pytest.raises(UsageError, match="Free up some space"):
        await install_sentence_transformers.install(lambda _line: None)


@pytest.mark.parametrize("why", ["frozen", "no pip", "read only"])
async def test_a_program_that_cannot_add_packages_gives_other_advice(
    index: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    elif why == "read only":
        monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    else:
        monkeypatch.setattr(util, "find_spec", lambda _name: None)
    with pytest.raises(AtelierError, match="Ollama, or run Atelier from source: make run EXTRAS=sentence-transformers"):
        await install_sentence_transformers.install(lambda _line: None)
