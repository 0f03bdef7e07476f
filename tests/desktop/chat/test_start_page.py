"""The page of a new workflow: recent workflows, examples for the composer, agents, at every width."""

from __future__ import annotations

from datetime import timedelta

import pytest
from PySide6.QtCore import QPoint, Qt, QTextBoundaryFinder
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.chat.start_page import CardButton, StartPage
from atelier_desk.desktop.panes import time_format
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.desktop.workspace_folders.controller import FolderController
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


def agent(key: str, name: str) -> Agent:
    return Agent(id=key, config=AgentConfig(name=name, provider="p", model="m", tools=("CalculatorTool",)))


def workflow(key: str, hours: int, **fields: object) -> Workflow:
    return Workflow.model_validate(
        {
            "id": key,
            "name": f"Name {key}",
            "updated_at": utc_now() - timedelta(hours=hours),
            "head_run_id": "r",
            **fields,
        }
    )


AGENTS = [agent("a1", "Assistant"), agent("a2", "Team lead")]
LISTED = [
    workflow("p", 30, pinned=True),
    workflow("new", 1),
    *(workflow(f"w{n}", 2 + n) for n in range(5)),
    workflow("e", 0, head_run_id=None),
]


class Panel:
    def __init__(self, qtbot: QtBot, agents: list[Agent]) -> None:
        self.engine = FakeAtelier(
            agents={"list": agents, "default": agents[0]}, workflows={"list": LISTED}, settings={"get": Settings()}
        )
        self.chat = ChatPanel(FakeBridge(self.engine))
        qtbot.addWidget(self.chat)
        self.chat.resize(800, 700)
        self.chat.show()
        self.page = self.chat.empty

    def cards(self, name: str) -> list[CardButton]:
        return [
            each
            for each in self.page.findChildren(CardButton)
            if each.objectName().startswith(name) and each.isVisibleTo(self.page)
        ]

    def recent(self) -> list[str]:
        return [each.accessibleName() for each in self.page.recent.items]


@pytest.fixture
async def panel(qtbot: QtBot) -> Panel:
    made = Panel(qtbot, AGENTS)
    await made.chat.choices.load()
    await settle(20)
    return made


async def test_recent_work_is_listed_newest_first_and_opened(qtbot: QtBot, panel: Panel) -> None:
    assert panel.recent() == [
        "Name new, 1 hour ago",
        "Name w0, 2 hours ago",
        "Name w1, 3 hours ago",
        "Name w2, 4 hours ago",
    ]
    chosen: list[str] = []
    panel.page.workflow_chosen.connect(chosen.append)
    line = panel.page.recent.items[1]
    assert isinstance(line, QPushButton)
    line.click()
    assert chosen == ["w0"]


async def test_the_ages_of_recent_work_are_updated(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_format, "utc_now", lambda: utc_now() + timedelta(hours=1))
    for line in panel.page.recent.items:
        child(line, MinuteClock).timeout.emit()
    assert panel.recent()[:2] == ["Name new, 2 hours ago", "Name w0, 3 hours ago"]


async def test_recent_work_keeps_its_places_while_it_is_shown(panel: Panel) -> None:
    second = panel.page.recent.items[1]
    listed = [*LISTED, workflow("newest", 0)]
    panel.engine.set("workflows", "list", [each.model_copy(update={"name": f"{each.name}!"}) for each in listed])
    panel.page.reload()
    await settle(20)
    assert [each.split(",")[0] for each in panel.recent()] == ["Name new!", "Name w0!", "Name w1!", "Name w2!"]
    assert panel.page.recent.items[1] is second, "a click that began on it ends on it"
    panel.page.hide()
    panel.page.show()
    await settle(20)
    assert [each.split(",")[0] for each in panel.recent()] == ["Name newest!", "Name new!", "Name w0!", "Name w1!"]


async def test_agents_keep_their_places_while_the_page_is_shown(panel: Panel) -> None:
    def names() -> list[str]:
        cards = [each for each in panel.page.agents.items if each.isVisibleTo(panel.page)]
        return [each.accessibleName().split(":")[0] for each in cards]

    before = names()
    ready = before[-1]
    arrived = [agent("a0", "Aaron"), *AGENTS, agent("a9", ready)]
    panel.engine.set("agents", "list", arrived)
    await panel.chat.choices.load()
    await settle(20)
    assert names() == [*before, "Aaron"]
    panel.engine.set("agents", "list", arrived[:-1])
    await panel.chat.choices.load()
    await settle(20)
    assert names() == [*before, "Aaron"], "the added one was removed again"
    panel.page.hide()
    panel.page.show()
    await settle(20)
    assert names() == ["Aaron", *before[:-1]]


async def test_an_example_fills_the_composer_and_is_not_sent(qtbot: QtBot, panel: Panel) -> None:
    panel.cards("example")[0].click()
    field = panel.chat.composer.field
    assert field.toPlainText() == "What is 12% of 840?"
    assert field.textCursor().atEnd()
    assert panel.engine.calls("runs.send") == []


async def test_one_agent_is_chosen_by_its_card(panel: Panel) -> None:
    first, second = panel.cards("agent-card")
    assert (first.isChecked(), second.isChecked()) == (True, False)
    assert second.accessibleName() == "Team lead: 1 tool · m"
    second.click()
    assert panel.chat.choices.agent is not None
    assert panel.chat.choices.agent.id == "a2"
    assert (first.isChecked(), second.isChecked()) == (False, True)


async def test_ready_made_agents_are_next_to_ones_own_and_a_click_adds_one(qtbot: QtBot) -> None:
    made = Panel(qtbot, AGENTS)
    await made.chat.choices.load()
    await settle(20)
    ready = made.cards("ready-agent")
    assert len(made.cards("agent-card")) + len(ready) == 6
    assert ready[0].accessibleName() == "Researcher: Finds sources on the web and compares them · m"
    config = AgentConfig(name="Researcher", purpose="Finds sources", provider="p", model="m")
    added = Agent(id="new", config=config)
    made.engine.set("agents", "ready", config)
    made.engine.set("agents", "import_config", added)
    made.engine.set("agents", "list", [*AGENTS, added])
    ready[0].click()
    await settle(20)
    assert made.engine.calls("agents.ready") == [(("researcher",), {})]
    assert made.engine.calls("agents.import_config") == [((config,), {})]
    assert made.chat.choices.agent == added
    [card] = [each for each in made.cards("agent-card") if each.isChecked()]
    assert card.accessibleName() == "Researcher: Finds sources · m"
    assert "ready-agent-researcher" not in {each.objectName() for each in made.cards("ready-agent")}
    undo = made.chat.window().findChild(QPushButton, "toast-action")
    assert isinstance(undo, QPushButton)
    undo.click()
    await settle(20)
    assert made.engine.calls("agents.delete") == [(("new",), {})]
    assert made.chat.choices.agent == AGENTS[0]


async def test_all_ready_made_agents_are_in_the_gallery(panel: Panel) -> None:
    panel.page.more.click()
    menu = panel.page.gallery
    assert menu is not None
    assert menu.isVisible()
    chosen: list[str] = []
    panel.page.ready_chosen.connect(chosen.append)
    menu.field.setText("fixes what fails")
    await settle()
    assert menu.current == "test-fixer"
    QTest.keyClick(menu.field, Qt.Key.Key_Return)
    assert chosen == ["test-fixer"]


async def test_the_page_follows_the_language(panel: Panel) -> None:
    switch_language("fr")
    await settle(20)
    example = panel.cards("example")[0]
    assert example.accessibleName() == "Calculer\u00a0: Combien font 12\u00a0% de 840\u00a0?"
    example.click()
    # Qt returns no-break spaces as normal ones.
    assert panel.chat.composer.field.toPlainText().startswith("Combien font 12")
    switch_language("en")


@pytest.mark.parametrize(("width", "scale", "columns"), [(800, 100, 3), (500, 100, 2), (500, 200, 1)])
async def test_the_cards_fit_at_every_width_and_size(
    qtbot: QtBot, panel: Panel, width: int, scale: int, columns: int
) -> None:
    theme().set_scale(scale)
    panel.chat.resize(width, 700)
    examples = panel.cards("example")

    def roomy() -> None:
        assert len({each.x() for each in examples}) == columns
        for card in (*examples, *panel.cards("agent-card")):
            assert card.height() >= card.heightForWidth(card.width())
            assert card.geometry().right() <= panel.page.viewport().width()

    qtbot.waitUntil(roomy)


@pytest.mark.parametrize("width", [640, 1000])
async def test_it_is_centred_over_the_composer_also_beside_a_scroll_bar(panel: Panel, width: int) -> None:
    places = {}
    for height in (1000, 420):
        panel.chat.resize(width, height)
        await settle()
        body, composer = panel.page._body, panel.chat.composer
        left, right = (
            body.mapTo(panel.chat, body.rect().topLeft()).x(),
            body.mapTo(panel.chat, body.rect().topRight()).x(),
        )
        over = (
            composer.mapTo(panel.chat, composer.rect().topLeft()).x(),
            composer.mapTo(panel.chat, composer.rect().topRight()).x(),
        )
        places[panel.page.verticalScrollBar().isVisible()] = (left, right, *over)
    assert set(places) == {False, True}
    assert places[False] == places[True]
    assert places[True][:2] == places[True][2:]


async def test_hints_are_suppressed_while_a_guide_is_shown(panel: Panel) -> None:
    panel.page.hold(True)
    assert not panel.cards("example")
    panel.page.hold(False)
    await settle()
    assert panel.cards("example")


def test_nothing_is_created_before_the_engine_is_open(qtbot: QtBot) -> None:
    bridge = FakeBridge(FakeAtelier())
    window = QWidget()
    qtbot.addWidget(window)
    page = StartPage(bridge, FolderController(bridge, window), window)
    window.show()
    assert page.findChildren(QPushButton) == []
    assert page.focusPolicy() == Qt.FocusPolicy.NoFocus


async def test_an_agents_card_shows_its_models_label_also_in_french(panel: Panel) -> None:
    info = ModelInfo(provider="p", name="m", label="Little model")
    panel.engine.set("models", "list", [info])
    await panel.chat.choices.load()
    await settle(20)
    assert [each.accessibleName() for each in panel.cards("agent-card")] == [
        "Assistant: 1 tool · Little model",
        "Team lead: 1 tool · Little model",
    ]
    assert panel.chat.header.agents.choices[0].detail == "Little model"
    switch_language("fr")
    await settle(20)
    assert panel.cards("agent-card")[0].accessibleName() == "Assistant\u00a0: 1 outil · Little model"


async def test_the_agents_align_with_the_examples(panel: Panel) -> None:
    """Two agents had wider columns than three examples, so their edges were not aligned."""
    examples, agents = panel.cards("example"), panel.cards("agent-card")
    assert (len(examples), len(agents)) == (3, 2)
    assert examples[0].y() == examples[1].y()
    places = [
        [(card.mapTo(panel.page, QPoint()).x(), card.width()) for card in cards[:2]] for cards in (examples, agents)
    ]
    assert places[0] == places[1]


async def test_cards_made_while_hidden_leave_no_scroll_bar(panel: Panel) -> None:
    """A guide hides the page while a language is chosen: the cards are made before they have their width."""
    panel.engine.set("workflows", "list", [])
    panel.chat.resize(1100, 700)
    await settle(20)
    panel.page.hold(True)
    switch_language("fr")
    await settle(20)
    panel.page.hold(False)
    await settle(20)
    layout, body = panel.page._column, panel.page._body
    assert layout.totalHeightForWidth(body.width()) < panel.page.viewport().height() - 32
    assert panel.page.verticalScrollBar().maximum() == 0


async def test_the_name_of_a_model_is_not_broken_at_its_hyphen(qtbot: QtBot) -> None:
    panel = Panel(qtbot, [Agent(id="a1", config=AgentConfig(name="Ada", provider="p", model="atlas-large"))])
    await panel.chat.choices.load()
    await settle(20)
    (card,) = panel.cards("agent-card")
    text = card._text.text()
    breaks = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Line, text)
    breaks.setPosition(text.index("atlas"))
    assert breaks.toNextBoundary() in (-1, len(text))
    assert card._text.fontMetrics().inFont(text[text.index("large") - 1]), "drawn in the same font"
    assert "atlas-large" in card.accessibleName()
