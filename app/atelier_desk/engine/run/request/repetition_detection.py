"""Detect a looping model while it is writing: the same passage again and again."""

from __future__ import annotations

from atelier_desk.domain.model_messages import ChatDelta, ReasoningDelta, TextDelta
from atelier_desk.llm.dialects.code_spans import CodeSpans

SHORTEST = 40
"""Minimum characters of a passage: shorter ones also repeat in tables, lists and rules."""
LONGEST = 4_000
TIMES = 12
"""Consecutive repetitions after which the reply is stopped."""
_WINDOW = (TIMES + 1) * LONGEST
_CANDIDATES = 16


class Loop:
    """Follows one text.

    The result does not depend on how the text is split, and the cost grows linearly: a search for an earlier occurrence
    goes back ``LONGEST`` characters. If it finds none, the next is due when a passage could have repeated ``TIMES``
    times since, minus the two that a search needs; if undecided, after ``SHORTEST`` characters.

    Attributes:
        due: characters that may arrive before ``follow`` must be called; 0 while something repeats.
    """

    def __init__(self) -> None:
        self._text = ""
        self._period = 0
        self._run = 0
        self.due = _step()

    def follow(self, text: str) -> bool:
        """Add the next piece; return whether a passage has now occurred ``TIMES`` times."""
        at, end = len(self._text), len(self._text) + len(text)
        self._text += text
        while at < end:
            if not self._period:
                if end - at < self.due:
                    self.due -= end - at
                    break
                at += self.due
                self._find_repeat(at)
            else:
                same = min(end - at, self._missing)
                new, before = self._text[at : at + same], self._text[at - self._period : at - self._period + same]
                if new == before:
                    at, self._run = at + same, self._run + same
                else:
                    at += next(
                        index for index, (one, other) in enumerate(zip(new, before, strict=True), 1) if one != other
                    )
                    self._find_repeat(at)
            if self._period and self._missing <= 0:
                return True
        if end > 2 * _WINDOW:
            self._text = self._text[end - _WINDOW :]
        return False

    @property
    def _missing(self) -> int:
        """Return the characters until the repeating passage has occurred ``TIMES`` times."""
        return (TIMES - 1) * self._period - self._run

    def _find_repeat(self, end: int) -> None:
        """Find the passage with which the text up to ``end`` ends twice, and where its repetition began."""
        text = self._text
        last, start, self._period, self.due = text[max(0, end - SHORTEST) : end], end - SHORTEST, 0, SHORTEST
        for _try in range(_CANDIDATES):
            start = text.rfind(last, max(0, end - LONGEST - SHORTEST), start)
            if start < 0:
                self.due = _step()
                return
            period = end - SHORTEST - start
            if period >= SHORTEST and text[end - 2 * period : end - period] == text[end - period : end]:
                break
            start += SHORTEST - 1  # the next one may overlap this
        else:
            return
        passage = text[end - period : end]
        if (passage + passage).find(passage, 1) < SHORTEST:
            return  # a shorter passage repeated many times
        run, most = period, (TIMES - 1) * period
        while run < most and run + period < end and text[end - run - 1] == text[end - run - 1 - period]:
            run += 1
        self._period, self._run, self.due = period, run, 0


def _step() -> int:
    """Return the characters after which a passage that has not occurred twice cannot have occurred ``TIMES`` times."""
    return (TIMES - 2) * SHORTEST


class Repetition:
    """Follows a reply: its text outside fenced code, and its reasoning, but not arguments of calls.

    Pieces that cannot complete a loop are buffered, and examined with what follows.
    """

    def __init__(self) -> None:
        self._code = CodeSpans()
        self._text_loop, self._thought = Loop(), Loop()
        self._text = self._thoughts = ""

    def over(self, delta: ChatDelta) -> bool:
        """Add one piece; return whether the model is looping."""
        if isinstance(delta, TextDelta):
            self._text += delta.content
            if len(self._text) < self._text_loop.due:
                return False
            text, self._text = self._text, ""
            return any(map(self._line, text.splitlines(keepends=True)))
        if isinstance(delta, ReasoningDelta):
            self._thoughts += delta.content
            if len(self._thoughts) < self._thought.due:
                return False
            text, self._thoughts = self._thoughts, ""
            return self._thought.follow(text)
        return False

    def _line(self, line: str) -> bool:
        self._code.advance(line)
        if not self._code.fenced:
            return self._text_loop.follow(line)
        self._text_loop = Loop()  # text before and after code is not consecutive
        return False
