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

from atelier_desk.desktop.theme.design_tokens import DARK, LIGHT, Tokens
from atelier_desk.domain.model_messages import ChatReply
from atelier_desk.llm.scripted_model import Step
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.e2e.scripted_tool_calls import ask_user, calculate, remember, report, task

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
        ask_user(
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
    chosen = os.environ.get("ATELIER_SCREENSHOTS")
    path = Path(chosen) if chosen else tmp_path / "screenshots"
    path.mkdir(parents=True, exist_ok=True)
    return path


def save_picture(widget: QWidget, path: Path, ground: QColor) -> None:
    """Save a screenshot; its corner must have the theme's background."""
    picture = widget.grab()
    assert picture.toImage().pixelColor(3, 3) == ground
    assert picture.save(str(path))


def at_work(open_app: OpenApp) -> AppDriver:
    app = open_app(STEPS)
    app.window.resize(1360, 860)
    app.send("Plan a shelf for the wall beside the window")
    app.until_row("task-list", "Glue and clamp")
    app.find("user-question-modal")
    app.settle()
    return app


@pytest.mark.screen
@pytest.mark.parametrize(("theme", "tokens", "language"), [("light", LIGHT, "en"), ("dark", DARK, "fr")])
def test_the_window_at_work(open_app: OpenApp, folder: Path, theme: str, tokens: Tokens, language: str) -> None:
    app = at_work(open_app)
    app.action(f"theme-{theme}")
    app.action("language-french" if language == "fr" else "language-english")
    app.until(lambda: app.engine(lambda a: a.settings.get()).language == language, "the language is stored")
    app.settle()
    ground = QColor(tokens.bg)
    save_picture(app.window, folder / f"question-{theme}-{language}.png", ground)
    app.click("question-option-oak")
    app.click("question-submit")
    app.until_reply("Oak it is.")
    app.wait_done()
    save_picture(app.window, folder / f"conversation-{theme}-{language}.png", ground)
