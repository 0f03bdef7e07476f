"""A person's prompts: texts with variables, called with ``/name``."""

from __future__ import annotations

import re
import unicodedata

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.support.i18n import N_

_NAME = re.compile(r"\w[\w.-]*")
NOT_A_NAME = N_("“{name}” is not a valid prompt name: letters, digits, “-”, “_” and “.” are allowed, but no spaces.")


class PromptDraft(Model):
    """A prompt as edited: name, one-line description, and text with ``{{variables}}``."""

    name: str
    description: str = ""
    content: str

    def checked(self) -> PromptDraft:
        """Return the normalised draft: stripped texts, plain line ends.

        Raises:
            UsageError: the name is not callable, or there is no text; the error says what is allowed.
            LimitError: one of them exceeds ``limits``.
        """
        name = unicodedata.normalize("NFC", self.name.strip().removeprefix("/"))
        if not _NAME.fullmatch(name):
            raise UsageError(NOT_A_NAME, code="name", name=name[: limits.PROMPT_NAME])
        content = self.content.replace("\r\n", "\n").replace("\r", "\n").strip()
        if not content:
            raise UsageError(N_("The prompt has no text. Write what to tell the agents."), code="empty")
        description = " ".join(self.description.split())
        for text, most, message in (
            (name, limits.PROMPT_NAME, N_("The name has {count} characters; at most {most} are allowed.")),
            (
                description,
                limits.PROMPT_DESCRIPTION,
                N_("The description has {count} characters; at most {most} are allowed."),
            ),
            (content, limits.PROMPT_CONTENT, N_("The text has {count} characters; at most {most} are allowed.")),
        ):
            if len(text) > most:
                raise LimitError(message, count=len(text), most=most)
        return PromptDraft(name=name, description=description, content=content)


class Prompt(Model):
    """A stored prompt. Names are unique regardless of case.

    Attributes:
        tainted: source of its text if no person here has reviewed it, such as foreign data; empty once saved by a
            person.
    """

    id: str = Field(default_factory=new_id)
    name: str
    description: str = ""
    content: str
    tainted: tuple[str, ...] = ()
    created_at: Timestamp = Field(default_factory=utc_now)
    updated_at: Timestamp = Field(default_factory=utc_now)

    @property
    def searched(self) -> str:
        """The case-folded text for searches."""
        return f"/{self.name} {self.description} {self.content}".casefold()

    @property
    def draft(self) -> PromptDraft:
        """The editable part."""
        return PromptDraft(name=self.name, description=self.description, content=self.content)
