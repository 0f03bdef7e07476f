"""What a granted folder says to the agents that work in it."""

from __future__ import annotations

from atelier_desk.domain.base import Model


class FolderInstructions(Model):
    """One file of instructions, as it was when the turn began.

    Attributes:
        folder: the granted folder, absolute.
        path: the file, relative to it; what it says holds for the folder it stands in and below.
        text: its content, with what it imports; ``cut`` when it was too long to be taken whole.
    """

    folder: str
    path: str
    text: str
    cut: bool = False
