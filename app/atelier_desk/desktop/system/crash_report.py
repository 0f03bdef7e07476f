"""The text of a report of an unhandled error.

Loaded after the first paint, of which ``platform`` would take 1 %.
"""

from __future__ import annotations

import platform
import traceback
from datetime import UTC, datetime

from atelier_desk import __version__
from atelier_desk.support.logs import redact

SYSTEM = f"{platform.platform()} · Python {platform.python_version()}"


def report_text(error: BaseException, where: str = "") -> str:
    """Version, platform and traceback, with keys removed."""
    trace = "".join(traceback.format_exception(error))
    head = f"Atelier {__version__} · {SYSTEM} · {datetime.now(UTC):%Y-%m-%d %H:%M:%SZ}"
    return redact(f"{head}\n{where}\n\n{trace}")
