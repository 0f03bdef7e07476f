"""The index as a file beside the database, so that a start need not read it row by row.

The database is authoritative: a file is used only if it has the stamp that the newest change of the memories wrote
there, names the embedder in use, and all checksums match; otherwise it is ignored.

Layout: ``MAGIC``, the length of a JSON head in 8 bytes little-endian, the head, then the parts, each a plain array at a
multiple of 64 bytes.
"""

from __future__ import annotations

import json
import logging
import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from atelier_desk.knowledge.bm25_ranking import Postings, Segment
from atelier_desk.knowledge.memory_index import MemoryIndex, segment_of
from atelier_desk.knowledge.memory_index_columns import COLUMNS
from atelier_desk.knowledge.memory_vectors import RowVectors
from atelier_desk.knowledge.vector_sketch import VectorSketch

log = logging.getLogger(__name__)

MAGIC = b"atelier-memory-index-1\n"
FORM = "memory-2"
"""Goes up when what is kept of an index is made in another way."""
_ALIGN = 64
_BLOCK = 8_192
"""Number of 64-bit integers per checksum block."""


Parts = tuple[dict[str, "np.ndarray"], dict[str, Any]]
"""The arrays of an index by name, and the head: its other content as JSON."""
T = TypeVar("T")


def write(path: Path, kept: Parts, stamp: str) -> None:
    """Replace the file by the ``kept`` parts of an index that matched the database at this stamp.

    Raises:
        OSError: it could not be written; the previous file stays.
    """
    parts, head = kept
    places, offset = [], 0
    for name, part in parts.items():
        places.append({"name": name, "dtype": part.dtype.str, "shape": part.shape, "offset": offset, "sum": _sum(part)})
        offset += -(-part.nbytes // _ALIGN) * _ALIGN
    text = json.dumps({**head, "stamp": stamp, "parts": places, "size": offset}).encode()
    text = text.ljust(-(-len(text) // _ALIGN) * _ALIGN)
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        new.chmod(0o600)
        file.write(MAGIC + len(text).to_bytes(8, "little") + zlib.crc32(text).to_bytes(4, "little") + text)
        for part in parts.values():
            part.tofile(file)
            file.write(bytes(-part.nbytes % _ALIGN))
    new.replace(path)


def read_parts(path: Path, stamp: str, fits: Callable[[dict[str, Any]], bool], make: Callable[[Parts], T]) -> T | None:
    """Return the result of ``make`` for the parts of a file.

    None unless it is intact, of this stamp, and its head ``fits``.
    """
    try:
        with path.open("rb") as file:
            head = _head(file)
            return (
                make((_read_parts(file, head), head))
                if head is not None and head["stamp"] == stamp and fits(head)
                else None
            )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        log.warning("the index file %s is not used: %s", path.name, error)
        return None


def read(path: Path, stamp: str, embedder: tuple[str, int] | None) -> MemoryIndex | None:
    """Read the index of the memories.

    None unless the file is intact and of this stamp and embedder (id and dimension).
    """
    return read_parts(path, stamp, lambda head: head.get("form") == FORM and _same(head["embedder"], embedder), _index)


def parts(index: MemoryIndex) -> Parts:
    """Return copies of an index's content, without abandoned rows."""
    with index.lock:
        return _parts(index)


def _parts(index: MemoryIndex) -> Parts:
    rows = index.rows
    live = np.flatnonzero(rows.column("live"))
    new_row = np.full(rows.count, -1, dtype=np.int32)
    new_row[live] = np.arange(len(live), dtype=np.int32)
    words = segment_of(index)
    found = {f"column.{name}": rows.column(name)[live] for name in COLUMNS}
    found |= {"keys": words.keys, "starts": words.starts, "rows": new_row[words.rows], "counts": words.counts}
    found["ids"] = np.frombuffer("\n".join(rows.ids[row] for row in live).encode(), dtype=np.uint8)
    head: dict[str, object] = {
        "form": FORM,
        "names": {name: list(values) for name, values in rows.names.items()},
        "embedder": None,
        "made_of": 0,
    }
    vectors = index.vectors
    if vectors is not None:
        head["embedder"] = [vectors.embedder, vectors.dimension]
        vectors.reserve(rows.count)
        found["vectors"], found["there"] = vectors.matrix[live], vectors.there[live]
        if vectors.sketch is not None:
            head["made_of"] = vectors.sketch.made_of
            found["basis"], found["short"] = vectors.sketch.basis, vectors.sketch.short[live]
    return {name: np.ascontiguousarray(part) for name, part in found.items()}, head


def _same(kept: list[object] | None, embedder: tuple[str, int] | None) -> bool:
    """Whether the vectors are this embedder's; an embedder not used yet may have the dimension 0 (unknown)."""
    if kept is None or embedder is None:
        return kept is None and embedder is None
    return kept[0] == embedder[0] and embedder[1] in (0, kept[1])


def _head(file: Any) -> dict[str, object] | None:
    start = file.read(len(MAGIC) + 12)
    if len(start) < len(MAGIC) + 12 or not start.startswith(MAGIC):
        return None
    text = file.read(int.from_bytes(start[len(MAGIC) : -4], "little"))
    if zlib.crc32(text) != int.from_bytes(start[-4:], "little"):
        raise ValueError("its head is damaged")
    found: dict[str, object] = json.loads(text)
    return found


def _read_parts(file: Any, head: dict[str, Any]) -> dict[str, np.ndarray]:
    begin = file.tell()
    parts = {}
    for place in head["parts"]:
        file.seek(begin + place["offset"])
        part = np.fromfile(file, dtype=place["dtype"], count=math.prod(place["shape"])).reshape(place["shape"])
        if _sum(part) != place["sum"]:
            raise ValueError(f"its part {place['name']} is damaged")
        parts[place["name"]] = part
    return parts


def _index(kept: Parts) -> MemoryIndex:
    parts, head = kept
    text = parts["ids"].tobytes().decode()
    ids = text.split("\n") if text else []
    index = MemoryIndex()
    names = head["names"]
    names["tags"] = [tuple(each) for each in names["tags"]]
    index.rows.restore({name: parts[f"column.{name}"] for name in COLUMNS}, ids, names)
    index.postings = Postings(Segment(parts["keys"], parts["starts"], parts["rows"], parts["counts"]))
    if head["embedder"]:
        vectors = index.vectors = RowVectors(*head["embedder"])
        vectors.matrix, vectors.there = parts["vectors"], parts["there"]
        if "basis" in parts:
            vectors.sketch = VectorSketch.restored(parts["basis"], parts["short"], head["made_of"])
    return index


def _sum(part: np.ndarray) -> int:
    """Return a checksum that any changed bit changes: the CRC of block sums, ten times as fast as a CRC of 80 MB."""
    flat = part.reshape(-1).view(np.uint8)
    whole = len(flat) // 8 * 8
    numbers = flat[:whole].view(np.uint64)
    blocks = len(numbers) // _BLOCK * _BLOCK
    sums = numbers[:blocks].reshape(-1, _BLOCK).sum(axis=1, dtype=np.uint64)
    return zlib.crc32(flat[whole:].tobytes(), zlib.crc32(numbers[blocks:].tobytes(), zlib.crc32(sums.tobytes())))
