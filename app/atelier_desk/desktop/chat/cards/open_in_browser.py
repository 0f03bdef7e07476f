"""Pages for code that only a browser can show: scripts disabled, nothing loaded from the network."""

from __future__ import annotations

import atexit
import contextlib
import html
import os
import re
import shutil
import stat
import tempfile
import time
from functools import cache
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from atelier_desk.support.i18n import _, language

PREFIX = "atelier-pages-"
DAY_S = 86_400
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""No scripts, no frames except the page's own, no network; the frame inherits this policy."""
_LINKS = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
"""Links load nothing here, but a browser may resolve the host names in them."""
_STYLE = (
    "body{margin:0;font:14px system-ui,sans-serif;display:flex;flex-direction:column;height:100vh}"
    "header{padding:8px 16px;background:#f0f0ed;color:#1f2023;border-bottom:1px solid #e3e3de}"
    "main{flex:1;overflow:auto}img{display:block;margin:16px;max-width:calc(100% - 32px)}"
    "iframe{flex:1;border:0;background:#fff}pre{margin:16px;font:13px monospace;white-space:pre;overflow:auto}"
)


def page(code: str, kind: str, drawing: str = "") -> str:
    """The HTML page: HTML and SVG in a sandboxed frame, a Mermaid diagram (PNG in base64) above its source."""
    if kind == "mermaid":
        words = _("The diagram is followed by its source. Nothing is loaded from the network.")
        picture = f'<img alt="" src="data:image/png;base64,{html.escape(drawing)}">' if drawing else ""
        body = f"<main>{picture}<pre>{html.escape(code)}</pre></main>"
    else:
        words = _("Scripts and network access are disabled on this page.")
        title = html.escape(_("Page"))
        body = f'<iframe sandbox="" title="{title}" srcdoc="{html.escape(_LINKS.sub("", code))}"></iframe>'
    return (
        f'<!doctype html>\n<html lang="{language()}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta http-equiv="x-dns-prefetch-control" content="off"><meta name="referrer" content="no-referrer">'
        f"<title>Atelier</title><style>{_STYLE}</style></head><body><header>{html.escape(words)}</header>{body}</body></html>\n"
    )


def write_page(code: str, kind: str, drawing: str = "") -> Path:
    """Write the page to a file readable only by the user; it is deleted when the program ends.

    Raises:
        OSError: the disk is full or the folder is not writable.
    """
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="replace", suffix=".html", dir=_folder(), delete=False
    ) as file:
        file.write(page(code, kind, drawing))
    return Path(file.name)


def open_page(code: str, kind: str, drawing: str = "") -> bool:
    """Open the code in the browser; returns False if there is none."""
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(write_page(code, kind, drawing))))


@cache
def _folder() -> str:
    made = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")  # readable only by its owner
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def clear_left(above: Path | None = None) -> None:
    """Delete folders left in ``above`` (the temporary folder) by killed programs of this user; called at startup.

    A folder is named after the process that created it. It remains while a process with this id exists, even another
    one; it is deleted at a later start then.
    """
    for folder in (above or Path(tempfile.gettempdir())).glob(f"{PREFIX}*-*"):
        with contextlib.suppress(OSError, ValueError):
            about = folder.lstat()
            own = stat.S_ISDIR(about.st_mode) and (not hasattr(os, "getuid") or about.st_uid == os.getuid())
            if own and not _lives(int(folder.name.removeprefix(PREFIX).partition("-")[0]), about.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: int, made: float) -> bool:
    """Whether the process that created a folder at this time (seconds since 1970) may still use it."""
    if os.name != "posix":  # there, os.kill would end the process
        return time.time() - made < DAY_S
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
