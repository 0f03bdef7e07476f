"""The web pages cited by an answer, below it; each opens in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.chat.cards.headed_card import HeadedCard
from atelier_desk.desktop.file_dialogs.opening import show_not_opened
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import FlowLayout, bind, control
from atelier_desk.desktop.widgets.tool_tips import wrapped_tip
from atelier_desk.desktop.widgets.untrusted_links import open_address
from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.presentation.answer_web_sources import words
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

SHOWN = 320
"""Maximum width of a button's text, in logical pixels at 100 %."""


class SourcesCard(HeadedCard):
    """``sources``, with a ``source`` button for each."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("sources")
        self._sources: tuple[SourcePart, ...] = ()
        self.buttons: list[QPushButton] = []
        self._flow = FlowLayout(spacing=4)
        self.body.addLayout(self._flow)
        bind(self._show)

    def show_sources(self, sources: Sequence[SourcePart]) -> None:
        if tuple(sources) != self._sources:
            self._sources = tuple(sources)
            for button in self.buttons:
                self._flow.removeWidget(button)
                button.deleteLater()
            self.buttons = [
                control(QPushButton(self), "source", look="ghost", on=partial(self._open, each.url)) for each in sources
            ]
            for button in self.buttons:
                self._flow.addWidget(button)
        self._show()

    def _open(self, address: str) -> None:
        if not open_address(address):
            show_not_opened(toasts_of(self), address)

    def _show(self) -> None:
        count = len(self._sources)
        title = ngettext("{n} source", "{n} sources", count)
        self.show_head("globe", "muted", title, "")
        self.setAccessibleName(title)
        for number, (button, source) in enumerate(zip(self.buttons, self._sources, strict=True), 1):
            text = visible(f"{number}. {words(source)}")
            short = button.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, theme().px(SHOWN))
            button.setText(short.replace("&", "&&"))
            button.setToolTip(wrapped_tip(words(source), source.url))
            button.setAccessibleName(_("Open the source {name}", name=words(source)))
