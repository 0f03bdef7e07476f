"""The images a message may show: files in granted folders only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

_IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg"}


class ImageGate:
    """Allows images only from given folders; nothing is loaded from the network."""

    def __init__(self, roots: Iterable[str | Path] = ()) -> None:
        self._roots = tuple(Path(root).resolve() for root in roots)

    def __call__(self, source: str) -> str | None:
        if "://" in source and not source.startswith("file:///"):
            return None
        from urllib.request import url2pathname

        text = url2pathname(unquote(urlsplit(source).path)) if source.startswith("file:///") else source
        if not text or Path(text).suffix.lower() not in _IMAGE_SUFFIXES:
            return None
        for root in self._roots:
            try:
                path = (root / text).resolve()
            except (OSError, ValueError):
                return None
            if path.is_relative_to(root) and path.is_file():
                return str(path)
        return None
