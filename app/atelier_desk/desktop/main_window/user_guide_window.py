"""The documentation shipped with the program: the user guide and the pages it links to."""

from __future__ import annotations

import re

from PySide6.QtCore import QPoint, QSize, Qt, QUrl
from PySide6.QtGui import QImage, QResizeEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from atelier_desk.desktop.questions.markdown_view import MarkdownView
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.resource_paths_and_fonts import docs_dir
from atelier_desk.desktop.widgets import IconButton, bind, bind_text, control, fit_window, hbox, vbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.enter_key import EnterPresses
from atelier_desk.support.i18n import N_, _, language

GUIDE = "user-guide.md"
REFIT_MS = 50
"""How long the width of the view rests before its pictures follow, in milliseconds."""
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def _guide() -> str:
    """The user guide in the window's language, or in English."""
    own = GUIDE.replace(".md", f".{language()}.md")
    return own if (docs_dir() / own).is_file() else GUIDE


def _is_guide(page: str) -> bool:
    return page.split(".")[0] == GUIDE.split(".")[0]


def anchor(heading: str) -> str:
    """The anchor of a heading: lower case with dashes, as on sites that render Markdown."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class GuideView(MarkdownView):
    """A page of the documentation, with its pictures: those in ``docs``, as wide as the view has room."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._fitted = 0
        self._top = (0, 0)
        """A place in the text that is seen near the upper edge, and its distance from there."""
        # One that comes and goes would change the width.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._refit = Debouncer(self, REFIT_MS, self._fit_pictures)

    def resizeEvent(self, event: QResizeEvent) -> None:
        if not self._refit.isActive():
            seen = self.cursorForPosition(QPoint(0, theme().px(24)))  # before the lines are broken elsewhere
            self._top = seen.position(), self.cursorRect(seen).top()
        if self.viewport().width() != self._fitted:
            self._refit.start()
        super().resizeEvent(event)  # comes back to here where a scroll bar appears

    def _fit_pictures(self) -> None:
        """Load the page anew, with the same line at the upper edge: a document keeps each picture as it was loaded."""
        place, distance = self._top
        at_start = not self.verticalScrollBar().value()
        self.set_text(self.text())
        line = QTextCursor(self.document())
        line.setPosition(place)
        bar = self.verticalScrollBar()
        bar.setValue(0 if at_start else bar.value() + self.cursorRect(line).top() - distance)

    def set_text(self, markdown: str) -> None:
        self._fitted = self.viewport().width()
        super().set_text(markdown)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        path = (docs_dir() / (name.path() if isinstance(name, QUrl) else name)).resolve()
        if kind != QTextDocument.ResourceType.ImageResource.value or not path.is_relative_to(docs_dir().resolve()):
            return None
        picture = QImage(str(path))
        if picture.isNull():
            return None
        ratio = self.devicePixelRatioF()
        wide = round(min(picture.width(), (self.viewport().width() - theme().px(24)) * ratio))
        picture = picture.scaledToWidth(max(1, wide), Qt.TransformationMode.SmoothTransformation)
        picture.setDevicePixelRatio(ratio)
        return picture


class GuideWindow(QDialog):
    """``user-guide``: a page of ``docs``, in the window's language if available; follows links, Esc closes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("user-guide")
        self.page = ""
        self._before: list[tuple[str, int]] = []
        self.view = control(GuideView(self), "user-guide-text", name=N_("User guide"))
        self.view.anchorClicked.connect(self.follow)
        self.back = control(IconButton("chevron-left", parent=self), "user-guide-back", tip=N_("Back"), on=self.go_back)
        close = control(QPushButton(self), "user-guide-close", N_("Close"), on=self.reject)
        close.setAutoDefault(False)  # Enter in the text does not close it
        EnterPresses(self)
        row = hbox(None, self.back, 1, close)
        vbox(self, (self.view, 1), row, margins=(24, 20, 24, 16), spacing=10)
        fit_window(self, QSize(820, 640))
        bind_text(self, title=N_("User guide"))
        bind(self._show_guide, on="language")
        self.view.setFocus()

    def _show_guide(self) -> None:
        if not self.page or _is_guide(self.page):
            self.show_page(_guide())

    def show_page(self, name: str) -> None:
        """Show a page of ``docs`` from the top, or a message if it cannot be read."""
        self.page = name
        try:
            text = (docs_dir() / name).read_text("utf-8")
        except OSError as error:
            text = _("{path} cannot be read: {reason}", path=name, reason=error.strerror or str(error))
        self.view.set_text(_COMMENT.sub("", text))
        self.view.verticalScrollBar().setValue(0)
        self.back.setEnabled(bool(self._before))

    def follow(self, url: QUrl) -> None:
        """Follow a link to a page of ``docs`` or a heading; web links are confirmed by the view itself."""
        name, heading = url.path(), url.fragment()
        if url.scheme() or (name and not (docs_dir() / name).resolve().is_relative_to(docs_dir().resolve())):
            return
        self._before.append((self.page, self.view.verticalScrollBar().value()))
        if name and name != self.page:
            self.show_page(name)
        self.back.setEnabled(True)
        if heading:
            self._show_heading(heading)

    def _show_heading(self, target: str) -> None:
        block = self.view.document().begin()
        while block.isValid():
            if block.blockFormat().headingLevel() and anchor(block.text()) == target:
                self.view.setTextCursor(QTextCursor(block))
                bar = self.view.verticalScrollBar()
                bar.setValue(bar.value() + self.view.cursorRect().top())
                return
            block = block.next()

    def go_back(self) -> None:
        """Return to where the last link was followed."""
        page, place = self._before.pop()
        page = _guide() if _is_guide(page) else page
        if page != self.page:
            self.show_page(page)
        self.view.verticalScrollBar().setValue(place)
        self.back.setEnabled(bool(self._before))
