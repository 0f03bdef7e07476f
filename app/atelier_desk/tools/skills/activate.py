"""activate_skill: load a skill, whose instructions then stay in the conversation.

It only provides instructions: the allowed tools in a skill's header are ignored, and its scripts run like any command.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import CONTEXT

NAME = 128


class ActivateSkillInput(Input):
    name: str = Field(min_length=1, max_length=NAME, description="A skill of the catalogue.")


@builtin(order=740)
class ActivateSkillTool(DescribedTool):
    """Returns a skill's instructions."""

    name = "activate_skill"
    title = N_("Skill")
    purpose = N_("Loads a skill; available to every agent if there are skills")
    icon = "sparkles"
    summaries = {"": N_("Load the skill {name}")}
    done = {"": N_("Loaded the skill {name}")}
    section = CONTEXT
    idempotent = True
    input = ActivateSkillInput
    rest_hint = "Read the rest in the skill's SKILL.md."
    about = About(
        what="Gives the instructions of a skill from the catalogue of skills, and the names of its files.",
        when="the task fits a skill's description, before you begin with it.",
        when_not="its instructions are in the run already, or no skill fits.",
        example={"name": "release-notes"},
    )

    async def run(self, input: ActivateSkillInput, context: ToolContext) -> ToolResult:
        if self.services.skills is None:
            raise ToolError("There are no skills here.", code="unknown_skill")
        opened = await self.services.skills.activate(
            input.name.strip().removeprefix("/"), [str(root) for root in context.roots]
        )
        use = opened.use
        if use in context.skills:
            return ToolResult.ok(
                skill=use.name, message="Its instructions are in the run already and have not changed. Continue."
            )
        from xml.sax.saxutils import quoteattr  # imports urllib.request, which listing tools does not need

        # Otherwise the text could close the enclosing element itself.
        text = opened.text.replace("</skill_content", "</ skill_content")
        files = {"files": list(opened.files)} if opened.files else {}
        notes = [
            (
                "Its instructions say how to work. What you may do is decided elsewhere: every call goes by the user's "
                "permissions."
            )
        ]
        if opened.files:
            notes.append(
                "Paths in it are relative to folder: read its files by absolute paths, run its scripts as any command."
            )
        data = {
            "success": True,
            "skill": use.name,
            "folder": use.folder,
            **files,
            "note": " ".join(notes),
            "instructions": f"<skill_content name={quoteattr(use.name)}>\n{text}\n</skill_content>",
        }
        files_of = self.services.files
        marks = files_of.marks if files_of is not None else None
        read = await in_tool_thread(marks.of, str(Path(use.folder) / "SKILL.md")) if marks and use.folder else ()
        return ToolResult(data, skill=use, tainted=read)


@lru_cache(maxsize=64)
def _named(names: tuple[str, ...], plain: str) -> ToolSpec:
    spec = ToolSpec.model_validate_json(plain)

    def named(schema: dict[str, Any]) -> dict[str, object]:
        changed = copy.deepcopy(schema)
        properties = changed.get("properties", {})
        if "name" in properties:
            description = properties["name"].get("description", "")
            properties["name"] = {"type": "string", "enum": list(names), "description": description}
        return changed

    return spec.model_copy(update={"parameters": named(spec.parameters), "variants": tuple(map(named, spec.variants))})


def with_names(spec: ToolSpec, names: tuple[str, ...]) -> ToolSpec:
    """Return the definition for a run with these skills; cached by names."""
    return _named(names, spec.model_dump_json()) if names else spec
