"""Find ``<tool_call name="X">{json}</tool_call>`` in streamed text.

An incremental state machine. Text is emitted as it arrives; only the longest suffix that could begin a tag is held
back. Argument text is collected raw and parsed once after its call: repeatedly parsing incomplete JSON is how other
programs lose calls (vLLM issues 10395, 11392, 19056, 21544). The output depends only on the whole text, not on how it
is split.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from atelier_desk.llm.dialects.argument_parsing import valid_unicode
from atelier_desk.llm.dialects.code_spans import CodeSpans
from atelier_desk.llm.dialects.tool_call_limits import CALL_CHARACTERS, CALL_DEPTH, CALLS

_ATTRIBUTE = r"""[A-Za-z_][\w-]*\s*=\s*(?:"[^"<>]*"|'[^'<>]*')"""
_OPEN = re.compile(rf"<tool_call(?P<attributes>(?:\s+{_ATTRIBUTE})*)\s*>")
_NAME = re.compile(r"""(?<![\w-])name\s*=\s*(?:"([^"]+)"|'([^']+)')""")
_OPEN_BEGUN = re.compile(
    rf"""<tool_call(?:\s+{_ATTRIBUTE})*(?:\s+(?:[A-Za-z_][\w-]*\s*(?:=\s*(?:"[^"<>]*|'[^'<>]*)?)?)?)?"""
)
_HEADER_CHARACTERS = 512
_CLOSE = re.compile(r"</tool_call\s{0,8}>")
_CLOSE_BEGUN = re.compile(r"</tool_call\s{0,8}")
_OPEN_WORD, _CLOSE_WORD = "<tool_call", "</tool_call"
_BLANKS_BEFORE_OBJECT = 64
_DOUBTFUL_CHARACTERS = 2_000
"""Characters after an opening tag that are held back if they do not look like arguments: a faulty call, or prose."""

_begun = "(?:".join(_OPEN_WORD[1:]) + ")?" * (len(_OPEN_WORD) - 2)
_CANDIDATE = re.compile(rf"<(?=tool_call|(?:{_begun})?\Z)")
_IN_STRING = re.compile(r'\\.?|"', re.DOTALL)
_IN_JSON = re.compile(r'["{}\[\]<]')
_AFTER_JSON = re.compile("<")
_NOT_BLANK = re.compile(r"\S")


class Flaw(StrEnum):
    """Why a call is not valid as it stands."""

    NONE = ""
    UNCLOSED = "unclosed"
    NESTED = "nested"
    UNBALANCED = "unbalanced"
    """A quote is missing in this or a previous call, so the boundaries of calls are uncertain."""
    TOO_LONG = "too_long"
    TOO_DEEP = "too_deep"
    TOO_MANY = "too_many"


@dataclass(slots=True)
class ScannedCall:
    """A call as found.

    ``name`` is empty if the tag has none: then the object itself contains ``name`` and ``arguments``.
    """

    name: str
    raw: str = ""
    flaw: Flaw = Flaw.NONE


class TextPiece(NamedTuple):
    """Text outside calls."""

    text: str


class CallPiece(NamedTuple):
    """Part of the argument text of call number ``position``; the first one, empty, marks its beginning."""

    position: int
    name: str
    fragment: str


Piece = TextPiece | CallPiece


class _Tag(Enum):
    NO = "no"
    MAYBE = "maybe"


class _Begun(Enum):
    """State of a call whose opening tag was read."""

    BLANK = "blank"
    """Only white space followed so far."""
    SURE = "sure"
    """An object or a fence followed: it is a call."""
    DOUBTFUL = "doubtful"
    """Something else followed: a faulty call if it is closed, otherwise prose about the tag."""


@dataclass(frozen=True, slots=True)
class _OpenTag:
    name: str
    end: int


def _open_tag(text: str, start: int, final: bool) -> _OpenTag | _Tag:
    """Return the opening tag at ``start``, or whether the text there may still become one."""
    header = text[start : start + _HEADER_CHARACTERS]
    match = _OPEN.match(header)
    if match is None:
        header_started = _OPEN_WORD.startswith(header) or _OPEN_BEGUN.fullmatch(header) is not None
        return _Tag.MAYBE if header_started and not final and len(header) < _HEADER_CHARACTERS else _Tag.NO
    end = start + match.end()
    if name := _NAME.search(match["attributes"]):
        return _OpenTag((name[1] or name[2]).strip(), end)
    if match["attributes"]:
        return _Tag.NO
    # Without a name only an object makes it a call (the format of Qwen and Hermes models); otherwise the tag is only
    # mentioned.
    following = text[end : end + _BLANKS_BEFORE_OBJECT]
    if following.lstrip().startswith("{"):
        return _OpenTag("", end)
    return _Tag.MAYBE if not following.strip() and len(following) < _BLANKS_BEFORE_OBJECT and not final else _Tag.NO


class CallScanner:
    """Scanner of one reply: call ``feed`` with its pieces, then ``finish``; then ``calls`` is complete.

    ``calls`` has at most ``CALLS`` + 1 entries, the last of which then has the flaw ``too_many``.
    """

    def __init__(self) -> None:
        self.calls: list[ScannedCall] = []
        self._text = ""
        self._at = 0
        self._code = CodeSpans()
        self._out: list[Piece] = []
        self._text_parts: list[str] = []
        self._open: ScannedCall | None = None
        self._header = ""
        self._begun = _Begun.BLANK
        self._dropped = False
        self._fragments: list[str] = []
        self._shown = 0
        self._size = self._depth = self._rescans = 0
        self._in_string = self._escaped = self._object_over = False

    def feed(self, piece: str) -> list[Piece]:
        """Add the next piece of the reply; return the pieces it completes."""
        piece = valid_unicode(piece)
        if self._open is None and self._at == len(self._text) and "<" not in piece:  # the common case
            self._code.advance(piece)
            return [TextPiece(piece)] if piece else []
        self._text = self._text[self._at :] + piece
        self._at = 0
        return self._run(final=False)

    def finish(self, *, cut: bool = False) -> list[Piece]:
        """Finish the reply: emit what was held back. An open call is marked unclosed.

        Args:
            cut: the reply reached its token limit, so an open string is incomplete rather than missing a quote.
        """
        out = self._run(final=True)
        while self._open is not None:
            self._end_open_call(cut)
            out += self._run(final=True)
        return out

    def _run(self, final: bool) -> list[Piece]:
        self._out = []
        while self._step_text(final) if self._open is None else self._step_call(final):
            continue
        self._show_text()
        self._show_arguments()
        return self._out

    def _add_text(self, text: str) -> None:
        if text:
            self._code.advance(text)
            self._text_parts.append(text)

    def _show_text(self) -> None:
        if self._text_parts:
            self._out.append(TextPiece("".join(self._text_parts)))
            self._text_parts = []

    def _show_arguments(self) -> None:
        if self._open is not None and self._begun is _Begun.SURE and len(self._fragments) > self._shown:
            self._out.append(CallPiece(len(self.calls) - 1, self._open.name, "".join(self._fragments[self._shown :])))
            self._shown = len(self._fragments)

    def _step_text(self, final: bool) -> bool:
        """Advance to the next possible tag; False if more input is needed."""
        found = _CANDIDATE.search(self._text, self._at)
        if found is None:
            self._add_text(self._text[self._at :])
            self._at = len(self._text)
            return False
        self._add_text(self._text[self._at : found.start()])
        self._at = found.start()
        tag = _Tag.NO if self._code.inside else _open_tag(self._text, self._at, final)
        if tag is _Tag.MAYBE:
            return False
        if isinstance(tag, _OpenTag):
            self._begin(tag)
        else:
            self._add_text("<")
            self._at += 1
        return True

    def _begin(self, tag: _OpenTag) -> None:
        self._open = ScannedCall(tag.name, flaw=Flaw.UNBALANCED if self._rescans else Flaw.NONE)
        self._header, self._at = self._text[self._at : tag.end], tag.end
        self._begun = _Begun.BLANK
        self._dropped = len(self.calls) > CALLS
        self._fragments = []
        self._shown = self._size = self._depth = 0
        self._in_string = self._escaped = self._object_over = False

    def _be_sure(self) -> None:
        """Confirm the started call: it counts."""
        if self._open is None or self._begun is _Begun.SURE:
            return
        self._begun = _Begun.SURE
        if not self._dropped:
            if len(self.calls) == CALLS:
                self._open.flaw = Flaw.TOO_MANY
            self.calls.append(self._open)
            self._show_text()
            self._out.append(CallPiece(len(self.calls) - 1, self._open.name, ""))

    def _give_back(self) -> None:
        """Discard the started call: emit it as text."""
        self._open = None
        self._add_text(self._header + "".join(self._fragments))

    def _step_blank(self) -> bool:
        """Examine the first character after the opening tag; False if it has not arrived."""
        found = _NOT_BLANK.search(self._text, self._at)
        self._add_arguments(found.start() if found else len(self._text))
        if found is None:
            return False
        if found[0] in "{`":
            self._be_sure()
        else:
            self._begun = _Begun.DOUBTFUL
            self._object_over = True
        return True

    def _step_doubtful(self, final: bool) -> bool:
        """Look for the closing tag that confirms the call; False if more input is needed."""
        end = self._at + _DOUBTFUL_CHARACTERS - self._size
        found = _AFTER_JSON.search(self._text, self._at, max(self._at, end))
        if found is not None:
            return self._step_tag(found.start(), final)
        self._add_arguments(min(len(self._text), max(self._at, end)))
        if self._size < _DOUBTFUL_CHARACTERS:
            return False
        self._give_back()
        return True

    def _step_call(self, final: bool) -> bool:
        """Collect arguments up to the next relevant character; False if more input is needed."""
        if self._begun is _Begun.BLANK:
            return self._step_blank()
        if self._begun is _Begun.DOUBTFUL:
            return self._step_doubtful(final)
        text, start = self._text, self._at
        if self._in_string:
            return self._step_string()
        found = (_AFTER_JSON if self._object_over else _IN_JSON).search(text, start)
        if found is None:
            self._add_arguments(len(text))
            return False
        char, at = found[0], found.start()
        if char == "<":
            return self._step_tag(at, final)
        self._add_arguments(at + 1)
        if char == '"':
            self._in_string = self._depth > 0
        elif char in "{[":
            self._depth += 1
            if self._depth > CALL_DEPTH and self._open is not None:
                self._open.flaw = Flaw.TOO_DEEP
        elif self._depth > 0:
            self._depth -= 1
            # After the object, quotes no longer count: the next closing tag ends the call.
            self._object_over = self._depth == 0
        return True

    def _step_string(self) -> bool:
        at = self._at
        if self._escaped and at < len(self._text):
            self._escaped = False
            at += 1
        found = _IN_STRING.search(self._text, at)
        if found is None:
            self._add_arguments(len(self._text))
            return False
        if found[0] == '"':
            self._in_string = False
        self._escaped = found[0] == "\\"
        self._add_arguments(found.end())
        return not self._escaped

    def _step_tag(self, at: int, final: bool) -> bool:
        """Handle ``<`` outside strings: the end of the call, the start of another, or just a character."""
        self._add_arguments(at)
        if close := _CLOSE.match(self._text, at):
            self._be_sure()
            self._at = close.end()
            self._end(Flaw.NONE)
            return True
        rest = self._text[at : at + _HEADER_CHARACTERS]
        if not final and (_CLOSE_WORD.startswith(rest) or _CLOSE_BEGUN.fullmatch(rest)):
            return False
        tag = _open_tag(self._text, at, final) if _OPEN_WORD.startswith(rest[: len(_OPEN_WORD)]) else _Tag.NO
        if tag is _Tag.MAYBE:
            return False
        if not isinstance(tag, _OpenTag):
            self._add_arguments(at + 1)
        elif self._begun is _Begun.SURE:
            self._end(Flaw.NESTED)
        else:
            self._give_back()
        return True

    def _add_arguments(self, end: int) -> None:
        """Add the text up to ``end`` to the arguments, within the limit."""
        fragment = self._text[self._at : end]
        self._at = end
        if not fragment or self._dropped or self._open is None:
            return
        room = CALL_CHARACTERS - self._size
        self._size += len(fragment)
        if len(fragment) > room:
            self._open.flaw = Flaw.TOO_LONG
        if room > 0:
            self._fragments.append(fragment[:room])

    def _end(self, flaw: Flaw) -> None:
        if self._open is not None:
            self._show_arguments()
            self._open.raw = "".join(self._fragments)
            self._open.flaw = self._open.flaw or flaw
        self._open = None

    def _end_open_call(self, cut: bool) -> None:
        """Handle text ending inside a call.

        If a missing quote hid the closing tag, the first one counts, and the rest is text.
        """
        if self._begun is not _Begun.SURE:
            self._give_back()
            return
        raw = "".join(self._fragments)
        may_be_hidden = (
            self._in_string
            and not cut
            and not self._dropped
            and self._size <= CALL_CHARACTERS
            and self._rescans < CALLS
        )
        hidden = _CLOSE.search(raw) if may_be_hidden else None
        if hidden is None:
            self._end(Flaw.UNCLOSED)
            return
        self._rescans += 1
        self._fragments, self._shown = [raw[: hidden.start()]], 1
        self._end(Flaw.UNBALANCED)
        self._text, self._at = raw[hidden.end() :], 0
