"""Images in tool results: they are prepared for the model, and damaged ones replaced by a note."""

from __future__ import annotations

import base64
from typing import ClassVar

from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.result_parts import PicturePart, TextPart
from atelier_desk.tools.base import Input, Tool, ToolContext, ToolResult
from atelier_desk.tools.registry.registry import ToolRegistry
from tests.helpers.sample_images import broken_inside, picture, png


class Draw(Tool):
    name: ClassVar[str] = "draw"
    section: ClassVar[str] = "core_ops"
    description: ClassVar[str] = "Draws."
    input: ClassVar[type[Input]] = Input

    async def run(self, input: Input, context: ToolContext) -> ToolResult:
        said = [
            ("image/png", png()),
            ("image/bmp", picture("BMP")),
            ("image/png", broken_inside()),
            ("image/png", png(3_000, 300)),
        ]
        parts = [
            PicturePart(image=ImagePart(media_type=kind, data=base64.b64encode(data).decode())) for kind, data in said
        ]
        none = PicturePart(image=ImagePart(media_type="image/gif", data="§"))
        return ToolResult({"success": True, "left_out": ["a page"]}, parts=(TextPart(text="x"), *parts, none))


async def test_images_of_a_tool_are_prepared_and_damaged_ones_named() -> None:
    registry = ToolRegistry()
    registry.register(Draw())
    outcome = await registry.execute("draw", {}, ToolContext(workflow_id="w", run_id="r", call_id="c"))
    assert isinstance(outcome, ToolResult)
    pictures = [part.image for part in outcome.parts if isinstance(part, PicturePart)]
    assert [each.media_type for each in pictures] == ["image/png", "image/png", "image/jpeg"]
    assert pictures[0].data == base64.b64encode(png()).decode()
    assert isinstance(outcome.parts[0], TextPart)
    assert outcome.data["left_out"][0] == "a page"
    assert [("is damaged" in each) for each in outcome.data["left_out"]] == [False, True, True]
    assert "is damaged" in outcome.text, "the model is told"
