"""read_attachment: read further in an attachment that a message contains an excerpt of."""

from __future__ import annotations

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.control.control_tool_base import ControlTool, OfferedTool
from atelier_desk.tools.registry.builtin import builtin

PAGE = 20_000
"""Characters per answer, so that a page with its JSON stays below the limit of results."""


class ReadAttachmentInput(Input):
    name: str = Field(min_length=1, max_length=limits.ATTACHED_NAME)
    offset: int = Field(default=0, ge=0)
    search: str = Field(default="", max_length=200)


@builtin(order=8)
class ReadAttachmentTool(ControlTool):
    """Read further in an attached text. The person chose to show it, so reading it taints nothing."""

    name = "read_attachment"
    title = N_("Read an attachment")
    purpose = N_("Reads more of a file attached to a message")
    icon = "paperclip"
    summaries = {"": N_("Continue reading {name}")}
    done = {"": N_("Continued reading {name}")}
    awaits_external_response = False
    input = ReadAttachmentInput
    what = (
        "Read on in an attachment of which you were given an excerpt, by its name, from the character offset on; "
        "with search, "
        "from where that text comes next."
    )
    rest_hint = "Read on with next_offset."

    def offered(self, offer: OfferedTool) -> bool:
        return offer.attached

    async def run(self, input: ReadAttachmentInput, context: ToolContext) -> ToolResult:
        named = [each for each in context.attachments.values() if each.name == input.name]
        if not named:
            names = ", ".join(repr(each.name) for each in context.attachments.values()) or "none"
            raise ToolError(
                "No text of the name {name} is attached. Attached texts: {names}.", name=input.name, names=names
            )
        found = named[-1]  # the newest of several with the same name
        if self.services.artefacts is None:
            raise ToolError("Attachments belong to a workflow, and this call runs in none.", code="no_workflow")
        text = (await self.services.artefacts.read(context.workflow_id, found.stored_parts[-1])).decode(
            "utf-8", "replace"
        )
        start = input.offset
        if start > len(text):
            raise ToolError(
                "offset {offset} is past the end: the text has {total} characters.", offset=start, total=len(text)
            )
        if input.search:
            start = text.casefold().find(input.search.casefold(), start)
            if start < 0:
                raise ToolError(
                    "{search} does not come after offset {offset}.", search=input.search, offset=input.offset
                )
            start = text.rfind("\n", 0, start) + 1 if start - text.rfind("\n", 0, start) < 1_000 else start
        page = text[start : start + PAGE]
        following = start + len(page)
        more = {"next_offset": following} if following < len(text) else {}
        return ToolResult.ok(name=found.name, offset=start, content=page, total_chars=len(text), **more)
