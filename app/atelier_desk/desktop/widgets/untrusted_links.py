"""Untrusted links: a click shows the target, and asks before a browser or mail program opens."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QAction, QCursor, QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMenu, QTextBrowser, QToolTip

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.markdown.link_targets import mail_without_files
from atelier_desk.support.i18n import _

OPENABLE = {"http", "https", "mailto"}
_SHOWN = 480
"""Maximum pixels of an address at 100 %: it is elided in the middle, so that host and end are visible."""


def open_address(address: str) -> bool:
    """Open a web or mail address in its program; whether one accepted it.

    Other schemes may start any program with a file of a stranger's choice, and are refused; fields of a mail that
    could attach a file are dropped.
    """
    url = QUrl(mail_without_files(address))
    return url.scheme() in OPENABLE and QDesktopServices.openUrl(url)


def follow(url: QUrl, text: QTextBrowser) -> None:
    """Show the menu of a link activated in ``text``; schemes other than ``OPENABLE`` are ignored.

    The address is shown encoded, so that letters of another alphabet cannot imitate a known host.
    """
    if url.scheme() not in OPENABLE:
        return
    address = mail_without_files(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))
    menu = QMenu(text)
    menu.setObjectName("link-menu")
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    where = add_address(menu, address)
    where.setObjectName("link-address")
    where.setEnabled(False)
    opens = menu.addAction(
        theme().icon("external-link"), _("Write an email") if url.scheme() == "mailto" else _("Open in the browser")
    )
    opens.setObjectName("link-open")
    opens.triggered.connect(lambda *_: _open(url, text))
    copies = menu.addAction(theme().icon("copy"), _("Copy address"))
    copies.setObjectName("link-copy")
    copies.triggered.connect(lambda *_: QGuiApplication.clipboard().setText(address.removeprefix("mailto:")))
    menu.popup(_place(text))
    menu.setActiveAction(opens)


def add_address(menu: QMenu, address: str) -> QAction:
    """Add an entry with an address or a path, elided in the middle; the tool tip has it in full."""
    shown = menu.fontMetrics().elidedText(address, Qt.TextElideMode.ElideMiddle, theme().px(_SHOWN))
    entry = menu.addAction(shown.replace("&", "&&"))
    entry.setToolTip(plain_tip(address))
    menu.setToolTipsVisible(True)
    return entry


def _open(url: QUrl, text: QTextBrowser) -> None:
    """Open the address; if no program accepts it, copy it for use elsewhere."""
    if open_address(url.toString(QUrl.ComponentFormattingOption.FullyEncoded)):
        return
    QGuiApplication.clipboard().setText(
        url.toString(QUrl.ComponentFormattingOption.FullyEncoded).removeprefix("mailto:")
    )
    QToolTip.showText(_place(text), _("No program could open this link. The address was copied."), text)


def _place(text: QTextBrowser) -> QPoint:
    """At the pointer, or below the line of a link activated by keyboard."""
    pointer = QCursor.pos()
    viewport = text.viewport()
    if viewport.rect().contains(viewport.mapFromGlobal(pointer)):
        return pointer
    return viewport.mapToGlobal(text.cursorRect().bottomLeft())
