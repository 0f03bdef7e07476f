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
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.chat.transcript.view import ChatView
from atelier_desk.desktop.theme import theme
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.helpers.child_widgets import child

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


def save_picture(app: AppDriver, name: str) -> None:
    """Save a picture of the window if a folder for it is set."""
    if folder := os.environ.get("ATELIER_SCREENSHOTS"):
        app.settle()
        bar = child(app.window.chat, ChatView).verticalScrollBar()
        for part in range(3):
            bar.setValue(bar.maximum() * part // 2)
            app.settle()
            app.window.grab().save(str(Path(folder) / f"reply-{name}-{part}.png"))


@pytest.fixture
def app(open_app: OpenApp) -> AppDriver:
    app = open_app([REPLY])
    app.window.resize(1360, 1000)
    app.send("How do I move the reports?")
    app.wait_done()
    app.until(
        lambda: any(each.isVisible() for each in app.window.chat.findChildren(DiagramPicture)), "the diagram is drawn"
    )
    return app


def test_a_diagram_is_drawn_in_every_theme_enlarged_and_zoomed(app: AppDriver) -> None:
    def picture() -> DiagramPicture | None:
        return next((each for each in app.window.chat.findChildren(DiagramPicture) if each.isVisible()), None)

    def ground() -> str:
        picture_label = picture()
        return picture_label.pixmap().toImage().pixelColor(0, 0).name() if picture_label else ""

    for mode, paper in (("dark", "#1e1f24"), ("light", "#ffffff"), ("dark", "#1e1f24")):
        app.action(f"theme-{mode}")
        app.until(partial(lambda expected: ground() == expected, paper), f"it is drawn for {mode}")
        save_picture(app, mode)
    shown_picture = picture()
    assert shown_picture is not None
    QTest.mouseClick(shown_picture, Qt.MouseButton.LeftButton)
    dialog = app.find("picture-dialog")
    picture_label = child(dialog, QLabel, "picture-large")
    before = picture_label.width()
    app.click(child(dialog, QAbstractButton, "picture-zoom-in"))
    assert picture_label.width() > before
    app.click(child(dialog, QAbstractButton, "picture-close"))


def test_inline_code_has_a_background_lists_an_indent_and_tables_padding(app: AppDriver) -> None:
    style = theme()
    parts = [
        each
        for each in app.window.chat.findChildren(ProseBlock)
        if "migrate.py" in each.toPlainText() or "safe place" in each.toPlainText()
    ]
    document = parts[-1].document()
    grounds, indents = {}, {}
    block = document.begin()
    while block.isValid():
        fragments = block.begin()
        while not fragments.atEnd():
            fragment = fragments.fragment()
            if fragment.charFormat().background().style() is not Qt.BrushStyle.NoBrush:
                grounds[fragment.text().strip()] = fragment.charFormat().background().color()
            fragments += 1
        indents[block.text()] = block.layout().position().x() + block.layout().lineAt(0).x()
        block = block.next()
    assert grounds["migrate.py"] == QColor(style.tokens.inline_code)
    assert "reports" not in grounds
    assert indents["Prepare the folder"] < indents["check the free space"] < indents["at least 2 GB on the system disk"]
    tables = [
        each for part in app.window.chat.findChildren(ProseBlock) for each in part.document().rootFrame().childFrames()
    ]
    assert [each.format().cellPadding() for each in tables if isinstance(each, QTextTable)] == [style.px(8)]


@pytest.mark.parametrize(("name", "width", "scale"), [("1024", 1024, 100), ("150", 1360, 150), ("150-1024", 1024, 150)])
def test_a_long_reply_needs_no_horizontal_scrolling(app: AppDriver, name: str, width: int, scale: int) -> None:
    theme().set_scale(scale)
    app.action("language-french")
    app.window.resize(width, 700)
    app.settle()
    save_picture(app, name)
    for part in app.window.chat.findChildren(DiagramPicture):
        assert part.width() <= app.window.chat.width()
    for each in app.window.chat.findChildren(ProseBlock):
        assert each.horizontalScrollBar().maximum() == 0 or not each.isVisible()
