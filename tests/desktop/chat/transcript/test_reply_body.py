"""Replies look the same streamed and complete, load nothing remote, and highlight and copy code."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QGuiApplication, QImage, QTextDocument
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.markdown import syntax_highlighter
from atelier_desk.desktop.chat.transcript.allowed_images import ImageGate
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock, TableBlock
from atelier_desk.desktop.chat.transcript.reply_body import MOST, ReplyBody
from atelier_desk.desktop.theme import theme

TEXT = """# Title

A *first* paragraph with `code` and **bold**.

```python
def f(x):
    return x + 1
```

- one
- two
  - inner

> quoted

| a | b |
|---|--:|
| 1 | 2 |

---

Last line, $a_1$ and <b>raw</b>.
"""


def shape(body: ReplyBody) -> list[tuple[str, str]]:
    def text(part: object) -> str:
        return part.toPlainText() if isinstance(part, ProseBlock) else str(getattr(part, "code", ""))

    return [(type(part).__name__, text(part)) for part in body.parts]


def prose(body: ReplyBody) -> ProseBlock:
    """The first part of a reply that begins with text."""
    first = body.parts[0]
    assert isinstance(first, ProseBlock)
    return first


@pytest.mark.parametrize("step", [1, 7, 40])
def test_streamed_equals_complete(qtbot: QtBot, step: int) -> None:
    complete, streamed = ReplyBody(ImageGate()), ReplyBody(ImageGate())
    qtbot.addWidget(complete)
    qtbot.addWidget(streamed)
    complete.set_text(TEXT)
    for end in range(step, len(TEXT) + step, step):
        streamed.stream_to(TEXT[:end])
        streamed.flush()
    streamed.set_text(TEXT)
    assert shape(streamed) == shape(complete)
    assert streamed.fit(600) == complete.fit(600)
    assert [name for name, _text in shape(complete)] == [
        "ProseBlock",
        "CodeCard",
        "ProseBlock",
        "TableBlock",
        "RuleBlock",
        "ProseBlock",
    ]


def test_raw_html_is_shown_as_text(qtbot: QtBot) -> None:
    body = ReplyBody(ImageGate())
    qtbot.addWidget(body)
    body.set_text("<script>alert(1)</script> <img src='http://x/y.png'>")
    (part,) = body.parts
    assert isinstance(part, ProseBlock)
    assert part.toPlainText() == "<script>alert(1)</script> <img src='http://x/y.png'>"


def test_the_streaming_code_card_becomes_the_final_one(qtbot: QtBot) -> None:
    body = ReplyBody(ImageGate())
    qtbot.addWidget(body)
    body.stream_to("```python\na = 1\n")
    body.flush()
    (live,) = body.parts
    body.set_text("```python\na = 1\nb = 2\n```\n\nDone.")
    assert body.parts[0] is live
    assert isinstance(live, CodeCard)
    assert live.code == "a = 1\nb = 2"


def test_the_next_flush_waits_four_times_the_cost_of_the_last(qtbot: QtBot) -> None:
    body = ReplyBody(ImageGate())
    qtbot.addWidget(body)
    body.stream_to("a")
    body.flush()
    body.last_cost = 100.0
    body.stream_to("a and much more")
    assert prose(body).toPlainText() == "a"


def test_a_backlog_is_drawn_in_pieces(qtbot: QtBot) -> None:
    """After a stall of the machine thousands of characters arrive at once."""
    body = ReplyBody(ImageGate())
    qtbot.addWidget(body)
    body.stream_to("Begun.\n\n")
    text = "Begun.\n\n" + "One line of a long paragraph.\n\n" * 400
    body.stream_to(text)
    body.flush()
    drawn = [len(prose(body).toPlainText())]
    assert drawn[0] < 2 * MOST

    def shown() -> int:
        return sum(part.toPlainText().count("One line") for part in body.parts if isinstance(part, ProseBlock))

    qtbot.waitUntil(lambda: shown() == 400, timeout=30_000)


def test_listings_share_one_slice(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many arrive at once, the window gets its turn after one time slice."""
    syntax_highlighter.lexer_for("python")
    code = "\n".join(f"value_{number} = compute({number})  # why" for number in range(200))
    body = ReplyBody(ImageGate())
    qtbot.addWidget(body)
    body.set_text("\n\n".join(f"```python\n{code}\n```" for _ in range(6)))
    cards = body.findChildren(CodeCard)
    assert len(cards) == 6
    begun = [card for card in cards if card._highlighter.busy]
    assert len(begun) == 6
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock) * syntax_highlighter.SLICE_S * 0.6)
    syntax_highlighter._turns()._step()
    coloured = [card for card in cards if card._text.document().begin().layout().formats()]
    assert len(coloured) <= 1
    monkeypatch.undo()
    qtbot.waitUntil(lambda: not any(card._highlighter.busy for card in cards))
    assert all(card._text.document().begin().layout().formats() for card in cards)


def test_pictures_are_loaded_only_from_the_workspace(tmp_path: Path, qtbot: QtBot) -> None:
    inside, outside = tmp_path / "work", tmp_path / "secret.png"
    inside.mkdir()
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.red)
    image.save(str(inside / "ok.png"))
    image.save(str(outside))
    (inside / "link.png").symlink_to(outside)
    gate = ImageGate([inside])
    assert gate("ok.png") == str(inside / "ok.png")
    assert gate((inside / "ok.png").as_uri()) == str(inside / "ok.png")
    for refused in (
        "http://x.y/ok.png",
        "../secret.png",
        str(outside),
        "link.png",
        "ok.txt",
        "data:image/png;base64,AA",
        "file://host/ok.png",
        "",
    ):
        assert gate(refused) is None, refused
    block = ProseBlock(image=gate)
    qtbot.addWidget(block)
    kind = QTextDocument.ResourceType.ImageResource.value
    loaded = block.loadResource(kind, QUrl(str(inside / "ok.png")))
    assert isinstance(loaded, QImage)
    assert not loaded.isNull()
    assert block.loadResource(kind, QUrl("http://x.y/ok.png")) is None
    assert block.loadResource(kind, QUrl.fromLocalFile(str(outside))) is None
    assert block.loadResource(QTextDocument.ResourceType.HtmlResource.value, QUrl(str(inside / "ok.png"))) is None


def test_code_is_coloured_once_it_is_final_and_copied(qtbot: QtBot) -> None:
    card = CodeCard("def f():\n    return 'x'", "python")
    qtbot.addWidget(card)
    document = card._text.document()
    assert document.firstBlock().layout().formats() == []
    card.freeze()
    qtbot.waitUntil(lambda: not card._highlighter.busy)
    colours = {form.format.foreground().color().name().upper() for form in document.firstBlock().layout().formats()}
    assert theme().tokens.keyword in colours
    QTest.mouseClick(card._copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == card.code


def test_wrapping_makes_the_card_higher(qtbot: QtBot) -> None:
    card = CodeCard("x" * 400, "")
    qtbot.addWidget(card)
    flat = card.fit(400)
    card._wrap.setChecked(True)
    assert card.fit(400) > flat + 20


def test_unknown_language_stays_plain(qtbot: QtBot) -> None:
    card = CodeCard("a b", "no-such-language")
    qtbot.addWidget(card)
    card.freeze()
    qtbot.waitUntil(lambda: not card._highlighter.busy)
    assert card._text.document().firstBlock().layout().formats() == []


def test_find_marks_words(qtbot: QtBot) -> None:
    body = ReplyBody(ImageGate())
    qtbot.addWidget(body)
    body.set_text("one two\n\ntwo\n\n```\ntwo\n```\n\n| two |\n|---|\n| x |")
    assert body.highlight("TWO") == 4
    assert len(prose(body).extraSelections()) == 2
    assert body.highlight("") == 0
    assert prose(body).extraSelections() == []


def test_wide_tables_have_their_own_scroll_bar(qtbot: QtBot) -> None:
    body = ReplyBody(ImageGate())
    qtbot.addWidget(body)
    cells = "|".join("word" * 6 for _ in range(12))
    body.set_text(f"|{cells}|\n|{'|'.join(['---'] * 12)}|\n|{cells}|")
    (table,) = body.parts
    assert isinstance(table, TableBlock)
    narrow = body.fit(300)
    assert narrow > 0
    assert table.width() == 300


def test_png_bytes_of_a_thumbnail_round_trip() -> None:
    from atelier_desk.desktop.chat.compose.attachment_chips import MAX_SIDE, encoded

    image = QImage(MAX_SIDE * 2, 100, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.blue)
    made = encoded(image)
    back = QImage.fromData(made)
    assert made.startswith(b"\xff\xd8\xff")
    assert (back.width(), back.height()) == (MAX_SIDE, 50)


def test_a_card_may_be_deleted_while_its_syntax_colours_load(qtbot: QtBot) -> None:
    """The loader thread once notified the card directly, which crashed the program when the card was deleted."""
    for language in ("rust", "go", "haskell", "perl"):
        card = CodeCard("x = 1", language)
        card.freeze()
        shiboken6.delete(card)
    qtbot.waitUntil(lambda: {"rust", "go", "haskell", "perl"} <= syntax_highlighter._lexers.keys(), timeout=20_000)
    later = CodeCard("fn main() {}", "rust")
    qtbot.addWidget(later)
    later.freeze()
    qtbot.waitUntil(lambda: not later._highlighter.busy)
