"""Reads and relates files of a project in a process of its own.

Parsing holds the interpreter and reads files from untrusted sources: the engine does neither. Messages of a request:

- ``{"root", "closed", "key", "readable"}`` says where the files lie, what ids begin with, and what is read though it
  looks like a secret.
- ``{"read": [[path, hash], …]}`` tells of each file: ``{"path", "same": true}`` where its hash is as given, else what
  ``reading.read`` gives, or why it was not read.
- ``{"pages": [[address, title, Markdown], …]}`` tells of each page.
- ``{"symbols": {path: text or null}}`` tells nothing: it is told of files, or that they are gone; with
  ``"settled": true`` their relations are known.
- ``{"relate": true}`` tells of each file whose relations are other ones than before.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from atelier_desk.domain.document_formats import ENDINGS
from atelier_desk.domain.errors import AtelierError, ToolError
from atelier_desk.domain.project import SECRET
from atelier_desk.engine.projects.file_selection import PICTURES
from atelier_desk.knowledge.parsing.charset import is_binary
from atelier_desk.knowledge.projects import file_to_rows
from atelier_desk.knowledge.projects.relations import Relator
from atelier_desk.media import ocr
from atelier_desk.media.image_headers import size_of
from atelier_desk.storage.project_graph_rows import PROJECT_DIGITS, file_key_of
from atelier_desk.support.i18n import N_
from atelier_desk.support.worker.child import Report, serve
from atelier_desk.support.worker.errors import Refused
from atelier_desk.workspace.confined_root import ConfinedRoot

FILE = 4 * 1024 * 1024
"""Maximum bytes of a file; ``DOCUMENT`` applies to documents and images."""
DOCUMENT = 32 * 1024 * 1024
DOCUMENTS = (".pdf", ".ipynb", *ENDINGS, *PICTURES)
LANGUAGES = "fra+eng"
"""Languages for text recognition in images: those included with the program."""
LEAST = 32
"""Images with a shorter side below this number of pixels contain no text: icons, bullets."""
PRIVATE_KEY = re.compile(rb"\s*-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
TOO_LARGE = N_("Too large: {size} MB; the maximum is {most} MB.")
NO_TEXT = N_("This is not readable text.")
BROKEN = N_("Could not be read: {reason}")
NO_OCR = "no_ocr"
PICTURE = {
    "bomb": N_("The image has more than {most} million pixels, so it was not opened."),
    "not_a_picture": N_("The file has the extension of an image, but does not contain one."),
    "broken": N_("The image is damaged, or needs too much memory."),
    NO_OCR: N_(
        "Text in images cannot be read because OCR is not installed. To install it: make run EXTRAS=ocr (a "
        "Mac needs macOS 15 or later)."
    ),
}
"""Problems of an image whose text was not recognised, by code of ``media.reading``."""


class Worker:
    """State of one process: a project's files, and what is known of them."""

    def __init__(self) -> None:
        self._root: ConfinedRoot | None = None
        self._key = "0" * PROJECT_DIGITS
        self._relator = Relator(self._key)
        self._readable: frozenset[str] = frozenset()
        self._reads_pictures = _can_read_pictures()

    def answer(self, request: dict[str, Any]) -> Iterator[dict[str, object]]:
        """Yield the answers to a request."""
        if "root" in request:
            self._root = ConfinedRoot(Path(request["root"]), [Path(each) for each in request["closed"]], real=True)
            self._key = request["key"]
            self._readable = frozenset(request["readable"])
            self._relator = Relator(self._key)
        for path, known in request.get("read", ()):
            yield {"path": path, **self._read(path, known)}
        for path, title, text in request.get("pages", ()):
            data = text.encode("utf-8", "replace")
            found = file_to_rows.read_page(file_key_of(self._key, path), path, title, data)
            yield {"path": path, "hash": file_to_rows.hash_of(data), "size": len(data), "skipped": False, **found}
        for path, symbols in request.get("symbols", {}).items():
            self._relator.update_symbols(path, symbols)
        if request.get("settled"):
            self._relator.settle()
        if "relate" in request:
            yield from self._relator.relate()

    def _read(self, path: str, known: str) -> dict[str, object]:
        assert self._root is not None
        most = DOCUMENT if path.lower().endswith(DOCUMENTS) else FILE
        try:
            data = self._root.read(path, most)
        except ToolError as error:
            if error.code == "not_found":
                return {"gone": True}
            if error.code == "too_large":
                found = self._root.inspect(path)
                size = found.size if found else 0
                digest = f"{file_to_rows.version()}-{size}"  # not read, so it is identified by size
                if digest == known:
                    return {"same": True}
                refused = _refused(TOO_LARGE, {"size": round(size / 1e6, 1), "most": most >> 20}, skipped=True)
                return {**refused, "hash": digest}
            return _refused(BROKEN, {"reason": str(error)})
        picture = path.lower().endswith(PICTURES) and is_binary(data[:8_192])
        # Another hash where no text is recognised in images, so that they are read again once it is possible.
        digest = file_to_rows.hash_of(data) + ("" if not picture or self._reads_pictures else "-")
        if digest == known:
            return {"same": True}
        about = {"hash": digest, "size": len(data)}
        if path not in self._readable and PRIVATE_KEY.match(data[:200]):
            return {**about, **_refused(SECRET, {}, skipped=True)}
        if picture:
            return {**about, **self._picture(path, data)}
        try:
            if not file_to_rows.is_read(path, data):
                return {**about, **_refused(NO_TEXT, {}, skipped=True)}
            return {
                **about,
                "problem": None,
                "skipped": False,
                **file_to_rows.read(file_key_of(self._key, path), path, data),
            }
        except AtelierError as error:
            return {**about, **_refused(error.template, _values(error.params))}
        except RecursionError:
            return {**about, **_refused(BROKEN, {"reason": "nested too deeply"})}

    def _picture(self, path: str, data: bytes) -> dict[str, object]:
        """Read an image by its text, or by its name if that fails."""
        try:
            size = size_of(lambda offset, count: data[offset : offset + count])
            text = ocr.text_of(data, LANGUAGES)["text"] if size is None or min(size) >= LEAST else ""
            problem: tuple[str, dict[str, object]] | None = None
        except Exception as error:  # any error of the libraries for a damaged image, including MemoryError
            code = error.code if isinstance(error, Refused) else "broken"
            if code != NO_OCR:
                return _refused(
                    PICTURE.get(code, PICTURE["broken"]), {"most": ocr.PIXELS // 1_000_000}, skipped=code == "bomb"
                )
            text, problem = "", (PICTURE[NO_OCR], {})
        stored = file_to_rows.read_picture(file_key_of(self._key, path), path, text)
        return {**stored, "skipped": problem is not None, "problem": problem}


def _values(params: Mapping[str, object]) -> dict[str, str | int | float]:
    """Convert values of a sentence to JSON: numbers stay numbers, because languages format them differently."""
    return {name: value if isinstance(value, int | float) else str(value) for name, value in params.items()}


def _can_read_pictures() -> bool:
    return any(find_spec(each) is not None for each in ("tesserocr", "rapidocr"))


def _refused(text: str, values: Mapping[str, object], *, skipped: bool = False) -> dict[str, object]:
    return {"problem": (text, values), "skipped": skipped, "kind": "", "language": "", "entities": [], "symbols": ""}


def main() -> None:
    """Answer requests until there are no more."""
    sys.setrecursionlimit(10_000)
    os.environ["OMP_THREAD_LIMIT"] = "1"  # one thread per process is faster for text recognition
    worker = Worker()

    def answer(request: dict[str, object], _data: bytes, tell: Report) -> None:
        for each in worker.answer(request):
            tell(each)

    serve(answer)


if __name__ == "__main__":
    main()
