"""How many faces a 3D model may have, which a file declares, and from where it is drawn."""

from __future__ import annotations

import itertools
import json
import re
import struct
from typing import Any

FACES = 2_000_000
_MAX_CLAIMED = 64 * 1024 * 1024
KINDS = ("obj", "glb", "stl", "ply")
VIEWS: dict[str, tuple[float, float]] = {
    "front": (0.0, 0.0), "back": (180.0, 0.0), "left": (-90.0, 0.0), "right": (90.0, 0.0), "top": (0.0, 90.0),
    "bottom": (0.0, -90.0),
    "iso": (35.0, 25.0),
}  # fmt: skip
"""Camera positions: degrees around the upright axis (y), and above the ground.

``front`` looks along -z, as in glTF.
"""


def counted(data: bytes, kind: str) -> int:
    """Faces that a file's header declares, before anything is decompressed; 0 when unknown."""
    if kind == "stl" and len(data) >= 84 and data[:5].lower() != b"solid":
        return int(struct.unpack("<I", data[80:84])[0])
    if kind == "ply":
        said = re.search(rb"element\s+face\s+(\d{1,18})", data[:8192])
        return int(said[1]) if said else 0
    if kind == "obj":  # count no further than the limit; match blanks within a line only, to stay linear
        return sum(1 for _face in itertools.islice(re.finditer(rb"(?m)^[ \t]{0,8}f[ \t]", data), FACES + 1))
    if kind == "glb":
        return _counted_glb(data)
    return 0


def _counted_glb(data: bytes) -> int:
    """Triangles shown by a GLB's nodes: a mesh counts once per node."""
    try:
        size = int(struct.unpack_from("<I", data, 12)[0])
        said = json.loads(data[20 : 20 + size]) if data[:4] == b"glTF" and size <= _MAX_CLAIMED else {}
        accessors = said.get("accessors") or []

        def corners(part: Any) -> int:
            number = part.get("indices", (part.get("attributes") or {}).get("POSITION"))
            return int(accessors[number].get("count", 0))

        meshes = [sum(corners(part) for part in mesh.get("primitives") or ()) for mesh in said.get("meshes") or ()]
        shown = [meshes[node["mesh"]] for node in said.get("nodes") or () if "mesh" in node]
        return int(max(sum(shown), max(meshes, default=0)) // 3)
    except (struct.error, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return 0  # damaged; its reader will report that
