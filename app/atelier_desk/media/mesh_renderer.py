"""Read a 3D model and draw it on the CPU with numpy: what the process of ``render_3d_model`` runs."""

from __future__ import annotations

import base64
from contextlib import suppress
from io import BytesIO
from typing import Any

import numpy as np
import trimesh
from PIL import Image

from atelier_desk.media.mesh_limits_and_views import FACES, VIEWS, counted
from atelier_desk.support.worker.errors import Refused

_LIGHT = (0.35, 0.55, 0.76)
_AMBIENT = 0.35
_GREY = (178, 182, 190)
_MARGIN = 1.12


def pictures(data: bytes, kind: str, views: list[str], width: int, height: int, background: str) -> dict[str, object]:
    """Render the model from each view."""
    if counted(data, kind) > FACES:
        raise Refused("too_many")
    mesh = _mesh(data, kind)
    if mesh is None:
        raise Refused("not_a_model")
    points, faces, colours = mesh
    if len(faces) > FACES:
        raise Refused("too_many")
    if not len(faces) or not np.isfinite(points).all():
        raise Refused("empty" if not len(faces) else "broken")
    low, high = points.min(0), points.max(0)
    drawn = {}
    for name in views:
        image = draw(points, faces, colours, VIEWS[name], width, height, background)
        drawn[name] = base64.b64encode(_png(image)).decode()
    return {
        "views": drawn,
        "faces": len(faces),
        "vertices": len(points),
        "size": [round(float(each), 6) for each in high - low],
    }


def _mesh(data: bytes, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Vertices, faces as vertex indices, and a colour for each face."""
    try:
        # Without a resolver no other file is read: no materials or textures next to the model.
        found = trimesh.load(BytesIO(data), file_type=kind, process=False, maintain_order=True, skip_materials=True)
    except MemoryError:
        raise
    except Exception:  # readers fail on damaged files in many ways
        return None
    dumped = found.dump() if isinstance(found, trimesh.Scene) else [found]
    meshes = [each for each in dumped if isinstance(each, trimesh.Trimesh) and len(each.faces)]
    if not meshes:
        return np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros((0, 3))
    points, faces, colours, start = [], [], [], 0
    for each in meshes:
        points.append(np.asarray(each.vertices, float))
        faces.append(np.asarray(each.faces, int) + start)
        colours.append(_colours(each))
        start += len(each.vertices)
    return np.concatenate(points), np.concatenate(faces), np.concatenate(colours)


def _colours(mesh: Any) -> np.ndarray:
    with suppress(Exception):  # an unknown material is grey
        visual = mesh.visual
        if visual.kind == "texture":
            base = getattr(visual.material, "baseColorFactor", None)
            base = base if base is not None else getattr(visual.material, "diffuse", None)
            if base is not None:
                return np.tile(np.asarray(base, float)[:3], (len(mesh.faces), 1))
        elif visual.defined:
            return np.asarray(visual.face_colors, float)[:, :3]
    return np.tile(np.asarray(_GREY, float), (len(mesh.faces), 1))


def draw(
    points: np.ndarray,
    faces: np.ndarray,
    colours: np.ndarray,
    view: tuple[float, float],
    width: int,
    height: int,
    background: str,
) -> np.ndarray:
    """Render one image as bytes of shape (height, width, 4): parallel light, no perspective.

    Faces are drawn from far to near in groups of similar size on the screen. For each pixel in a face's
    bounding box, the signs of three areas decide whether it is inside, and the depth there decides
    visibility.
    """
    turned = points @ _turn(*view).T
    low, high = turned.min(0), turned.max(0)
    middle, span = (low + high) / 2, np.maximum(high - low, 1e-12)
    scale = min(width / (span[0] * _MARGIN), height / (span[1] * _MARGIN))
    screen = np.empty_like(turned)
    screen[:, 0] = (turned[:, 0] - middle[0]) * scale + width / 2
    screen[:, 1] = height / 2 - (turned[:, 1] - middle[1]) * scale
    screen[:, 2] = turned[:, 2]
    corners = screen[faces]
    sides = turned[faces]
    normals = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    light = np.asarray(_LIGHT) / np.linalg.norm(_LIGHT)
    facing = normals @ light / np.maximum(lengths, 1e-30)
    facing = np.where(normals[:, 2] < 0, -facing, facing)  # light the visible side, whichever way the face is wound
    shades = colours * (_AMBIENT + (1 - _AMBIENT) * np.clip(facing, 0, 1))[:, None]
    depth = np.full((height, width), -np.inf)
    colour = np.zeros((height, width, 4), np.uint8)
    colour[:] = _background(background)
    area = (corners[:, 1, 0] - corners[:, 0, 0]) * (corners[:, 2, 1] - corners[:, 0, 1]) - (
        corners[:, 2, 0] - corners[:, 0, 0]
    ) * (corners[:, 1, 1] - corners[:, 0, 1])
    left = np.clip(np.floor(corners[:, :, 0].min(1)), 0, width - 1).astype(int)
    right = np.clip(np.ceil(corners[:, :, 0].max(1)), 0, width - 1).astype(int)
    top = np.clip(np.floor(corners[:, :, 1].min(1)), 0, height - 1).astype(int)
    bottom = np.clip(np.ceil(corners[:, :, 1].max(1)), 0, height - 1).astype(int)
    seen = np.flatnonzero(np.abs(area) > 1e-12)
    across, down = right - left + 1, bottom - top + 1
    small = seen[(across[seen] <= _BOX) & (down[seen] <= _BOX)]
    for start in range(0, len(small), _BATCH):
        _many(small[start : start + _BATCH], corners, area, left, top, shades, depth, colour)
    for face in seen[(across[seen] > _BOX) | (down[seen] > _BOX)]:
        _one(
            corners[face],
            area[face],
            (left[face], right[face], top[face], bottom[face]),
            shades[face],
            depth,
            colour,
        )
    return colour


_BOX = 6
"""Pixels of a face's bounding box up to which faces are drawn in groups."""
_BATCH = 50_000


def _many(
    which: np.ndarray,
    corners: np.ndarray,
    area: np.ndarray,
    left: np.ndarray,
    top: np.ndarray,
    shades: np.ndarray,
    depth: np.ndarray,
    colour: np.ndarray,
) -> None:
    """Draw small faces with bounding boxes of equal size."""
    height, width = depth.shape
    steps = np.arange(_BOX)
    columns = left[which][:, None, None] + steps[None, None, :]
    rows = top[which][:, None, None] + steps[None, :, None]
    a, b, c = (corners[which, number] for number in range(3))
    inside, near = _inside(a, b, c, area[which], columns + 0.5, rows + 0.5)
    inside &= (columns < width) & (rows < height)
    face, row, column = np.nonzero(inside)
    if not len(face):
        return
    x, y, z = left[which][face] + column, top[which][face] + row, near[face, row, column]
    order = np.argsort(z, kind="stable")  # the nearest of several at one pixel is written last
    x, y, z, face = x[order], y[order], z[order], face[order]
    front = z > depth[y, x]
    x, y, z, face = x[front], y[front], z[front], face[front]
    depth[y, x] = z
    colour[y, x, :3] = shades[which][face]
    colour[y, x, 3] = 255


def _inside(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, area: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which pixels are inside each face, and the face's depth there."""
    shape = (slice(None), None, None)

    def edge(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        twice: np.ndarray = (q[:, 0] - p[:, 0])[shape] * (y - p[:, 1][shape]) - (q[:, 1] - p[:, 1])[shape] * (
            x - p[:, 0][shape]
        )
        return twice

    of = area[shape]
    first, second, third = edge(b, c) / of, edge(c, a) / of, edge(a, b) / of
    near = first * a[:, 2][shape] + second * b[:, 2][shape] + third * c[:, 2][shape]
    return (first >= 0) & (second >= 0) & (third >= 0), near


def _one(
    corner: np.ndarray,
    area: float,
    box: tuple[int, int, int, int],
    shade: np.ndarray,
    depth: np.ndarray,
    colour: np.ndarray,
) -> None:
    """Draw a large face."""
    left, right, top, bottom = box
    x = (np.arange(left, right + 1) + 0.5)[None, None, :]
    y = (np.arange(top, bottom + 1) + 0.5)[None, :, None]
    inside, near = _inside(corner[None, 0], corner[None, 1], corner[None, 2], np.asarray([area]), x, y)
    part = depth[top : bottom + 1, left : right + 1]
    front = inside[0] & (near[0] > part)
    part[front] = near[0][front]
    piece = colour[top : bottom + 1, left : right + 1]
    piece[front, :3] = shade
    piece[front, 3] = 255


def _turn(around: float, above: float) -> np.ndarray:
    a, b = np.radians(-around), np.radians(above)
    upright = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    tilt = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    turned: np.ndarray = tilt @ upright
    return turned


def _background(text: str) -> tuple[int, int, int, int]:
    if text == "transparent":
        return 0, 0, 0, 0
    number = int(text.removeprefix("#"), 16)
    return number >> 16, number >> 8 & 255, number & 255, 255


def _png(image: np.ndarray) -> bytes:
    out = BytesIO()
    Image.fromarray(image).save(out, "PNG", optimize=False)
    return out.getvalue()
