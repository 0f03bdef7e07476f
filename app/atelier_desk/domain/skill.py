"""Skills of a run: those available, and those used."""

from __future__ import annotations

from typing import Literal

from atelier_desk.domain.base_model import Model

Scope = Literal["project", "user"]


class SkillFacts(Model):
    """One available skill, as it was when the turn began.

    Attributes:
        name: for models and people; unique in the catalogue.
        description: when to use it, in its author's words.
        folder: of its files, absolute.
        by_model: models may use it; False leaves it to people.
    """

    name: str
    description: str
    folder: str
    scope: Scope = "user"
    by_model: bool = True


class SkillUse(Model):
    """A skill whose instructions are in the conversation.

    Attributes:
        folder: its readable folder, links resolved when it was loaded; empty for a command, which has none.
        digest: of its instructions, to avoid repeating them.
    """

    name: str
    folder: str = ""
    digest: str = ""


class Invocation(Model):
    """A person's ``/name arguments`` call, as sent to the model with the message.

    Attributes:
        kind: a skill; a command: a file with a prompt; or a prompt: a person's own, or from an MCP server.
        source: the file, absolute; for a prompt its server, empty for a person's own.
        text: its instructions with arguments filled in.
        read: outside sources read before its file or prompt was written; empty if a person wrote or reviewed it.
    """

    kind: Literal["skill", "command", "prompt"]
    use: SkillUse
    source: str
    text: str
    arguments: str = ""
    read: str = ""

    @property
    def outside(self) -> str:
        """Outside source of the call, empty if none: a server's prompt, or a file that no person reviewed."""
        return self.use.name if self.kind == "prompt" and self.source else self.read
