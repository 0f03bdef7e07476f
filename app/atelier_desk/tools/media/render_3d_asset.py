"""``render_3d_asset``: render images of a 3D model without a graphics card."""

from __future__ import annotations

import base64
from typing import Any, Literal

from pydantic import Field

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.result_parts import FileChange, PicturePart
from atelier_desk.media.mesh_limits_and_views import FACES, KINDS, VIEWS
from atelier_desk.support.i18n import N_, ngettext
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.worker.errors import Ended, Failed
from atelier_desk.support.worker.requests_to_child import ask_once
from atelier_desk.tools.base import Effect, Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import FilePath, author
from atelier_desk.tools.media.media_tool_base import MakingTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.workspace.diffs import file_change
from atelier_desk.workspace.path_resolution import WorkspacePath

MODEL = 200 * 1024 * 1024
"""Maximum bytes of a model file."""
RENDER_S = 90.0
_PROBLEM_TEXTS = {
    "not_a_model": "{path} is no model that can be read as {kind}: it is broken, or of another kind.",
    "too_many": "{path} has more than {most} faces: it is not drawn. Ask for a simpler version.",
    "empty": "{path} has no faces: there is nothing to draw.",
    "broken": "{path} is broken, or asks for too much memory: it is not drawn.",
    "timeout": (
        "{path} could not be drawn within {seconds} seconds. Ask for fewer views, smaller pictures or a simpler "
        "version."
    ),
}
View = Literal["front", "back", "left", "right", "top", "bottom", "iso"]


class RenderInput(Input):
    model_path: FilePath
    output_dir: FilePath = Field(description="Folder for the pictures: NAME-VIEW.png.")
    views: list[View] = Field(default=["iso"], min_length=1, max_length=len(VIEWS), description="Sides to look from.")
    width: int = Field(default=512, ge=16, le=2048, description="Pixels.")
    height: int = Field(default=512, ge=16, le=2048, description="Pixels.")
    background: str = Field(
        default="#ffffff", pattern=r"^(transparent|#[0-9a-fA-F]{6})$", description="#rrggbb or transparent."
    )


@builtin(order=536)
class Render3dAsset(MakingTool):
    """Renders a model of the workspace."""

    name = "render_3d_asset"
    title = N_("Render a 3D model")
    purpose = N_("Renders images of 3D models, without a graphics card")
    summaries = {"": N_("Render the model {model_path}")}
    done = {"": N_("Rendered the model {model_path}")}
    subjects = {"model_path": "paths", "output_dir": "paths"}
    effect = Effect.WRITE
    idempotent = True
    timeout_s = RENDER_S + 20
    preset = True
    input = RenderInput
    about = About(
        what=(
            "Draws a 3D model of the workspace (OBJ, GLB, STL, PLY) from the sides named, and saves each as PNG. "
            "The pictures are shown."
        ),
        when="somebody wants to see a model, or you need to check one.",
        when_not="the file is a picture already (read_file).",
        example={"model_path": "parts/gear.stl", "output_dir": "renders", "views": ["front", "iso"]},
        limits=(
            f"{MODEL >> 20} MB and {FACES:,} faces",
            f"{RENDER_S:.0f} seconds",
            "plain colours: textures and material files are not read",
        ),
    )

    async def run(self, input: RenderInput, context: ToolContext) -> ToolResult:
        where = self.place(input.model_path, context)
        folder = self.place(input.output_dir, context)
        kind = where.path.rpartition(".")[2].lower()
        if kind not in KINDS:
            raise ToolError(
                "{path} is no kind of model that is drawn. Kinds: {kinds}.",
                code="not_a_model",
                path=where.shown,
                kinds=", ".join(KINDS),
            )
        views = list(dict.fromkeys(input.views))
        data = await in_tool_thread(self._model, where, context)
        context.progress(10, ngettext("Rendering {n} view", "Rendering {n} views", len(views)))
        order = (kind, views, input.width, input.height, input.background)
        try:
            found = (await ask_once("atelier_desk.media.render_3d_model_process", order, data, limit_s=RENDER_S)).value
        except (Ended, Failed) as error:
            shown: dict[str, Any] = {
                "path": where.shown,
                "kind": kind.upper(),
                "most": f"{FACES:,}",
                "seconds": round(RENDER_S),
            }
            code = error.code if error.code in _PROBLEM_TEXTS else "broken"
            raise ToolError(_PROBLEM_TEXTS[code], code={"too_many": "too_large"}.get(code, code), **shown) from error
        return await in_tool_thread(self._save, found, where, folder, context)

    def _model(self, where: WorkspacePath, context: ToolContext) -> bytes:
        root = self.root(where, context)
        there = root.inspect(where.path)
        if there is None:
            raise self.missing(where, context)
        if there.size > MODEL:
            size, most = there.size >> 20, MODEL >> 20
            raise ToolError(
                "{path} has {size} MB; up to {most} MB are drawn.",
                code="too_large",
                path=where.shown,
                size=size,
                most=most,
            )
        return root.read(where.path, MODEL)

    def _save(
        self, found: dict[str, Any], where: WorkspacePath, folder: WorkspacePath, context: ToolContext
    ) -> ToolResult:
        stem = where.path.rpartition("/")[2].rpartition(".")[0] or "model"
        parts: list[PicturePart | FileChange] = []
        paths = []
        for view, drawn in found["views"].items():
            target = folder.below(f"{stem}-{view}.png")
            parts.append(PicturePart(title=target.shown, image=ImagePart(data=drawn, media_type="image/png")))
            parts.append(save_picture(self, target, base64.b64decode(drawn), context))
            paths.append(target.shown)
        facts = {"faces": found["faces"], "vertices": found["vertices"], "size": found["size"]}
        return ToolResult(
            {"success": True, "pictures": paths, **facts, "message": "The pictures are shown."}, parts=tuple(parts)
        )


def save_picture(tool: MakingTool, target: WorkspacePath, data: bytes, context: ToolContext) -> FileChange:
    """Write a file as an undoable change."""
    root = tool.root(target, context)
    there = root.inspect(target.path)
    before = root.read(target.path, MODEL) if there is not None else None
    tool.files(context).write(author(context), target, data)
    return file_change(target.shown, before, data)
