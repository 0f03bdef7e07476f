"""Track Markdown code in streamed text: a tag inside code is an example, never a call."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\n|`+|~+|[^\n`~]+")
_FENCE_LENGTH = 3


class CodeSpans:
    """Tells whether the text so far ends inside a fenced block or an inline code span.

    Follows CommonMark without look-ahead, so that the result does not depend on how text is split. Two deviations:
    fences may be indented (lists), and inline spans end with the line, so that a stray backtick cannot hide a later
    call.
    """

    def __init__(self) -> None:
        self._fence: tuple[str, int] | None = None
        self._in_info = False
        self._closing = False
        self._inline = 0
        self._line_blank = True
        self._run = ("", 0)

    def advance(self, text: str) -> None:
        """Add the next piece of text."""
        for token in _TOKEN.findall(text):
            first = token[0]
            if first in "`~":
                char, length = self._run
                if first != char:
                    self._end_run()
                    length = 0
                self._run = (first, length + len(token))
                continue
            self._end_run()
            if first == "\n":
                self._end_line()
            elif token.strip(" \t\r"):
                self._line_blank = self._closing = False

    @property
    def inside(self) -> bool:
        """Whether a following ``<`` would be code."""
        self._end_run()
        return self._fence is not None or self._inline > 0

    @property
    def fenced(self) -> bool:
        """Whether the text so far ends in a fenced block, or in a started fence line."""
        return self._fence is not None

    def _end_line(self) -> None:
        if self._closing:
            self._fence = None
        self._closing = self._in_info = False
        self._inline = 0
        self._line_blank = True

    def _end_run(self) -> None:
        char, length = self._run
        if not length:
            return
        self._run = ("", 0)
        starts_line, self._line_blank = self._line_blank, False
        if self._fence is not None:
            self._run_in_fence(char, length, starts_line)
        elif self._inline:
            if char == "`" and length == self._inline:
                self._inline = 0
        elif starts_line and length >= _FENCE_LENGTH:
            self._fence, self._in_info = (char, length), True
        elif char == "`":
            self._inline = length

    def _run_in_fence(self, char: str, length: int, starts_line: bool) -> None:
        assert self._fence is not None
        fence_char, fence_length = self._fence
        if not self._in_info:
            self._closing = starts_line and char == fence_char and length >= fence_length
        elif char == fence_char == "`":
            # A backtick later in the line: it was an inline span with a long delimiter, not a fence.
            self._fence, self._in_info = None, False
            self._inline = 0 if length == fence_length else fence_length
