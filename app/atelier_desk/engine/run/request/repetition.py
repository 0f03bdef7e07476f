"""Notices a model in a loop: the same passage again and again, while it is still writing."""

from __future__ import annotations

from atelier_desk.domain.chat import ChatDelta, ReasoningDelta, TextDelta
from atelier_desk.llm.dialects.code_spans import CodeSpans

SHORTEST = 40
"""Characters of a passage: what is shorter repeats in tables, lists and rules as well."""
LONGEST = 4_000
TIMES = 12
"""How often it comes in direct succession before the reply is stopped."""
_KEPT = (TIMES + 1) * LONGEST
_CANDIDATES = 16


class Loop:
    """Follows one text. The answer is the same in whatever pieces the text comes; its cost grows with the text's length alone: a look
    for an earlier occurrence goes back ``LONGEST`` characters, and is made once in ``SHORTEST``, or where a repetition ended."""

    def __init__(self) -> None:
        self._text = ""
        self._period = 0
        self._run = 0
        self._next = SHORTEST

    def follow(self, text: str) -> bool:
        """Take the next piece; whether a passage has now come ``TIMES`` times."""
        at = len(self._text)
        self._text += text
        while at < len(self._text):
            at += 1
            if self._period and self._text[at - 1] == self._text[at - 1 - self._period]:
                self._run += 1
            elif self._period or at >= self._next:
                self._next = at + SHORTEST
                self._look(at)
            if self._period and self._run >= (TIMES - 1) * self._period:
                return True
        if at > 2 * _KEPT:
            self._text, self._next = self._text[at - _KEPT :], self._next - (at - _KEPT)
        return False

    def _look(self, end: int) -> None:
        """Find the passage that the text up to ``end`` ends with twice, and since when it repeats."""
        text = self._text
        last, start, self._period = text[max(0, end - SHORTEST) : end], end - SHORTEST, 0
        for _try in range(_CANDIDATES):
            start = text.rfind(last, max(0, end - LONGEST - SHORTEST), start)
            if start < 0:
                return
            period = end - SHORTEST - start
            if period >= SHORTEST and text[end - 2 * period : end - period] == text[end - period : end]:
                break
            start += SHORTEST - 1  # the next one may overlap this
        else:
            return
        passage = text[end - period : end]
        if (passage + passage).find(passage, 1) < SHORTEST:
            return  # a shorter one many times over
        run, most = period, (TIMES - 1) * period
        while run < most and run + period < end and text[end - run - 1] == text[end - run - 1 - period]:
            run += 1
        self._period, self._run = period, run


class Repetition:
    """Follows a reply: its text outside fenced code, and its thoughts. Arguments of calls are no text."""

    def __init__(self) -> None:
        self._code = CodeSpans()
        self._said, self._thought = Loop(), Loop()

    def over(self, delta: ChatDelta) -> bool:
        """Take one piece; whether the model is in a loop."""
        if isinstance(delta, ReasoningDelta):
            return self._thought.follow(delta.content)
        return isinstance(delta, TextDelta) and any(self._line(line) for line in delta.content.splitlines(keepends=True))

    def _line(self, line: str) -> bool:
        self._code.advance(line)
        if not self._code.fenced:
            return self._said.follow(line)
        self._said = Loop()  # what comes before and after code is not in direct succession
        return False
