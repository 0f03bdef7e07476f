"""Generate images and 3D models with configured services.

``generate_image``, ``generate_multiview_images``, ``generate_3d_from_image``, ``generate_3d_from_text``.
"""

from __future__ import annotations

import base64
from functools import partial
from typing import Any, Literal

from pydantic import Field

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.result_parts import FileChange, PicturePart
from atelier_desk.domain.usage import Paying
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Effect, Input, Risk, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import FilePath, seen
from atelier_desk.tools.media.media_tool_base import PICTURE, MakingTool
from atelier_desk.tools.media.render_3d_asset import save_picture
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.web.media_generation import WAIT_S, Job, MediaGenerator, media_type
from atelier_desk.workspace.checkpoints.undoable_file_operations import FILE
from atelier_desk.workspace.diffs import digest
from atelier_desk.workspace.path_resolution import WorkspacePath

PROMPT = 4_000
Ratio = Literal["1:1", "3:2", "4:3", "16:9", "2:3", "3:4", "9:16"]
SIDES = ("front", "back", "left", "right")
_IMAGE_S = 260.0


class _ByService(MakingTool):
    effect = Effect.NETWORK
    risk = Risk.MEDIUM

    def risk_of(self, paths: Any) -> Risk:
        return max(self.risk, super().risk_of(paths), key=list(Risk).index)

    @property
    def maker(self) -> MediaGenerator:
        if self.services.maker is None:
            raise ToolError("Nothing can be generated here.", code="unsupported")
        return self.services.maker

    def paying(self, context: ToolContext) -> Paying | None:
        """What counts an order of the call; None outside runs."""
        return (
            partial(context.spending.paying, where="Settings, Images and 3D (atelier media)")
            if context.spending is not None
            else None
        )

    def target(self, text: str, context: ToolContext) -> WorkspacePath:
        """Return where a result is written, checked before anything is paid for.

        Raises:
            ToolError: it cannot be written there.
        """
        target = self.place(text, context)
        self.check(target, context)
        return target

    def targets(self, input: Any, context: ToolContext) -> list[WorkspacePath]:
        """Return the files that a call writes."""
        return [self.place(input.output_path, context)]

    def preview(self, input: object, context: ToolContext) -> list[FileChange]:
        found = []
        for target in self.targets(input, context):
            before = self.check(target, context)
            if before is not None:
                found.append(
                    FileChange(action="changed", path=target.shown, before=digest(before), files=1, size=len(before))
                )
        return found

    def check(self, target: WorkspacePath, context: ToolContext) -> bytes | None:
        """Return the present content of a target file, None if new: everything checked before anything is paid for.

        Raises:
            ToolError: no file can be written there (it is a folder, a link to outside, or below a file), or the present
                one cannot be stored for undo; ``changed`` if it changed since this run read it.
        """
        if not target.path:
            raise ToolError("{path} is a folder: add the name of a file.", code="not_a_file", path=target.shown)
        root = self.root(target, context)
        there = root.inspect(target.path)
        if there is not None and there.kind != "file":
            raise ToolError(
                "{path} is no file that can be replaced: choose another name.", code="not_a_file", path=target.shown
            )
        above = target.path.rpartition("/")[0]
        while above and (found := root.inspect(above)) is None:
            above = above.rpartition("/")[0]
        if above and found is not None and found.kind != "folder":
            raise ToolError("{path} is no folder: choose another place.", code="not_a_folder", path=above)
        if there is None:
            return None
        before = root.read(target.path, FILE)
        self.refuse_changed(target, before, context)
        return before

    def save(self, target: WorkspacePath, data: bytes, context: ToolContext) -> list[PicturePart | FileChange]:
        """Write a result; images are also displayed."""
        change = save_picture(self, target, data, context)
        kind = media_type(data)
        if not kind:
            return [change]
        return [
            PicturePart(title=target.shown, image=ImagePart(data=base64.b64encode(data).decode(), media_type=kind)),
            change,
        ]


class ImageInput(Input):
    prompt: str = Field(min_length=1, max_length=PROMPT, description="What the picture shows.")
    output_path: FilePath = Field(description="Where it is saved, for example pictures/cat.png.")
    aspect_ratio: Ratio = Field(default="1:1", description="Width to height.")


@builtin(order=540)
class GenerateImage(_ByService):
    """Generates an image."""

    name = "generate_image"
    title = N_("Generate an image")
    purpose = N_("Generates images from text with the configured service")
    summaries = {"": N_("Generate the image {output_path}")}
    done = {"": N_("Generated the image {output_path}")}
    subjects = {"output_path": "paths"}
    timeout_s = _IMAGE_S + 120
    input = ImageInput
    about = About(
        what="Makes a picture from words and saves it. It is shown.",
        when="the user wants a new picture.",
        when_not="a diagram, a plot or an icon can be written as text (SVG, Mermaid) or by a script.",
        example={
            "prompt": "a red bicycle in the rain, watercolour",
            "output_path": "pictures/bicycle.png",
            "aspect_ratio": "3:2",
        },
        limits=(f"{PROMPT} characters", "each picture costs the user money"),
    )

    def missing_setup(self) -> str:
        return self.services.maker.missing_for_images() if self.services.maker is not None else ""

    async def run(self, input: ImageInput, context: ToolContext) -> ToolResult:
        target = await in_tool_thread(self.target, input.output_path, context)
        context.progress(5, _("Generating the image"))
        data = await self.maker.picture(input.prompt, input.aspect_ratio, self.paying(context))
        parts = await in_tool_thread(self.save, target, data, context)
        facts = {
            "path": target.shown,
            "media_type": media_type(data),
            "size": len(data),
            "message": "The picture is shown.",
        }
        return ToolResult({"success": True, **facts}, parts=tuple(parts), state=seen(target, data))


class ViewsInput(Input):
    prompt: str = Field(min_length=1, max_length=PROMPT, description="The thing.")
    output_dir: FilePath = Field(description="Folder for front.png, back.png, left.png, right.png.")
    style: str = Field(default="", max_length=500, description="How it is drawn.")


@builtin(order=542)
class GenerateMultiview(_ByService):
    """Generates four views of an object."""

    name = "generate_multiview_images"
    title = N_("Four views of an object")
    purpose = N_("Generates images of an object from four sides with the configured service")
    summaries = {"": N_("Generate four views of an object in {output_dir}")}
    done = {"": N_("Generated four views of an object in {output_dir}")}
    subjects = {"output_dir": "paths"}
    timeout_s = 4 * _IMAGE_S
    input = ViewsInput
    about = About(
        what="Makes four pictures of one thing, from the front, back, left and right, for a 3D model.",
        when="a 3D model is to be made from pictures that do not exist yet.",
        when_not="one picture is enough (generate_image).",
        example={"prompt": "a wooden toy horse", "output_dir": "horse", "style": "plain background"},
        limits=("four pictures, each costs the user money", "the four are made one by one and may differ"),
    )

    def missing_setup(self) -> str:
        return self.services.maker.missing_for_images() if self.services.maker is not None else ""

    def targets(self, input: ViewsInput, context: ToolContext) -> list[WorkspacePath]:
        folder = self.place(input.output_dir, context)
        return [folder.below(f"{side}.png") for side in SIDES]

    async def run(self, input: ViewsInput, context: ToolContext) -> ToolResult:
        parts: list[PicturePart | FileChange] = []
        paths = []
        state: dict[str, str] = {}
        targets = self.targets(input, context)
        for target in targets:
            await in_tool_thread(self.check, target, context)
        for number, (side, target) in enumerate(zip(SIDES, targets, strict=True)):
            context.progress(25 * number, _("Image {number} of {count}", number=number + 1, count=len(SIDES)))
            words = f"{input.prompt}. {side} view of the whole object, centred, plain white background. {input.style}"
            data = await self.maker.picture(words.strip(), "1:1", self.paying(context))
            parts += await in_tool_thread(self.save, target, data, context)
            state |= seen(target, data)
            paths.append(target.shown)
        return ToolResult(
            {"success": True, "pictures": paths, "message": "The pictures are shown."}, parts=tuple(parts), state=state
        )


_CONTINUES = N_("Generating the 3D model. If you stop now, {service} still finishes it and charges for it.")


class _ModelTool(_ByService):
    icon = "layers"
    timeout_s = WAIT_S + 300

    def missing_setup(self) -> str:
        return self.services.maker.missing_for_models() if self.services.maker is not None else ""

    def check(self, target: WorkspacePath, context: ToolContext) -> bytes | None:
        before = super().check(target, context)
        if not target.path.lower().endswith(".glb"):
            raise ToolError("The model comes as GLB: let output_path end with .glb.", code="bad_path")
        return before

    async def made(self, job: Job, target: WorkspacePath, context: ToolContext) -> ToolResult:
        def report(percent: int, stops: bool) -> None:
            text = _("Generating the model") if stops else _(_CONTINUES, service=self.maker.models_by())
            context.progress(percent, text)

        report(1, True)
        data = await self.maker.model(job, report, self.paying(context))
        if not data.startswith(b"glTF"):
            raise ToolError("The service gave something that is no GLB model. Try again.", code="bad_answer")
        parts = await in_tool_thread(self.save, target, data, context)
        message = "Look at it with render_3d_asset."
        facts = {"path": target.shown, "size": len(data), "message": message}
        return ToolResult({"success": True, **facts}, parts=tuple(parts), state=seen(target, data))


class ModelFromTextInput(Input):
    prompt: str = Field(min_length=1, max_length=600, description="The thing.")
    output_path: FilePath = Field(description="Where the model is saved: a path ending with .glb.")
    style: str = Field(default="", max_length=200, description="How it looks.")


@builtin(order=546)
class Generate3dFromText(_ModelTool):
    """Generates a model from text."""

    name = "generate_3d_from_text"
    title = N_("Generate a 3D model from text")
    purpose = N_("Generates 3D models from text with the configured service")
    summaries = {"": N_("Generate the 3D model {output_path}")}
    done = {"": N_("Generated the 3D model {output_path}")}
    subjects = {"output_path": "paths"}
    input = ModelFromTextInput
    about = About(
        what="Makes a 3D model (GLB) from words. It takes minutes.",
        when="the user wants a new 3D model of a thing.",
        when_not="the shape is simple or exact: write it by a script.",
        example={"prompt": "a wooden toy horse", "output_path": "models/horse.glb"},
        limits=("600 characters", f"{WAIT_S / 60:.0f} minutes", "each model costs the user money"),
    )

    async def run(self, input: ModelFromTextInput, context: ToolContext) -> ToolResult:
        target = await in_tool_thread(self.target, input.output_path, context)
        return await self.made(Job(", ".join(filter(None, (input.prompt, input.style)))), target, context)


class ModelFromImageInput(Input):
    image_paths: list[FilePath] = Field(
        min_length=1,
        max_length=4,
        description=(
            "1 to 4 pictures of a thing, front first. With several, place means side: front, left, back, right, "
            "none skipped."
        ),
    )
    output_path: FilePath = Field(description="Where the model is saved: a path ending with .glb.")


@builtin(order=544)
class Generate3dFromImage(_ModelTool):
    """Generates a model from images."""

    name = "generate_3d_from_image"
    title = N_("Generate a 3D model from images")
    purpose = N_("Generates 3D models from images with the configured service")
    summaries = {"": N_("Generate the 3D model {output_path}")}
    done = {"": N_("Generated the 3D model {output_path}")}
    subjects = {"image_paths": "paths", "output_path": "paths"}
    input = ModelFromImageInput
    about = About(
        what=(
            "Makes a 3D model (GLB) from one to four pictures of a thing. The pictures are sent to the service; "
            "it takes minutes."
        ),
        when="there are pictures of the thing.",
        when_not="there are none (generate_3d_from_text).",
        example={
            "image_paths": ["horse/front.png", "horse/left.png", "horse/back.png", "horse/right.png"],
            "output_path": "models/horse.glb",
        },
        limits=("PNG, JPEG or WebP", f"{WAIT_S / 60:.0f} minutes", "each model costs the user money"),
    )

    async def run(self, input: ModelFromImageInput, context: ToolContext) -> ToolResult:
        target = await in_tool_thread(self.target, input.output_path, context)
        pictures = []
        for path in input.image_paths:
            where = self.place(path, context)
            data = await in_tool_thread(self.root(where, context).read, where.path, PICTURE)
            if media_type(data) not in ("image/png", "image/jpeg", "image/webp"):
                raise ToolError("{path} is no PNG, JPEG or WebP picture.", code="not_a_picture", path=where.shown)
            pictures.append(data)
        return await self.made(Job(pictures=tuple(pictures)), target, context)
