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
