"""Service: what most services have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atelier_desk.engine.services.common.service_context import ServiceContext


class Service:
    """A service with the data folder, the repositories and the other services in ``_context``."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
