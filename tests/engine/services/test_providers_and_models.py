"""Providers with a working server, and models with the user's corrections."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import ConflictError, NotFoundError, ProviderError, UsageError
from atelier_desk.domain.provider import ModelInfo, ProviderConfig, ProviderDraft
from atelier_desk.domain.settings import MOST_FORMER_NAMES
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.models import free_here
from atelier_desk.llm.local.download import DownloadStatus
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import Opener
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Reply
from tests.llm.models_dev_server import ModelsDev, told

SENTINEL = "sk-sentinel-5f0c9a1b7e"


def openai(url: str, **more: object) -> ProviderConfig:
    return ProviderConfig(name="lab", kind="openai", base_url=url, **more)  # type: ignore[arg-type]


async def test_the_builtin_provider_is_always_there(atelier: Atelier) -> None:
    assert [config.name for config in await atelier.providers.list()] == ["local"]
    with pytest.raises(UsageError, match="disable"):
        await atelier.providers.delete("local")
    disabled = (await atelier.providers.get("local")).model_copy(update={"enabled": False})
    await atelier.providers.save(disabled)
    assert [config.enabled for config in await atelier.providers.list()] == [False]
    with raises_code(UsageError, "disabled"):
        await atelier.providers.provider("local")


async def test_a_server_is_added_tested_listed_and_removed(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        await atelier.providers.save(openai(server.url), new=True)
        health = await atelier.providers.test("lab")
        assert (health.ok, health.models) == (True, 1)
        assert [model.name for model in await atelier.providers.models("lab")] == ["test-model"]
        with pytest.raises(ConflictError):
            await atelier.providers.save(openai(server.url), new=True)
        agent = await atelier.agents.save(AgentConfig(name="A", provider="lab", model="test-model"))
        with pytest.raises(ConflictError, match="A"):
            await atelier.providers.delete("lab")
        await atelier.agents.delete(agent.id)
        await atelier.providers.delete("lab")
        with pytest.raises(NotFoundError, match="local"):
            await atelier.providers.get("lab")


async def test_an_unreachable_server_is_a_result_with_a_message(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server:
        url = server.url
    async with open_atelier() as atelier:
        await atelier.providers.save(openai(url))
        health = await atelier.providers.test("lab")
        assert not health.ok
        assert health.message


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "localhost:11434"}, "base_url"),
        ({"base_url": "http://"}, "base_url"),
        ({"base_url": "http://x:99999"}, "base_url"),
        ({"base_url": f"https://user:{SENTINEL}@host/v1"}, "base_url"),
        ({"api_key_env": SENTINEL}, "invalid_env"),
        ({"kind": "local"}, "builtin"),
        ({"name": "local"}, "builtin"),
        ({"base_url": "https://host/v1?key=x"}, "base_url"),
        ({"ca_file": "/nowhere/ca.pem"}, "ca_file"),
        ({"headers": {"Host": "$X"}}, "invalid_header"),
        ({"headers": {"two words": "$X"}}, "invalid_header"),
        ({"headers": {"X-Key": SENTINEL}}, "invalid_header"),
        ({"headers": {"X-Key": "$A", "x-key": "$B"}}, "invalid_header"),
    ],
)
async def test_unusable_configurations_are_refused(open_atelier: Opener, fields: dict[str, object], code: str) -> None:
    config = openai("https://host/v1").model_copy(update=fields)
    async with open_atelier() as atelier:
        with raises_code(UsageError, code) as caught:
            await atelier.providers.save(config)
        assert SENTINEL not in str(caught.value)
        assert len(await atelier.providers.list()) == 1


async def test_a_key_is_used_and_shown_nowhere(open_atelier: Opener, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with FakeOpenAI() as server, open_atelier(vault=KeyVault(environ={})) as atelier:
        server.api_key = SENTINEL
        await atelier.providers.save(openai(server.url))
        assert not (await atelier.providers.test("lab")).ok
        await atelier.providers.set_key("lab", f" {SENTINEL}\n")
        config = await atelier.providers.get("lab")
        assert config.has_key
        assert (await atelier.providers.test("lab")).ok
        await atelier.providers.clear_key("lab")
        assert not (await atelier.providers.get("lab")).has_key
        assert not (await atelier.providers.test("lab")).ok
        with pytest.raises(ProviderError):
            await atelier.providers.set_key("lab", "two words")
        assert SENTINEL not in config.model_dump_json()
        rows = await atelier.repos.store.query("SELECT * FROM provider")
        assert SENTINEL not in str(rows)
        folder = atelier.datadir.root
    assert SENTINEL not in caplog.text
    assert not [path for path in folder.rglob("*") if path.is_file() and SENTINEL.encode() in path.read_bytes()]


async def test_values_of_headers_are_used_and_shown_nowhere(
    open_atelier: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    vault = KeyVault(environ={"GATE": SENTINEL})
    async with FakeOpenAI() as server, open_atelier(vault=vault) as atelier:
        await atelier.providers.save(openai(server.url, headers={"X-Gate": "Bearer $GATE"}))
        await atelier.providers.set_headers("lab", {"X-Lab": f"{SENTINEL} two"})
        assert (await atelier.providers.get("lab")).headers == {"X-Gate": "Bearer $GATE", "X-Lab": ""}
        assert (await atelier.providers.test("lab")).ok
        assert server.requests[-1].headers["x-gate"] == f"Bearer {SENTINEL}"
        assert server.requests[-1].headers["x-lab"] == f"{SENTINEL} two"
        rows = await atelier.repos.store.query("SELECT * FROM provider")
        assert SENTINEL not in str(rows)
        config = await atelier.providers.get("lab")
        await atelier.providers.save(config.model_copy(update={"headers": {}}))
        await atelier.providers.save(config)
        health = await atelier.providers.test("lab")  # removed, the value is deleted
        assert (health.ok, "X-Lab" in health.message) == (False, True)
        with pytest.raises(ProviderError):
            await atelier.providers.set_headers("lab", {"X-Lab": "two\nlines"})
    assert SENTINEL not in caplog.text


async def test_a_version_in_the_address_is_removed(atelier: Atelier) -> None:
    await atelier.providers.save(openai("https://lab.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21"))
    kept = await atelier.providers.get("lab")
    assert (kept.base_url, kept.api_version) == (
        "https://lab.openai.azure.com/openai/deployments/gpt",
        "2024-10-21",
    )


@pytest.mark.parametrize("page", [False, {"object": "list"}, "nothing"])
async def test_a_server_that_does_not_describe_its_models_can_be_used(open_atelier: Opener, page: object) -> None:
    """Without a valid list of models the profile's guess is used, and the user's values take precedence."""
    async with FakeOpenAI() as server, open_atelier() as atelier:
        server.models_page = page
        await atelier.providers.save(openai(server.url))
        info = await atelier.models.info("lab", "gpt-4o")
        assert (info.context_window, info.source) == (128_000, "profile")
        unknown = await atelier.models.info("lab", "m" * 512)
        assert (unknown.context_window, unknown.source) == (None, "assumed")
        await atelier.models.edit("lab", "gpt-4o", context_window=64_000)
        assert (await atelier.models.info("lab", "gpt-4o")).context_window == 64_000
        if page is False:
            assert [model.name for model in await atelier.providers.models("lab")] == ["gpt-4o"]


async def test_an_unreachable_server_does_not_hide_a_models_properties(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server:
        url = server.url
    async with open_atelier() as atelier:
        await atelier.providers.save(openai(url))
        assert (await atelier.models.info("lab", "gpt-4o")).source == "profile"


async def test_model_names_may_be_long(atelier: Atelier) -> None:
    name = "/home/someone/models/" + "x" * 491
    agent = await atelier.agents.save(AgentConfig(name="Long", provider="local", model=name))
    assert (await atelier.agents.get(agent.id)).config.model == name
    with pytest.raises(ValueError, match="512"):
        AgentConfig(name="Longer", provider="local", model=name + "x")


async def test_a_new_address_is_used_at_the_next_call(open_atelier: Opener) -> None:
    async with FakeOpenAI() as first, FakeOpenAI() as second, open_atelier() as atelier:
        second.models = [{"id": "other", "object": "model"}]
        await atelier.providers.save(openai(first.url))
        assert [model.name for model in await atelier.providers.models("lab")] == ["test-model"]
        await atelier.providers.save(openai(second.url))
        assert [model.name for model in await atelier.providers.models("lab")] == ["other"]


async def test_corrections_take_precedence_until_they_are_reset(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        await atelier.providers.save(openai(server.url))
        heard: list[tuple[str, str]] = []
        atelier.bus.on_changed(lambda topic, id: heard.append((topic, id)))
        edited = await atelier.models.edit(
            "lab", "test-model", price_input=1.5, price_output=6.0, context_window=32_768
        )
        assert (edited.source, edited.price_output) == ("user", 6.0)
        assert heard == [("model", "lab/test-model")]
        assert (await atelier.models.info("lab", "test-model")).context_window == 32_768
        assert [model.price_input for model in await atelier.providers.models("lab")] == [1.5]
        assert any(model.name == "test-model" and model.source == "user" for model in await atelier.models.list())
        assert [model.price_input for model in await atelier.models.stored("lab")] == [1.5], "no server is asked"
        assert (await atelier.models.reset("lab", "test-model")).source != "user"


@pytest.mark.parametrize(
    "fields",
    [{"price_input": -1.0}, {"price_input": 1001.0}, {"context_window": 10}, {"name": "x"}, {"source": "user"}],
)
async def test_corrections_out_of_bounds_are_refused(open_atelier: Opener, fields: dict[str, object]) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        await atelier.providers.save(openai(server.url))
        with pytest.raises(UsageError):
            await atelier.models.edit("lab", "test-model", **fields)


async def test_a_server_is_asked_about_a_model_only_once_in_a_while(open_atelier: Opener, clock: ManualClock) -> None:
    async with FakeOpenAI() as server, open_atelier(clock=clock) as atelier:
        await atelier.providers.save(openai(server.url))
        await atelier.models.info("lab", "test-model")
        asked = len(server.requests)
        await atelier.models.info("lab", "test-model")
        assert len(server.requests) == asked
        await clock.advance(301)
        await atelier.models.info("lab", "test-model")
        assert len(server.requests) > asked


async def test_a_list_omits_disabled_servers(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server:
        url = server.url
    async with open_atelier() as atelier:
        await atelier.providers.save(openai(url))
        assert all(model.provider == "local" for model in await atelier.models.list())


async def test_downloads_are_offered_and_unknown_ones_refused(atelier: Atelier) -> None:
    offered = await atelier.models.catalogue()
    assert all(entry.licence and entry.sha256 and entry.size_bytes for entry in offered)
    assert await atelier.models.download_states() == []
    part = atelier.datadir.models / f"{offered[0].file}.part"
    part.write_bytes(b"abc")
    [state] = await atelier.models.download_states()
    assert (state.status, state.received_bytes) == (DownloadStatus.PAUSED, 3)
    await atelier.models.downloads.cancel(offered[0].id)
    assert not part.exists()
    with pytest.raises(NotFoundError):
        await atelier.models.downloads.start("missing")


async def test_a_value_learned_from_a_refusal_hides_no_other(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        await atelier.providers.save(openai(server.url))
        await atelier.models.learned("lab", "test-model", supports_tools=False)
        await atelier.models.learned("lab", "test-model", context_window=4096)
        server.models = [
            {
                "id": "test-model",
                "object": "model",
                "context_length": 9000,
                "pricing": {"prompt": "0.000002", "completion": "0"},
            }
        ]
        atelier.models.forget("lab")
        (listed,) = await atelier.providers.models("lab")
        for info in (await atelier.models.info("lab", "test-model"), listed):
            assert (info.supports_tools, info.context_window, info.source) == (False, 4096, "learned")
            assert info.price_input == pytest.approx(2.0)


async def test_testing_a_draft_stores_nothing(open_atelier: Opener) -> None:
    vault = KeyVault(environ={})
    async with FakeOpenAI() as server, open_atelier(vault=vault) as atelier:
        server.api_key = SENTINEL
        draft = ProviderDraft(openai(server.url), SENTINEL)
        assert SENTINEL not in repr(draft)
        health = await atelier.providers.test_draft(draft)
        assert (health.ok, health.models) == (True, 1)
        assert [model.name for model in await atelier.providers.draft_models(draft)] == ["test-model"]
        server.script(Reply(text="Hello!"))
        assert (await atelier.providers.try_draft(draft, "test-model")).text == "Hello!"
        assert [config.name for config in await atelier.providers.list()] == ["local"]
        assert vault.get("lab") is None
        assert (await atelier.providers.test_draft(ProviderDraft(openai(server.url), "sk-another-key"))).code == "auth"
        with pytest.raises(UsageError):
            await atelier.providers.test_draft(ProviderDraft(openai("ftp://x")))


async def test_a_draft_of_a_stored_provider_uses_the_stored_key(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier(vault=KeyVault(environ={})) as atelier:
        server.api_key = SENTINEL
        await atelier.providers.save(openai("http://127.0.0.1:9/v1"))
        await atelier.providers.set_key("lab", SENTINEL)
        stored = await atelier.providers.get("lab")
        moved = stored.model_copy(update={"base_url": server.url, "enabled": False})
        assert (await atelier.providers.test_draft(ProviderDraft(moved))).ok
        assert await atelier.providers.get("lab") == stored


async def test_the_list_of_hosted_models_is_refreshed_and_corrections_stay(
    open_atelier: Opener, tmp_path: Path
) -> None:
    groq = ProviderConfig(name="Groq", kind="openai", base_url="https://api.groq.com/openai/v1")
    async with ModelsDev() as server, open_atelier() as atelier:
        await atelier.providers.save(groq)
        shipped = await atelier.models.list_state()
        assert shipped.models > 500
        atelier.models.list_source = server.root
        server.answer = []
        with pytest.raises(ProviderError):
            await atelier.models.refresh_list()
        assert await atelier.models.list_state() == shipped
        server.answer = {"groq": {"models": {"new-model": told(), "mine": told()}}}
        assert (await atelier.models.refresh_list())[1:3] == (2, 1)
        listed = await atelier.models.listed()
        known = listed.applied(groq, ModelInfo(provider="Groq", name="new-model"))
        assert (known.context_window, known.price_output) == (131_072, 0.79)
        await atelier.models.update(ModelInfo(provider="Groq", name="mine", context_window=4096))
        assert (await atelier.models.info("Groq", "mine")).context_window == 4096
        assert atelier.datadir.model_list.exists()
    async with open_atelier() as atelier:
        assert (await atelier.models.list_state()).models == 2


async def test_a_renamed_provider_keeps_everything_and_is_found_by_its_former_name(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        server.api_key = SENTINEL
        await atelier.providers.save(openai(server.url, headers={"X-Team": ""}), new=True)
        await atelier.providers.set_key("lab", SENTINEL)
        await atelier.providers.set_headers("lab", {"X-Team": "blue-team-1"})
        await atelier.models.edit("lab", "test-model", context_window=4096)
        agent = await atelier.agents.save(AgentConfig(name="A", provider="lab", model="test-model"))
        await atelier.settings.update(favourite_models=("lab/test-model", "laboratory/x"), last_model="lab/test-model")
        await atelier.providers.rename("lab", "Work")
        assert [each.name for each in await atelier.providers.list()] == ["local", "Work"]
        assert (await atelier.agents.get(agent.id)).config.provider == "Work"
        settings = await atelier.settings.get()
        assert (settings.favourite_models, settings.last_model) == (
            ("Work/test-model", "laboratory/x"),
            "Work/test-model",
        )
        for name in ("lab", "Work"):
            assert (await atelier.providers.test(name)).ok
            assert (await atelier.models.info(name, "test-model")).context_window == 4096
        assert (await atelier.providers.models("lab"))[0].provider == "Work"
        assert server.requests[-1].headers["x-team"] == "blue-team-1"
        await atelier.providers.rename("Work", "Office")
        assert (await atelier.providers.get("lab")).name == "Office"
        await atelier.providers.rename("Office", "lab")
        assert [(await atelier.providers.get(name)).name for name in ("lab", "Work", "Office")] == ["lab"] * 3
        await atelier.providers.save(openai(server.url).model_copy(update={"name": "Work"}), new=True)
        assert (await atelier.providers.get("Work")).name == "Work"
        for name, to, error in (
            ("local", "mine", UsageError),
            ("lab", "Work", ConflictError),
            ("lab", "a/b", UsageError),
        ):
            with pytest.raises(error):
                await atelier.providers.rename(name, to)


async def test_a_rename_is_complete_or_did_not_happen(monkeypatch: pytest.MonkeyPatch, atelier: Atelier) -> None:
    """A kill before its transaction leaves everything unchanged, including keys, and it can be repeated; so does
    one after it.
    """
    await atelier.providers.save(openai("http://127.0.0.1:9/v1"), new=True)
    await atelier.providers.set_key("lab", SENTINEL)
    await atelier.models.edit("lab", "m", context_window=4096)
    agent = await atelier.agents.save(AgentConfig(name="A", provider="lab", model="m"))
    await atelier.settings.update(last_model="lab/m")

    async def state() -> tuple[object, ...]:
        providers = [each.name for each in await atelier.providers.list()]
        models = [each.provider for each in await atelier.repos.models.list()]
        return (
            providers,
            models,
            (await atelier.agents.get(agent.id)).config.provider,
            (await atelier.settings.get()).last_model,
        )

    before, write, writes = await state(), atelier.store.write, 0

    async def killed(*statements: object) -> None:
        nonlocal writes
        writes += 1
        raise RuntimeError("killed")

    monkeypatch.setattr(atelier.store, "write", killed)
    with pytest.raises(RuntimeError):
        await atelier.providers.rename("lab", "Work")
    monkeypatch.setattr(atelier.store, "write", write)
    assert (writes, await state()) == (1, before)
    assert atelier.vault.get("lab") == SENTINEL

    def forgets(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(atelier.vault, "delete_provider", forgets)
        await atelier.providers.rename("lab", "Work")
    assert await state() == (["local", "Work"], ["Work"], "Work", "Work/m")
    assert atelier.vault.get("Work") == SENTINEL
    again = await atelier.providers.save(openai("http://127.0.0.1:10/v1"), new=True)
    assert (atelier.vault.resolve(again), atelier.vault.get("Work")) == (None, SENTINEL)


async def test_a_former_name_means_the_same_provider_in_every_call(atelier: Atelier) -> None:
    await atelier.providers.save(openai("http://127.0.0.1:9/v1", headers={"X-Team": ""}), new=True)
    await atelier.providers.rename("lab", "Work")
    agent = await atelier.agents.save(AgentConfig(name="A", provider="Work", model="m"))
    await atelier.providers.set_key("lab", SENTINEL)
    await atelier.providers.set_headers("lab", {"X-Team": "blue-team-1"})
    assert await atelier.vault.headers_for(await atelier.providers.get("Work")) == {"x-team": "blue-team-1"}
    assert [atelier.vault.get(entry) for entry in ("lab", "lab/x-team", "Work", "Work/x-team")] == [
        None,
        None,
        SENTINEL,
        "blue-team-1",
    ]
    await atelier.providers.clear_key("lab")
    assert atelier.vault.get("Work") is None
    with pytest.raises(ConflictError, match="A"):
        await atelier.providers.delete("lab")
    await atelier.agents.delete(agent.id)
    await atelier.providers.delete("lab")
    await atelier.providers.save(openai("http://127.0.0.1:10/v1").model_copy(update={"name": "Work"}), new=True)
    with pytest.raises(NotFoundError):
        await atelier.providers.get("lab")


async def test_a_provider_can_be_renamed_any_number_of_times(atelier: Atelier) -> None:
    await atelier.providers.save(openai("http://127.0.0.1:9/v1"), new=True)
    await atelier.settings.update(provider_names={f"was {number}": "lab" for number in range(MOST_FORMER_NAMES)})
    await atelier.providers.rename("lab", "Work")
    names = (await atelier.settings.get()).provider_names
    assert (len(names), names["lab"], names["was 1"], "was 0" in names) == (
        MOST_FORMER_NAMES,
        "Work",
        "Work",
        False,
    )


async def test_changes_by_a_former_name_apply_to_the_providers_models(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        providers, models = atelier.providers, atelier.models
        await providers.save(openai(server.url), new=True)
        await providers.rename("lab", "Work")
        for change, window in (
            (models.learned("lab", "test-model", context_window=2048), 2048),
            (models.edit("Work", "test-model", context_window=4096), 4096),
            (models.edit("lab", "test-model", context_window=8192), 8192),
        ):
            await change
            assert [(await models.info(name, "test-model")).context_window for name in ("lab", "Work")] == [window] * 2
        await models.reset("lab", "test-model")
        assert 8192 not in [(await models.info(name, "test-model")).context_window for name in ("lab", "Work")]


async def test_one_call_changes_the_model_of_all_agents_with_the_default(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        await atelier.providers.save(openai(server.url), new=True)
        other = await atelier.agents.save(AgentConfig(name="Imported", provider="lab", model="own"))
        await atelier.settings.update(last_model="lab/own")
        names = [agent.name for agent in await atelier.agents.of_default_model()]
        before = await atelier.agents.use_model("lab", "test-model")
        assert ([agent.name for agent in before], {agent.config.provider for agent in before}) == (names, {"local"})
        assert len(names) == 2
        now = {agent.name: agent.config.model for agent in await atelier.agents.list()}
        assert now == {**dict.fromkeys(names, "test-model"), other.name: "own"}
        assert (await atelier.settings.get()).last_model == "", "new workflows take it too"
        assert await atelier.agents.use_model("lab", "test-model") == []
        await atelier.providers.save(
            (await atelier.providers.get("lab")).model_copy(update={"name": "off", "enabled": False}), new=True
        )
        for provider, model, error in (
            ("nobody", "any", NotFoundError),
            ("local", "nosuch", NotFoundError),
            ("off", "any", UsageError),
        ):
            with pytest.raises(error):
                await atelier.agents.use_model(provider, model)
        assert {agent.config.model for agent in await atelier.agents.of_default_model()} == {"test-model"}


async def test_the_last_used_model_is_cleared_with_its_provider_and_with_another_default(atelier: Atelier) -> None:
    await atelier.providers.save(openai("http://127.0.0.1:9/v1"), new=True)
    agent = await atelier.agents.default()
    await atelier.settings.update(last_model="lab/m", last_agent_id=agent.id)
    await atelier.settings.update(default_agent_id=agent.id)
    await atelier.providers.delete("lab")
    settings = await atelier.settings.get()
    assert (settings.last_agent_id, settings.last_model) == ("", "")


@pytest.mark.parametrize(
    ("kind", "address", "model", "price"),
    [
        ("ollama", "http://127.0.0.1:11434", "qwen3:8b", 0.0),
        ("ollama", "http://localhost:11434", "qwen3:8b", 0.0),
        ("ollama", "http://127.0.0.1:11434", "gpt-oss:120b-cloud", None),
        ("ollama", "https://ollama.example", "qwen3:8b", None),
        ("openai", "http://127.0.0.1:4000/v1", "qwen3:8b", None),
    ],
)
def test_only_models_run_by_ollama_on_this_machine_are_free(
    kind: str, address: str, model: str, price: float | None
) -> None:
    config = ProviderConfig(name="here", kind=kind, base_url=address)
    info = free_here(config, ModelInfo(provider="here", name=model))
    assert (info.price_input, info.price_output) == (price, price)
    entered = free_here(config, ModelInfo(provider="here", name=model, price_input=3.0, price_output=5.0))
    assert (entered.price_input, entered.price_output) == (3.0, 5.0)
