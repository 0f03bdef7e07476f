"""Instructions of a granted folder for the agents that work in it."""

from __future__ import annotations

from atelier_desk.domain.base_model import Model


class FolderInstructions(Model):
    """One instruction file as it was when the turn began.

    Attributes:
        folder: the granted folder, absolute.
        path: the file, relative to it; it applies to its own folder and below.
        text: its content with imports; ``cut`` if it was too long.
    """

    folder: str
    path: str
    text: str
    cut: bool = False
