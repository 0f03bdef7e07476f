"""Screenshots of the running program, in both themes and languages; each is also a check that the screen was painted.

``make screenshots`` stores them in the folder named by ``ATELIER_SCREENSHOTS``; otherwise they are deleted with the
test's folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.theme.tokens import DARK, LIGHT, Tokens
from atelier_desk.domain.model_messages import ChatReply
from atelier_desk.llm.scripted import Step
from tests.e2e.asking import ask, calculate, remember, report, task
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk

PLAN = """Here is the plan for the new shelf:

1. **Measure** the wall, twice.
2. **Cut** the boards to 84 cm.
3. **Glue** and clamp for an hour.

```python
def boards(width_cm: int, depth_cm: int = 30) -> int:
    return max(2, width_cm // depth_cm)
```

| part | length | pieces |
|---|---:|---:|
| board | 84 cm | 3 |
| side | 120 cm | 2 |
"""

WOODS = [{"id": "oak", "label": "Oak"}, {"id": "pine", "label": "Pine"}]

STEPS: list[Step] = [
    ChatReply(
        content="I will plan this first.",
        tool_calls=(
            task("t1", "Measure the wall", priority=1),
            task("t2", "Cut the boards", priority=2),
            task("t3", "Glue and clamp"),
            calculate("c1", "12*7"),
            remember("m1", "The wall beside the window is 84 cm wide."),
            report("r1", "shelf", "# Shelf\n\nThree boards of 84 cm."),
        ),
    ),
    PLAN,
    [
        ask(
            "q1",
            "Which wood shall I plan with?",
            "mixed",
            options=WOODS,
            context="Oak is **dearer**.",
            textPlaceholder="Another wood",
        )
    ],
    "Oak it is.",
]
"""The second reply leaves tasks open: the engine asks whether the agent is done, and the third reply asks the person.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    wanted = os.environ.get("ATELIER_SCREENSHOTS")
    path = Path(wanted) if wanted else tmp_path / "screenshots"
    path.mkdir(parents=True, exist_ok=True)
    return path


def keep(widget: QWidget, path: Path, ground: QColor) -> None:
    """Save a screenshot; its corner must have the theme's background."""
    picture = widget.grab()
    assert picture.toImage().pixelColor(3, 3) == ground
    assert picture.save(str(path))


def at_work(open_desk: OpenDesk) -> Desk:
    desk = open_desk(STEPS)
    desk.window.resize(1360, 860)
    desk.send("Plan a shelf for the wall beside the window")
    desk.until_row("task-list", "Glue and clamp")
    desk.find("user-question-modal")
    desk.settle()
    return desk


@pytest.mark.screen
@pytest.mark.parametrize(("theme", "tokens", "language"), [("light", LIGHT, "en"), ("dark", DARK, "fr")])
def test_the_window_at_work(open_desk: OpenDesk, folder: Path, theme: str, tokens: Tokens, language: str) -> None:
    desk = at_work(open_desk)
    desk.action(f"theme-{theme}")
    desk.action("language-french" if language == "fr" else "language-english")
    desk.until(lambda: desk.engine(lambda a: a.settings.get()).language == language, "the language is stored")
    desk.settle()
    ground = QColor(tokens.bg)
    keep(desk.window, folder / f"question-{theme}-{language}.png", ground)
    desk.click("question-option-oak")
    desk.click("question-submit")
    desk.last_reply("Oak it is.")
    desk.wait_done()
    keep(desk.window, folder / f"conversation-{theme}-{language}.png", ground)
