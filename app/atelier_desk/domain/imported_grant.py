"""Parts of imported data that stay inactive until a person confirms them."""

from __future__ import annotations

from enum import StrEnum

from atelier_desk.domain.base_model import Model


class HeldKind(StrEnum):
    """``contents`` are the texts of workflows and memories: reading one counts as reading outside content."""

    PROVIDER = "provider"
    EMBEDDER = "embedder"
    SEARCH = "search"
    IMAGES = "images"
    MODELS = "models"
    WORKSPACE = "workspace"
    CONTENTS = "contents"


class HeldGrant(Model):
    """One item that waits for confirmation.

    Attributes:
        name: of a provider; for folders a short hash that distinguishes them; otherwise empty.
        about: what a person confirms: an address and what is sent there, ordered folders, or how texts are marked.
        workflows: ids of workflows whose agents could use the folders.
    """

    kind: HeldKind
    name: str = ""
    about: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its name on the command line: ``search``, ``provider:NAME``."""
        return f"{self.kind}:{self.name}" if self.name else str(self.kind)
