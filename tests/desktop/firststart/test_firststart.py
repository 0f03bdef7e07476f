"""The guide of the first start: steps, real test of a model, goals, skipping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.firststart.dialog import FirstStart
from atelier_desk.desktop.firststart.notice import StarterNotice
from atelier_desk.desktop.firststart.trial import chat_models
from atelier_desk.desktop.settings.language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.chat import ChatDelta, ChatReply, ChatRequest, ReplyDone, TextDelta
from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import ModelInfo, ProviderConfig, ProviderHealth
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.services.trial import try_model
from atelier_desk.llm.local.models import STARTER
from tests.support.fake_bridge import FakeAtelier, FakeBridge, Held, settle
from tests.support.wheel import changed_by_wheel, inputs

Find = Callable[[str], Any]
OLLAMA = SimpleNamespace(kind="ollama", software="Ollama", base_url="http://127.0.0.1:11434", models=("qwen3:4b", "llama3.2"))


class Server:
    """A provider that says one sentence, or fails."""

    def __init__(self, text: str = "Hello!", error: ProviderError | None = None) -> None:
        self.text, self.error = text, error
        self.asked: list[str] = []

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        self.asked.append(request.model)
        if self.error is not None:
            raise self.error
        if self.text:
            yield TextDelta(content=self.text)
        yield ReplyDone(reply=ChatReply(content=self.text))


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def atelier(server: Server) -> FakeAtelier:
    agent = Agent(id="a1", config=AgentConfig(name="Assistant", provider="local", model=STARTER))
    lead = Agent(id="a2", config=AgentConfig(name="Team lead", provider="local", model=STARTER))
    other = Agent(id="a3", config=AgentConfig(name="Imported", provider="theirs", model="own"))
    return FakeAtelier(
        settings={"get": Settings()},
        agents={"default": agent, "list": [agent, lead, other]},
        providers={
            "detect": [OLLAMA],
            "try_model": lambda _name, model: try_model(server, model, SystemClock()),
            "try_draft": lambda _draft, model: try_model(server, model, SystemClock()),
            "draft_models": [],
        },
        workflows={"create": lambda name, agent_id: Workflow(id="w9", name=name or "New workflow", agent_id=agent_id)},
    )


@pytest.fixture
async def guide(atelier: FakeAtelier, qtbot: QtBot) -> FirstStart:
    made = FirstStart(FakeBridge(atelier))  # type: ignore[arg-type]
    qtbot.addWidget(made)
    made.open()
    await settle()
    return made


@pytest.fixture
def find(guide: FirstStart) -> Find:
    def by_name(name: str) -> Any:
        found = guide.findChild(QWidget, name)
        assert found is not None, name
        return found

    return by_name


async def forward(find: Find) -> None:
    find("first-start-next").click()
    await settle()


async def test_language_and_theme_apply_at_once_and_are_kept(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    find("theme-select").setCurrentIndex(2)
    find("theme-select").activated.emit(2)
    assert theme().tokens.dark
    await forward(find)
    assert atelier.calls("settings.update") == [((), {"language": "system", "theme": "dark"})]
    assert guide.step is guide.model
    find("first-start-back").click()
    assert guide.step is guide.welcome


async def test_what_is_chosen_elsewhere_meanwhile_is_shown(guide: FirstStart, atelier: FakeAtelier) -> None:
    """And kept by Next; a choice that was made here and is not stored yet stays."""
    boxes = guide.welcome.boxes
    boxes["language"].setCurrentIndex(boxes["language"].findData("fr"))
    atelier.settings._results["get"] = Settings(theme="dark")
    guide._bridge.changed.emit("settings", "theme")
    await settle()
    assert {name: box.currentData() for name, box in boxes.items()} == {"language": "fr", "theme": "dark"}
    atelier.settings._results["get"] = Settings(language="en", theme="light")
    guide._bridge.changed.emit("settings", "max_depth")
    guide._bridge.changed.emit("settings", "language")
    await settle()
    assert {name: box.currentData() for name, box in boxes.items()} == {"language": "en", "theme": "dark"}


async def test_the_wheel_changes_no_choice(guide: FirstStart) -> None:
    assert len(inputs(guide)) >= 2
    assert changed_by_wheel(guide) == []


async def test_the_starter_is_ready_without_a_test(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    await forward(find)
    assert guide.model.current() is guide.model.starter
    await forward(find)
    assert guide.step is guide.goals
    assert atelier.calls("agents.save") == []


@pytest.mark.parametrize("scale", [100, 150])
async def test_the_chosen_card_is_whole_when_the_page_comes(guide: FirstStart, find: Find, scale: int) -> None:
    theme().set_scale(scale)
    switch_language("fr")
    try:
        await forward(find)
        for chosen in ("choice-starter", "choice-other"):
            card, area = find(chosen), guide.model.findChild(QScrollArea)
            card.radio.click()
            find("first-start-back").click()
            await forward(find)
            for _turn in range(3):  # the page's layout, then its scrolling
                await settle()
            top = card.mapTo(area.viewport(), card.rect().topLeft()).y()
            assert top >= 0, chosen
            assert top + card.height() <= area.viewport().height(), chosen
    finally:
        switch_language("en")
        theme().set_scale(100)


async def test_a_found_server_must_answer_before_it_is_taken(guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server) -> None:
    await forward(find)
    find("radio-ollama").click()
    assert not guide.model.starter.radio.isChecked()
    assert not find("first-start-next").isEnabled()
    find("models-ollama").setCurrentIndex(1)
    find("model-test").click()
    await settle()
    assert server.asked == ["llama3.2"]
    assert "“Hello!”" in guide.model.busy.text.text()
    assert find("first-start-next").isEnabled()
    find("models-ollama").setCurrentIndex(0)
    assert not find("first-start-next").isEnabled()
    find("model-test").click()
    await settle()
    assert atelier.calls("providers.save") == []
    await forward(find)
    ((saved, kwargs),) = atelier.calls("providers.save")
    assert (saved[0].name, saved[0].base_url, kwargs) == ("Ollama", "http://127.0.0.1:11434", {"new": True})
    saved_agents = [(agent_id, config.provider, config.model) for (config, agent_id), _kwargs in atelier.calls("agents.save")]
    # Every agent that had the starter has the model that was chosen; another one keeps its own.
    assert saved_agents == [("a1", "Ollama", "qwen3:4b"), ("a2", "Ollama", "qwen3:4b")]


async def test_a_failed_test_says_why_and_stays(guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server) -> None:
    await forward(find)
    find("radio-mistral").click()
    assert not find("model-test").isEnabled()
    find("mistral-key").setText("bad-key-123")
    find("mistral-key").textEdited.emit("bad-key-123")
    server.error = ProviderError("The key was refused.", code="unauthorized")
    find("model-test").click()
    await settle()
    assert guide.model.busy.text.text() == "The key was refused."
    assert not find("first-start-next").isEnabled()
    server.error = None
    find("model-test").click()
    await settle()
    assert find("first-start-next").isEnabled()
    assert atelier.calls("providers.set_key") == []
    await forward(find)
    assert atelier.calls("providers.set_key") == [(("Mistral", "bad-key-123"), {})]


async def test_a_wrong_address_is_answered_with_the_right_one(guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server) -> None:
    await forward(find)
    find("radio-other").click()
    find("other-url").setText("http://host/api")
    find("other-url").textEdited.emit("http://host/api")
    atelier.set("providers", "draft_models", ProviderError("No such page.", code="not_found"))
    said = "No such page. A model server answers at http://host/v1: use that address."
    atelier.set("providers", "test_draft", ProviderHealth(ok=False, message=said))
    find("model-test").click()
    await settle()
    assert guide.model.busy.text.text() == said
    atelier.set("providers", "draft_models", [])
    find("model-test").click()
    await settle()
    assert guide.model.busy.text.text() == "This server does not list its models; enter the model name."
    assert server.asked == []


async def other(find: Find, url: str) -> None:
    """Choose another server, and type its address."""
    await forward(find)
    find("radio-other").click()
    find("other-url").setText(url)
    find("other-url").textEdited.emit(url)


OFFERED = [
    ModelInfo(provider="x", name="e", embedding=True),
    ModelInfo(provider="x", name="zeta-1"),
    ModelInfo(provider="x", name="alpha-1", supports_tools=True),
]


async def test_another_server_takes_the_first_model_it_lists_and_lets_choose(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server
) -> None:
    atelier.set("providers", "draft_models", OFFERED)
    await other(find, "http://127.0.0.1:9000/v1")
    find("model-test").click()
    await settle()
    assert server.asked == ["zeta-1"]
    box = find("other-model")
    assert [box.itemText(row) for row in range(box.count())] == ["zeta-1", "alpha-1"]
    assert find("first-start-next").isEnabled()
    box.setCurrentIndex(1)
    assert not find("first-start-next").isEnabled()
    find("model-test").click()
    await settle()
    assert server.asked == ["zeta-1", "alpha-1"]
    await forward(find)
    assert atelier.calls("agents.save")[0][0][0].model == "alpha-1"


@pytest.mark.parametrize(
    ("url", "taken", "name"),
    [
        ("http://127.0.0.1:9000/v1", (), "127.0.0.1"),
        ("http://127.0.0.1:9000/v1", ("127.0.0.1",), "127.0.0.1 2"),
        ("https://api.groq.com/openai/v1", (), "Groq"),
        ("https://llm.example.org/v1", (), "llm.example.org"),
    ],
)
async def test_a_server_is_stored_under_a_name_of_its_own_once_it_answered_and_is_taken(
    guide: FirstStart, find: Find, atelier: FakeAtelier, url: str, taken: tuple[str, ...], name: str
) -> None:
    atelier.set("providers", "draft_models", OFFERED)
    atelier.set("providers", "list", [ProviderConfig(name=each, kind="openai", base_url="http://else/v1") for each in taken])
    await other(find, url)
    find("model-test").click()
    await settle()
    assert atelier.calls("providers.save") == []
    await forward(find)
    ((args, kwargs),) = atelier.calls("providers.save")
    assert (args[0].name, args[0].base_url, kwargs) == (name, url, {"new": True})


async def test_the_same_server_again_is_not_stored_twice(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    atelier.set("providers", "draft_models", OFFERED)
    atelier.set("providers", "list", [ProviderConfig(name="Mine", kind="openai", base_url="http://host/v1")])
    await other(find, "http://host/v1")
    find("model-test").click()
    await settle()
    await forward(find)
    assert atelier.calls("providers.save") == []
    assert atelier.calls("agents.save")[0][0][0].provider == "Mine"


async def test_a_service_is_found_by_its_name(guide: FirstStart, find: Find, atelier: FakeAtelier, qtbot: QtBot) -> None:
    await forward(find)
    find("radio-other").click()
    find("other-services").click()
    await settle()
    qtbot.keyClicks(find("preset-search"), "openrouter")
    qtbot.keyClick(find("preset-search"), Qt.Key.Key_Return)
    await settle()
    assert find("other-url").text() == "https://openrouter.ai/api/v1"
    assert guide.focusWidget() is find("other-key")
    find("other-services").click()
    await settle()
    qtbot.keyClicks(find("preset-search"), "mistral")
    qtbot.keyClick(find("preset-search"), Qt.Key.Key_Return)
    await settle()
    assert guide.model.current().name == "mistral"


async def test_the_boxes_fit_their_words_after_a_switch_of_language(guide: FirstStart, find: Find) -> None:
    switch_language("fr")
    await settle()
    for name in ("language-select", "theme-select"):
        assert find(name).width() >= find(name).sizeHint().width(), name
    switch_language("en")
    await settle()


@pytest.mark.parametrize("way", ["card", "field"])
async def test_a_test_is_given_up_when_another_choice_is_made(guide: FirstStart, find: Find, atelier: FakeAtelier, way: str) -> None:
    ended: list[str] = []

    async def never(_draft: object) -> list[ModelInfo]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return []

    atelier.set("providers", "draft_models", never)
    await other(find, "http://127.0.0.1:9000/v1")
    find("model-test").click()
    await settle()
    assert guide.model.busy.isVisible()
    if way == "card":
        find("radio-starter").click()
    else:
        find("other-url").textEdited.emit("http://127.0.0.1:9001/v1")
    await settle()
    assert ended == ["cancelled"]
    assert not guide.model.busy.isVisible()
    assert atelier.calls("providers.save") == []


async def test_the_focus_stays_on_the_button_while_it_is_tried(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    held = Held(OFFERED)
    atelier.set("providers", "draft_models", held)
    await other(find, "http://127.0.0.1:9000/v1")
    guide.activateWindow()
    find("model-test").setFocus()
    find("model-test").click()
    await settle()
    assert guide.focusWidget() is find("model-test")
    await held.release()
    assert guide.focusWidget() is find("model-test")


async def test_a_goal_starts_a_workflow(guide: FirstStart, find: Find, atelier: FakeAtelier, qtbot: QtBot) -> None:
    await forward(find)
    await forward(find)
    started: list[str] = []
    guide.started.connect(started.append)
    find("goal-1").click()
    await settle()
    goal = "What is 12% of 840?"
    assert atelier.calls("workflows.create") == [(("", "a1"), {})]
    assert atelier.calls("runs.send") == [(("w9", goal), {})]
    assert started == ["w9"]
    assert not guide.isVisible()
    assert atelier.calls("settings.update")[-1] == ((), {"first_start_done": True})


async def test_a_goal_that_fails_is_told_and_the_guide_stays(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    atelier.set("runs", "send", ProviderError("The model server cannot be reached."))
    guide._go(2)
    find("goal-2").click()
    await settle()
    assert find("first-start-error").text() == "The model server cannot be reached."
    assert find("goal-2").isEnabled()


@pytest.mark.parametrize("way", ["button", "escape"])
async def test_it_can_be_skipped_and_does_not_come_again(
    guide: FirstStart, find: Find, atelier: FakeAtelier, qtbot: QtBot, way: str
) -> None:
    if way == "button":
        find("first-start-skip").click()
    else:
        qtbot.keyClick(guide, Qt.Key.Key_Escape)
    await settle()
    assert not guide.isVisible()
    assert atelier.calls("settings.update") == [((), {"first_start_done": True})]


def test_models_that_can_talk_keep_the_servers_order() -> None:
    models = [("z", True, False), ("a", None, False), ("v", None, True)]
    infos = [ModelInfo(provider="p", name=name, supports_tools=tools, embedding=embeds) for name, tools, embeds in models]
    assert [info.name for info in chat_models(infos)] == ["z", "a"]


def test_the_starter_notice_shows_for_the_starter_alone(qtbot: QtBot) -> None:
    notice = StarterNotice()
    qtbot.addWidget(notice)
    notice.set_model("local", STARTER)
    assert notice.isVisible()
    with qtbot.waitSignal(notice.better_models_wanted):
        notice.findChild(QWidget, "better-models").click()
    notice.set_model("Ollama", "qwen3:4b")
    assert not notice.isVisible()


async def test_tab_visits_a_found_server_where_it_stands(guide: FirstStart, find: Find) -> None:
    guide._go(1)
    await settle()
    assert find("radio-starter").nextInFocusChain() is find("radio-ollama")
    assert find("radio-ollama").nextInFocusChain() is find("models-ollama")


async def test_tab_goes_down_the_cards_each_with_its_fields(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    atelier.set("providers", "detect", [])
    await forward(find)
    stops, stop = ["radio-starter"], find("radio-starter")
    while stops[-1] != "model-test" and len(stops) < 20:
        stop = stop.nextInFocusChain()
        if stop.focusPolicy() & Qt.FocusPolicy.TabFocus and stop.objectName() and stop is not guide.model.findChild(QScrollArea):
            stops.append(stop.objectName())
    hosted = [name for kind in ("mistral", "anthropic", "google", "responses") for name in (f"radio-{kind}", f"{kind}-key")]
    assert stops == ["radio-starter", *hosted, "radio-other", "other-url", "other-key", "other-model", "other-services", "model-test"]


async def test_enter_after_a_key_tries_it(guide: FirstStart, find: Find, server: Server, qtbot: QtBot) -> None:
    await forward(find)
    find("radio-anthropic").click()
    qtbot.keyClick(find("anthropic-key"), Qt.Key.Key_Return)
    await settle()
    assert server.asked == []
    qtbot.keyClicks(find("anthropic-key"), "sk-ant-x")
    qtbot.keyClick(find("anthropic-key"), Qt.Key.Key_Return)
    await settle()
    assert len(server.asked) == 1
    assert guide.step is guide.model, "the answer is read before it goes on"
    assert find("first-start-next").isEnabled()


async def test_the_chosen_card_is_seen_whole_when_no_server_is_found(
    guide: FirstStart, find: Find, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    atelier.set("providers", "detect", [])
    qtbot.waitExposed(guide)
    guide._go(1)
    await settle()
    qtbot.wait(20)
    area = find("radio-starter").window().findChild(QScrollArea)
    assert area.verticalScrollBar().value() == 0
