"""Separate reasoning in tags from the answer while text is still arriving."""

from __future__ import annotations

import re
from enum import Enum

PAIRS = {"<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>", "[THINK]": "[/THINK]"}
"""Opening and closing tags: DeepSeek R1 and Qwen write the first, Gemini and Gemma behind a gateway the third,
Magistral the last.
"""

ALL_BEFORE = (True, "")
"""Piece which says that all text so far was reasoning: its end was seen without a beginning."""
_ALONE = tuple(f"\n{closing}" for closing in PAIRS.values())
_ALONE_AT = re.compile("|".join(map(re.escape, _ALONE)))
_BLANKS = re.compile(r"\s*")
_MOST_BLANKS = 1_000
"""Maximum white space before a tag, so that little text is held back."""
_FENCE = "```"


class _State(Enum):
    START = "start"
    THINKING = "thinking"
    ANSWER = "answer"


class ThinkSplitter:
    """Splits text into ``(is_reasoning, text)`` pieces.

    Tags count only at the start of an answer (after optional white space), so that an answer about the tags stays
    intact. Exception: a first closing tag on its own line, outside code, without an opening one (chat templates of
    DeepSeek R1 and Qwen put that into the prompt); the text before it is then reasoning (``ALL_BEFORE``). Only text
    that could start a tag is held back. White space around tags is dropped. Runs in linear time however the text is
    split, because servers control it.
    """

    def __init__(self) -> None:
        self._state = _State.START
        self._text = ""
        self._at = 0
        self._close = ""
        self._begun = False
        self._thought = False
        self._fences = self._ticks = 0

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """Return the pieces that are certain after this text."""
        self._text = self._text[self._at :] + text
        self._at = 0
        pieces: list[tuple[bool, str]] = []
        while self._at < len(self._text) and self._step(pieces):
            pass
        return pieces

    def flush(self) -> list[tuple[bool, str]]:
        """Return held-back text at the end of the stream: reasoning if its tag was never closed, otherwise text."""
        held, self._text, self._at = self._text[self._at :], "", 0
        if self._state is _State.THINKING:
            return self._thoughts(held)
        if self._state is _State.ANSWER and not self._thought and held in _ALONE and self._outside_code(""):
            return [ALL_BEFORE]
        if self._state is _State.START and self._thought:
            held = held.lstrip()
        return [(False, held)] if held else []

    def _step(self, pieces: list[tuple[bool, str]]) -> bool:
        """Consume what can be decided; True if there may be more."""
        if self._state is _State.ANSWER:
            return self._answer(pieces)
        if self._state is _State.START:
            return self._start()
        at = self._text.find(self._close, self._at)
        if at >= 0:
            pieces.extend(self._thoughts(self._text[self._at : at]))
            self._at = at + len(self._close)
            self._state, self._thought = _State.START, True
            return True
        end = len(self._text) - _suffix_that_starts(self._text, self._at, self._close)
        pieces.extend(self._thoughts(self._text[self._at : end]))
        self._at = end
        return False

    def _start(self) -> bool:
        found = _BLANKS.match(self._text, self._at)
        bare = found.end() if found else self._at
        if self._thought:
            self._at = bare
        if bare - self._at <= _MOST_BLANKS:
            for opening, closing in PAIRS.items():
                if self._text.startswith(opening, bare):
                    self._at, self._close = bare + len(opening), closing
                    self._state, self._begun = _State.THINKING, False
                    return True
            for closing in PAIRS.values():
                if self._text.startswith(closing, bare) and not self._thought:
                    self._at, self._thought = bare + len(closing), True
                    return True
            # Also if only white space has arrived.
            rest = self._text[bare : bare + _LONGEST]
            if any(mark.startswith(rest) for pair in PAIRS.items() for mark in pair):
                return False
        self._state = _State.ANSWER
        return True

    def _answer(self, pieces: list[tuple[bool, str]]) -> bool:
        """Emit text up to a possible closing tag on its own line."""
        text, whole = self._text, len(self._text)
        if self._thought:
            self._give(pieces, whole)
            return False
        found = _ALONE_AT.search(text, self._at)
        if found is None:
            self._give(pieces, whole - max(_suffix_that_starts(text, self._at, mark) for mark in _ALONE))
            return False
        at, after = found.span()
        if after == whole:
            self._give(pieces, at)
            return False
        if text[after] in "\r\n" and self._outside_code(text[self._at : at]):
            self._give(pieces, at)
            pieces.append(ALL_BEFORE)
            self._at, self._state, self._thought = after, _State.START, True
            return True
        self._give(pieces, after)
        return True

    def _give(self, pieces: list[tuple[bool, str]], end: int) -> None:
        """Emit the text up to ``end``; the rest is examined again."""
        given, self._at = self._text[self._at : end], end
        if given:
            pieces.append((False, given))
            if not self._thought:
                ticked = "`" * self._ticks + given
                self._fences += ticked.count(_FENCE)
                self._ticks = (len(ticked) - len(ticked.rstrip("`"))) % len(_FENCE)

    def _outside_code(self, text: str) -> bool:
        """Whether all fences are closed, in everything emitted plus this text."""
        return (self._fences + ("`" * self._ticks + text).count(_FENCE)) % 2 == 0

    def _thoughts(self, text: str) -> list[tuple[bool, str]]:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return [(True, text)] if text else []


_LONGEST = max(len(mark) for pair in PAIRS.items() for mark in pair)


def _suffix_that_starts(text: str, start: int, mark: str) -> int:
    """Return the length of the longest suffix of ``text`` (from ``start``) that is a prefix of ``mark``."""
    for length in range(min(len(mark) - 1, len(text) - start), 0, -1):
        if mark.startswith(text[-length:]):
            return length
    return 0
