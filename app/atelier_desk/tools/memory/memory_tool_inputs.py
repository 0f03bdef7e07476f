"""Inputs of MemoryTool."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from atelier_desk.domain import limits
from atelier_desk.domain.memory import DEFAULT_IMPORTANCE
from atelier_desk.tools.base import Input

Type = Literal["user_pref", "context", "knowledge", "decision"]
Tag = Annotated[str, Field(min_length=1, max_length=limits.MEMORY_TAG)]
Tags = Annotated[list[Tag], Field(max_length=limits.MEMORY_TAGS)]
MemoryId = Annotated[str, Field(min_length=1, max_length=64, description="Id of the memory.")]
Scope = Literal["workflow", "general", "both"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
SCOPE_HELP = "workflow: this workflow's alone; general: those for all workflows, with your proposals for them; both."
TAGS_HELP = "Only memories that have each of these tags, spelled the same."
READ_DEFAULT = 20_000
"""Characters of a memory returned per ``get``."""


class Metadata(BaseModel):
    model_config = {"extra": "forbid", "defer_build": True}

    priority: Share | None = Field(default=None, description="0 to 1.")
    agent_source: str = Field(
        default="", max_length=limits.AGENT_NAME, description="Agent the information comes from; you, when left out."
    )
    tags: Tags = []


class Add(Input):
    operation: Literal["add"]
    type: Type = Field(
        description=(
            "user_pref: what the user likes; knowledge: a fact; decision: what was decided and why; context: of "
            "use for days only."
        )
    )
    content: str = Field(
        min_length=1, max_length=limits.MEMORY_CONTENT, description="One fact a memory, understandable by itself."
    )
    metadata: Metadata = Field(default=Metadata(), description="tags: as tags; agent_source.")
    tags: Tags = Field(default=[], description='Keywords to filter by later, such as ["style", "french"].')
    scope: Literal["workflow", "general"] | None = Field(
        default=None,
        description="workflow: for this workflow alone. general: for all workflows; it is a proposal, which this "
        "workflow has at once and "
        "the others once the user agrees, in a card that asks at once. Left out: general for user_pref and "
        "knowledge, workflow for context "
        "and decision.",
    )
    importance: Share | None = Field(
        default=None,
        description="0 to 1; left out: "
        + ", ".join(
            f"{kind.value} {share:g}" for kind, share in sorted(DEFAULT_IMPORTANCE.items(), key=lambda item: -item[1])
        )
        + ".",
    )


class Get(Input):
    operation: Literal["get"]
    memory_id: MemoryId
    offset: int = Field(default=0, ge=0, description="Character to begin at.")


class List(Input):
    operation: Literal["list"]
    type_filter: Type | None = Field(default=None, description="Only this type.")
    tags: Tags = Field(default=[], description=TAGS_HELP)
    scope: Scope = Field(default="both", description=SCOPE_HELP)
    mode: Literal["full", "compact"] = Field(default="full", description="compact gives a preview of the content.")
    limit: int = Field(
        default=limits.MEMORY_LIST_DEFAULT, ge=1, le=limits.MEMORY_LIST_MAX, description="Most memories to return."
    )


class Search(Input):
    operation: Literal["search"]
    query: str = Field(min_length=1, max_length=limits.QUESTION, description="What you want to know, in words.")
    type_filter: Type | None = Field(default=None, description="Only this type.")
    tags: Tags = Field(default=[], description=TAGS_HELP)
    scope: Scope = Field(default="both", description=SCOPE_HELP)
    limit: int = Field(
        default=limits.MEMORY_LIST_DEFAULT, ge=1, le=limits.MEMORY_LIST_MAX, description="Most memories to return."
    )
    threshold: Share = Field(
        default=0.7,
        description="Drops less certain matches, 0 to 1: 0 keeps all that matches at all, 0.7 what is about the same "
        "thing, 1 clear "
        "matches alone. Found nothing: try 0.",
    )


class Update(Input):
    operation: Literal["update"]
    memory_id: MemoryId
    content: str | None = Field(
        default=None, min_length=1, max_length=limits.MEMORY_CONTENT, description="The new content."
    )
    tags: Tags | None = Field(default=None, description="All its tags from now on; [] removes them.")
    importance: Share | None = Field(default=None, description="The new importance, 0 to 1.")


class Delete(Input):
    operation: Literal["delete"]
    memory_id: MemoryId


class ClearByType(Input):
    operation: Literal["clear_by_type"]
    type: Type = Field(description="Delete all memories of this type.")
    scope: Scope | None = Field(
        default=None,
        description=(
            "workflow (when left out): this workflow's alone; general: those for all workflows, with your "
            "proposals; both."
        ),
    )


class Describe(Input):
    operation: Literal["describe"]


class ActivateWorkflow(Input):
    operation: Literal["activate_workflow"]
    workflow_id: str = Field(
        min_length=1, max_length=64, description="Workflow whose memories the following calls of this run mean."
    )


class ActivateGeneral(Input):
    operation: Literal["activate_general"]


MemoryInput = Annotated[
    Add | Get | List | Search | Update | Delete | ClearByType | Describe | ActivateWorkflow | ActivateGeneral,
    Field(discriminator="operation"),
]
