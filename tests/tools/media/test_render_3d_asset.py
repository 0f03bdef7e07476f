"""``render_3d_asset`` as a call."""

from __future__ import annotations

from pathlib import Path

import trimesh
from PIL import Image

from atelier_desk.domain.result_parts import FileChange, PicturePart
from atelier_desk.tools.base import ToolResult
from tests.tools.conftest import Calls


async def test_a_model_is_rendered_saved_and_shown(call: Calls, ws: Path) -> None:
    trimesh.creation.box().export(ws / "box.stl")
    outcome = await call.outcome(
        "render_3d_asset", model_path="box.stl", output_dir="out", views=["front", "iso", "iso"], width=80, height=60
    )
    assert isinstance(outcome, ToolResult)
    assert outcome.data["pictures"] == ["out/box-front.png", "out/box-iso.png"]
    assert (outcome.data["faces"], outcome.data["size"]) == (12, [1.0, 1.0, 1.0])
    assert Image.open(ws / "out" / "box-iso.png").size == (80, 60)
    assert [type(part) for part in outcome.parts] == [PicturePart, FileChange] * 2


async def test_an_unusable_model_is_refused_with_the_reason(call: Calls, ws: Path) -> None:
    (ws / "a.stl").write_bytes(b"\0" * 80 + b"\xff\xff\xff\x3f" + b"\0" * 50)
    (ws / "b.txt").write_text("x")
    codes = [
        (await call("render_3d_asset", model_path=name, output_dir="out"))["code"]
        for name in ("a.stl", "b.txt", "c.obj")
    ]
    assert codes == ["too_large", "not_a_model", "not_found"]
    assert (await call("render_3d_asset", model_path="a.stl", output_dir="../out"))["code"] == "outside"
    assert not (ws / "out").exists()
