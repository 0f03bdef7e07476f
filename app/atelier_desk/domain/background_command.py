"""A background command of an agent, for display."""

from __future__ import annotations

from atelier_desk.domain.base_model import Model


class RunningCommand(Model):
    """A running command.

    Attributes: ``line`` as written; ``output``: its newest lines; ``sandbox``: see ``Subjects``.
    """

    id: str
    workflow_id: str
    line: str
    output: str = ""
    sandbox: str = ""


class OutputPart(Model):
    """Part of a command's output.

    Attributes:
        next_offset: byte offset of the next part; ``size``: bytes printed so far.
        status: its exit status, None while it runs.
    """

    text: str = ""
    next_offset: int = 0
    size: int = 0
    status: int | None = None
