"""Rendered views of 3D models, compared with what they must show."""

from __future__ import annotations

import base64
import json
import struct
from io import BytesIO
from typing import Any

import numpy as np
import pytest
import trimesh
from PIL import Image

from atelier_desk.media import mesh_renderer
from atelier_desk.media.mesh_limits_and_views import KINDS
from atelier_desk.support.worker.errors import Refused

SIDES = {"front": 2, "back": 2, "left": 0, "right": 0, "top": 1, "bottom": 1}


def seen(data: bytes, kind: str, *views: str, size: int = 64, background: str = "#ffffff") -> dict[str, Any]:
    found = mesh_renderer.pictures(data, kind, list(views), size, size, background)
    views_drawn = found["views"]
    assert isinstance(views_drawn, dict)
    return {view: np.asarray(Image.open(BytesIO(base64.b64decode(drawn)))) for view, drawn in views_drawn.items()}


def exported(mesh: trimesh.Trimesh, kind: str) -> bytes:
    made = mesh.export(file_type=kind)
    data = made.encode() if isinstance(made, str) else made
    assert isinstance(data, bytes)
    return data


@pytest.mark.parametrize("kind", KINDS)
def test_a_box_has_its_outline_from_every_side_in_every_format(kind: str) -> None:
    box = trimesh.creation.box(extents=(1, 2, 4))
    for view, pixels in seen(exported(box, kind), kind, *SIDES).items():
        covered = (pixels[:, :, :3] != 255).any(2)
        rows, columns = np.flatnonzero(covered.any(1)), np.flatnonzero(covered.any(0))
        across, down = (extent for axis, extent in enumerate((1, 2, 4)) if axis != SIDES[view])
        if SIDES[view] == 0:
            across, down = down, across  # from the side the depth is the visible width
        tall, wide = len(rows), len(columns)
        assert wide / tall == pytest.approx(across / down, rel=0.1), view
        assert covered[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].mean() > 0.97
        assert max(tall, wide) == pytest.approx(64 / 1.12, abs=2)


def test_nearer_faces_hide_those_behind_and_keep_their_colours() -> None:
    far = trimesh.creation.box(extents=(2, 2, 0.1))
    near = trimesh.creation.box(extents=(1, 1, 0.1))
    near.apply_translation((0, 0, 2))
    far.visual.face_colors = (0, 0, 255, 255)
    near.visual.face_colors = (255, 0, 0, 255)
    both = trimesh.util.concatenate([far, near])
    assert isinstance(both, trimesh.Trimesh)
    pixels = seen(exported(both, "ply"), "ply", "front", "back", size=65)
    assert (pixels["front"][32, 32, 0] > 150, pixels["front"][32, 32, 2]) == (True, 0)
    assert (pixels["front"][8, 8, 2] > 150, pixels["front"][8, 8, 0]) == (True, 0)
    assert pixels["back"][32, 32, 2] > 50
    assert pixels["back"][32, 32, 0] == 0


def test_small_faces_give_the_same_picture_as_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    ball = exported(trimesh.creation.icosphere(subdivisions=3), "stl")
    quick = seen(ball, "stl", "iso")["iso"].astype(int)
    monkeypatch.setattr(mesh_renderer, "_BOX", 0)
    slow = seen(ball, "stl", "iso")["iso"].astype(int)
    assert (np.abs(quick - slow).max(2) > 8).mean() < 0.002
    assert (quick[:, :, :3] != 255).any(2).mean() == pytest.approx(np.pi / 4 / 1.12**2, rel=0.03)


def test_the_background_may_be_transparent() -> None:
    pixels = seen(exported(trimesh.creation.box(), "obj"), "obj", "front", background="transparent")["front"]
    assert (pixels[0, 0, 3], pixels[32, 32, 3]) == (0, 255)


def glb(said: object) -> bytes:
    text = json.dumps({"asset": {"version": "2.0"}, **said}).encode()  # type: ignore[dict-item]
    text += b" " * (-len(text) % 4)
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text


@pytest.mark.parametrize(
    ("data", "kind", "code"),
    [
        (b"\0" * 80 + struct.pack("<I", 1_000_000_000) + b"\0" * 50, "stl", "too_many"),
        (b"ply\nformat ascii 1.0\nelement vertex 3\nelement face 1000000000\nend_header\n", "ply", "too_many"),
        (b"glTF\x02\0\0\0\xff\xff\xff\xff", "glb", "not_a_model"),
        (b"nonsense", "ply", "not_a_model"),
        (b"v 0 0 0\nv 1 0 0\n", "obj", "empty"),
        (
            (
                b"ply\nformat ascii 1.0\nelement vertex 1000000000000000\nproperty float x\nelement face "
                b"1\nend_header\n0\n"
            ),
            "ply",
            "not_a_model",
        ),
        (b"solid " + b"\0" * 74 + struct.pack("<I", 4) + b"\0" * 50, "stl", "empty"),
        (
            glb({"accessors": [{"count": 9_000_000_000}], "meshes": [{"primitives": [{"indices": 0}]}]}),
            "glb",
            "too_many",
        ),
        (
            glb(
                {
                    "accessors": [{"count": 3_000}],
                    "meshes": [{"primitives": [{"indices": 0}]}],
                    "nodes": [{"mesh": 0}] * 3_000,
                }
            ),
            "glb",
            "too_many",
        ),
        (
            glb(
                {"accessors": [{"count": "x"}], "meshes": [{"primitives": [{"indices": 7}]}], "nodes": [{"mesh": "a"}]}
            ),
            "glb",
            "not_a_model",
        ),
        (glb({"accessors": 5, "meshes": "no"}), "glb", "not_a_model"),
        (b"\n" * 3_000_000, "obj", "empty"),
        (b"f " * 1_000_000, "obj", "empty"),
        (b"v 0 0 0\n" + b"f 1 1 1\n" * 2_000_001, "obj", "too_many"),
        (b"v 0 0 0\nf 1 2 3\nf 9 9 9\n", "obj", "not_a_model"),
    ],
)
def test_an_invalid_or_too_large_model_is_refused(data: bytes, kind: str, code: str) -> None:
    with pytest.raises(Refused, match=code):
        mesh_renderer.pictures(data, kind, ["iso"], 64, 64, "#ffffff")
