"""The line that says what the starter model is, with the way to better ones."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import Pill, Translated
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.i18n import _
from atelier_desk.llm.local.models import STARTER
from atelier_desk.llm.registry import builtin_type


def is_starter(provider: str, model: str) -> bool:
    """Whether this is the built-in model that only does simple, guided requests."""
    return provider == builtin_type().kind and model == STARTER


class StarterNotice(Translated, QWidget):
    """``starter-notice``: hidden unless the model in use is the starter. ``better_models_wanted`` opens settings › providers."""

    better_models_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("starter-notice")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self._pill = Pill("", "warn", self)
        self._link = QPushButton(self)
        self._link.setObjectName("better-models")
        mark(self._link, "link")
        self._link.clicked.connect(lambda *_: self.better_models_wanted.emit())
        row.addWidget(self._pill)
        row.addWidget(self._link)
        self.retranslate()
        self.hide()

    def set_model(self, provider: str, model: str) -> None:
        """The model in use changed."""
        self.setVisible(is_starter(provider, model))

    def set_info(self, info: ModelInfo | None) -> None:
        """The same from what is known of the model."""
        self.setVisible(info is not None and info.starter)

    def retranslate(self) -> None:
        self._pill.setText(_("starter model: simple requests only"))
        self._pill.setToolTip(_("It calculates, keeps tasks and memories and asks questions, in short sentences. Larger models do more."))
        self._link.setText(_("Better models"))
        self._link.setAccessibleName(_("Better models than the starter"))
