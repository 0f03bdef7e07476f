"""Notices a model in a loop: the same passage again and again, while it is still writing."""

from __future__ import annotations

from atelier_desk.domain.model_messages import ChatDelta, ReasoningDelta, TextDelta
from atelier_desk.llm.dialects.code_spans import CodeSpans

SHORTEST = 40
"""Characters of a passage: what is shorter repeats in tables, lists and rules as well."""
LONGEST = 4_000
TIMES = 12
"""How often it comes in direct succession before the reply is stopped."""
_KEPT = (TIMES + 1) * LONGEST
_CANDIDATES = 16


class Loop:
    """Follows one text. The answer is the same in whatever pieces the text comes; its cost grows with the text's length alone: a look for
    an earlier occurrence goes back ``LONGEST`` characters. Where it finds none, the next is due when a passage could have come ``TIMES``
    times since, less the two that a look needs; where it was not sure, after ``SHORTEST`` characters.

    Attributes:
        due: characters that may come before ``follow`` has to be called with them; 0 while something repeats.
    """

    def __init__(self) -> None:
        self._text = ""
        self._period = 0
        self._run = 0
        self.due = _step()

    def follow(self, text: str) -> bool:
        """Take the next piece; whether a passage has now come ``TIMES`` times."""
        at, end = len(self._text), len(self._text) + len(text)
        self._text += text
        while at < end:
            if not self._period:
                if end - at < self.due:
                    self.due -= end - at
                    break
                at += self.due
                self._look(at)
            else:
                same = min(end - at, self._missing)
                new, before = self._text[at : at + same], self._text[at - self._period : at - self._period + same]
                if new == before:
                    at, self._run = at + same, self._run + same
                else:
                    at += next(index for index, (one, other) in enumerate(zip(new, before, strict=True), 1) if one != other)
                    self._look(at)
            if self._period and self._missing <= 0:
                return True
        if end > 2 * _KEPT:
            self._text = self._text[end - _KEPT :]
        return False

    @property
    def _missing(self) -> int:
        """Characters until the passage that repeats has come ``TIMES`` times."""
        return (TIMES - 1) * self._period - self._run

    def _look(self, end: int) -> None:
        """Find the passage that the text up to ``end`` ends with twice, and since when it repeats."""
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
            return  # a shorter one many times over
        run, most = period, (TIMES - 1) * period
        while run < most and run + period < end and text[end - run - 1] == text[end - run - 1 - period]:
            run += 1
        self._period, self._run, self.due = period, run, 0


def _step() -> int:
    """Characters after which a passage that did not come twice by then cannot have come ``TIMES`` times."""
    return (TIMES - 2) * SHORTEST


class Repetition:
    """Follows a reply: its text outside fenced code, and its thoughts. Arguments of calls are no text. A piece of a reply that cannot be
    the last of a loop is put aside, and looked at with what follows."""

    def __init__(self) -> None:
        self._code = CodeSpans()
        self._said, self._thought = Loop(), Loop()
        self._text = self._thoughts = ""

    def over(self, delta: ChatDelta) -> bool:
        """Take one piece; whether the model is in a loop."""
        if isinstance(delta, TextDelta):
            self._text += delta.content
            if len(self._text) < self._said.due:
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
            return self._said.follow(line)
        self._said = Loop()  # what comes before and after code is not in direct succession
        return False
