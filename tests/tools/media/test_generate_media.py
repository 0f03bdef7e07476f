"""Generated files are saved and shown, and generation is offered only after set-up."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from atelier_desk.domain.result_parts import FileChange, PicturePart
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.domain.usage import Paying
from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.calls.context import Spending
from atelier_desk.tools.definition.tool_description import DescribedTool
from atelier_desk.tools.files.file_tool_base import SEEN
from atelier_desk.tools.registry.sections import MEDIA
from atelier_desk.tools.registry.tool_services import ToolServices
from atelier_desk.web.media_generation import MediaGenerator
from atelier_desk.web.page_fetcher import Web
from atelier_desk.workspace.checkpoints.undoable_file_operations import FILE
from atelier_desk.workspace.diffs import digest
from tests.helpers.manual_clock import ManualClock
from tests.helpers.sample_images import png
from tests.tools.conftest import Calls

PNG = png()


class Painter(MediaGenerator):
    """Answers at once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(KeyVault(session=True), ManualClock(), Web(folder))
        self.settings = MediaSettings(images="http://localhost:1/v1", images_model="m", models="tripo")
        self.asked: list[Any] = []
        self.gate: asyncio.Event | None = None

    async def picture(self, prompt: str, ratio: str, paying: Paying | None = None) -> bytes:
        self.asked.append((prompt, ratio))
        return PNG

    async def model(self, job: Any, say: Any, paying: Paying | None = None) -> bytes:
        self.asked.append(job)
        say(40, True)
        say(80, False)
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.asked.append("stopped")
                raise
        return b"glTFrest"


async def test_images_and_models_are_saved_at_the_requested_path(
    call: Calls, services: ToolServices, ws: Path, tmp_path: Path
) -> None:
    maker = services.maker = Painter(tmp_path / "web")
    outcome = await call.outcome("generate_image", prompt="a cat", output_path="out/cat.png")
    assert isinstance(outcome, ToolResult)
    assert ([type(part) for part in outcome.parts], (ws / "out/cat.png").read_bytes()) == (
        [PicturePart, FileChange],
        PNG,
    )
    views = await call("generate_multiview_images", prompt="a horse", output_dir="horse")
    assert views["pictures"] == ["horse/front.png", "horse/back.png", "horse/left.png", "horse/right.png"]
    made = await call("generate_3d_from_image", image_paths=["horse/front.png"], output_path="horse.glb")
    assert (made["success"], (ws / "horse.glb").read_bytes(), maker.asked[-1].pictures) == (True, b"glTFrest", (PNG,))
    assert (await call("generate_3d_from_text", prompt="x", output_path="horse.obj"))["code"] == "bad_path"
    assert (await call("generate_image", prompt="x", output_path="../cat.png"))["code"] == "outside"
    (ws / "no.png").write_text("x")
    assert (await call("generate_3d_from_image", image_paths=["no.png"], output_path="a.glb"))[
        "code"
    ] == "not_a_picture"


async def test_the_progress_of_a_model_is_reported_and_stopping_ends_the_job(
    call: Calls, services: ToolServices, ws: Path, tmp_path: Path
) -> None:
    maker = services.maker = Painter(tmp_path / "web")
    told: list[tuple[int, str]] = []
    call.context = replace(call.context, progress=lambda percent, text: told.append((percent, text)))
    assert (await call("generate_3d_from_text", prompt="a horse", output_path="horse.glb"))["success"]
    assert [percent for percent, _text in told] == [1, 40, 80]
    assert "charges for it" in told[-1][1], "that stopping saves nothing any more is said while it is so"
    maker.gate = asyncio.Event()
    task = asyncio.create_task(call("generate_3d_from_text", prompt="a cow", output_path="cow.glb"))
    while len(told) < 6:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (maker.asked[-1], (ws / "cow.glb").exists()) == ("stopped", False)


async def test_an_image_is_shown_only_to_a_vision_model(call: Calls, services: ToolServices, ws: Path) -> None:
    seen: list[tuple[bytes, str, str]] = []

    class Eye:
        def missing_setup(self) -> str:
            return ""

        async def describe(self, data: bytes, media_type: str, prompt: str, spending: Any = None) -> str:
            seen.append((data, media_type, prompt))
            return "A red bicycle."

    services.image_describer = Eye()
    (ws / "a.png").write_bytes(PNG)
    (ws / "a.txt").write_text("x")
    call.context = replace(call.context, spending=cast("Spending", object()))
    told = await call("describe_image", path="a.png", prompt="What is it?")
    assert (told["description"], seen) == ("A red bicycle.", [(PNG, "image/png", "What is it?")])
    codes = [(await call("describe_image", path=path))["code"] for path in ("a.txt", "b.png", "../a.png")]
    assert (codes, len(seen)) == (["not_a_picture", "not_found", "outside"], 1)


async def test_a_tool_without_set_up_is_not_offered(call: Calls, services: ToolServices, tmp_path: Path) -> None:
    maker = services.maker = Painter(tmp_path / "web")
    services.image_describer = ImageDescriber(None, None, ManualClock())  # type: ignore[arg-type]
    always = ["read_image", "list_images", "render_3d_asset"]
    made = ["generate_image", "generate_multiview_images", "generate_3d_from_image", "generate_3d_from_text"]
    assert call.registry.configured((), ("media_ops",)) == [*always, *made]
    maker.settings = MediaSettings()
    assert call.registry.configured((), ("media_ops",)) == always
    services.image_describer.model = "local/eye"
    assert "describe_image" in call.registry.configured((), ("media_ops",))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("generate_image", {"prompt": "x", "output_path": "folder"}),
        ("generate_image", {"prompt": "x", "output_path": "."}),
        ("generate_image", {"prompt": "x", "output_path": "file/cat.png"}),
        ("generate_image", {"prompt": "x", "output_path": "way-out/cat.png"}),
        ("generate_multiview_images", {"prompt": "x", "output_dir": "file"}),
        ("generate_multiview_images", {"prompt": "x", "output_dir": "taken"}),
        ("generate_3d_from_text", {"prompt": "x", "output_path": "folder.glb"}),
        ("generate_3d_from_text", {"prompt": "x", "output_path": "a.obj"}),
        ("generate_3d_from_image", {"image_paths": ["a.png"], "output_path": "file/a.glb"}),
        *(
            (tool, {**arguments, where: path})
            for tool, arguments, where, ending in (
                ("generate_image", {"prompt": "x"}, "output_path", ".png"),
                ("generate_multiview_images", {"prompt": "x"}, "output_dir", ""),
                ("generate_3d_from_text", {"prompt": "x"}, "output_path", ".glb"),
                ("generate_3d_from_image", {"image_paths": ["a.png"]}, "output_path", ".glb"),
            )
            for path in (
                f"large{ending}",
                f"read-before{ending}",
                f"../out{ending}",
                f"/elsewhere/x{ending}",
                f"{'n' * 300}{ending}",
                f"file/x{ending}",
            )
        ),
        ("describe_image", {"path": "nowhere.png"}),
        ("describe_image", {"path": "file"}),
    ],
)
async def test_nothing_is_paid_for_a_result_that_cannot_be_saved(
    call: Calls, services: ToolServices, ws: Path, tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    maker = services.maker = Painter(tmp_path / "web")
    for name in ("folder", "folder.glb", "taken/right.png"):
        (ws / name).mkdir(parents=True)
    (ws / "file").write_text("x")
    (ws / "a.png").write_bytes(PNG)
    (ws / "way-out").symlink_to(tmp_path)
    for name in ("large.png", "large.glb", "large/front.png"):
        (ws / name).parent.mkdir(exist_ok=True)
        (ws / name).touch()
        os.truncate(ws / name, FILE + 1)  # undo would be impossible
    for name in ("read-before.png", "read-before.glb", "read-before/left.png"):
        (ws / name).parent.mkdir(exist_ok=True)
        (ws / name).write_bytes(b"what somebody else made of it")
        call.states.setdefault(SEEN, {})[f"{ws.as_posix()}/{name}"] = digest(b"what the run read")
    assert not (await call(tool, **arguments))["success"]
    assert maker.asked == []


async def test_every_paid_tool_is_in_the_table_above(call: Calls) -> None:
    pays = set()
    for tool in call.registry.get_tools_by_section(MEDIA):
        assert isinstance(tool, DescribedTool)
        if "costs the user money" in str(tool.about.limits):
            pays.add(tool.name)
    (table,) = (
        mark for mark in test_nothing_is_paid_for_a_result_that_cannot_be_saved.pytestmark if mark.name == "parametrize"
    )
    assert pays <= {tool for tool, _arguments in table.args[1]}
    assert len(pays) >= 4


@pytest.mark.parametrize(
    ("tool", "arguments", "replaced"),
    [
        ("generate_image", {"prompt": "x", "output_path": "old.png"}, ["old.png"]),
        ("generate_image", {"prompt": "x", "output_path": "new.png"}, []),
        ("generate_multiview_images", {"prompt": "x", "output_dir": "views"}, ["views/left.png"]),
        ("generate_3d_from_text", {"prompt": "x", "output_path": "old.glb"}, ["old.glb"]),
        ("generate_3d_from_image", {"image_paths": ["a.png"], "output_path": "old.glb"}, ["old.glb"]),
    ],
)
async def test_replacing_a_file_is_announced_and_can_be_repeated(
    call: Calls,
    services: ToolServices,
    ws: Path,
    tmp_path: Path,
    tool: str,
    arguments: dict[str, Any],
    replaced: list[str],
) -> None:
    services.maker = Painter(tmp_path / "web")
    (ws / "views").mkdir()
    (ws / "a.png").write_bytes(PNG)
    for name in ("old.png", "old.glb", "views/left.png"):
        (ws / name).write_bytes(b"before")
        call.states.setdefault(SEEN, {})[f"{ws.as_posix()}/{name}"] = digest(b"before")
    made = call.registry.get_tool(tool)
    assert made is not None
    announced = made.preview(made.input(**arguments), replace(call.context, state=call.states[SEEN]))
    assert [(each.action, each.path, each.files, each.size) for each in announced] == [
        ("changed", path, 1, 6) for path in replaced
    ]
    for _again in range(2):  # its own write is not mistaken for a change by somebody else
        outcome = await call.outcome(tool, **arguments)
        assert isinstance(outcome, ToolResult)
    assert all((ws / path).read_bytes() != b"before" for path in replaced)
