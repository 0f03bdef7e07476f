"""A long reply with everything models write: diagrams, code, tables, nested lists, quotes, formulas."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QTextTable
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel

from atelier_desk.desktop.chat.cards.diagram import DiagramPicture
from atelier_desk.desktop.chat.transcript.blocks import ProseBlock
from atelier_desk.desktop.chat.transcript.view import ChatView
from atelier_desk.desktop.theme import theme
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, child

REPLY = """## Moving the reports to the new store

The script `migrate.py` reads every file below **`reports/`** and writes one row a file. Nothing is deleted before
`--commit` is given; see
`config/store.toml` for the address.

1. Prepare the folder
   - copy `reports/` to a safe place
   - check the free space
     - at least *2 GB* on the system disk
     - at least *10 GB* where the store is
   - stop the nightly job
2. Run the script
   1. first with `--dry-run`
   2. then with `--commit`

   It takes about ten minutes.
3. Compare the counts

> The numbers below are from the copy of last night.
>
> > They may be off by one where a file was open.

| Folder | Files | Size | What happens with it |
|---|--:|--:|---|
| `2024/` | 1 204 | 310 MB | moved as it is |
| `2025/` | 3 918 | 1.1 GB | moved, then *compressed*, since nobody opened it for half a year |
| `drafts/` | 12 | 4 MB | **stays** |

```mermaid
flowchart LR
  A[reports] --> B{valid?}
  B -->|yes| C[(store)]
  B -->|no| D[drafts]
```

```python
def moved(path: Path, store: Store) -> bool:
    \"\"\"Whether the report was written.\"\"\"
    return store.write(path.read_text("utf-8")) > 0
```

The time for $n$ files is $t = a + b\\,n$, so that

$$t(5134) = 12 + \\frac{5134}{9} \\approx 582\\ \\mathrm{s}$$

- [x] copy made
- [ ] script run
"""


def keep(desk: Desk, name: str) -> None:
    """Save a picture of the window if a folder for it is set."""
    if folder := os.environ.get("ATELIER_SCREENSHOTS"):
        desk.settle()
        bar = child(desk.window.chat, ChatView).verticalScrollBar()
        for part in range(3):
            bar.setValue(bar.maximum() * part // 2)
            desk.settle()
            desk.window.grab().save(str(Path(folder) / f"reply-{name}-{part}.png"))


@pytest.fixture
def desk(open_desk: OpenDesk) -> Desk:
    desk = open_desk([REPLY])
    desk.window.resize(1360, 1000)
    desk.send("How do I move the reports?")
    desk.wait_done()
    desk.until(
        lambda: any(each.isVisible() for each in desk.window.chat.findChildren(DiagramPicture)), "the diagram is drawn"
    )
    return desk


def test_a_diagram_is_a_picture_in_every_theme_and_is_opened_large_and_zoomed(desk: Desk) -> None:
    def picture() -> DiagramPicture | None:
        return next((each for each in desk.window.chat.findChildren(DiagramPicture) if each.isVisible()), None)

    def ground() -> str:
        shown = picture()
        return shown.pixmap().toImage().pixelColor(0, 0).name() if shown else ""

    for mode, paper in (("dark", "#1e1f24"), ("light", "#ffffff"), ("dark", "#1e1f24")):
        desk.action(f"theme-{mode}")
        desk.until(partial(lambda wanted: ground() == wanted, paper), f"it is drawn for {mode}")
        keep(desk, mode)
    shown_picture = picture()
    assert shown_picture is not None
    QTest.mouseClick(shown_picture, Qt.MouseButton.LeftButton)
    dialog = desk.find("picture-dialog")
    shown = child(dialog, QLabel, "picture-large")
    before = shown.width()
    desk.click(child(dialog, QAbstractButton, "picture-zoom-in"))
    assert shown.width() > before
    desk.click(child(dialog, QAbstractButton, "picture-close"))


def test_code_in_a_line_has_a_ground_lists_an_indent_and_tables_room(desk: Desk) -> None:
    look = theme()
    parts = [
        each
        for each in desk.window.chat.findChildren(ProseBlock)
        if "migrate.py" in each.toPlainText() or "safe place" in each.toPlainText()
    ]
    document = parts[-1].document()
    grounds, indents = {}, {}
    block = document.begin()
    while block.isValid():
        fragments = block.begin()
        while not fragments.atEnd():
            piece = fragments.fragment()
            if piece.charFormat().background().style() is not Qt.BrushStyle.NoBrush:
                grounds[piece.text().strip()] = piece.charFormat().background().color()
            fragments += 1
        indents[block.text()] = block.layout().position().x() + block.layout().lineAt(0).x()
        block = block.next()
    assert grounds["migrate.py"] == QColor(look.tokens.inline_code)
    assert "reports" not in grounds
    assert indents["Prepare the folder"] < indents["check the free space"] < indents["at least 2 GB on the system disk"]
    tables = [
        each for part in desk.window.chat.findChildren(ProseBlock) for each in part.document().rootFrame().childFrames()
    ]
    assert [each.format().cellPadding() for each in tables if isinstance(each, QTextTable)] == [look.px(8)]


@pytest.mark.parametrize(("name", "width", "scale"), [("1024", 1024, 100), ("150", 1360, 150), ("150-1024", 1024, 150)])
def test_it_is_read_without_scrolling_sideways(desk: Desk, name: str, width: int, scale: int) -> None:
    theme().set_scale(scale)
    desk.action("language-french")
    desk.window.resize(width, 700)
    desk.settle()
    keep(desk, name)
    for part in desk.window.chat.findChildren(DiagramPicture):
        assert part.width() <= desk.window.chat.width()
    for each in desk.window.chat.findChildren(ProseBlock):
        assert each.horizontalScrollBar().maximum() == 0 or not each.isVisible()
