"""The model step: services, their fields, real test of a model, what is stored."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.first_start.connection_test_models import chat_models
from atelier_desk.desktop.first_start.dialog import SIZE, FirstStart
from atelier_desk.desktop.first_start.service_tile import Tile
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import STARTER, KeyPlace, ModelInfo, ProviderConfig, ProviderHealth
from atelier_desk.engine.services.api_key_storage import KeyStore
from atelier_desk.llm.error_conversion import TEMPLATES
from tests.desktop.first_start.conftest import OFFERED, Find, Server, forward, other
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import DelayedResult, FakeAtelier, settle


async def test_the_starter_is_ready_without_a_test(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    await forward(find)
    assert guide.model.current() is guide.model.starter
    await forward(find)
    assert guide.step is guide.goals
    assert atelier.calls("agents.use_model") == [(("local", STARTER), {})]


async def test_a_found_server_must_answer_before_it_is_used(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server
) -> None:
    await forward(find)
    find("choice-ollama").click()
    assert not guide.model.starter.tile.isChecked()
    find("ollama-model").setCurrentIndex(1)
    find("model-test").click()
    await settle()
    assert server.requests == ["llama3.2"]
    assert "“Hello!”" in guide.model.busy.text.text()
    find("ollama-model").setCurrentIndex(0)
    await forward(find)
    assert server.requests == ["llama3.2", "qwen3:4b"], "Next tries what has not answered"
    assert guide.step is guide.goals
    ((saved, kwargs),) = atelier.calls("providers.save")
    assert (saved[0].name, saved[0].base_url, kwargs) == ("Ollama", "http://127.0.0.1:11434", {"new": True})
    assert atelier.calls("agents.use_model") == [(("Ollama", "qwen3:4b"), {})]


async def test_a_refused_key_is_reported_at_its_field_in_the_users_language(
    guide: FirstStart, find: Find, server: Server
) -> None:
    """Neither the server's English text nor a link to settings that are not open."""
    await forward(find)
    find("choice-mistral").click()
    find("mistral-key").setText("bad-key-123")
    find("mistral-key").textEdited.emit("bad-key-123")
    cases = {
        "auth": "Mistral a refusé la clé d’accès, ou en demande une. Vérifiez la clé ci-dessus.",
        "quota": "Le compte chez Mistral n’a plus ni crédit ni quota.",
    }
    switch_language("fr")
    for code, expected in cases.items():
        server.error = ProviderError(
            TEMPLATES[code], code=code, provider="Mistral", detail="Incorrect API key provided."
        )
        find("model-test").click()
        await settle()
        assert guide.model.busy.text.text() == expected


async def test_without_a_network_it_says_so_in_the_users_language(
    guide: FirstStart, find: Find, atelier: FakeAtelier
) -> None:
    """The system's message is English."""
    detail = "Name or service not known"
    error = ProviderError(
        TEMPLATES["offline"], code="unreachable", provider="Mistral", host="api.mistral.ai", detail=detail
    )
    atelier.set("providers", "draft_models", error)
    health = ProviderHealth(ok=False, code="unreachable", message=f"Mistral cannot be reached ({detail}).")
    atelier.set("providers", "test_draft", health)
    await forward(find)
    find("choice-mistral").click()
    QTest.keyClicks(find("mistral-key"), "sk-1")
    switch_language("fr")
    find("model-test").click()
    await settle()
    text = guide.model.busy.text.text()
    assert "api.mistral.ai" in text
    assert detail not in text


async def test_a_failed_test_shows_why_and_stays(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server
) -> None:
    await forward(find)
    find("choice-mistral").click()
    assert not find("model-test").isEnabled()
    find("mistral-key").setText("bad-key-123")
    find("mistral-key").textEdited.emit("bad-key-123")
    server.error = ProviderError("The key was refused.", code="unauthorized")
    find("model-test").click()
    await settle()
    assert guide.model.busy.text.text() == "The key was refused."
    await forward(find)
    assert guide.step is guide.model
    assert atelier.calls("providers.set_key") == []
    server.error = None
    await forward(find)
    assert guide.stack.currentWidget() is guide.goals, "one press tests and goes on"
    assert atelier.calls("providers.set_key") == [(("Mistral", "bad-key-123"), {})]


async def test_for_a_wrong_address_the_right_one_is_suggested(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server
) -> None:
    await forward(find)
    find("choice-other").click()
    find("other-url").setText("http://host/api")
    find("other-url").textEdited.emit("http://host/api")
    atelier.set("providers", "draft_models", ProviderError("No such page.", code="not_found"))
    message = "No such page. There is a model server at http://host/v1: use that address."
    atelier.set("providers", "test_draft", ProviderHealth(ok=False, message=message))
    find("model-test").click()
    await settle()
    assert guide.model.busy.text.text() == message
    atelier.set("providers", "draft_models", [])
    find("model-test").click()
    await settle()
    assert guide.model.busy.text.text() == "This server does not list its models; enter the model name."
    assert server.requests == []


async def test_another_server_uses_its_first_model_and_offers_the_others(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server
) -> None:
    atelier.set("providers", "draft_models", OFFERED)
    await other(find, "http://127.0.0.1:9000/v1")
    box = find("other-model")
    box.showPopup()
    await settle()
    assert server.requests == ["zeta-1"], "opening the list before it is known asks the server"
    assert [box.itemText(row) for row in range(box.count())] == ["zeta-1", "alpha-1"]
    box.setCurrentIndex(1)
    await forward(find)
    assert server.requests == ["zeta-1", "alpha-1"]
    assert atelier.calls("agents.use_model")[0][0][1] == "alpha-1"


@pytest.mark.parametrize(
    ("url", "existing", "name"),
    [
        ("http://127.0.0.1:9000/v1", (), "127.0.0.1"),
        ("http://127.0.0.1:9000/v1", ("127.0.0.1",), "127.0.0.1 2"),
        ("https://api.groq.com/openai/v1", (), "Groq"),
        ("https://llm.example.org/v1", (), "llm.example.org"),
    ],
)
async def test_a_server_is_stored_under_a_unique_name_once_it_has_answered(
    guide: FirstStart, find: Find, atelier: FakeAtelier, url: str, existing: tuple[str, ...], name: str
) -> None:
    atelier.set("providers", "draft_models", OFFERED)
    atelier.set(
        "providers", "list", [ProviderConfig(name=each, kind="openai", base_url="http://else/v1") for each in existing]
    )
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
    assert atelier.calls("agents.use_model")[0][0][0] == "Mine"


async def test_without_a_keyring_a_variable_can_hold_the_key(
    guide: FirstStart, find: Find, atelier: FakeAtelier
) -> None:
    atelier.set("keys", "store", KeyStore(KeyPlace.MEMORY, "/data/keys.json"))
    await forward(find)
    find("choice-mistral").click()
    await settle()
    assert find("mistral-variable").isHidden()
    QTest.keyClicks(find("mistral-key"), "sk-1")
    find("first-key-variable").click()
    assert guide.focusWidget() is find("mistral-variable")
    QTest.keyClicks(find("mistral-variable"), "MY_KEY")
    assert find("mistral-key").text() == "", "typed in one field, the other is cleared"
    await forward(find)
    assert guide.step is guide.goals
    ((saved, _kwargs),) = atelier.calls("providers.save")
    assert (saved[0].name, saved[0].api_key_env) == ("Mistral", "MY_KEY")
    assert atelier.calls("providers.set_key") == []


async def test_a_key_typed_for_a_stored_server_replaces_its_variable(
    guide: FirstStart, find: Find, atelier: FakeAtelier
) -> None:
    stored = ProviderConfig(name="Mine", kind="openai", base_url="http://host/v1", api_key_env="OLD")
    atelier.set("providers", "draft_models", OFFERED)
    atelier.set("providers", "list", [stored])
    await other(find, "http://host/v1")
    QTest.keyClicks(find("other-key"), "sk-1")
    await forward(find)
    assert [args[0].api_key_env for args, _ in atelier.calls("providers.save")] == [""]
    assert atelier.calls("providers.set_key") == [(("Mine", "sk-1"), {})]


async def test_a_service_is_found_by_its_name(guide: FirstStart, find: Find, atelier: FakeAtelier) -> None:
    await forward(find)
    find("choice-other").click()
    find("other-services").click()
    await settle()
    QTest.keyClicks(find("preset-search"), "groq")
    QTest.keyClick(find("preset-search"), Qt.Key.Key_Return)
    await settle()
    assert find("other-url").text() == "https://api.groq.com/openai/v1"
    assert guide.focusWidget() is find("other-key")
    find("other-services").click()
    await settle()
    QTest.keyClicks(find("preset-search"), "mistral")
    QTest.keyClick(find("preset-search"), Qt.Key.Key_Return)
    await settle()
    assert guide.model.current().name == "mistral"


@pytest.mark.parametrize("method", ["card", "field"])
async def test_a_test_is_cancelled_when_another_choice_is_made(
    guide: FirstStart, find: Find, atelier: FakeAtelier, method: str
) -> None:
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
    if method == "card":
        find("choice-starter").click()
    else:
        find("other-url").textEdited.emit("http://127.0.0.1:9001/v1")
    await settle()
    assert ended == ["cancelled"]
    assert not guide.model.busy.isVisible()
    assert atelier.calls("providers.save") == []


async def test_the_focus_stays_on_the_button_while_it_is_tried(
    guide: FirstStart, find: Find, atelier: FakeAtelier
) -> None:
    delayed = DelayedResult(OFFERED)
    atelier.set("providers", "draft_models", delayed)
    await other(find, "http://127.0.0.1:9000/v1")
    guide.activateWindow()
    find("model-test").setFocus()
    find("model-test").click()
    await settle()
    assert guide.focusWidget() is find("model-test")
    await delayed.release()
    assert guide.focusWidget() is find("model-test")


def test_chat_models_keep_the_servers_order() -> None:
    models = [("z", True, False), ("a", None, False), ("v", None, True)]
    infos = [
        ModelInfo(provider="p", name=name, supports_tools=tools, embedding=embeds) for name, tools, embeds in models
    ]
    assert [info.name for info in chat_models(infos)] == ["z", "a"]


SERVICES = ["openai", "anthropic", "google", "mistral", "openrouter"]


async def test_tab_leads_from_the_chosen_tile_to_its_fields_and_arrows_to_the_next_tile(
    guide: FirstStart, find: Find
) -> None:
    await forward(find)
    guide.activateWindow()
    find("choice-openai").click()
    find("choice-openai").setFocus()
    QTest.keyClick(find("choice-openai"), Qt.Key.Key_Right)
    assert guide.model.current().name == "anthropic"
    assert guide.focusWidget() is find("choice-anthropic")
    stops: list[str] = []
    stop = find("choice-anthropic")
    while "model-test" not in stops and len(stops) < 20:
        stop = stop.nextInFocusChain()
        if (
            stop.focusPolicy() & Qt.FocusPolicy.TabFocus
            and stop.objectName()
            and stop.isVisible()
            and not isinstance(stop, QScrollArea)
        ):
            stops.append(stop.objectName())
    assert [each for each in stops if not each.startswith("choice-")] == ["anthropic-key", "model-test"]


@pytest.mark.parametrize("scale", [100, 150])
@pytest.mark.parametrize("code", ["en", "fr"])
async def test_all_services_and_the_fields_of_the_chosen_one_are_visible(
    guide: FirstStart, find: Find, atelier: FakeAtelier, code: str, scale: int
) -> None:
    """On a screen of 1024 x 700, of which a dialog may use 95 %, with the longest note on keys."""
    atelier.set("keys", "store", KeyStore(KeyPlace.MEMORY, "/home/ada/.local/share/atelier/keys.json"))
    theme().set_scale(scale)
    switch_language(code)
    try:
        await forward(find)
        guide.resize(min(theme().px(SIZE.width()), 972), min(theme().px(SIZE.height()), 665))
        area = child(guide.model, QScrollArea)
        for chosen in ("starter", *SERVICES, "ollama", "other"):
            find(f"choice-{chosen}").click()
            for _turn in range(3):
                await settle()
            tiles = [find(f"choice-{name}") for name in ("starter", *SERVICES, "ollama", "other")]
            places = [each.geometry() for each in tiles]
            assert all(guide.model.rect().contains(each) for each in places)
            assert not [each for each in places for other in places if each is not other and each.intersects(other)]
            current = guide.model.current()
            for widget in (
                each
                for each in (current.url, current.key, find("first-key-note"))
                if each is not None and each.isVisible()
            ):
                place = widget.mapTo(area.viewport(), widget.rect().bottomRight())
                assert area.viewport().rect().contains(place), (
                    chosen,
                    widget.objectName(),
                    place,
                    area.viewport().rect(),
                )
            names = [each._name for each in tiles if isinstance(each, Tile)]
            assert [
                each.text() for each in names if each.fontMetrics().horizontalAdvance(each.text()) > each.width()
            ] == []
    finally:
        switch_language("en")
        theme().set_scale(100)


async def test_choosing_a_service_focuses_its_key_field(guide: FirstStart, find: Find) -> None:
    await forward(find)
    for name in SERVICES:
        find(f"choice-{name}").click()
        assert guide.focusWidget() is find(f"{name}-key")
        assert find("first-key-note").isVisible()
    find("choice-other").click()
    assert guide.focusWidget() is find("other-url")
    find("choice-starter").click()
    assert not find("first-key-note").isVisible()


@pytest.mark.parametrize("method", ["escape", "test", "skip"])
async def test_entered_values_stay_as_a_draft(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server, method: str
) -> None:
    await forward(find)
    find("choice-openrouter").click()
    QTest.keyClicks(find("openrouter-key"), "sk-or-1")
    if method == "test":
        server.error = ProviderError("No.", code="auth")
        find("model-test").click()
        await settle()
    elif method == "escape":
        QTest.keyClick(guide, Qt.Key.Key_Escape)
    else:
        find("first-start-skip").click()
    await settle()
    guide.begin(1)
    await settle()
    assert (guide.model.current().name, find("openrouter-key").text()) == ("openrouter", "sk-or-1")
    assert atelier.calls("providers.save") == []


async def test_a_key_is_saved_without_a_network_connection(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server
) -> None:
    await forward(find)
    find("choice-anthropic").click()
    QTest.keyClicks(find("anthropic-key"), "sk-ant-1")
    atelier.set("providers", "draft_models", ProviderError("It cannot be reached.", code="unreachable"))
    atelier.set("providers", "test_draft", ProviderHealth(ok=False, message="It cannot be reached."))
    assert not find("model-keep").isVisible()
    find("model-test").click()
    await settle()
    find("model-keep").click()
    await settle()
    assert atelier.calls("providers.set_key") == [(("Anthropic", "sk-ant-1"), {})]
    assert atelier.calls("agents.use_model")[0][0][0] == "Anthropic"
    assert guide.step is guide.goals
    find("first-start-next").click()
    await settle()
    guide.begin(1)
    assert find("anthropic-key").text() == "", "it is stored now, and shown no more"


@pytest.mark.parametrize("scale", [100, 150])
async def test_a_second_click_on_stop_does_not_save_what_just_failed(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server, qtbot: QtBot, scale: int
) -> None:
    theme().set_scale(scale)
    qtbot.waitExposed(guide)
    await forward(find)
    find("choice-anthropic").click()
    QTest.keyClicks(find("anthropic-key"), "sk-ant-1")
    server.answering.clear()
    find("model-test").click()
    await settle()
    stop = find("busy-stop")
    qtbot.waitUntil(stop.isVisible)
    box = stop.rect()
    places = [stop.mapTo(guide, place) for place in (box.topLeft(), box.center(), box.bottomRight())]
    atelier.set("providers", "test_draft", ProviderHealth(ok=False, message="It cannot be reached."))
    server.error = ProviderError("It cannot be reached.", code="unreachable")
    server.answering.set()
    await settle()
    assert find("model-keep").isVisible()
    qtbot.wait(20)  # for the layout
    assert [each for each in map(guide.childAt, places) if isinstance(each, QAbstractButton)] == []


async def test_the_model_in_use_is_kept_unless_another_is_chosen(
    guide: FirstStart, find: Find, atelier: FakeAtelier
) -> None:
    """The guide proposed the starter to those who had a model already, and Next replaced theirs."""
    mine = Agent(id="a1", config=AgentConfig(name="Assistant", provider="demo", model="large-model"))
    atelier.set("agents", "default", mine)
    await forward(find)
    assert find("choice-in-use").isChecked()
    assert find("choice-in-use").accessibleName() == "large-model"
    find("model-test").click()
    await settle()
    assert atelier.calls("providers.try_model") == [(("demo", "large-model"), {})]
    await forward(find)
    assert guide.step is guide.goals
    assert atelier.calls("agents.use_model") == []
    find("first-start-back").click()
    await settle()
    assert len(guide.findChildren(QWidget, "choice-in-use")) == 1
    find("choice-starter").click()
    await forward(find)
    assert atelier.calls("agents.use_model") == [(("local", STARTER), {})]
    atelier.set("agents", "default", Agent(id="a1", config=AgentConfig(name="A", provider="local", model=STARTER)))
    find("first-start-back").click()
    await settle()
    assert guide.model.current() is guide.model.starter
    assert guide.model._in_use is None


async def test_enter_in_the_key_field_tests_the_key(guide: FirstStart, find: Find, server: Server) -> None:
    await forward(find)
    find("choice-anthropic").click()
    QTest.keyClick(find("anthropic-key"), Qt.Key.Key_Return)
    await settle()
    assert server.requests == []
    QTest.keyClicks(find("anthropic-key"), "sk-ant-x")
    QTest.keyClick(find("anthropic-key"), Qt.Key.Key_Return)
    await settle()
    assert len(server.requests) == 1
    assert guide.step is guide.goals


@pytest.mark.parametrize("leave", ["first-start-back", "first-start-skip", "busy-stop"])
async def test_nothing_is_stored_if_the_user_leaves_during_the_test(
    guide: FirstStart, find: Find, atelier: FakeAtelier, server: Server, leave: str
) -> None:
    await forward(find)
    find("choice-anthropic").click()
    find("anthropic-key").setText("sk-ant-1")
    find("anthropic-key").textEdited.emit("sk-ant-1")
    server.answering.clear()
    await forward(find)
    find(leave).click()
    await settle()
    server.answering.set()
    await settle()
    assert atelier.calls("providers.save") == atelier.calls("providers.set_key") == []
    assert guide.step is not guide.goals


async def test_the_selected_card_is_fully_visible_without_servers(
    guide: FirstStart, find: Find, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    atelier.set("providers", "detect", [])
    qtbot.waitExposed(guide)
    guide._show_step(1)
    await settle()
    qtbot.wait(20)
    area = find("choice-starter").window().findChild(QScrollArea)
    assert area.verticalScrollBar().value() == 0
