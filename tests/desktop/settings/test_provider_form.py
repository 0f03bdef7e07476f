"""The form of a provider: key, address, headers, certificates and name."""

from __future__ import annotations

from typing import Any

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import KeyPlace, ProviderConfig
from atelier_desk.engine.services.api_key_storage import KeyStore
from tests.desktop.settings.conftest import Engine, Find, choose
from tests.helpers.fake_bridge import settle


async def test_a_key_and_a_variable_exclude_each_other(page: Any, find: Find, atelier: Engine) -> None:
    await choose(page, "Ollama")
    QTest.keyClicks(find("provider-env"), "MY_KEY")
    QTest.keyClicks(find("provider-key"), "sk-1")
    assert (find("provider-env").text(), page.form.key()) == ("", "sk-1")
    QTest.keyClicks(find("provider-env"), "MY_KEY")
    assert (page.form.config().api_key_env, page.form.key()) == ("MY_KEY", "")


async def test_an_error_is_shown_in_the_form_which_stays_open(page: Any, find: Find, atelier: Engine) -> None:
    page.begin("openai", "Mine", "nonsense")
    atelier.set("providers", "save", UsageError("{url} is not a server address.", url="nonsense"))
    find("provider-save").click()
    await settle()
    assert page.busy.text.text() == "nonsense is not a server address."
    assert find("provider-url").text() == "nonsense"
    find("provider-name").setText("***")
    find("provider-save").click()
    await settle()
    assert page.busy.text.text().startswith("A name has 1 to 64 characters")


async def test_connection_details_are_under_advanced(page: Any, find: Find, atelier: Engine) -> None:
    page.begin("openai", "Azure", "https://lab.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21")
    assert not find("provider-ca-file").isVisible()
    find("provider-advanced").click()
    assert find("provider-ca-file").isVisible()
    find("provider-ca-file").setText("/etc/lab.pem")
    find("header-add").click()
    find("header-name-0").setText("X-Team")
    find("header-value-0").setText("$TEAM_TOKEN")
    find("header-add").click()
    find("header-name-1").setText("X-Gate")
    QTest.keyClicks(find("header-value-1"), "a secret value")
    assert find("header-value-1").echoMode() == QLineEdit.EchoMode.Password
    atelier.set("providers", "set_headers", True)
    find("provider-save").click()
    await settle()
    ((args, _kwargs),) = atelier.calls("providers.save")
    saved = args[0]
    assert (saved.ca_file, saved.api_version) == ("/etc/lab.pem", "2024-10-21")
    assert saved.base_url == "https://lab.openai.azure.com/openai/deployments/gpt"
    assert saved.headers == {"X-Team": "$TEAM_TOKEN", "X-Gate": ""}
    assert atelier.calls("providers.set_headers") == [(("Azure", {"X-Gate": "a secret value"}), {})]


async def test_stored_headers_are_preserved_changed_and_removed(page: Any, find: Find, atelier: Engine) -> None:
    config = ProviderConfig(
        name="Gate", kind="openai", headers={"X-Gate": "", "X-Team": "$TEAM"}, ca_file="/etc/lab.pem"
    )
    atelier.set("providers", "list", [ProviderConfig(name="local", kind="local"), config])
    await page.load()
    await choose(page, "Gate")
    assert find("provider-ca-file").isVisible()
    assert (find("header-value-0").text(), find("header-value-1").text()) == ("", "$TEAM")
    assert "saved" in find("header-value-0").placeholderText()
    assert not find("provider-save").isEnabled()
    find("header-remove-1").click()
    assert find("provider-save").isEnabled()
    find("provider-save").click()
    await settle()
    assert atelier.calls("providers.save")[-1][0][0].headers == {"X-Gate": ""}
    assert atelier.calls("providers.set_headers") == []


async def test_a_header_without_a_value_is_refused_in_place(page: Any, find: Find, atelier: Engine) -> None:
    page.begin("openai", "Mine", "https://host/v1")
    find("provider-advanced").click()
    find("header-add").click()
    find("header-name-0").setText("X-Team")
    find("provider-save").click()
    await settle()
    assert page.busy.text.text().startswith("The header X-Team needs a value")
    assert atelier.calls("providers.save") == []
    find("header-value-0").setText("$TEAM")
    find("provider-api-version").setText("two words")
    find("provider-save").click()
    await settle()
    assert page.busy.text.text().startswith("The API version may contain letters")


async def test_a_value_that_cannot_be_stored_is_refused(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("keys", "store", KeyStore(KeyPlace.MEMORY, "/data/keys.json"))
    await page.load()
    page.begin("openai", "Mine", "https://host/v1")
    find("provider-advanced").click()
    find("header-add").click()
    find("header-name-0").setText("X-Team")
    QTest.keyClicks(find("header-value-0"), "a secret value")
    find("provider-save").click()
    await settle()
    assert page.busy.text.text().startswith("This computer has no keyring to store the header X-Team in")
    assert atelier.calls("providers.save") == []


async def test_a_provider_is_renamed_in_its_form(page: Any, find: Find, atelier: Engine) -> None:
    await choose(page, "Ollama")
    find("provider-name").clear()
    QTest.keyClicks(find("provider-name"), "Home")
    find("provider-save").click()
    await settle()
    assert atelier.calls("providers.rename") == [(("Ollama", "Home"), {})]
    assert atelier.calls("providers.save")[0][0][0].name == "Home"
    await choose(page, "local")
    assert not find("provider-name").isEnabled()
