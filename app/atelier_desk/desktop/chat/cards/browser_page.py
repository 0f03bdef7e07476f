"""Code that only a browser can show, as a file for it: nothing in it can run, and nothing is loaded from anywhere."""

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
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; base-uri 'none'; form-action 'none'"
)
"""No scripts, no frames but the one in the page, no address of any network; the frame inherits it."""
_LINKS = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
"""They only name what is not loaded, but a browser may look up the machines they name."""
_STYLE = (
    "body{margin:0;font:14px system-ui,sans-serif;display:flex;flex-direction:column;height:100vh}"
    "header{padding:8px 16px;background:#f0f0ed;color:#1f2023;border-bottom:1px solid #e3e3de}"
    "main{flex:1;overflow:auto}img{display:block;margin:16px;max-width:calc(100% - 32px)}"
    "iframe{flex:1;border:0;background:#fff}pre{margin:16px;font:13px monospace;white-space:pre;overflow:auto}"
)


def page(code: str, kind: str, drawing: str = "") -> str:
    """The page that shows the code: HTML and SVG in a frame without any rights, a Mermaid diagram (PNG in base64) above its
    source."""
    if kind == "mermaid":
        words = _("The diagram, and its source below. Nothing is loaded from the network.")
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
    """The page as a file that only this person can read; it is gone when the program ends.

    Raises:
        OSError: there is no room for it.
    """
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="replace", suffix=".html", dir=_folder(), delete=False) as file:
        file.write(page(code, kind, drawing))
    return Path(file.name)


def open_page(code: str, kind: str, drawing: str = "") -> bool:
    """Show the code in the browser; whether there is one."""
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(write_page(code, kind, drawing))))


@cache
def _folder() -> str:
    made = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")  # readable by its owner alone
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def clear_left(above: Path | None = None) -> None:
    """Delete what programs of this user that were killed have left, below ``above`` (the folder for temporary files); called at a start.

    A folder names the process that made it. One whose process is there stays, also when that is another one by now: it goes next time.
    """
    for folder in (above or Path(tempfile.gettempdir())).glob(f"{PREFIX}*-*"):
        with contextlib.suppress(OSError, ValueError):
            about = folder.lstat()
            own = stat.S_ISDIR(about.st_mode) and (not hasattr(os, "getuid") or about.st_uid == os.getuid())
            if own and not _lives(int(folder.name.removeprefix(PREFIX).partition("-")[0]), about.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: int, made: float) -> bool:
    """Whether the process that made a folder then (seconds since 1970) may still use it."""
    if os.name != "posix":  # asking there would end the process
        return time.time() - made < DAY_S
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
