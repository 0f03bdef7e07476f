"""The Markdown of a reply as a stack of blocks: prose, code cards, tables. Streams, and freezes finished blocks."""

from __future__ import annotations

import time

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.transcript.allowed_images import ImageGate
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock, RuleBlock, TableBlock
from atelier_desk.desktop.theme import theme
from atelier_desk.markdown.parser import Block, MarkdownStream, parse

Part = ProseBlock | CodeCard | RuleBlock

FLUSH_S = 1 / 30
BACK_OFF = 4
"""The next flush comes no sooner than this many times the last one's duration."""
MOST = 2_000
"""Characters drawn per flush: a backlog drawn at once would block the window again."""
_BLOCKS_A_PART = 40
"""Prose blocks per document; with more, every flush would lay out too much."""
_GAP = 12


class ReplyBody(QWidget):
    """``set_text`` shows a complete text, ``add_text`` streams, ``finish`` freezes.

    Signals:
        height_changed: call ``fit`` again.
    """

    height_changed = Signal()

    def __init__(self, images: ImageGate, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._images = images
        self._parts: list[Part] = []
        self._counts: list[int] = []
        self._live: list[Part] = []
        self._stream: MarkdownStream | None = None
        self._streamed = 0
        self._text = ""
        self._needle = ""
        self._heights: dict[Part, int] = {}
        self._fitted_width = 0
        self._last_flush = 0.0
        self.last_cost = 0.0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.flush)

    @property
    def text(self) -> str:
        return self._text

    @property
    def parts(self) -> list[Part]:
        """All blocks in order, unfinished ones last."""
        return [*self._parts, *self._live]

    def set_text(self, text: str) -> None:
        """Show a complete text; if it was streamed so far, only the rest is added and frozen."""
        if self._stream is not None and text.startswith(self._text):
            self._text = text
            self.finish()
            return
        if text == self._text and self._parts:
            return
        self._timer.stop()
        self._stream = None
        self._text = text
        self._clear()
        self._freeze(parse(text))
        self.height_changed.emit()

    def stream_to(self, text: str) -> None:
        """Set the text so far while it grows; drawn at most 30 times a second."""
        begins = self._stream is None or not text.startswith(self._text)
        if begins:
            self._clear()
            self._stream = MarkdownStream()
            self._streamed = 0
        self._text = text
        if begins:
            self.flush(len(text))  # text that exists when it comes into view is shown at once
            return
        wait = max(FLUSH_S, BACK_OFF * self.last_cost) - (time.perf_counter() - self._last_flush)
        if wait <= 0:
            self.flush()
        elif not self._timer.isActive():
            self._timer.start(max(1, round(wait * 1000)))

    def flush(self, most: int = MOST) -> None:
        """Draw text that arrived since the last flush, up to ``most`` characters; the rest follows."""
        self._timer.stop()
        stream = self._stream
        if stream is None:
            return
        began = time.perf_counter()
        stream.feed(self._text[self._streamed : self._streamed + most])
        self._streamed = min(len(self._text), self._streamed + most)
        frozen = stream.advance()
        if frozen:
            self._freeze(frozen)
        self._show_live(stream.open_blocks())
        self.height_changed.emit()
        self._last_flush = time.perf_counter()
        self.last_cost = self._last_flush - began
        if self._streamed < len(self._text):
            self._timer.start(round(max(FLUSH_S, BACK_OFF * self.last_cost) * 1000))

    def finish(self) -> None:
        """The text is complete: freeze the rest."""
        stream = self._stream
        if stream is None:
            return
        self._timer.stop()
        stream.feed(self._text[self._streamed :])
        self._stream = None
        self._freeze([*stream.advance(), *stream.finish()])
        self._show_live([])
        self.height_changed.emit()

    def redraw(self) -> None:
        """Redraw everything after a change of fonts or colours."""
        text, streaming = self._text, self._stream is not None
        self._clear()
        self._text, self._stream = "", None
        if streaming:
            self.stream_to(text)
        elif text:
            self.set_text(text)

    def highlight(self, needle: str) -> int:
        self._needle = needle
        return sum(part.highlight(needle) for part in self.parts)

    def place_of(self, number: int) -> int:
        """Distance in pixels from the top to match ``number`` (from 0), which becomes the current one."""
        for part in self.parts:
            here = part.highlight(self._needle)
            if number < here:
                return part.y() + part.place_of(number)
            number -= here
        return 0

    def selected_text(self) -> str:
        """The selected text in any of the blocks."""
        return "\n".join(
            text for part in self.parts if isinstance(part, ProseBlock) and (text := part.selected_source())
        )

    def fit(self, width: int) -> int:
        """Stack the blocks; a finished block is measured once per width."""
        y = 0
        gap = theme().px(_GAP)
        if width != self._fitted_width:
            self._fitted_width = width
            self._heights.clear()
        for part in self.parts:
            if y:
                y += gap
            height = self._heights.get(part)
            if height is None:
                height = self._heights[part] = part.fit(width)
            part.setGeometry(0, y, width, height)
            y += height
        return y

    def _on_part_height(self, part: Part) -> None:
        self._heights.pop(part, None)
        self.height_changed.emit()

    def _clear(self) -> None:
        for part in self.parts:
            self._drop(part)
        self._parts, self._counts, self._live = [], [], []
        self._heights.clear()

    def _freeze(self, blocks: list[Block]) -> None:
        """Append final blocks; an open code card that became final is reused and highlighted."""
        run: list[Block] = []
        for block in blocks:
            if block.kind == "prose":
                run.append(block)
                continue
            self._freeze_prose(run)
            run = []
            self._append(self._final_part(block))
        self._freeze_prose(run)

    def _final_part(self, block: Block) -> Part:
        if block.kind == "rule":
            return RuleBlock(self)
        if block.kind == "table":
            table = TableBlock(self, self._images)
            table.append_blocks([block])
            return table
        card = self._reuse_live_code(block)
        if card is None:
            card = CodeCard(block.text, block.language, self)
            self._watch(card)
        else:
            card.update_code(block.text, block.language)
        card.freeze()
        return card

    def _reuse_live_code(self, block: Block) -> CodeCard | None:
        for index, part in enumerate(self._live):
            if isinstance(part, CodeCard) and block.text.startswith(part.code):
                return self._live.pop(index)  # type: ignore[return-value]
        return None

    def _freeze_prose(self, blocks: list[Block]) -> None:
        while blocks:
            last = self._parts[-1] if self._parts else None
            if last is None or type(last) is not ProseBlock or self._counts[-1] >= _BLOCKS_A_PART:
                last = ProseBlock(self, self._images)
                self._append(last)
            room = _BLOCKS_A_PART - self._counts[-1]
            assert isinstance(last, ProseBlock)
            last.append_blocks(blocks[:room])
            self._heights.pop(last, None)
            self._counts[-1] += len(blocks[:room])
            blocks = blocks[room:]

    def _append(self, part: Part) -> None:
        self._parts.append(part)
        self._counts.append(0)
        self._adopt(part)

    def _watch(self, part: CodeCard | ProseBlock) -> None:
        part.height_changed.connect(lambda: self._on_part_height(part))

    def _adopt(self, part: Part) -> None:
        if isinstance(part, ProseBlock):
            self._watch(part)
        if self._needle:
            part.highlight(self._needle)
        part.show()

    def _show_live(self, blocks: list[Block]) -> None:
        """Draw the unfinished blocks, reusing widgets of the last flush where the kind is the same."""
        groups: list[tuple[str, list[Block]]] = []
        for block in blocks:
            if block.kind == "prose" and groups and groups[-1][0] == "prose":
                groups[-1][1].append(block)
            else:
                groups.append((block.kind, [block]))
        old, self._live = self._live, []
        for kind, group in groups:
            part = old.pop(0) if old and _kind(old[0]) == kind else None
            if isinstance(part, CodeCard) and not group[0].text.startswith(part.code):
                self._drop(part)
                part = None
            if part is None:
                part = self._new_live(kind)
            if isinstance(part, CodeCard):
                part.update_code(group[0].text, group[0].language)
            elif isinstance(part, ProseBlock):
                part.show_blocks(group)
            self._heights.pop(part, None)
            self._live.append(part)
        for part in old:
            self._drop(part)

    def _drop(self, part: Part) -> None:
        self._heights.pop(part, None)
        part.hide()
        part.setParent(None)
        part.deleteLater()

    def _new_live(self, kind: str) -> Part:
        if kind == "code":
            card = CodeCard("", "", self)
            self._watch(card)
            card.show()
            return card
        if kind == "rule":
            rule = RuleBlock(self)
            rule.show()
            return rule
        part = TableBlock(self, self._images) if kind == "table" else ProseBlock(self, self._images)
        self._adopt(part)
        return part


def _kind(part: Part) -> str:
    if isinstance(part, CodeCard):
        return "code"
    if isinstance(part, RuleBlock):
        return "rule"
    return "table" if isinstance(part, TableBlock) else "prose"
