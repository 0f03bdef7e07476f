"""Syntax highlighting with Pygments, in time slices so that long listings never block the window."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, Operator, String
from pygments.util import ClassNotFound
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextDocument, QTextLayout
from shiboken6 import isValid

from atelier_desk.desktop.chat.markdown import ansi, word_diff
from atelier_desk.desktop.theme import Tokens, theme
from atelier_desk.markdown.parser import parse
from atelier_desk.support.threads import in_background

SLICE_S = 0.003
"""Seconds that all listings together may be highlighted before the window handles other events."""
MAX_CHARS = 200_000
"""Longer code stays plain."""


def colour_of(kind: object, tokens: Tokens) -> str | None:
    """The colour of a token type, None for plain text."""
    if kind in Comment:
        return tokens.muted
    if kind in Keyword or kind in Operator.Word or kind in Name.Tag:
        return tokens.keyword
    if kind in String:
        return tokens.ok
    if kind in Number or kind in Name.Constant:
        return tokens.number
    if kind in Name.Function or kind in Name.Class or kind in Name.Decorator or kind in Name.Attribute:
        return tokens.function
    return None


_lexers: dict[str, object] = {}


def lexer_for(language: str) -> object:
    """Pygments' lexer for a fence's language, or for a file name after ``file:``; None if unknown.

    The first lookup of a language takes up to 100 ms.
    """
    if language not in _lexers:
        _lexers[language] = _load_lexer(language)
    return _lexers[language]


def warm_up() -> None:
    """Load what the first reply needs in a thread, so that it does not block the window."""

    def load() -> None:
        parse("# warm\n\n- up\n")
        lexer_for("python")

    in_background(load)


def _load_lexer(language: str) -> object:
    try:
        if language.startswith("file:"):
            return get_lexer_for_filename(language.removeprefix("file:"), stripnl=False, ensurenl=False)
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


class _Loader(QObject):
    """Loads lexers in threads. It lives as long as the program: a thread must not notify a deleted card.

    Signals:
        loaded: a language whose lexer is available, or known to be missing.
    """

    loaded = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._loading: set[str] = set()
        self._waiting: dict[str, list[Callable[[object], None]]] = {}
        self.loaded.connect(self._on_loaded)  # a slot of an object: it is called in that object's thread

    def wait_for(self, language: str, then: Callable[[object], None]) -> None:
        self._waiting.setdefault(language, []).append(then)
        self.load(language)

    def _on_loaded(self, language: str) -> None:
        for then in self._waiting.pop(language, ()):
            then(_lexers[language])

    def load(self, language: str) -> None:
        if language not in self._loading:
            self._loading.add(language)
            in_background(self._load, language)

    def _load(self, language: str) -> None:
        """Load a lexer; its rules are compiled on first use."""
        lexer_for(language)
        with contextlib.suppress(RuntimeError):  # the program is ending
            self.loaded.emit(language)


def with_lexer(language: str, then: Callable[[object], None]) -> None:
    """Call ``then`` with the lexer (or None) in the window's thread: at once if loaded, else later."""
    if language in _lexers:
        then(_lexers[language])
    else:
        _loader().wait_for(language, then)


@cache
def _loader() -> _Loader:
    """The program's instance, created in the window's thread."""
    return _Loader()


class _Turns(QObject):
    """Highlights the listings in turn. Separate timers would each take a time slice before the next frame."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Highlighter] = []
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._step)

    def add(self, highlighter: Highlighter) -> None:
        if highlighter not in self._waiting:
            self._waiting.append(highlighter)
        self._timer.start(0)

    def _step(self) -> None:
        until = time.perf_counter() + SLICE_S
        while self._waiting and time.perf_counter() < until:
            first = self._waiting[0]
            if not isValid(first) or not first.step():
                self._waiting.pop(0)
        if not self._waiting:
            self._timer.stop()


@cache
def _turns() -> _Turns:
    """The program's instance, created in the window's thread."""
    return _Turns()


_SPANS = 500
"""Spans of one line prepared in one step."""


class Highlighter(QObject):
    """Highlights the lines of a document once; call ``start`` again after a theme change."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._document = document
        self._work: Iterator[None] | None = None
        self._text, self._language = "", ""
        self._waiting = False
        self._listens = False

    @property
    def busy(self) -> bool:
        return self._waiting or self._work is not None

    def start(self, text: str, language: str, spans: Sequence[ansi.Span] = ()) -> None:
        """Highlight ``text``, the document's complete content; unknown languages stay plain, except for ``spans``."""
        self._work = None
        self._text, self._language = text, language
        if spans:
            self._waiting = False
            self._work = self._colour_spans(text, spans)
            _turns().add(self)
            return
        self._waiting = bool(language) and len(text) <= MAX_CHARS
        if not self._waiting:
            return
        if language in word_diff.LANGUAGES:
            self._waiting = False
            self._work = self._colour_diff(text)
            _turns().add(self)
            return
        if language in _lexers:
            self._on_loaded(language)
            return
        if not self._listens:
            self._listens = True
            _loader().loaded.connect(self._on_loaded)
        _loader().load(language)

    def _on_loaded(self, language: str) -> None:
        if not self._waiting or language != self._language:
            return
        self._waiting = False
        lexer = lexer_for(self._language)
        if lexer is not None:
            self._work = self._colour_lines(lexer, self._text)
            _turns().add(self)

    def step(self) -> bool:
        """Highlight one more line; False at the end."""
        if self._work is not None and next(self._work, self) is self:
            self._work = None
        return self._work is not None

    def _colour_lines(self, lexer: Any, text: str) -> Iterator[None]:
        """One step per line: its formats are applied when the lexer has passed its end."""
        formats: dict[tuple[str, bool], QTextCharFormat] = {}
        tokens = theme().tokens
        colours: dict[object, str | None] = {}  # a listing has thousands of tokens of a few types
        block = self._document.begin()
        ranges: list[QTextLayout.FormatRange] = []
        column = 0
        for _position, kind, value in lexer.get_tokens_unprocessed(text):
            if kind not in colours:
                colours[kind] = colour_of(kind, tokens)
            colour = colours[kind]
            for number, part in enumerate(value.split("\n")):
                if number:
                    self._apply(block, ranges)
                    block, ranges, column = block.next(), [], 0
                    yield
                    if not block.isValid():
                        return
                length = len(part) if part.isascii() else len(part.encode("utf-16-le")) // 2
                if part and colour:
                    ranges.append(_range(column, length, colour, formats))
                column += length
        self._apply(block, ranges)

    def _colour_diff(self, text: str) -> Iterator[None]:
        """One step per line: its background, and a stronger one under changed words."""
        tokens = theme().tokens
        backgrounds = {
            "added": (tokens.ok_soft, tokens.ok_text, tokens.ok_strong),
            "removed": (tokens.err_soft, tokens.err_text, tokens.err_strong),
            "head": ("", tokens.function, ""),
            "file": ("", tokens.muted, ""),
        }
        block = self._document.begin()
        for line in word_diff.diff_lines(text):
            if not block.isValid():
                return
            ground, colour, strong = backgrounds.get(line.kind, ("", "", ""))
            written = block.text()
            ranges = []
            if colour:
                full = QTextCharFormat()
                full.setForeground(QColor(tokens.text if ground else colour))
                ranges.append(_made(0, len(written.encode("utf-16-le")) // 2, full))
            if ground:
                sign = QTextCharFormat()
                sign.setForeground(QColor(colour))
                ranges.append(_made(0, 1, sign))
            for first, last in line.words:
                word = QTextCharFormat()
                word.setForeground(QColor(tokens.text))
                word.setBackground(QColor(strong))
                before, inside = written[:first], written[first:last]
                ranges.append(_made(len(before.encode("utf-16-le")) // 2, len(inside.encode("utf-16-le")) // 2, word))
            form = QTextBlockFormat()
            if ground:
                form.setBackground(QColor(ground))
            QTextCursor(block).setBlockFormat(form)
            self._apply(block, ranges)
            block = block.next()
            yield

    def _colour_spans(self, text: str, spans: Sequence[ansi.Span]) -> Iterator[None]:
        """One step per line, several for a line with many spans; in colours of the theme."""
        block, begins, at = self._document.begin(), 0, 0
        forms: dict[ansi.Style, QTextCharFormat] = {}  # a long output has thousands of spans in a few styles
        for line in text.split("\n"):
            if not block.isValid():
                return
            ends = begins + len(line)
            ranges: list[QTextLayout.FormatRange] = []
            done = column = 0
            while at < len(spans) and spans[at].start < ends:
                first, last = max(spans[at].start, begins) - begins, min(spans[at].end, ends) - begins
                if first < last:
                    style = spans[at].style
                    form = forms[style] = forms.get(style) or _form(style)
                    column += len(line[done:first].encode("utf-16-le")) // 2
                    length = len(line[first:last].encode("utf-16-le")) // 2
                    ranges.append(_made(column, length, form))
                    done, column = last, column + length
                if spans[at].end > ends:
                    break
                at += 1
                if at % _SPANS == 0:
                    yield
            self._apply(block, ranges)
            block, begins = block.next(), ends + 1
            yield

    def _apply(self, block: Any, ranges: list[QTextLayout.FormatRange]) -> None:
        if block.isValid() and ranges:
            block.layout().setFormats(ranges)
            self._document.markContentsDirty(block.position(), block.length())


def _form(style: ansi.Style) -> QTextCharFormat:
    form = QTextCharFormat()
    colour, ground = ansi.colours(style, theme().tokens)
    form.setForeground(QColor(colour))
    if ground:
        form.setBackground(QColor(ground))
    if style.bold:
        form.setFontWeight(QFont.Weight.Bold)
    form.setFontItalic(style.italic)
    form.setFontUnderline(style.underline)
    form.setFontStrikeOut(style.struck)
    return form


def _range(
    start: int, length: int, colour: str, formats: dict[tuple[str, bool], QTextCharFormat]
) -> QTextLayout.FormatRange:
    form = formats.get((colour, False))
    if form is None:
        form = formats[(colour, False)] = QTextCharFormat()
        form.setForeground(QColor(colour))
    return _made(start, length, form)


def _made(start: int, length: int, form: QTextCharFormat) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start, made.length, made.format = start, length, form
    return made
