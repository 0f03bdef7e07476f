"""Skills as a run knows them: what it was told there is, and what was taken up of it."""

from __future__ import annotations

from typing import Literal

from atelier_desk.domain.base import Model

Scope = Literal["project", "user"]


class SkillFacts(Model):
    """One skill of the catalogue, as it was when the turn began.

    Attributes:
        name: as models and people call it; each once in a catalogue.
        description: when it is of use, in its author's words.
        folder: where its files are, absolute.
        by_model: models may take it up; False leaves it to people.
    """

    name: str
    description: str
    folder: str
    scope: Scope = "user"
    by_model: bool = True


class SkillUse(Model):
    """A skill whose instructions stand in the conversation.

    Attributes:
        folder: its files can be read there, links followed when it was taken up; empty for a command, which has none.
        digest: of its instructions, so that the same are not given twice.
    """

    name: str
    folder: str = ""
    digest: str = ""


class Invocation(Model):
    """What a person called with ``/name arguments``, as it goes to the model with the message.

    Attributes:
        kind: a skill; a command: a file with a prompt; or a prompt: a person's own, or one that an MCP server made.
        source: the file, absolute; of a prompt its server, empty for a person's own.
        text: its instructions with the arguments filled in.
        read: what had been read from outside when its file or prompt was written; empty for one that a person wrote or has read.
    """

    kind: Literal["skill", "command", "prompt"]
    use: SkillUse
    source: str
    text: str
    arguments: str = ""
    read: str = ""

    @property
    def outside(self) -> str:
        """What was read from outside with it, empty for nothing: a server wrote a prompt at this moment, and no person a file before."""
        return self.use.name if self.kind == "prompt" and self.source else self.read
