"""The gallery: every agent works at once, in both languages, with existing tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.events.run import ToolCallFinished
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.agent_gallery import READY, builtin_agents, current_name
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.support import i18n
from atelier_desk.tools.base import Effect
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.sections import CORE
from tests.engine.conftest import Opener
from tests.engine.run.request.small_context_models import on_window
from tests.helpers.tool_calls import tool_call

LIST: tuple[str, dict[str, Any]] = ("list_directory", {"path": "."})
READ: tuple[str, dict[str, Any]] = ("read_file", {"path": "note.md"})
SUM: tuple[str, dict[str, Any]] = ("CalculatorTool", {"operation": "eval", "expression": "6 * 7"})
RUN: tuple[str, dict[str, Any]] = ("run_command", {"command": "echo ran", "modifies_files": False})
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "assistant": SUM,
    "team-lead": ("list_tool_sections", {}),
    "researcher": READ,
    "fact-checker": READ,
    "writer": ("write_file", {"path": "letter.md", "content": "Dear all,\n"}),
    "proofreader": ("edit_file", {"path": "note.md", "old_string": "teh", "new_string": "the"}),
    "translator": ("write_file", {"path": "note.fr.md", "content": "Bonjour\n"}),
    "summarizer": READ,
    "data-analyst": RUN,
    "planner": LIST,
    "developer": RUN,
    "reviewer": ("search_files", {"pattern": "teh"}),
    "test-fixer": RUN,
    "code-guide": ("glob_files", {"pattern": "*.md"}),
    "file-organizer": ("move_file", {"source": "note.md", "destination": "notes.md"}),
    "minutes": ("write_file", {"path": "minutes.md", "content": "# Minutes\n"}),
    "tutor": SUM,
}
"""The calls of each agent in the test."""
NO_SKILLS = {"activate_skill"}
"""Offered where there is a skill."""
READERS = {"researcher", "fact-checker", "summarizer", "planner", "reviewer", "code-guide", "tutor"}
"""Read-only agents: none of their tools changes a file or runs a command."""


def test_there_are_more_than_twelve_distinct_agents() -> None:
    assert len(READY) >= 14
    assert len({each.key for each in READY}) == len({each.name for each in READY}) == len(READY) == len(CALLS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", each.key) for each in READY)


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_names_purposes_and_instructions_are_in_every_language(language: str) -> None:
    registry = create_default_tool_registry()
    with i18n.spoken(language):
        configs = [each.config(registry, "p", "m") for each in READY]
    for ready, config in zip(READY, configs, strict=True):
        assert 0 < len(config.purpose) <= limits.AGENT_PURPOSE // 2, "it stands on a card"
        assert not config.purpose.endswith(".")
        assert (config.system_prompt == ready.instructions) is (language == "en"), ready.key
    assert len({each.name for each in configs}) == len(READY)


def test_the_first_two_are_those_of_a_fresh_installation() -> None:
    names = [each.name for each in builtin_agents(create_default_tool_registry())]
    assert names == [each.name for each in READY[:2]] == ["Assistant", "Team lead"]


@pytest.mark.parametrize("key", sorted(READERS))
def test_read_only_agents_cannot_change_anything(key: str) -> None:
    registry = create_default_tool_registry()
    [ready] = [each for each in READY if each.key == key]
    tools = [registry.get_tool(name) for name in ready.config(registry, "p", "m").tools]
    changing = {
        each.name
        for each in tools
        if each is not None and each.section != CORE and each.effect in (Effect.WRITE, Effect.EXECUTE)
    }
    assert changing <= {"render_3d_asset"}


@pytest.mark.parametrize("key", list(CALLS))
async def test_each_works_at_once_with_its_tools(open_atelier: Opener, tmp_path: Path, key: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.md").write_text("teh note\n")
    name, arguments = CALLS[key]
    model = ScriptedModel([[tool_call(name, **arguments)], "Done."])
    async with open_atelier(model) as atelier:
        on_window(atelier, model, 200_000)
        config = await atelier.agents.ready(key)
        assert len(config.tools) == len(set(config.tools)) > 4
        agent = await atelier.agents.import_config(config)
        assert agent.config.tools == config.tools
        workflow = await atelier.workflows.create(workspace=(str(folder),))
        run_id = await atelier.runs.send(
            workflow.id, "Go", agent=agent.config.model_copy(update={"approval": ApprovalMode.AUTO})
        )
        ended = await atelier.runs.wait(run_id)
        assert ended.status.value == "completed"
        offered = {each.name for each in model.requests[0].tools}
        tools = {each: atelier.registry.get_tool(each) for each in config.tools}
        assert None not in tools.values(), "all of them exist"
        assert {
            each for each, tool in tools.items() if tool is not None and not tool.missing_setup()
        } - offered <= NO_SKILLS
        assert model.requests[0].messages[0].content.startswith(config.system_prompt)
        events = await atelier.repos.journal.events(run_id)
        [result] = [event.body.result for event in events if isinstance(event.body, ToolCallFinished)]
        assert result["success"] is True, result
    model.assert_complete()


async def test_a_copy_has_the_default_model_and_a_unique_name(atelier: Atelier) -> None:
    default = (await atelier.agents.default()).config
    config = await atelier.agents.ready("writer")
    assert (config.provider, config.model) == (default.provider, default.model)
    first, second = [await atelier.agents.import_config(config) for _number in range(2)]
    assert (first.name, second.name) == ("Writer", "Writer (2)")
    with pytest.raises(NotFoundError, match="test-fixer"):
        await atelier.agents.ready("poet")


async def test_built_in_agents_follow_the_language(atelier: Atelier) -> None:
    """They kept the first language, and were offered once more in the chosen one."""
    await atelier.settings.update(language="en")
    assistant, lead = sorted(await atelier.agents.ensure_builtin(), key=lambda each: each.created_at)
    await atelier.agents.save(lead.config.model_copy(update={"purpose": "Leads my team"}), lead.id)
    with i18n.spoken("en"):  # as a command of another process, which answers in the language before
        await atelier.settings.update(language="fr")
    now = {each.id: each.config for each in await atelier.agents.list()}
    assert now[assistant.id].purpose == "Questions et tâches de tous les jours"
    assert now[assistant.id].tools == assistant.config.tools
    assert (now[lead.id].name, now[lead.id].purpose) == ("Team lead", "Leads my team"), "somebody changed it"
    await atelier.settings.update(language="en")
    assert (await atelier.agents.get(assistant.id)).config == assistant.config


def test_a_built_in_agent_stored_in_another_language_has_its_present_name() -> None:
    names = ("Team lead", "Chef d’équipe", "Ada", "Reviewer")
    assert [current_name(each) for each in names] == ["Team lead", "Team lead", "Ada", "Reviewer"]
    i18n.set_language("fr")
    assert [current_name(each) for each in names] == ["Chef d’équipe", "Chef d’équipe", "Ada", "Reviewer"]
