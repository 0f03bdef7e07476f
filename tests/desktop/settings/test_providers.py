"""The providers page: adding, API keys, tests, removing, downloads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.provider import KeyPlace, KeyState, ModelInfo, ProviderConfig, ProviderHealth
from atelier_desk.engine.services.api_key_storage import KeyStore
from atelier_desk.llm.local.catalogue import CATALOGUE
from atelier_desk.llm.local.download import DownloadState, DownloadStatus
from atelier_desk.support import i18n
from tests.desktop.settings.conftest import Engine, Find, announced, choose
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import DelayedResult, FakeBridge, settle
from tests.helpers.list_texts import titles


async def test_enter_in_a_field_saves_the_form_if_it_has_changes(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("providers", "set_key", True)
    QTest.keyClick(find("provider-key"), Qt.Key.Key_Return)
    await settle()
    assert atelier.calls("providers.save") == []
    QTest.keyClicks(find("provider-key"), "sk-1")
    QTest.keyClick(find("provider-key"), Qt.Key.Key_Return)
    await settle()
    assert [args[1] for args, _kwargs in atelier.calls("providers.set_key")] == ["sk-1"]


async def test_adding_a_provider_stores_its_key_separately(page: Any, find: Find, atelier: Engine) -> None:
    page.begin("mistral", "Mistral", "https://api.mistral.ai/v1")
    assert find("provider-key").echoMode() == QLineEdit.EchoMode.Password
    find("provider-key").setText("secret-key-1")
    page.form.changed.emit()
    atelier.set("providers", "set_key", True)
    find("provider-save").click()
    await settle()
    ((args, kwargs),) = atelier.calls("providers.save")
    assert (args[0].name, args[0].kind, kwargs) == ("Mistral", "mistral", {"new": True})
    assert "secret" not in repr(args[0])
    assert atelier.calls("providers.set_key") == [(("Mistral", "secret-key-1"), {})]
    assert find("provider-key").text() == ""


async def test_a_missing_keyring_is_reported_before_the_key_is_typed(page: Any, find: Find, atelier: Engine) -> None:
    stores = {False: KeyStore(KeyPlace.MEMORY, "/data/keys.json"), True: KeyStore(KeyPlace.FILE, "/data/keys.json")}
    atelier.set("keys", "store", stores[False])

    def use(on: bool) -> KeyStore:
        atelier.set("keys", "store", stores[on])
        return stores[on]

    atelier.set("keys", "use_file", use)
    atelier.set("providers", "set_key", False)
    await page.load()
    await choose(page, "Ollama")
    assert "lost when Atelier closes" in find("provider-key-note").text()
    find("provider-key-variable").click()
    assert page.window().focusWidget() is find("provider-env")
    find("provider-key").setText("secret-key-1")
    page.form.changed.emit()
    find("provider-save").click()
    await settle()
    assert "until Atelier closes" in page.busy.text.text()
    for on, warning in ((True, "unencrypted in /data/keys.json"), (False, "No system keyring")):
        find("provider-key-file").click()
        box = page.window().findChild(QMessageBox)
        assert "/data/keys.json" in box.text() + box.informativeText()
        child(box, QPushButton, "confirm-yes").click()
        await settle()
        assert warning in find("provider-key-note").text()
        assert atelier.calls("keys.use_file")[-1] == ((on,), {})
        assert find("provider-key-variable").isHidden() is on


async def test_it_opens_on_a_working_service_and_lists_the_built_in_one_last(
    page: Any, find: Find, atelier: Engine
) -> None:
    def service(name: str, **fields: Any) -> ProviderConfig:
        return ProviderConfig(name=name, kind="mistral", **fields)

    local = ProviderConfig(name="local", kind="local")
    agents = [Agent(id="a", config=AgentConfig(name="Assistant", provider="local", model="starter"))]
    atelier.set("agents", "of_default_model", agents)
    cases = (
        ([local], "Built-in", ""),
        ([local, service("Lost")], "Lost", ""),
        ([local, service("Lost"), service("Off", enabled=False), service("Mine")], "Mine", ""),
        ([local, service("Mine"), service("Other")], "Mine", ""),
        ([local, service("Mine"), service("Other")], "Other", "Other/large"),
    )
    atelier.set("keys", "states", {"Lost": KeyState.REQUIRED, "Mine": KeyState.SAVED, "Other": KeyState.SAVED})
    for configured, shown, last in cases:
        atelier.set("providers", "list", configured)
        atelier.stored = atelier.stored.model_copy(update={"last_model": last})
        await page.load()
        assert find("provider-name").text() == shown, configured
        assert titles(page.list)[-1] == "Built-in"
    page.list.setCurrentRow(2)
    await settle()
    await page.load()
    assert find("provider-name").text() == "Built-in", "a person chose it"


async def test_a_missing_key_is_never_shown_as_saved(page: Any, find: Find, atelier: Engine) -> None:
    config = ProviderConfig(name="Mistral", kind="mistral", has_key=True)
    atelier.set("providers", "list", [ProviderConfig(name="local", kind="local"), config])
    shown = {
        KeyState.SAVED: ("key saved", "saved – type to replace", True),
        KeyState.SESSION: ("key kept until Atelier closes", "kept until Atelier closes – type to replace", True),
        KeyState.REQUIRED: ("API key required", "API key required", False),
    }
    for state, (listed, hint, can_forget) in shown.items():
        atelier.set("keys", "states", {"Mistral": state})
        page.show_item("Mistral")
        await settle()
        row = page.list.currentItem()
        assert listed in row.data(Qt.ItemDataRole.AccessibleTextRole), state
        assert find("provider-key").placeholderText() == hint
        assert page.window().focusWidget() is find("provider-key")
        assert find("provider-forget-key").isHidden() is not can_forget


def in_view(page: Any, widget: QWidget) -> bool:
    """Whether a widget is completely in the visible part of its page."""
    return bool(
        page.area.viewport().rect().contains(QRect(widget.mapTo(page.area.viewport(), QPoint()), widget.size()))
    )


async def test_the_key_field_that_an_error_card_opens_is_in_view_in_a_low_window(
    page: Any, find: Find, atelier: Engine, qtbot: QtBot
) -> None:
    page.window().resize(900, 420)
    atelier.set("providers", "list", [ProviderConfig(name=f"Server {number}", kind="mistral") for number in range(4)])
    page.show_item("Server 2")
    await settle()
    qtbot.waitUntil(lambda: in_view(page, find("provider-key")))
    page.busy.note("Server 2 needs its API key again. " * 12, "warn")
    qtbot.waitUntil(lambda: page.busy.height() > 30 and in_view(page, find("provider-key")))


async def test_the_price_that_a_limit_card_asks_for_has_the_focus(
    page: Any, find: Find, atelier: Engine, qtbot: QtBot
) -> None:
    page.window().resize(1000, 640)
    servers = {
        f"Server {number}": [ModelInfo(provider=f"Server {number}", name=f"m{n}") for n in range(9)]
        for number in range(4)
    }
    atelier.set("providers", "list", [ProviderConfig(name=name, kind="mistral") for name in servers])
    atelier.set("providers", "models", servers.__getitem__)
    page.show_price("Server 2", "m7")
    await settle(20)
    table = page.models
    qtbot.waitUntil(lambda: isinstance(editor := page.window().focusWidget(), QLineEdit) and table.isAncestorOf(editor))
    assert (table.chosen.provider, table.chosen.name, table.currentColumn()) == ("Server 2", "m7", 3)
    assert table.viewport().rect().contains(table.visualItemRect(table.currentItem()))
    qtbot.waitUntil(lambda: in_view(page, table))


async def test_the_missing_price_stays_selected_when_the_page_is_loaded_again(
    page: Any, find: Find, atelier: Engine
) -> None:
    """The settings window loads a page that it opens, and again when the first price was stored."""
    atelier.set("providers", "list", [ProviderConfig(name="Server", kind="mistral")])
    offered = [ModelInfo(provider="Server", name=f"m{n}", price_input=1.0 if n == 7 else None) for n in range(9)]
    atelier.set("providers", "models", offered)
    page.show_price("Server", "m7")
    await settle(20)
    assert (page.models.chosen.name, page.models.currentColumn()) == ("m7", 4), "the output price is missing"
    await page.load()
    await settle(20)
    assert (page.models.chosen.name, page.models.currentColumn()) == ("m7", 4)
    QTest.keyClick(page.window().focusWidget(), Qt.Key.Key_Escape)  # ends editing
    page.models.filter("m8")
    assert page.models.chosen is None, "the selected model is not in view"


async def test_the_offer_to_use_a_new_provider_is_in_view_after_saving(
    page: Any, find: Find, atelier: Engine, qtbot: QtBot
) -> None:
    page.window().resize(900, 420)
    agents = [Agent(id="a", config=AgentConfig(name="Assistant", provider="local", model="starter"))]
    atelier.set("agents", "of_default_model", agents)
    page.begin("mistral", "Mistral", "https://api.mistral.ai/v1")
    atelier.set("providers", "models", [ModelInfo(provider="Mistral", name="large")])
    names = ("Mistral", "One", "Two", "Three")
    atelier.set("providers", "list", [ProviderConfig(name=name, kind="mistral") for name in names])
    page.area.verticalScrollBar().setValue(0)
    find("provider-save").click()
    await settle()
    assert find("provider-use").text() == "Use large for Assistant"
    qtbot.waitUntil(lambda: in_view(page, find("provider-use")))


async def test_the_heading_of_a_new_provider_follows_the_language(page: Any) -> None:
    page.begin("openai", "Mine", "")
    assert page.form_card.heading.text() == "New provider"
    i18n.set_language("fr")
    refresh_texts()
    assert page.form_card.heading.text() == "Nouveau fournisseur"


async def test_a_test_shows_latency_or_the_reason(page: Any, find: Find, atelier: Engine) -> None:
    await choose(page, "Ollama")
    find("provider-test").click()
    await settle()
    assert page.busy.text.text() == "Works: answered in 12 ms, 1 model"
    atelier.set("providers", "test_draft", ProviderHealth(ok=False, message="Nobody answers at that address."))
    find("provider-test").click()
    await settle()
    assert page.busy.text.text() == "Nobody answers at that address."
    refused = ProviderHealth(ok=False, message="Mine refused the key.", detail="Bad key", status=401, code="auth")
    atelier.set("providers", "test_draft", refused)
    find("provider-test").click()
    await settle()
    assert page.busy.text.text() == "Mine refused the key.\nServer message: “Bad key”"


async def test_a_test_stores_nothing_and_can_be_cancelled(page: Any, find: Find, atelier: Engine) -> None:
    page.begin("openai", "Mine", "http://127.0.0.1:9000/v1")
    QTest.keyClicks(find("provider-key"), "secret-key-1")
    find("provider-test").click()
    await settle()
    ((args, _kwargs),) = atelier.calls("providers.test_draft")
    assert (args[0].config.name, args[0].key) == ("Mine", "secret-key-1")
    assert page.busy.text.text() == "Works: answered in 12 ms, 1 model"
    assert find("provider-key").text() == "secret-key-1"
    find("provider-cancel").click()
    await settle()
    assert (find("provider-name").text(), find("provider-save").isEnabled()) == ("Ollama", False)
    assert atelier.calls("providers.save") == atelier.calls("providers.set_key") == []


async def test_a_test_is_cancelled_when_the_form_changes_and_can_be_repeated_after_an_error(
    page: Any, find: Find, atelier: Engine
) -> None:
    delayed = DelayedResult(ProviderHealth(ok=True))
    atelier.set("providers", "test_draft", delayed)
    await choose(page, "Ollama")
    page.activateWindow()
    find("provider-test").setFocus()
    find("provider-test").click()
    await settle()
    assert page.busy.running
    assert page.window().focusWidget() is find("provider-test")
    QTest.keyClicks(find("provider-url"), "x")
    await delayed.release()
    assert not page.busy.isVisible()
    find("header-add").click()
    QTest.keyClicks(find("header-name-0"), "X-Team")
    find("provider-test").click()
    await settle()
    assert page.busy.text.text().startswith("The header X-Team needs a value")
    assert find("provider-test").isEnabled()


async def test_changes_are_saved_or_cancelled_before_another_is_shown(page: Any, find: Find, atelier: Engine) -> None:
    await choose(page, "Ollama")
    assert (find("provider-save").isEnabled(), find("provider-cancel").isEnabled()) == (False, False)
    QTest.keyClicks(find("provider-url"), "/x")
    assert (find("provider-save").isEnabled(), find("provider-cancel").isEnabled()) == (True, True)
    await choose(page, "local")
    assert find("provider-url").text() == "http://localhost:11434/x"
    assert page.list.currentItem().text() == "Ollama"
    assert page.busy.text.text() == "Save your changes or cancel them first."
    await page.load()
    assert find("provider-url").text() == "http://localhost:11434/x"
    find("provider-cancel").click()
    await settle()
    assert find("provider-url").text() == "http://localhost:11434"
    await choose(page, "local")
    assert find("provider-name").text() == "Built-in"


async def test_the_footer_is_visible_at_any_scroll_position(page: Any, find: Find) -> None:
    page.window().resize(700, 430)
    await settle()
    for value in (0, page.area.verticalScrollBar().maximum()):
        page.area.verticalScrollBar().setValue(value)
        for name in ("provider-test", "provider-cancel", "provider-save"):
            button = find(name)
            place = button.mapTo(page, button.rect().bottomRight())
            assert button.isVisible(), name
            assert page.rect().contains(place), name


async def test_services_are_searched_and_fill_in_their_known_settings(
    page: Any, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    find("provider-add").click()
    await settle()
    names = find("preset-list")
    assert {
        "OpenRouter",
        "LM Studio",
        "vLLM",
        "llama.cpp",
        "Groq",
        "DeepSeek",
        "xAI",
        "Together AI",
        "Azure OpenAI",
        "Ollama",
        "Mistral",
    } <= set(titles(names))
    QTest.keyClicks(find("preset-search"), "grok")
    assert titles(names) == ["xAI", "Other address"]
    find("preset-take").click()
    await settle()
    assert (find("provider-name").text(), find("provider-url").text()) == ("xAI", "https://api.x.ai/v1")
    assert page.window().focusWidget() is find("provider-key")
    assert find("provider-get-key").text() == "Get an API key: console.x.ai"
    find("provider-get-key").click()
    assert opened == ["https://console.x.ai"]


async def test_the_named_service_comes_before_others_that_serve_its_models(page: Any, find: Find) -> None:
    find("provider-add").click()
    await settle()
    QTest.keyClicks(find("preset-search"), "gemini")
    names = find("preset-list")
    assert titles(names) == ["Google Gemini", "OpenRouter", "Other address"]
    QTest.keyClick(find("preset-search"), Qt.Key.Key_Return)
    await settle()
    assert (find("provider-name").text(), find("provider-kind").currentData()) == ("Google Gemini", "google")


async def test_a_service_without_an_address_of_its_own_asks_for_it(page: Any, find: Find, atelier: Engine) -> None:
    find("provider-add").click()
    await settle()
    QTest.keyClicks(find("preset-search"), "azure")
    QTest.keyClick(find("preset-search"), Qt.Key.Key_Return)
    await settle()
    assert find("provider-url").placeholderText() == "https://NAME.openai.azure.com/openai/v1"
    assert page.window().focusWidget() is find("provider-url")
    assert (find("provider-save").isEnabled(), find("provider-test").isEnabled()) == (False, False)
    QTest.keyClicks(find("provider-url"), "https://lab.openai.azure.com/openai/v1")
    assert (find("provider-save").isEnabled(), find("provider-test").isEnabled()) == (True, True)
    assert find("provider-get-key").text() == "Get an API key: portal.azure.com"


async def test_removing_is_confirmed_if_a_key_would_be_lost_and_can_be_undone_otherwise(
    page: Any, find: Find, atelier: Engine, window: SettingsWindow
) -> None:
    await choose(page, "Ollama")
    find("provider-remove").click()
    await settle()
    assert atelier.calls("providers.delete") == [(("Ollama",), {})]
    child(window, QPushButton, "toast-action").click()
    await settle()
    assert atelier.calls("providers.save")[-1][0][0].name == "Ollama"
    keyed = ProviderConfig(name="Keyed", kind="mistral", has_key=True)
    atelier.set("providers", "list", [ProviderConfig(name="local", kind="local"), keyed])
    atelier.set(
        "providers",
        "delete",
        ConflictError(
            "The provider {name} cannot be removed because it is used by: {agents}.", name="Keyed", agents="A"
        ),
    )
    await page.load()
    await choose(page, "Keyed")
    find("provider-remove").click()
    assert len(atelier.calls("providers.delete")) == 1
    box = child(window, QMessageBox)
    child(box, QPushButton, "confirm-yes").click()
    await settle()
    assert len(atelier.calls("providers.delete")) == 2
    assert announced(window) == "The provider Keyed cannot be removed because it is used by: A."


async def test_after_removing_a_provider_the_list_has_the_focus(
    qtbot: QtBot, page: Any, find: Find, atelier: Engine, window: SettingsWindow
) -> None:
    await choose(page, "Ollama")
    remove = find("provider-remove")
    remove.setFocus()
    qtbot.waitUntil(remove.hasFocus)
    atelier.set("providers", "list", [ProviderConfig(name="local", kind="local")])
    QTest.keyClick(remove, Qt.Key.Key_Space)
    await settle()
    assert not remove.isEnabled()
    assert window.focusWidget() is page.list


async def test_the_built_in_provider_cannot_be_removed(page: Any, find: Find) -> None:
    await choose(page, "local")
    assert not find("provider-remove").isEnabled()
    assert not find("provider-url").isVisible()


async def test_downloads_show_progress_and_their_buttons(
    page: Any, find: Find, atelier: Engine, bridge: FakeBridge
) -> None:
    entry = CATALOGUE[0]
    atelier.set("models", "catalogue", [entry])
    await choose(page, "Ollama")
    assert not page.downloads.isVisible()
    await choose(page, "local")
    await settle()
    card = find(f"download-{entry.id}")
    assert card.start.isVisible()
    card.start.click()
    half = DownloadState(
        id=entry.id,
        status=DownloadStatus.RUNNING,
        size_bytes=entry.size_bytes,
        received_bytes=entry.size_bytes // 2,
        bytes_per_s=1e6,
    )
    atelier.set("models", "download_states", [half])
    await settle()
    assert atelier.calls("models.downloads.start") == [((entry.id,), {})]
    bridge.changed.emit("download", entry.id)
    await settle()
    assert card.bar.value() == 500
    assert (card.start.isVisible(), card.pause.isVisible(), card.cancel.isVisible()) == (False, True, True)
    card.pause.click()
    atelier.set("models", "download_states", [half.model_copy(update={"status": DownloadStatus.PAUSED})])
    await settle()
    assert card.start.text() == "Continue"
    card.cancel.click()
    problem = {"error_template": "The disk has no room for {what}.", "error_params": {"what": "it"}}
    failed = half.model_copy(update={"status": DownloadStatus.FAILED, **problem})
    atelier.set("models", "download_states", [failed])
    await settle()
    done = ["models.downloads.pause", "models.downloads.cancel"]
    assert [name for name, _args, _kwargs in atelier.log if name in done] == done
    assert card.status.text().endswith("The disk has no room for it.")


async def test_servers_found_on_this_machine_are_offered(page: Any, find: Find, atelier: Engine) -> None:
    server = SimpleNamespace(kind="openai", software="LM Studio", base_url="http://127.0.0.1:1234/v1", models=())
    atelier.set("providers", "detect", [server])
    find("provider-add").click()
    await settle()
    names = find("preset-list")
    assert names.currentIndex().row() == titles(names).index("LM Studio") == 0
    find("preset-take").click()
    await settle()
    assert (find("provider-name").text(), find("provider-url").text()) == ("LM Studio", "http://127.0.0.1:1234/v1")


async def test_the_address_at_which_a_server_answers_is_applied_with_one_click(
    page: Any, find: Find, atelier: Engine
) -> None:
    await choose(page, "Ollama")
    url = "http://localhost:9999"
    bad = ProviderHealth(ok=False, message="No such page.", found_url=url, found_kind="ollama")
    atelier.set("providers", "test_draft", bad)
    find("provider-test").click()
    await settle()
    assert find("provider-use-found").isVisible()
    assert url in find("provider-use-found").text()
    atelier.set(
        "providers", "test_draft", ProviderHealth(ok=True, latency_ms=3, message="This server has no list of models.")
    )
    find("provider-use-found").click()
    await settle()
    assert atelier.calls("providers.save") == []
    assert find("provider-url").text() == url
    assert find("provider-save").isEnabled()
    assert not find("provider-use-found").isVisible()
    assert page.busy.text.text() == "Works: answered in 3 ms. This server has no list of models."


async def test_a_server_of_another_kind_is_named_and_not_offered(page: Any, find: Find, atelier: Engine) -> None:
    await choose(page, "Ollama")
    bad = ProviderHealth(ok=False, message="No such page.", found_url="http://x/v1", found_kind="openai")
    atelier.set("providers", "test_draft", bad)
    find("provider-test").click()
    await settle()
    assert not find("provider-use-found").isVisible()


async def test_agents_with_the_default_model_get_a_new_model_in_one_click_with_undo(
    page: Any, find: Find, atelier: Engine
) -> None:
    agents = [
        Agent(id=name, config=AgentConfig(name=name, provider="local", model="starter"))
        for name in ("Assistant", "Team lead")
    ]
    atelier.set("agents", "of_default_model", agents)
    atelier.set("agents", "use_model", agents)
    await page.load()
    await choose(page, "local")
    assert find("provider-use").isHidden(), "there is no better model than the starter"
    await choose(page, "Ollama")
    assert find("provider-use").text() == "Use qwen3:4b for Assistant and Team lead"
    find("provider-use").click()
    await settle()
    assert atelier.calls("agents.use_model") == [(("Ollama", "qwen3:4b"), {})]
    page.window().toasts.undo.undo()
    await settle()
    assert [args[0].model for args, _fields in atelier.calls("agents.save")] == ["starter", "starter"]
    atelier.set(
        "agents",
        "of_default_model",
        [agents[0].model_copy(update={"config": AgentConfig(name="A", provider="Ollama", model="qwen3:4b")})],
    )
    await page.load()
    await settle()
    assert find("provider-use").isHidden(), "it is used already"
