"""The notice about the starter model, with a link to better ones."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.widgets import FlowLayout, control
from atelier_desk.desktop.widgets.cards_buttons_labels import ElidedPill
from atelier_desk.domain.provider import STARTER
from atelier_desk.llm.provider_type_registry import builtin_type
from atelier_desk.support.i18n import N_


def is_starter(provider: str, model: str) -> bool:
    """Whether this is the built-in model, which only handles simple, guided requests."""
    return provider == builtin_type().kind and model == STARTER


class StarterNotice(QWidget):
    """``starter-notice``: hidden unless the starter model is in use. ``better_models_requested`` opens the guide."""

    better_models_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("starter-notice")
        self._pill = control(
            ElidedPill("warn", self),
            "",
            N_("Starter model: for calculations, tasks and simple questions"),
            tip=N_("It can calculate, manage tasks and memories and ask questions. Larger models can do more."),
        )
        self._link = control(
            QPushButton(self),
            "better-models",
            N_("Choose a better model"),
            look="link",
            on=lambda: self.better_models_requested.emit(),
        )
        flow = FlowLayout(self, spacing=4)  # two lines with large text
        flow.addWidget(self._pill)
        flow.addWidget(self._link)
        self._speaks = self._covered = False
        self.hide()

    def set_model(self, provider: str, model: str) -> None:
        """Set the model in use."""
        self._speaks = is_starter(provider, model)
        self.setVisible(self._speaks and not self._covered)

    def cover(self, covered: bool) -> None:
        """Set whether something else is shown in place of chat and composer."""
        self._covered = covered
        self.setVisible(self._speaks and not covered)
