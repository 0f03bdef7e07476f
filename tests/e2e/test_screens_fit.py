"""Every screen in both languages, at two text sizes and three window sizes: everything is readable and reachable."""

from __future__ import annotations

import asyncio
import contextlib
import os
from itertools import chain, product
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.picker import Picker
from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.engine.services.projects import OFFERED_FROM
from tests.e2e import screens
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.e2e.scripted_model_server import MODEL, ModelServer, config, held_reply, hire
from tests.helpers.elided_texts import elided_texts
from tests.helpers.layout_problems import misfits

SMALL, LAPTOP, LARGE = QSize(1024, 700), QSize(1366, 768 - 37), QSize(1600, 1000)
"""A screen of 1366 × 768 less the title bar."""
TITLE = "Planifier la commande du bois pour le mur du fond"
BIG = "mistral-large-latest"

pytestmark = pytest.mark.timeout(900)  # most of the time is waiting for layouts to settle


def states() -> list[tuple[str, int, QSize]]:
    """All combinations with ``ATELIER_FIT=all``, which takes minutes; otherwise the tightest: French, large text, small
    window.
    """
    if os.environ.get("ATELIER_FIT") == "all":
        return list(product(("en", "fr"), (100, 150), (SMALL, LAPTOP, LARGE)))
    return [("fr", 150, SMALL)]


def does_not_fit(part: QWidget, size: QSize) -> list[str]:
    too_large = part.isWindow() and part.size().boundedTo(size) != part.size()
    return [
        *([f"{part.objectName()} is {part.width()} × {part.height()}"] if too_large else []),
        *misfits(part),
    ]


def at_rest(app: AppDriver, size: QSize) -> list[str]:
    """Problems that remain once the layouts have settled."""

    def wrong() -> list[str]:
        return [each for part in screens.parts(app) for each in does_not_fit(part, size)]

    with contextlib.suppress(AssertionError):
        app.until(lambda: not wrong(), timeout_ms=1500)
    return wrong()


@pytest.mark.parametrize(("language", "scale", "size"), states())
def test_every_screen_fits(open_app: OpenApp, tmp_path: Path, language: str, scale: int, size: QSize) -> None:
    app = open_app(screens.STEPS)
    screens.set_style(app, language, scale)
    wrong: list[str] = []
    for name, opener in chain(screens.plain(), screens.at_work(app, tmp_path)):
        opener(app)
        screens.resize(app, size)
        wrong += [f"{name}: {each}" for each in at_rest(app, size)]
        for part in screens.parts(app):
            screens.save_picture(part, f"{name}-{language}-{scale}-{size.width()}")
        screens.close(app)
    assert not wrong, "\n".join(wrong)


def work_on(app: AppDriver, server: ModelServer, gate: asyncio.Event, folder: Path) -> None:
    """A turn in a folder that works until ``gate``; its agent and model have long names."""
    server.models(MODEL, BIG)
    lead = config("Relectrice du code", approval=ApprovalMode.SELECTIVE, model=BIG, tools=())
    app.engine(lambda a: hire(a, server.provider, lead))
    server.script(TITLE, "All of it is planned.", held_reply("The wall is measured first. Then it is cut.", gate))
    folder.mkdir()
    app.window.chat.folders.grant([str(folder)])
    app.settle()
    app.send(TITLE)
    app.wait_done()
    app.send("Begin")
    app.find("stop-button")


@pytest.mark.parametrize("sidebar", [0, 400])
@pytest.mark.parametrize(("language", "scale", "size"), states())
def test_title_and_controls_can_be_read_while_an_agent_works(
    open_app: OpenApp, server: ModelServer, tmp_path: Path, language: str, scale: int, size: QSize, sidebar: int
) -> None:
    """With the list of workflows as wide as it is at first, and widened by the person."""
    app, gate = open_app(None), asyncio.Event()
    screens.set_style(app, language, scale)
    work_on(app, server, gate, tmp_path / "Dossier Martin")
    screens.close(app)
    window = app.window
    if sidebar:
        window.sidebar.setMinimumWidth(sidebar)
    screens.resize(app, size)

    def cut() -> list[str]:
        pickers = [app.find(name, Picker) for name in ("profile-select", "strategy-select")]
        title = window.chat.header.title
        named = [app.find(name, Picker) for name in ("agent-select", "model-select", "workflow-folders")]
        readable = min(title.sizeHint().width(), theme().px(100))
        return [
            *(each.text() for each in pickers if "…" in each.text()),
            *(each.objectName() for each in named if not each.text()[:5].isalpha()),
            *([f"{title.text()} has {title.width()}"] if title.width() < readable else []),
            *misfits(window),
            *elided_texts(window),
        ]

    with contextlib.suppress(AssertionError):
        app.until(lambda: not cut(), timeout_ms=1500)
    screens.save_picture(window, f"working-{language}-{scale}-{size.width()}-{sidebar}")
    assert cut() == []
    assert window.size() == size
    app.click("stop-button")
    app.wait_done()
    server.free(gate)


def test_the_offer_to_index_is_not_clipped_above_a_pane(open_app: OpenApp, tmp_path: Path) -> None:
    """In the shortest conversation column: large French text, a small window, and a pane below."""
    app = open_app(screens.STEPS)
    screens.set_style(app, "fr", 150)
    folder = tmp_path / "Un dossier au nom assez long"
    folder.mkdir()
    for number in range(OFFERED_FROM):
        (folder / f"{number}.md").write_text("a")
    app.window.chat.folders.grant([str(folder)])
    app.until_text("project-offer", "Indexer")
    app.window.rail.show_pane("files")
    screens.resize(app, SMALL)
    app.until(lambda: not misfits(app.window), "all of it is in sight")
    assert app.window.size() == SMALL
