"""Separates reasoning written as tags in the text from the answer, while the text is still arriving."""

from __future__ import annotations

import re
from enum import Enum

PAIRS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
"""Opening and closing marks: DeepSeek R1 and Qwen write the first, Magistral the last."""


_LONE_CLOSE = re.compile(r"(?:^|\n)[ \t]*(?:</think>|</thinking>|\[/THINK\])[ \t]*(?:\n|$)")


class _State(Enum):
    START = "start"
    THINKING = "thinking"
    ANSWER = "answer"


def split_lone_close(text: str) -> tuple[str, str]:
    """Reasoning and answer of a text whose reasoning is closed and was never opened: ``("", text)`` when there is no such mark.

    The templates of DeepSeek R1, QwQ and others open the reasoning in the prompt, so that only its end is in the reply. A mark counts
    on a line of its own, outside a code block: an answer about the tags stays whole.
    """
    found = _LONE_CLOSE.search(text)
    if found is None or text.count("```", 0, found.start()) % 2 or any(opening in text[: found.start()] for opening in PAIRS):
        return "", text
    return text[: found.start()].strip(), text[found.end() :].lstrip()


class ThinkSplitter:
    """Feeds on text, gives ``(is_reasoning, text)`` pieces.

    Marks count only where an answer starts (white space may precede), so that an answer about the tags themselves stays whole. A closing
    mark there, of reasoning that the prompt had opened and the model left empty, is dropped.
    Only as much text is held back as could still be the start of a mark. White space around the marks is dropped.
    """

    def __init__(self) -> None:
        self._state = _State.START
        self._held = ""
        self._close = ""
        self._begun = False
        self._thought = False

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
        if self._state is _State.START and self._thought:
            held = held.lstrip()
        return [(False, held)] if held else []

    def _step(self, pieces: list[tuple[bool, str]]) -> bool:
        """Consume what can be decided; true when there may be more to decide."""
        if self._state is _State.ANSWER:
            pieces.append((False, self._held))
            self._held = ""
            return False
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
            if bare.startswith(closing):
                self._held, self._thought = bare[len(closing) :], True
                return True
        if any(mark.startswith(bare) for pair in PAIRS.items() for mark in pair):  # also when nothing but white space came yet
            return False
        self._state = _State.ANSWER
        if self._thought:
            self._held = bare
        return True

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
