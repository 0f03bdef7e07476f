"""What data from elsewhere brought along and is not used before a person confirms it."""

from __future__ import annotations

from enum import StrEnum

from atelier_desk.domain.base import Model


class HeldKind(StrEnum):
    """``contents`` are the texts of the workflows and memories: who reads one has read from outside."""

    PROVIDER = "provider"
    EMBEDDER = "embedder"
    SEARCH = "search"
    IMAGES = "images"
    MODELS = "models"
    WORKSPACE = "workspace"
    CONTENTS = "contents"


class HeldGrant(Model):
    """One thing that waits for a person.

    Attributes:
        name: of a provider; of folders, what tells them from others (a short hash); else empty.
        about: what a person confirms: an address and what is sent there, folders in their order, or how texts are marked.
        workflows: ids of those whose agents could use the folders.
    """

    kind: HeldKind
    name: str = ""
    about: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """How it is named on the command line: ``search``, ``provider:NAME``."""
        return f"{self.kind}:{self.name}" if self.name else str(self.kind)
