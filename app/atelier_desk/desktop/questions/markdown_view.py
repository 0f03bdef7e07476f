"""Untrusted Markdown displayed safely: no raw HTML, nothing loaded from network or disk."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QResizeEvent, QTextCursor, QTextDocument, QTextOption
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QWidget

from atelier_desk.desktop.questions.markdown_style import style_document
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.line_wrapping import wrap_mode
from atelier_desk.desktop.widgets.untrusted_links import follow
from atelier_desk.support.visible_and_shortened_text import visible

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML


class MarkdownView(QTextBrowser):
    """Read-only, selectable Markdown. A link shows its target before it opens; only web and mail links do.

    ``fit_height`` makes it as high as its text, for use inside a scroll area; otherwise it scrolls.
    """

    height_changed = Signal()

    def __init__(self, parent: QWidget | None = None, *, fit_height: bool = False) -> None:
        super().__init__(parent)
        self._fit = fit_height
        self._source = ""
        self.setFrameShape(QFrame.Shape.NoFrame)
        mark(self, "plain")
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.anchorClicked.connect(lambda url: follow(url, self))
        if fit_height:
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setLineWrapMode(QTextBrowser.LineWrapMode.WidgetWidth)
            self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
            self.document().documentLayout().documentSizeChanged.connect(self._fit_height)
        bind(self._apply_style, on="look")

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Images, style sheets and other resources are never loaded."""
        return None

    def set_text(self, markdown: str) -> None:
        """Show this Markdown, scrolled as before as far as it is long enough."""
        bar, place = self.verticalScrollBar(), self.verticalScrollBar().value()
        self._source = markdown
        self.setWordWrapMode(wrap_mode(markdown))
        self.document().setMarkdown(visible(markdown), _FEATURES)
        style_document(self.document())
        self.moveCursor(QTextCursor.MoveOperation.Start)  # it was left at the end, where getting the focus scrolls to
        bar.setValue(place)
        self._fit_height()

    def text(self) -> str:
        """The original Markdown."""
        return self._source

    def _apply_style(self) -> None:
        """Apply the theme's font and link colour, which are fixed in the document, by setting it again."""
        tokens = theme().tokens
        self.document().setDefaultFont(theme().font(13))
        self.document().setDocumentMargin(0)
        palette = self.palette()
        palette.setColor(palette.ColorRole.Link, tokens.accent)
        palette.setColor(palette.ColorRole.Text, tokens.text)
        self.setPalette(palette)
        if self._source:
            self.set_text(self._source)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_height()

    def _fit_height(self) -> None:
        if self._fit:
            around = self.height() - self.viewport().height()
            height = ceil(self.document().size().height()) + around
            if height != self.height():
                self.setFixedHeight(height)
                self.height_changed.emit()
