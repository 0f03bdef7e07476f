"""The page shown when the engine cannot be opened: what happened and what to do."""

from __future__ import annotations

import platform
import traceback

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from atelier_desk import __version__
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Card, bind, bind_text, control, fill, hbox, label
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.support.i18n import N_, _

TITLES = {
    "locked": N_("Another program is using your data"),
    "newer_schema": N_("Your data was written by a newer version of Atelier"),
    "older_schema": N_("Your data was written by an early version of Atelier"),
    "missing_manifest": N_("Part of your data is missing"),
    "damaged": N_("Your data is damaged"),
    "disk_full": N_("The disk is full"),
    "file_too_large": N_("A database file has reached a size limit"),
    "read_only": N_("Your data folder cannot be written to"),
}
ADVICE = {
    "locked": N_("Close the other program, then try again. Nothing was changed."),
    "newer_schema": N_("Install the latest version of Atelier, then try again. Nothing was changed."),
    "older_schema": N_("Your data can still be opened with the version that wrote it."),
    "missing_manifest": N_("Nothing was changed. Restore the folder from your own copy, or restore an Atelier backup."),
    "damaged": N_("Nothing was changed. Backups are in the “backups” folder inside your data folder."),
    "disk_full": N_("Free up some space, then try again. Nothing was lost."),
    "file_too_large": N_("Raise the file size limit, then try again. Nothing was lost."),
    "read_only": N_("Make the folder writable, or start Atelier with --data-dir and another folder."),
}


class StartupErrorPage(QWidget):
    """A card in the middle of the window.

    Signals:
        retry_requested, quit_requested: the buttons.
    """

    retry_requested = Signal()
    quit_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("startup-error")
        self._error: BaseException | None = None
        self._data_dir = ""
        self._card = Card(self, "card-raised", (28, 26, 28, 22))
        bind(self._card.setFixedWidth, lambda: theme().px(560), on="look")
        self._card.body.setSpacing(12)
        self._icon = PlainLabel(parent=self._card)
        self._title = label("", "title", self._card, wrap=True)
        self._text = label("", "", self._card, wrap=True)
        self._advice = label("", "muted", self._card, wrap=True)
        self._folder = label("", "mono", self._card, wrap=True)
        for shown in (self._text, self._advice, self._folder):
            shown.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
        self.retry = control(QPushButton(self._card), "startup-retry", N_("Try again"), look="primary")
        self.copy = control(QPushButton(self._card), "startup-copy", N_("Copy details"), on=self._copy)
        self.quit = control(QPushButton(self._card), "startup-quit", N_("Quit"))
        head = hbox(None, (self._icon, 0, Qt.AlignmentFlag.AlignTop), (self._title, 1), spacing=12)
        row = hbox(None, self.copy, 1, self.quit, self.retry)
        fill(self._card.body, head, self._text, self._advice, self._folder)
        self._card.body.addSpacing(6)
        self._card.body.addLayout(row)
        fill(QVBoxLayout(self), 2, (self._card, 0, Qt.AlignmentFlag.AlignHCenter), 3)
        self.retry.clicked.connect(self.retry_requested)
        self.quit.clicked.connect(self.quit_requested)

    def show_error(self, error: BaseException, data_dir: str) -> None:
        self._error, self._data_dir = error, data_dir
        code = str(getattr(error, "code", ""))
        localized = getattr(error, "localized", None)
        bind_text(self._title, TITLES.get(code, N_("Atelier could not open your data")))
        bind_text(self._text, lambda: localized(_) if localized is not None else str(error))
        bind_text(
            self._advice, ADVICE.get(code, N_("Try again. If the problem persists, copy the details and report them."))
        )
        self._folder.setText(data_dir)
        self._folder.setVisible(bool(data_dir))
        bind(self._fit)
        self.retry.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.details())

    def details(self) -> str:
        """The text a user can send to support."""
        trace = "".join(traceback.format_exception(self._error)) if self._error is not None else ""
        return (
            f"Atelier {__version__}\n{platform.platform()} Python "
            f"{platform.python_version()}\n{self._data_dir}\n\n{trace}"
        )

    def _fit(self) -> None:
        self._icon.setPixmap(theme().pixmap("triangle-alert", "err", theme().px(22), self.devicePixelRatioF()))
        # A layout that centres it uses its preferred height, regardless of what its texts need at this width.
        self._card.setMinimumHeight(self._card.heightForWidth(self._card.width()))
