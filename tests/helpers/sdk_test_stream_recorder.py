"""A pytest plugin that stores every stream answered by an SDK's tests in ``ATELIER_RECORDED``."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import httpx2

_original_init = httpx2.Response.__init__


def _recording_init(self: httpx2.Response, *args: Any, **fields: Any) -> None:
    content = fields.get("content")
    content = content.encode() if isinstance(content, str) else content
    if isinstance(content, bytes) and b"data:" in content:
        (Path(os.environ["ATELIER_RECORDED"]) / f"{hashlib.sha256(content).hexdigest()[:16]}.sse").write_bytes(content)
    _original_init(self, *args, **fields)


setattr(httpx2.Response, "__init__", _recording_init)  # noqa: B010
