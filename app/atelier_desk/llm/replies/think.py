"""Separates reasoning written as tags in the text from the answer, while the text is still arriving."""

from __future__ import annotations

from enum import Enum

PAIRS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
"""Opening and closing marks: DeepSeek R1 and Qwen write the first, Magistral the last."""

ALL_BEFORE = (True, "")
"""The piece that says that the text given so far was reasoning: its end was seen, and never its beginning."""
_ALONE = tuple(f"\n{closing}" for closing in PAIRS.values())
_FENCE = "```"


class _State(Enum):
    START = "start"
    THINKING = "thinking"
    ANSWER = "answer"


class ThinkSplitter:
    """Feeds on text, gives ``(is_reasoning, text)`` pieces.

    Marks count only where an answer starts (white space may precede), so that an answer about the tags themselves stays whole. One more
    counts: a first closing mark on a line of its own, outside of code, without an opening one (chat templates of DeepSeek R1 and Qwen put
    that into the prompt); what was given as text until then is reasoning (``ALL_BEFORE``).
    Only as much text is held back as could still be the start of a mark. White space around the marks is dropped.
    """

    def __init__(self) -> None:
        self._state = _State.START
        self._held = ""
        self._close = ""
        self._begun = False
        self._thought = False
        self._given: list[str] = []

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """The pieces that are certain after this text."""
        self._held += text
        pieces: list[tuple[bool, str]] = []
        while self._held and self._step(pieces):
            pass
        return pieces

    def flush(self) -> list[tuple[bool, str]]:
        """What was held back, when the stream ends: reasoning if its mark was never closed, else text."""
        held, self._held = self._held, ""
        if self._state is _State.THINKING:
            return self._piece(True, held)
        if self._state is _State.ANSWER and not self._thought and held in _ALONE and self._outside_code(""):
            return [ALL_BEFORE]
        if self._state is _State.START and self._thought:
            held = held.lstrip()
        return [(False, held)] if held else []

    def _step(self, pieces: list[tuple[bool, str]]) -> bool:
        """Consume what can be decided; true when there may be more to decide."""
        if self._state is _State.ANSWER:
            return self._answer(pieces)
        if self._state is _State.START:
            return self._start()
        at = self._held.find(self._close)
        if at >= 0:
            pieces.extend(self._piece(True, self._held[:at]))
            self._held = self._held[at + len(self._close) :]
            self._state, self._thought = _State.START, True
            return True
        keep = _suffix_that_starts(self._held, self._close)
        pieces.extend(self._piece(True, self._held[: len(self._held) - keep]))
        self._held = self._held[len(self._held) - keep :]
        return False

    def _start(self) -> bool:
        bare = self._held.lstrip()
        for opening, closing in PAIRS.items():
            if bare.startswith(opening):
                self._held, self._close = bare[len(opening) :], closing
                self._state, self._begun = _State.THINKING, False
                return True
        for closing in PAIRS.values():
            if bare.startswith(closing) and not self._thought:
                self._held, self._thought = bare[len(closing) :], True
                return True
        # Also when nothing but white space came yet.
        if any(mark.startswith(bare) for pair in PAIRS.items() for mark in pair):
            return False
        self._state = _State.ANSWER
        if self._thought:
            self._held = bare
        return True

    def _answer(self, pieces: list[tuple[bool, str]]) -> bool:
        """Give the text on, up to what may be a closing mark on its own line."""
        held = self._held
        if self._thought or "\n" not in held:
            self._give(pieces, held)
            return False
        at, mark = min(((held.find(mark), mark) for mark in _ALONE if mark in held), default=(-1, ""))
        if at < 0:
            self._give(pieces, held, keep=max(_suffix_that_starts(held, mark) for mark in _ALONE))
            return False
        after = held[at + len(mark) :]
        if not after:
            self._give(pieces, held, keep=len(mark))
            return False
        if after[0] in "\r\n" and self._outside_code(held[:at]):
            if at:
                pieces.append((False, held[:at]))
            pieces.append(ALL_BEFORE)
            self._held, self._state, self._thought = after, _State.START, True
            return True
        self._give(pieces, held, keep=len(after))
        return bool(after)

    def _give(self, pieces: list[tuple[bool, str]], text: str, keep: int = 0) -> None:
        """All of the text but its last ``keep`` characters, which are looked at again."""
        given, self._held = text[: len(text) - keep], text[len(text) - keep :]
        if given:
            pieces.append((False, given))
            if not self._thought:
                self._given.append(given)

    def _outside_code(self, text: str) -> bool:
        return ("".join(self._given) + text).count(_FENCE) % 2 == 0

    def _piece(self, reasoning: bool, text: str) -> list[tuple[bool, str]]:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return [(reasoning, text)] if text else []


def _suffix_that_starts(text: str, mark: str) -> int:
    """Length of the longest end of ``text`` that is a beginning of ``mark``."""
    for length in range(min(len(mark) - 1, len(text)), 0, -1):
        if mark.startswith(text[-length:]):
            return length
    return 0
