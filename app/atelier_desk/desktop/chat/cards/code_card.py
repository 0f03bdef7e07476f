"""A code card with language, wrap and copy: plain while streaming, highlighted once complete."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QGuiApplication, QTextCursor, QTextLayout, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QPushButton, QToolTip, QWidget

from atelier_desk.desktop.chat.cards.diagram import Diagram, DiagramPicture
from atelier_desk.desktop.chat.cards.open_in_browser import open_page
from atelier_desk.desktop.chat.markdown.ansi import Span
from atelier_desk.desktop.chat.markdown.syntax_highlighter import Highlighter
from atelier_desk.desktop.chat.search.match_highlights import places
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import IconButton, Pill, bind, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.code_text import CodeText
from atelier_desk.desktop.widgets.line_wrapping import LONG_RUN
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import hidden_codes, visible

_COPIED_MS = 1600
_CODES = 8
"""Maximum number of hidden characters listed by name."""
PAGES = frozenset({"html", "xhtml", "svg", "mermaid"})
"""Languages that can be opened in a browser."""


class CodeCard(QFrame):
    """Shows ``code``; ``update_code`` while it grows, ``freeze`` when complete.

    Args:
        spans: colours that come with the code, such as those of terminal output.
        wrap: lines are prose and wrap at words unless the user turns that off.

    Signals:
        height_changed: call ``fit`` again.
    """

    height_changed = Signal()

    def __init__(
        self,
        code: str = "",
        language: str = "",
        parent: QWidget | None = None,
        *,
        spans: Sequence[Span] = (),
        wrap: bool = False,
    ) -> None:
        super().__init__(parent)
        mark(self, "card-sunken")
        self._spans = spans
        self.language = language
        self._code = self._seen = ""
        self._frozen = False
        self._label = label(language, "small", self)
        self._hidden = control(Pill("", "warn", self), "code-hidden", N_("Invisible characters"), tip=self._hidden_tip)
        self._hidden.hide()
        self._wrap = IconButton("wrap-text", N_("Wrap lines"), self, size=14)
        self._wrap.setCheckable(True)
        self._mode = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere if wrap else QTextOption.WrapMode.WrapAnywhere
        self._wrap.toggled.connect(self._on_wrap)
        self._source = IconButton("terminal", N_("Show the source"), self, size=14)
        self._source.setObjectName("code-source")
        self._source.setCheckable(True)
        self._source.toggled.connect(lambda *_: self._show_picture())
        self._source.hide()
        self._browser = control(
            IconButton("external-link", N_("Open in the browser"), self, size=14),
            "code-browser",
            on=self.open_in_browser,
        )
        self._browser.hide()
        self._drawing = ""
        self._diagram: Diagram | None = None
        self._picture: DiagramPicture | None = None
        self._needle = ""
        self._copy = control(
            QPushButton(self), "code-copy", lambda: " " + _("Copy"), name=N_("Copy code"), look="quiet", on=self.copy
        )
        self._text = CodeText(self, scrolls=False)
        self._text.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        bind_text(
            self._text, name=lambda: _("Code: {language}", language=self.language) if self.language else _("Code")
        )
        head = hbox(
            None,
            (self._label, 1),
            self._hidden,
            self._source,
            self._browser,
            self._wrap,
            self._copy,
            margins=(14, 6, 8, 2),
            spacing=4,
        )
        self._column = vbox(self, head, self._text, margins=(1, 1, 1, 1), spacing=0)
        self._highlighter = Highlighter(self._text.document())
        bind(self._on_theme, on="look")
        self._wrap.setChecked(wrap)
        self.update_code(code)

    @property
    def code(self) -> str:
        return self._code

    def update_code(self, code: str, language: str | None = None) -> None:
        """Show more of the code; if the old text is a prefix of the new one, only the rest is appended."""
        if language is not None and language != self.language:
            self.language = language
            self._label.setText(language)
            bind_text(self._text)
        if code == self._code:
            return
        if self._mode is not QTextOption.WrapMode.WrapAnywhere and LONG_RUN.search(code):
            self._mode = QTextOption.WrapMode.WrapAnywhere
            self._text.setWordWrapMode(self._mode)
        if self._code and code.startswith(self._code):
            cursor = QTextCursor(self._text.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(code[len(self._code) :])
        else:
            self._text.setPlainText(code)
        self._code = self._seen = code
        if self._needle:
            self.highlight(self._needle)
        self.height_changed.emit()

    def freeze(self) -> None:
        """The code is complete: highlight it, or draw it if it is a diagram.

        Hidden and bidirectional characters become visible; copying yields the original text.
        """
        self._frozen = True
        if hidden_codes(self._code):
            self._seen, self._spans = visible(self._code), ()
            self._hidden.show()
            bind_text(self._hidden)
            self._show_text()
        self._highlighter.start(self._seen, self.language, self._spans)
        self._browser.setVisible(self._kind in PAGES)
        if self._kind == "mermaid" and self._diagram is None:
            self._diagram = Diagram(self)
            self._diagram.drawn.connect(self._on_drawn)
            self._diagram.start(self._code)

    @property
    def _kind(self) -> str:
        return self.language.lower()

    @property
    def _pictured(self) -> bool:
        """Whether the diagram is shown: not while its source is requested or contains a search match."""
        return (
            bool(self._drawing)
            and not self._source.isChecked()
            and not (self._needle and self._needle.lower() in self._seen.lower())
        )

    def open_in_browser(self) -> None:
        """Open the code in a browser as a static page without network access."""
        try:
            opened = open_page(self._code, self._kind, self._drawing)
        except OSError:
            opened = False
        if not opened:
            at = self._browser.mapToGlobal(self._browser.rect().bottomLeft())
            # At once: there is no other sign that the click failed.
            QToolTip.showText(at, _("Could not open a browser"), self._browser)

    def _on_drawn(self, source: str, drawing: str) -> None:
        if source != self._code:
            return
        if drawing and self._picture is None:
            self._picture = DiagramPicture(self)
            self._column.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignHCenter)
        self._drawing = drawing if self._picture is not None and drawing and self._picture.show_picture(drawing) else ""
        self._source.setVisible(bool(self._drawing))
        self._show_picture()

    def _show_picture(self) -> None:
        """Show the diagram if there is one, else the code."""
        self._text.setHidden(self._pictured)
        self._wrap.setHidden(self._pictured)
        if self._picture is not None:
            self._picture.setVisible(self._pictured)
        self.height_changed.emit()

    def _show_text(self) -> None:
        self._text.setPlainText(self._seen)
        self.highlight(self._needle)
        self.height_changed.emit()

    def copy(self) -> None:
        """Copy the code to the clipboard and confirm for a moment."""
        QGuiApplication.clipboard().setText(self._code)
        self._copy.setText(" " + _("Copied"))
        self._copy.setIcon(theme().icon("check", "ok"))
        QTimer.singleShot(_COPIED_MS, self, self._offer_copy)

    def _offer_copy(self) -> None:
        bind_text(self._copy)
        self._copy.setIcon(theme().icon("copy"))

    def fit(self, width: int) -> int:
        self.setFixedWidth(width)
        style = theme()
        head = self._copy.sizeHint().height() + 8
        if self._picture is not None and self._pictured:
            return head + self._picture.fit(width - 2 - style.px(28)) + style.px(14) + 2
        inner = width - 2 - self._text.contentsMargins().left() - self._text.contentsMargins().right()
        line = self._text.line_height()
        lines = self._text.document().blockCount()
        extra = 0
        if self._wrap.isChecked():
            lines = self._wrapped_lines(inner - style.px(28), self._seen)
        elif self._text.fontMetrics().horizontalAdvance("m") * self._longest() > inner - style.px(28):
            extra = self._text.horizontalScrollBar().sizeHint().height()
        body = math.ceil(lines * line) + style.px(16) + extra
        self._text.setFixedHeight(body)
        return head + body + 2

    def _hidden_tip(self) -> str:
        codes = ", ".join(hidden_codes(self._code)[:_CODES])
        return _("This text contains invisible characters, or characters that change its order: {codes}", codes=codes)

    def highlight(self, needle: str) -> int:
        """Highlight all matches of ``needle``, ignoring case; empty clears. Returns their number."""
        pictured, self._needle = self._pictured, needle
        if pictured != self._pictured:
            self._show_picture()
        marks = places(self._text.document(), needle)
        self._text.setExtraSelections(marks)
        return len(marks)

    def place_of(self, number: int) -> int:
        """Distance in pixels from the top to match ``number`` (from 0), which becomes the current one."""
        marks = places(self._text.document(), self._needle, number)
        self._text.setExtraSelections(marks)
        if not marks:
            return 0
        above = marks[min(number, len(marks) - 1)].cursor.blockNumber()
        if self._wrap.isChecked():
            text = "\n".join(self._seen.split("\n")[:above])
            above = self._wrapped_lines(self._text.viewport().width(), text) if above else 0
        # Calculated from line numbers: a card that was just opened has no layout yet.
        return self._text.y() + round(above * self._text.line_height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.height_changed.emit()

    def _on_theme(self) -> None:
        style = theme()
        self._text.apply_style()
        side = style.px(14)
        self._text.setViewportMargins(side, style.px(4), side, 0)
        self._copy.setIcon(style.icon("copy"))
        self._copy.setIconSize(QSize(style.px(13), style.px(13)))
        if self._frozen:
            self._highlighter.start(self._seen, self.language, self._spans)
        if self._diagram is not None:
            self._diagram.start(self._code)

    def _on_wrap(self, on: bool) -> None:
        self._text.setLineWrapMode(
            QPlainTextEdit.LineWrapMode.WidgetWidth if on else QPlainTextEdit.LineWrapMode.NoWrap
        )
        self._text.setWordWrapMode(self._mode)
        # A trailing space may exceed the edge.
        bar = Qt.ScrollBarPolicy.ScrollBarAlwaysOff if on else Qt.ScrollBarPolicy.ScrollBarAsNeeded
        self._text.setHorizontalScrollBarPolicy(bar)
        self.height_changed.emit()

    def _longest(self) -> int:
        return max((len(line) for line in self._seen.split("\n")), default=0)

    def _wrapped_lines(self, width: int, text: str) -> int:
        if self._mode is QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere:
            return sum(_broken(line, self._text.font(), self._mode, width) for line in text.split("\n"))
        columns = max(1, int(width / max(1, self._text.fontMetrics().horizontalAdvance("m"))))
        return sum(max(1, -(-len(line) // columns)) for line in text.split("\n"))


def _broken(line: str, font: QFont, mode: QTextOption.WrapMode, width: int) -> int:
    """The number of lines into which Qt wraps a line."""
    layout = QTextLayout(line, font)
    option = QTextOption()
    option.setWrapMode(mode)
    layout.setTextOption(option)
    layout.beginLayout()
    while (part := layout.createLine()).isValid():
        part.setLineWidth(width)
    layout.endLayout()
    return max(1, layout.lineCount())
