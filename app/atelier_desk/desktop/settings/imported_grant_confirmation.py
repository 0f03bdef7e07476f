"""Imported permissions from elsewhere awaiting confirmation, each with its subject and a button."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.widgets import control, hbox, label, vbox
from atelier_desk.presentation import imported_data_confirmation_text
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.settings.page_base import SettingsPage
    from atelier_desk.domain.imported_grant import HeldGrant


class HeldList(RowList):
    """``held-grants``: rows ``held-<id>`` with ``held-confirm-<id>``; hidden if empty.

    Args:
        page: provides the engine, and is reloaded after a confirmation.
        accepts: selects what is listed.
    """

    def __init__(self, page: SettingsPage, accepts: Callable[[HeldGrant], bool] = lambda grant: True) -> None:
        super().__init__(page, spacing=2)
        self.setObjectName("held-grants")
        self._page, self._accepts = page, accepts
        self._grants: list[HeldGrant] = []
        self.hide()

    async def load(self) -> None:
        """Load the pending items."""
        self._grants = await self._page.bridge.engine.imported_data.list()
        self.build()

    def build(self) -> None:
        """Rebuild the rows, for other items or another selection."""
        shown = [each for each in self._grants if self._accepts(each)]
        self.show_rows(shown, lambda: map(self._row, shown))

    def _row(self, grant: HeldGrant) -> QWidget:
        row = control(QWidget(self), f"held-{grant.id}")
        title, about = imported_data_confirmation_text.title(grant), imported_data_confirmation_text.about(grant)
        row.setAccessibleName(visible(_("{name}: {text}", name=title, text=about)))
        words = label(
            _("Waiting for your confirmation: restored from another installation's backup"), "warn", row, wrap=True
        )
        texts = vbox(None, label(title, "", row, wrap=True), label(about, "small", row, wrap=True), words, spacing=0)
        button = control(QPushButton(_("Confirm"), row), f"held-confirm-{grant.id}", on=lambda: self._confirm(grant))
        button.setAccessibleName(_("Confirm: {rule}", rule=title))
        hbox(row, (texts, 1), (button, 0, Qt.AlignmentFlag.AlignTop), margins=(0, 4, 0, 4), spacing=8)
        return row

    def _confirm(self, grant: HeldGrant) -> None:
        self._page.call(self._page.bridge.engine.imported_data.confirm(grant.id))
