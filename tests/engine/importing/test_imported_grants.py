"""Addresses, folders and texts of foreign data are suspended until a person confirms them; nothing is sent there
before.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from atelier_desk.domain.agent import ApprovalMode, Choices
from atelier_desk.domain.errors import AtelierError, NotFoundError, ProviderError
from atelier_desk.domain.imported_grant import HeldKind
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.project import Project
from atelier_desk.domain.provider import ProviderConfig, ProviderDraft
from atelier_desk.domain.settings import EmbedderSettings, MediaSettings, Settings, WebSettings
from atelier_desk.engine import Atelier
from atelier_desk.engine.importing.imported_data_restrictions import hold
from atelier_desk.engine.importing.imported_grants import of_provider, of_settings
from atelier_desk.engine.services.data_folder_and_backups import restore_backup
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage import tables
from atelier_desk.storage.copies import backup_signature
from atelier_desk.storage.row_mapping import Table
from tests.engine.conftest import Opener
from tests.helpers.backup_inspection_cache import inspected_once

__all__ = ["inspected_once"]

KEY = "sk-of-this-machine"
VARIABLE = "SECRET_OF_THIS_MACHINE"


class Server:
    """Answers every request with an empty list of models, and records it."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        body = json.dumps({"data": [], "results": [], "web": {"results": []}}).encode()
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: "
            f"close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    listening = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield made
    listening.close()


def vault() -> KeyVault:
    made = KeyVault(environ={VARIABLE: "of-the-environment"}, session=True)
    for name in ("OpenAI", "service-brave", "service-images", "service-tripo"):
        made.set(name, KEY)
    return made


async def fill(atelier: Atelier, url: str, folder: Path) -> str:
    """Configure everything that sends or grants something, with another person's server; returns the workflow's
    id.
    """
    repos = atelier.repos
    headers = {"X-More": f"${VARIABLE}"}
    await repos.providers.save(
        ProviderConfig(name="OpenAI", kind="openai", base_url=url, has_key=True, headers=headers)
    )
    await repos.providers.save(
        ProviderConfig(name="Groq", kind="openai", base_url="https://api.groq.com/openai/v1", has_key=True)
    )
    await repos.projects.save(
        Project(name="home", root=str(folder), watched=True, pending=True, readable=(".ssh/id_rsa",))
    )
    await repos.memories.save(Memory(type=MemoryType.KNOWLEDGE, content="The sky is green."))
    settings = await repos.settings.load()
    changed = {
        "web": WebSettings(search="brave", address=url, browser="/bin/false"),
        "media": MediaSettings(images=url, images_model="m", models="tripo", models_address=url),
        "embedder": EmbedderSettings(kind="openai", provider="OpenAI", model="m"),
        "memories_ask": False,
        "monthly_unpriced": "2026-11",
    }
    await repos.settings.save(settings.model_copy(update=changed))
    workflow = await atelier.workflows.create(workspace=(str(folder), str(folder.parent)))
    await repos.workflows.update(workflow.id, choices=Choices(approval=ApprovalMode.EDIT))
    return workflow.id


async def reached(atelier: Atelier) -> list[str]:
    """Try everything that sends something, and return the error of each."""
    web = (await atelier.settings.get()).web
    provider = await atelier.providers.get("OpenAI")
    said = []
    for work in (
        lambda: atelier.providers.models("OpenAI"),
        lambda: atelier.providers.draft_models(ProviderDraft(provider)),
        lambda: atelier.providers.draft_models(ProviderDraft(provider.model_copy(update={"api_version": "2"}))),
        lambda: atelier.providers.try_model("OpenAI", "m"),
        lambda: atelier.web.search("weather"),
        lambda: atelier.web.test(web),
        lambda: atelier.web.test(web.model_copy(update={"search": "tavily"})),
        lambda: atelier.media.test("images"),
        lambda: atelier.media.test("models"),
        lambda: atelier.maker.picture("a house", "1:1"),
    ):
        try:
            await work()
        except AtelierError as error:
            said.append(error.code)
    health = await atelier.providers.test("OpenAI")
    said.append(health.code)
    return said


async def test_nothing_is_sent_to_a_foreign_address_before_it_is_confirmed(
    open_atelier: Opener, tmp_path: Path, server: Server, inspected_once: None
) -> None:
    folder = tmp_path / "work" / "in"
    folder.mkdir(parents=True)
    async with open_atelier() as atelier:
        workflow_id = await fill(atelier, server.url, folder)
        root = Path(atelier.datadir.root)
        await atelier.data.backup_create(tmp_path / "mine.zip")
    (root / backup_signature.KEY).unlink()
    await restore_backup(tmp_path / "mine.zip", root, from_elsewhere=True)
    options = {"vault": vault(), "embedder": None}
    async with open_atelier(**options) as atelier:
        held = await atelier.imported_data.list()
        assert [each.kind for each in held] == list(HeldKind)
        assert held[0].about == (server.url, f"X-More: ${VARIABLE}")
        assert held[0].id == "provider:OpenAI"
        said = await reached(atelier)
        assert said == ["held"] * 4 + ["not_configured", "held", "held", "held", "held", "not_configured", "held"]
        assert atelier.embedder is None
        assert not server.requests
        workflow = await atelier.workflows.get(workflow_id)
        assert (workflow.workspace, workflow.choices.approval, len(workflow.tainted)) == ((), None, 1)
        (memory,) = await atelier.repos.memories.list()
        assert memory.tainted == workflow.tainted
        (project,) = await atelier.projects.list()
        assert (project.watched, project.pending, project.readable) == (False, False, ())
        settings = await atelier.settings.get()
        assert (settings.memories_ask, settings.web.browser, settings.web.address) == (True, "", server.url)
        assert settings.monthly_unpriced == ""
        # Changing another field confirms nothing.
        await atelier.web.use(settings.web.model_copy(update={"search": "tavily"}))
        await atelier.providers.set_key("OpenAI", KEY)
        await atelier.settings.set("media.images_model", "another")
        assert [each.kind for each in await atelier.imported_data.list()] == list(HeldKind)
        assert not server.requests
        with pytest.raises(NotFoundError, match="provider:OpenAI"):
            await atelier.imported_data.confirm("provider:openai")
        with pytest.raises(ProviderError, match="Confirm them"):
            await atelier.imported_data.confirm("embedder")
    async with open_atelier(**options) as atelier:
        assert [each.kind for each in await atelier.imported_data.list()] == list(HeldKind), (
            "a restart confirms nothing"
        )
        assert (await reached(atelier))[0] == "held"
        await atelier.imported_data.confirm(*(each.id for each in held if each.kind is not HeldKind.EMBEDDER))
        assert [each.kind for each in await atelier.imported_data.list()] == [HeldKind.EMBEDDER]
        assert "held" not in await reached(atelier)
        assert any(KEY.encode() in request for request in server.requests)
        workflow = await atelier.workflows.get(workflow_id)
        assert (workflow.workspace, workflow.tainted) == ((str(folder), str(folder.parent)), ())
        (memory,) = await atelier.repos.memories.list()
        assert memory.tainted == ()
        # A backup that this folder makes now is its own, including confirmed and suspended parts.
        await atelier.data.backup_create(tmp_path / "again.zip")
    await restore_backup(tmp_path / "again.zip", root)
    async with open_atelier(**options) as atelier:
        assert [each.kind for each in await atelier.imported_data.list()] == [HeldKind.EMBEDDER]


async def test_an_address_entered_on_this_machine_needs_no_confirmation(
    open_atelier: Opener, tmp_path: Path, server: Server
) -> None:
    async with open_atelier(vault=vault()) as atelier:
        await fill(atelier, "https://elsewhere.example", tmp_path)
        await hold(atelier.repos)
        atelier.bus.changed("settings", "held")
        config = await atelier.providers.get("OpenAI")
        await atelier.providers.save(config.model_copy(update={"base_url": server.url}))
        assert (await atelier.providers.test("OpenAI")).code == "held", (
            "the variable of its header is still somebody else's"
        )
        await atelier.providers.save(config.model_copy(update={"base_url": server.url, "headers": {}}))
        assert (await atelier.providers.test("OpenAI")).ok
        await atelier.web.use(WebSettings(search="brave", address=server.url))
        await atelier.web.search("weather")
        await atelier.settings.update(media=MediaSettings(), embedder=EmbedderSettings())
        assert {each.kind for each in await atelier.imported_data.list()} == {HeldKind.WORKSPACE, HeldKind.CONTENTS}
        assert len(server.requests) == 2


async def test_a_kill_between_the_steps_of_suspending_loses_no_folder(tmp_path: Path, atelier: Atelier) -> None:
    first = await atelier.workflows.create(workspace=("/a", "/b"))
    second = await atelier.workflows.create(workspace=("/a", "/b"))
    await hold(atelier.repos)
    atelier.bus.changed("settings", "held")
    await atelier.repos.workflows.update(second.id, workspace=("/a", "/b"))  # as when the kill came before this one
    await hold(atelier.repos)
    atelier.bus.changed("settings", "held")
    (grant,) = [each for each in await atelier.imported_data.list() if each.kind is HeldKind.WORKSPACE]
    assert (grant.about, set(grant.workflows)) == (("/a", "/b"), {first.id, second.id})


@pytest.mark.parametrize(
    ("fields", "about"),
    [
        ({"base_url": "https://api.openai.com/v1"}, ()),
        ({"base_url": "https://api.openai.com/v1", "api_key_env": "OPENAI_API_KEY"}, ()),
        (
            {"base_url": "https://api.openai.com/v1", "api_key_env": "AWS_SECRET"},
            ("https://api.openai.com/v1", "$AWS_SECRET"),
        ),
        ({"base_url": "http://api.openai.com/v1"}, ("http://api.openai.com/v1",)),
        ({"base_url": "https://api.openai.com:8443/v1"}, ("https://api.openai.com:8443/v1",)),
        ({"base_url": "https://api.openai.com.evil.example/v1"}, ("https://api.openai.com.evil.example/v1",)),
        ({"base_url": "https://evil.openai.azure.com/openai/v1"}, ("https://evil.openai.azure.com/openai/v1",)),
        ({"base_url": "https://api.together.xyz/v1"}, ()),
        ({"base_url": "http://localhost:11434", "kind": "ollama"}, ()),
        ({"base_url": "http://10.0.0.9:11434", "kind": "ollama"}, ("http://10.0.0.9:11434",)),
        ({"kind": "anthropic"}, ()),
        ({"kind": "anthropic", "ca_file": "/tmp/ca.pem"}, ("https://api.anthropic.com", "/tmp/ca.pem")),
        (
            {"kind": "anthropic", "headers": {"X-A": "$HOME", "X-B": ""}},
            ("https://api.anthropic.com", "X-A: $HOME", "X-B"),
        ),
        ({"name": "local", "kind": "local"}, ()),
        ({"base_url": "http://[::1"}, ("http://[::1",)),
    ],
)
def test_only_a_listed_service_at_its_standard_address_needs_no_confirmation(
    fields: dict[str, object], about: tuple[str, ...]
) -> None:
    found = of_provider(ProviderConfig.model_validate({"name": "x", "kind": "openai", **fields}))
    assert tuple(each.removesuffix("/v1") for each in found) == tuple(each.removesuffix("/v1") for each in about)


def test_disabled_services_must_be_confirmed_too() -> None:
    off = Settings(
        web=WebSettings(search="off", address="https://e.example"), media=MediaSettings(models_key_env="AWS_SECRET")
    )
    found = of_settings(off)
    assert (found[HeldKind.SEARCH], found[HeldKind.MODELS]) == (("https://e.example",), ("$AWS_SECRET",))
    usual = MediaSettings(images="https://api.openai.com/v1", images_model="m", images_key_env="OPENAI_API_KEY")
    assert not any(of_settings(Settings(media=usual)).values())


PLAIN = """
workflow: id name named_by agent_id choices.provider choices.model choices.thinking choices.budget
    choices.instructions status head_run_id stream_seq usage context_tokens pinned archived collection unread draft
    draft_attachments pending_questions pending_approvals created_at updated_at deleted_at
run: id workflow_id previous_run_id parent_run_id parent_call_id title correlation_id agent_id agent_name depth mode
    usage tool_calls elapsed_ms last_seq tainted error created_at updated_at deleted_at
message: id workflow_id run_id seq role kind content reasoning reasoning_ms call_ids agent_name model provider usage
    duration_ms details pinned created_at
tool_execution: id workflow_id run_id call_id message_id agent_name tool server section effect risk presentation
    taint arguments result parts error status truncated duration_ms iteration started_at
task: id workflow_id run_id name description agent_assigned priority status dependencies position duration_ms
    created_at started_at completed_at
memory: id type content workflow_id importance priority tags source agent_source run_id turn_id proposed origin
    edited retrieved_by embedder created_at updated_at expires_at
memory_bin: id type content workflow_id importance priority tags source agent_source run_id turn_id proposed origin
    edited retrieved_by embedder created_at updated_at expires_at deleted_at merged
user_question: id workflow_id run_id call_id agent_id agent_name lineage spec status selected_options text_response
    timeout_s seen_ms created_at answered_at
approval_request: id workflow_id run_id root_run_id call_id agent_id agent_name lineage kind tool operation server
    section effect risk reason rule about always arguments edited details presentation subjects scope timeout_s
    on_timeout seen_ms round decided_by note created_at decided_at
audit: id workflow_id run_id call_id message_id agent_id agent_name tool server detail effect risk decision
    decided_by note edited mode reason rule about created_at
prompt_frame: id workflow_id system tools
report: id workflow_id run_id name size sha256 author created_at updated_at
permission_rule: id text action scope scope_id match not_match created_at last_matched_at
agent: id config.name config.purpose config.lifecycle config.provider config.model config.temperature config.max_tokens
    config.system_prompt config.tools config.sections config.mcp_servers config.tool_mode config.tool_dialect
    config.max_tool_iterations config.enable_thinking config.effort config.question_timeout_s config.budget
    config.answer_schema created_at updated_at
provider: name kind has_key api_version key_style enabled created_at
mcp_server: name config.name config.transport config.command config.args config.env config.folder config.url
    config.headers config.sandbox config.timeout_s config.tools_off config.client_id config.scopes config.roots
    config.older_protocol config.source config.keyring known created_at
project: id name root loaded embedded cut leaving created_at updated_at ingested_at
prompt: id name description content created_at updated_at
model: provider name label context_window max_output_tokens supports_tools supports_vision supports_thinking
    embedding starter price_input price_output price_cache_read price_cache_write size_bytes source
setting: language theme font_scale notifications tray quick_key_on quick_key notification_answers remind_minutes
    first_start_done default_agent_id name_by_model stop_repetition workflows_running inactivity_s embedder.dimension
    embedder_paused memories_off memories_at_end memories_pinned memories_apart fsync approvals.timeout_s
    approvals.always_confirm_high web.search web.scripts web.price media.sees media.images_model media.models max_depth
    audit_days checkpoint_days checkpoint_mb project_answers skills_off favourite_models recent_models
    favourite_agents provider_names last_agent_id last_model shortcuts window monthly_cost_limit monthly_warned
    media.images_price media.models_price
"""
"""The columns of each table that foreign data may bring unchanged: texts, numbers, ids, and what only describes
the past. A new column must be added here, or be suspended by ``hold`` and added to ``HELD``: an address, a
program, a path or a permission of somebody else must have no effect. The person who enables an MCP server sees all
of it; agents see of a project only what is in folders granted to them.
"""

HELD = """
workflow: choices.approval workspace tainted
run: status
memory: tainted
memory_bin: tainted
prompt: tainted
approval_request: status
permission_rule: held
agent: config.approval
provider: base_url api_key_env ca_file headers
mcp_server: config.enabled
project: watched pending readable
setting: embedder.kind embedder.provider embedder.model embedder_before memories_ask approvals.flags
    approvals.auto_approve_low approvals.on_timeout approvals.risks approvals.rules web.address web.key_env
    web.browser media.images media.images_key_env media.models_address media.models_key_env folder_trust
    confirmed_tools monthly_unpriced held
"""
"""Columns that ``hold`` and ``end_runs`` suspend or list for a person; the tests above and
``test_imported_data_restrictions.py`` check that they do.
"""

OPENED = frozenset({"choices", "config", "embedder", "approvals", "web", "media"})
"""Columns with a configuration: their parts are checked one by one."""


def _by_table(text: str) -> dict[str, list[str]]:
    lines = [line.partition(":") for line in text.strip().replace("\n    ", " ").split("\n")]
    return {table: names.split() for table, _colon, names in lines}


def columns(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if name in OPENED and isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from (f"{name}.{each}" for each in inner.model_fields)
        else:
            yield name


def test_every_column_is_known_to_grant_nothing_or_is_suspended() -> None:
    stored: dict[str, type[BaseModel]] = {
        each.name: each.model for each in vars(tables).values() if isinstance(each, Table)
    }
    stored["setting"] = Settings
    plain, held = _by_table(PLAIN), _by_table(HELD)
    for name, model in stored.items():
        assert sorted([*plain[name], *held.get(name, ())]) == sorted(columns(model)), (
            f"say of each column of {name} what data from elsewhere does with it"
        )
