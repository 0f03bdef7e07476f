"""A command that an agent left running in the background, as a person sees it."""

from __future__ import annotations

from atelier_desk.domain.base import Model


class RunningCommand(Model):
    """Attributes: ``line`` as it was written; ``output`` its newest lines; ``sandbox`` what it is kept in, see ``Subjects``."""

    id: str
    workflow_id: str
    line: str
    output: str = ""
    sandbox: str = ""


class OutputPart(Model):
    """A part of what a command printed.

    Attributes:
        next_offset: the byte to read on from; ``size`` are the bytes printed until now.
        status: its exit status, None while it runs.
    """

    text: str = ""
    next_offset: int = 0
    size: int = 0
    status: int | None = None
