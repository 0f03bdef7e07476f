"""Agents: unique names, files as documented in docs/python.md, the built-in one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ToolMode
from atelier_desk.domain.errors import ConflictError, LimitError, NotFoundError, UsageError
from atelier_desk.domain.provider import STARTER
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways.model_gateway import DEFAULT_WINDOW, FactoryGateway
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.token_and_cost_estimates import estimate_request
from atelier_desk.support import i18n
from tests.engine.conftest import Opener
from tests.engine.services.sample_agent_file import FILE
from tests.helpers.agent_file_import import import_agent
from tests.helpers.error_codes import raises_code


async def test_the_first_start_creates_the_assistant_with_the_starter_model(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        assistant, lead = await atelier.agents.list()
        assert (assistant.name, assistant.config.provider, assistant.config.model) == ("Assistant", "local", STARTER)
        basics, files, reach = assistant.config.tools[:5], assistant.config.tools[5:-6], assistant.config.tools[-6:]
        assert basics == ("TodoTool", "MemoryTool", "CalculatorTool", "UserQuestionTool", "ReportTool")
        hands = ("file_ops", "shell_ops", "context_ops", "rag_ops")
        assert list(files) == [
            tool.name for section in hands for tool in atelier.registry.get_tools_by_section(section)
        ]
        assert len(files) == 31
        assert reach == (
            "search_web",
            "fetch_web_page",
            "read_image",
            "list_images",
            "describe_image",
            "render_3d_asset",
        )
        assert all(atelier.registry.has(name) for name in reach)
        assert (lead.name, lead.config.provider, lead.config.model, lead.config.tool_mode) == (
            "Team lead",
            "local",
            STARTER,
            ToolMode.DIRECT,
        )
        planning = ("SpawnAgentTool", "DelegateTaskTool", "ParallelTasksTool", "list_tool_sections", "plan_actions")
        assert lead.config.tools == (*assistant.config.tools[:-6], *planning, *reach)
        assert assistant.created_at < lead.created_at
        assert await atelier.agents.default() == assistant
    async with open_atelier() as atelier:
        assert [agent.id for agent in await atelier.agents.list()] == [assistant.id, lead.id]


async def test_an_exported_agent_file_can_be_imported_unchanged(atelier: Atelier) -> None:
    agent = await import_agent(atelier.agents, json.dumps(FILE))
    assert json.loads(await atelier.agents.export_json(agent.id)) == FILE


@pytest.mark.parametrize(("rule", "names"), [("skip", 3), ("overwrite", 3), ("rename", 4)])
async def test_an_existing_name_is_refused(rule: str, names: int, atelier: Atelier) -> None:
    first = await import_agent(atelier.agents, json.dumps(FILE))
    second = await import_agent(atelier.agents, json.dumps({**FILE, "temperature": 1.0}), rule)
    assert len(await atelier.agents.list()) == names
    assert (second.id == first.id) is (rule != "rename")
    assert (await atelier.agents.get(first.id)).config.temperature == (1.0 if rule == "overwrite" else 0.2)
    assert second.name == ("Researcher (2)" if rule == "rename" else "Researcher")
    with pytest.raises(ConflictError):
        await atelier.agents.save(AgentConfig.model_validate(FILE))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": 1}, "max_tokens"),
        ({"name": ""}, "name"),
        ({"name": "x" * 65}, "65 characters"),
        ({"colour": "red"}, "colour"),
        ({"tools": ["NoSuchTool"]}, "NoSuchTool"),
        ({"tool_mode": "magic"}, "tool_mode"),
        ({"budget": {"max_cost": -1}}, "budget.max_cost"),
    ],
)
async def test_a_bad_file_names_the_field(change: dict[str, object], told: str, atelier: Atelier) -> None:
    with pytest.raises(UsageError, match=told):
        await import_agent(atelier.agents, json.dumps({**FILE, **change}))
    assert len(await atelier.agents.list()) == 2


async def test_too_large_files_and_invalid_json_are_refused(atelier: Atelier) -> None:
    with pytest.raises(LimitError):
        await import_agent(atelier.agents, "{" + " " * limits.IMPORT_FILE)
    for text in ("", "[]", "{"):
        with pytest.raises(UsageError):
            await import_agent(atelier.agents, text)


async def test_the_last_agent_cannot_be_deleted_and_a_deleted_one_is_not_the_default(atelier: Atelier) -> None:
    assistant, lead = await atelier.agents.list()
    await atelier.agents.delete(lead.id)
    with pytest.raises(UsageError, match="last agent"):
        await atelier.agents.delete(assistant.id)
    other = await atelier.agents.duplicate(assistant.id)
    assert other.name == "Assistant (2)"
    await atelier.settings.update(default_agent_id=other.id)
    assert (await atelier.agents.default()).id == other.id
    await atelier.agents.delete(other.id)
    assert (await atelier.settings.get()).default_agent_id == ""
    assert (await atelier.agents.default()).id == assistant.id
    with pytest.raises(NotFoundError):
        await atelier.agents.delete(other.id)
    with pytest.raises(NotFoundError, match="Assistant"):
        await atelier.agents.by_name("Nobody")


async def test_the_builtin_agent_uses_the_language_of_the_window(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(i18n, "system_language", lambda: "fr")
    async with open_atelier() as atelier:
        assert i18n.language() == "fr"
        found = await atelier.agents.list()
        assert {one.name for one in found} == {i18n._("Assistant"), i18n._("Team lead")}
        assert (await atelier.agents.default()).name == i18n._("Assistant")


async def totals(atelier: Atelier, config: AgentConfig) -> dict[ToolMode, int]:
    return {mode: cost.total for mode, cost in (await atelier.agents.prompt_cost(config)).items()}


async def test_the_prompt_costs_least_where_fewest_definitions_are_sent(atelier: Atelier) -> None:
    lead = await atelier.agents.by_name("Team lead")
    small = lead.config.model_copy(update={"provider": "gone", "model": "gpt-4"})
    cost = await totals(atelier, small)
    assert set(cost) == set(ToolMode)
    assert 0 < cost[ToolMode.DIRECT] < 2_000, "where there is no room to list them, tools are searched for"
    whole = (await atelier.agents.prompt_cost(small))[ToolMode.DIRECT]
    assert whole.searched > 30
    assert whole.listed > 10_000 > whole.total
    config = small.model_copy(update={"model": "gpt-4o"})
    cost = await totals(atelier, config)
    assert 0 < cost[ToolMode.SECTIONS] < cost[ToolMode.DIRECT] / 2
    bare = await totals(atelier, config.model_copy(update={"tools": ()}))
    assert bare[ToolMode.DIRECT] < 600
    assert bare[ToolMode.DIRECT] < cost[ToolMode.DIRECT]
    # Some by their section, the others by name.
    sections = {name: tool.section for name in config.tools if (tool := atelier.registry.get_tool(name)) is not None}
    reach = tuple(name for name, section in sections.items() if section not in ("core_ops", "planning_ops"))
    by_section = config.model_copy(update={"tools": reach, "sections": ("core_ops", "planning_ops", "gone_ops")})
    assert await totals(atelier, by_section) == cost


@pytest.mark.parametrize(("known", "window"), [("unheard of", DEFAULT_WINDOW), ("gpt-4o", 128_000)])
async def test_with_a_folder_the_form_shows_what_is_sent(
    open_atelier: Opener, tmp_path: Path, known: str, window: int
) -> None:
    model = ScriptedModel(["hi"] * 3)
    folder = tmp_path / "work"
    folder.mkdir()
    async with open_atelier(model) as atelier:
        lead = await atelier.agents.by_name("Team lead")
        config = lead.config.model_copy(update={"provider": "gone", "model": known})
        atelier.environment.gateway = FactoryGateway(lambda agent: model, window=window)
        cost = await totals(atelier, config)
        for mode in ToolMode:
            changed = config.model_copy(update={"name": mode.value, "tool_mode": mode})
            workflow = await atelier.workflows.create(workspace=(str(folder),))
            async for _event in atelier.run("x", agent=changed, workflow_id=workflow.id):
                pass
            sent = model.requests[-1]
            bare = sent.model_copy(update={"messages": sent.messages[:1]})
            assert cost[mode] == estimate_request(bare)


async def test_project_tools_are_offered_once_there_is_a_project(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        lookup = [tool.name for tool in atelier.registry.get_tools_by_section("rag_ops")]
        tools = (await atelier.agents.default()).config.tools
        assert len(lookup) == 5
        assert set(lookup) <= set(tools)
        assert not set(lookup) & set(atelier.registry.configured(tools, ()))
        refused = atelier.registry.refusal("semantic_search", [])
        assert refused is not None
        assert (refused.data["code"], "atelier projects create" in refused.data["error"]) == ("not_configured", True)
        project = await atelier.projects.create("notes")
        assert set(lookup) <= set(atelier.registry.configured(tools, ()))
    async with open_atelier() as atelier:
        assert set(lookup) <= set(atelier.registry.configured(tools, ())), "known again at the start"
        await atelier.projects.delete(project.id)
        assert not set(lookup) & set(atelier.registry.configured(tools, ()))


@pytest.mark.parametrize("sections", [("nope_ops",), ("file_ops", "File_ops"), ("core_ops", "")])
async def test_unknown_sections_are_refused_with_the_known_ones(sections: tuple[str, ...], atelier: Atelier) -> None:
    lead = await atelier.agents.by_name("Team lead")
    config = lead.config.model_copy(update={"name": "New", "sections": sections})
    as_file = json.dumps(config.model_dump(mode="json"))
    for refused in (
        atelier.agents.save(config),
        atelier.agents.save(config.model_copy(update={"name": lead.config.name}), lead.id),
        import_agent(atelier.agents, as_file),
        atelier.ask("x", agent=config),
    ):
        with raises_code(UsageError, "unknown_section", match="Unknown tool section") as error:
            await refused
        assert "core_ops, planning_ops, file_ops" in str(error.value)


async def test_a_section_that_no_longer_exists_does_not_block_changes(atelier: Atelier) -> None:
    lead = await atelier.agents.by_name("Team lead")
    config = lead.config.model_copy(update={"name": "New", "sections": ("core_ops", "mcp:away")})
    made = await atelier.agents.save(config)
    gone = made.config.model_copy(update={"sections": ("gone_ops",)})
    await atelier.agents._context.repos.agents.save(made.model_copy(update={"config": gone}))
    changed = await atelier.agents.save(gone.model_copy(update={"name": "Newer"}), made.id)
    assert changed.config.sections == ("gone_ops",)
    assert (await atelier.find_agent(changed.config.model_copy(update={"max_tokens": 2_000})))[0] is not None
