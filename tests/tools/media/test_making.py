"""What is generated is saved and shown, and not offered before it is set up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from atelier_desk.domain.parts import FileChange, PicturePart
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.engine.seeing import Seer
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.services import ToolServices
from atelier_desk.web.making import Maker
from atelier_desk.web.reader import Web
from tests.support.clock import ManualClock
from tests.tools.conftest import Calls

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


class Painter(Maker):
    """Answers at once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(KeyVault(session=True), ManualClock(), Web(folder))
        self.settings = MediaSettings(images="http://localhost:1/v1", images_model="m", models="tripo")
        self.asked: list[Any] = []

    async def picture(self, prompt: str, ratio: str) -> bytes:
        self.asked.append((prompt, ratio))
        return PNG

    async def model(self, job: Any, say: Any) -> bytes:
        self.asked.append(job)
        return b"glTFrest"


async def test_pictures_and_models_are_saved_where_they_should_be(call: Calls, services: ToolServices, ws: Path, tmp_path: Path) -> None:
    maker = services.maker = Painter(tmp_path / "web")
    outcome = await call.outcome("generate_image", prompt="a cat", output_path="out/cat.png")
    assert isinstance(outcome, ToolResult)
    assert ([type(part) for part in outcome.parts], (ws / "out/cat.png").read_bytes()) == ([PicturePart, FileChange], PNG)
    views = await call("generate_multiview_images", prompt="a horse", output_dir="horse")
    assert views["pictures"] == ["horse/front.png", "horse/back.png", "horse/left.png", "horse/right.png"]
    made = await call("generate_3d_from_image", image_paths=["horse/front.png"], output_path="horse.glb")
    assert (made["success"], (ws / "horse.glb").read_bytes(), maker.asked[-1].pictures) == (True, b"glTFrest", (PNG,))
    assert (await call("generate_3d_from_text", prompt="x", output_path="horse.obj"))["code"] == "bad_path"
    assert (await call("generate_image", prompt="x", output_path="../cat.png"))["code"] == "outside"
    (ws / "no.png").write_text("x")
    assert (await call("generate_3d_from_image", image_paths=["no.png"], output_path="a.glb"))["code"] == "not_a_picture"


async def test_what_is_not_set_up_is_not_offered(call: Calls, services: ToolServices, tmp_path: Path) -> None:
    maker = services.maker = Painter(tmp_path / "web")
    services.seer = Seer(None, ManualClock())  # type: ignore[arg-type]
    always = ["read_image", "list_images", "render_3d_asset"]
    made = ["generate_image", "generate_multiview_images", "generate_3d_from_image", "generate_3d_from_text"]
    assert call.registry.configured((), ("media_ops",)) == [*always, *made]
    maker.settings = MediaSettings()
    assert call.registry.configured((), ("media_ops",)) == always
    services.seer.model = "local/eye"
    assert "describe_image" in call.registry.configured((), ("media_ops",))
