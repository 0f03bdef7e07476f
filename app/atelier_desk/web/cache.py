"""Cache of fetched pages: one JSON file per address in the data folder.

Pages of the own network are never cached.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.data_folder.atomic_files import private_folder

FRESH_S = 15 * 60
"""Seconds a page stays fresh when its server does not say."""
FRESH_MOST_S = 24 * 3600
MAX_AGE_S = 7 * 24 * 3600
MOST = 100 * 1024 * 1024
"""Bytes of all pages; beyond it the oldest are removed."""
_EVERY = 50
"""Pages written between two checks of the size."""


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A cached page.

    Attributes:
        url: final address, after redirects.
        at: when it was fetched or last confirmed unchanged, in seconds since 1970.
        good_s: seconds it stays fresh.
        etag, modified: the server's validators.
        page: result of ``page_text``.
    """

    url: str
    at: float
    good_s: float
    etag: str
    modified: str
    page: Mapping[str, Any]

    def fresh(self, now: float) -> bool:
        return 0 <= now - self.at < self.good_s

    def validators(self) -> dict[str, str]:
        """Headers for a conditional request."""
        return {
            **({"if-none-match": self.etag} if self.etag else {}),
            **({"if-modified-since": self.modified} if self.modified else {}),
        }


def good_for(headers: Mapping[str, str]) -> float | None:
    """Seconds an answer stays fresh; None when it must not be stored. RFC 9111, 5.2."""
    directives = headers.get("cache-control", "").lower()
    if re.search(r"\bno-store\b", directives) or headers.get("vary", "").strip() == "*":
        return None
    if re.search(r"\bno-cache\b", directives):
        return 0.0
    age = re.search(r"\bmax-age\s*=\s*\"?(\d{1,10})", directives)
    return float(min(int(age[1]), FRESH_MOST_S)) if age else float(FRESH_S)


class PageCache:
    """The cached pages. Methods block: call them in a thread.

    An unreadable or unwritable file counts as missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = 0

    def get(self, url: str) -> CachedPage | None:
        try:
            return CachedPage(**json.loads(self._file(url).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def put(self, url: str, kept: CachedPage) -> None:
        file = self._file(url)
        text = json.dumps({name: getattr(kept, name) for name in CachedPage.__slots__}, ensure_ascii=False)
        with suppress(OSError, StorageError):
            private_folder(self._folder)
            draft = file.with_suffix(f".{os.getpid()}.new")
            draft.write_text(text, "utf-8", errors="replace")
            draft.replace(file)
        self._written += 1
        if self._written % _EVERY == 1:
            self.tidy()

    def tidy(self, now: float | None = None) -> None:
        """Remove expired pages, and the oldest beyond the size limit."""
        now = time.time() if now is None else now
        found = sorted(self._files(), key=lambda each: each[1], reverse=True)
        total = 0
        for file, changed, size in found:
            total += size
            if total > MOST or now - changed > MAX_AGE_S:
                with suppress(OSError):
                    file.unlink()

    def clear(self) -> int:
        """Remove all pages; returns their number."""
        found = self._files()
        for file, _changed, _size in found:
            with suppress(OSError):
                file.unlink()
        return len(found)

    def size(self) -> tuple[int, int]:
        """Number of pages, and their bytes."""
        found = self._files()
        return len(found), sum(size for _file, _changed, size in found)

    def _file(self, url: str) -> Path:
        return self._folder / f"{hashlib.sha256(url.encode()).hexdigest()}.json"

    def _files(self) -> list[tuple[Path, float, int]]:
        found = []
        with suppress(OSError):
            for file in self._folder.iterdir():
                with suppress(OSError):
                    known = file.stat()
                    found.append((file, known.st_mtime, known.st_size))
        return found
