"""``describe_image``: describe an image with a vision model."""

from __future__ import annotations

from pydantic import Field

from atelier_desk.domain.errors import ToolError
from atelier_desk.media.image_headers import kind_of
from atelier_desk.support.i18n import N_, _
from atelier_desk.tools.base import Effect, Input, Risk, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import FilePath
from atelier_desk.tools.media.media_tool_base import MediaTool
from atelier_desk.tools.registry.builtin import builtin

MOST = 10 * 1024 * 1024


class DescribeInput(Input):
    path: FilePath
    prompt: str = Field(default="", max_length=4_000, description="What you want to know of it.")


@builtin(order=534)
class DescribeImage(MediaTool):
    """Asks a vision model."""

    name = "describe_image"
    title = N_("Describe an image")
    purpose = N_("Describes an image with a vision model")
    summaries = {"": N_("Describe {path}")}
    done = {"": N_("Described {path}")}
    subjects = {"path": "paths"}
    effect = Effect.NETWORK
    risk = Risk.LOW
    idempotent = True
    timeout_s = 240.0
    preset = True
    input = DescribeInput
    about = About(
        what="Has a vision model say what a picture in the workspace shows. The picture is sent to that model.",
        when="you cannot see pictures yourself and need to know what one shows.",
        when_not="you see pictures (read_file shows them), or only its text matters (read_image).",
        example={"path": "shots/window.png", "prompt": "Which button has the focus?"},
        limits=(f"{MOST >> 20} MB; PNG, JPEG, WebP, GIF, BMP or TIFF",),
    )

    def missing_setup(self) -> str:
        return self.services.image_describer.missing_setup() if self.services.image_describer is not None else ""

    async def run(self, input: DescribeInput, context: ToolContext) -> ToolResult:
        if self.services.image_describer is None:
            raise ToolError("Pictures cannot be described here.", code="unsupported")
        where = self.place(input.path, context)
        data = await self.content(where, context, MOST)
        kind = kind_of(data)
        if not kind:
            raise ToolError(
                "{path} is no PNG, JPEG, WebP, GIF, BMP or TIFF picture.", code="not_a_picture", path=where.shown
            )
        if context.spending is None:  # nothing would limit its cost
            raise ToolError("Pictures can only be described in a run.", code="unsupported")
        context.progress(10, _("Describing the image"))
        text = await self.services.image_describer.describe(data, kind, input.prompt, context.spending)
        return ToolResult.ok(path=where.shown, description=text)
