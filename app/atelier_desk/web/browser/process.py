"""The browser's process: temporary profile, no personal data, ended with its children."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.worker.environment import reader_environment

_LAUNCHER = Path(__file__).resolve().parents[2] / "workspace" / "processes" / "command_supervisor.py"
_SUPERVISED = not getattr(sys, "frozen", False)
"""Whether the command launcher supervises it; the launcher needs an interpreter.

It also ends processes that detach.
"""
_MEMORY = 4 * 1024**3
_PROCESSES = 64
"""Limits of the browser with its children: bytes of memory, and processes.

The launcher ends a browser that exceeds them.
"""
_ENDS_S = 7.0
"""Seconds a browser has to exit before it is killed."""
_MAX_OUTPUT = 2_000
"""Bytes at the end of its output that are searched for the reason of a failure."""
_PREFIX = "atelier-browser-"
_OLD_S = 24 * 3600.0
"""Seconds after which a folder is unused for certain: a page takes less than one minute."""
_FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--incognito",
    "--mute-audio",
    "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-domain-reliability", "--disable-breakpad",
    "--metrics-recording-only", "--disable-client-side-phishing-detection",
    "--disable-notifications", "--disable-file-system", "--password-store=basic",
    "--use-mock-keychain", "--blink-settings=imagesEnabled=false", "--dns-prefetch-disable", "--no-pings",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-features=DnsOverHttps,AsyncDns,OptimizationHints,MediaRouter,DialMediaRouteProvider,Translate,InterestFeedContentSuggestions,"
    "AutofillServerCommunication,HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstModeIncognito,CertificateTransparencyComponentUpdater,NetworkPrediction,Prerender2,WebRtcHideLocalIpsWithMdns",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--proxy-bypass-list=<-loopback>",
    "--disk-cache-size=1",
    "--js-flags=--max-old-space-size=512",
)  # fmt: skip
"""Nothing leaves except through the gate, which handles the loopback interface too.

No name look-ups, no UDP (QUIC, WebRTC), no requests to the browser's maker.
"""


@asynccontextmanager
async def running(program: str, gate: str, more: Sequence[str] = ()) -> AsyncIterator[tuple[int, int, Path]]:
    """A running browser.

    Yields the descriptors for reading and writing, which the caller owns, and the file with its output.

    Raises:
        OSError: it cannot be started.
    """
    folder = await in_tool_thread(_folder)
    process: asyncio.subprocess.Process | None = None
    try:
        arguments = (
            *_FLAGS,
            f"--user-data-dir={folder / 'profile'}",
            f"--proxy-server=http://{gate}",
            *more,
            "about:blank",
        )
        orders, tells = os.pipe()
        hears, answers = os.pipe()
        try:
            process = await _started((program, *arguments), orders, answers, folder)
        except BaseException:
            for each in (tells, hears):
                os.close(each)
            raise
        finally:
            for each in (orders, answers):
                os.close(each)
        yield hears, tells, folder / "said"
    finally:
        if process is not None:
            await asyncio.shield(_ended(process))
        await asyncio.shield(in_tool_thread(shutil.rmtree, folder, ignore_errors=True))


def _folder() -> Path:
    """Create a browser's folder, and remove old ones left behind by killed processes."""
    made = Path(tempfile.mkdtemp(prefix=_PREFIX))
    for each in made.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = each.lstat()
            if (
                stat.S_ISDIR(found.st_mode)
                and found.st_uid == made.lstat().st_uid
                and time.time() - found.st_mtime > _OLD_S
            ):
                shutil.rmtree(each, ignore_errors=True)
    return made


async def _started(words: Sequence[str], orders: int, answers: int, folder: Path) -> asyncio.subprocess.Process:
    start = (sys.executable, "-P", "-m", "atelier_desk.web.browser.launcher", str(orders), str(answers), *words)
    with (folder / "said").open("wb") as said, tempfile.TemporaryFile() as order, tempfile.TemporaryFile() as report:
        if _SUPERVISED:
            order.write(json.dumps(_order(start, report.fileno())).encode())
            order.seek(0)
            start = (sys.executable, "-I", "-S", str(_LAUNCHER), str(order.fileno()))
        return await asyncio.create_subprocess_exec(
            *start,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,
            pass_fds=(orders, answers, *((order.fileno(), report.fileno()) if _SUPERVISED else ())),
        )


def _order(words: Sequence[str], report: int) -> dict[str, object]:
    """The launcher's input (``workspace.processes.command_process``)."""
    limits = {"RLIMIT_CORE": 0}
    many = {"processes": _PROCESSES, "memory": _MEMORY, "limits": limits, "sandbox": None}
    return {"program": words[0], "arguments": list(words), "parent": os.getpid(), "report": report, **many}


def _environment(folder: Path) -> Mapping[str, str]:
    """Its environment: no display, no D-Bus, no home folder.

    A browser could show what it finds there to a page, or prompt for a password.
    """
    variables = {name: value for name, value in reader_environment().items() if not name.startswith("XDG_")}
    homes = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
    return {
        **variables,
        **dict.fromkeys(homes, str(folder)),
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "DBUS_SYSTEM_BUS_ADDRESS": "disabled:",
    }


async def _ended(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            break
        with suppress(ProcessLookupError, PermissionError):
            if _SUPERVISED and number is signal.SIGTERM:
                process.send_signal(number)  # the launcher ends its children, then itself
            else:
                os.killpg(process.pid, signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDS_S):
                await process.wait()


def last_line(file: Path) -> str:
    """The last line of the browser's output, for an error; empty without output."""
    with suppress(OSError):
        lines = file.read_bytes()[-_MAX_OUTPUT:].decode("utf-8", "replace").strip().splitlines()
        return next((line.strip()[:200] for line in reversed(lines) if line.strip() and "dbus" not in line), "")
    return ""
