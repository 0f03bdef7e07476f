"""Notices about costs: most of the monthly limit is used, embeddings that may cost something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from atelier_desk.domain.memory import EMBEDDING_OFFER
from atelier_desk.domain.stream.event import Topic
from atelier_desk.presentation.cost_text import embedding_offer_text, warning_text
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.window import MainWindow


class CostNotices(QObject):
    """Shows them in the window, which owns this."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._bridge = window, window.bridge
        window.bridge.changed.connect(self._on_usage)
        window.bridge.changed.connect(self._on_embedding_offer)

    def _on_usage(self, topic: Topic, _month: str) -> None:
        """Warn once when most of the monthly limit is used, with a link to the limit."""
        if topic != "usage":
            return

        async def warn() -> None:
            month = await self._bridge.engine.usage.month()
            self._window.toasts.show(
                warning_text(month), _("Change limit"), lambda: self._window.show_settings("usage"), duration_ms=15_000
            )

        self._bridge.jobs.start(warn())

    def _on_embedding_offer(self, topic: Topic, id: str) -> None:
        """Ask before creating embeddings that may cost something."""
        if topic != "memory" or id != EMBEDDING_OFFER:
            return

        async def ask() -> None:
            memories = self._bridge.engine.memories
            if (offer := await memories.offer()) is not None:

                def embed() -> None:
                    self._bridge.jobs.start(memories.embed_now())

                def dismiss() -> None:
                    toast.dismiss()

                later = (_("Not now"), dismiss)
                toast = self._window.toasts.show(
                    embedding_offer_text(offer), _("Embed now"), embed, second=later, lasting=True
                )

        self._bridge.jobs.start(ask())
