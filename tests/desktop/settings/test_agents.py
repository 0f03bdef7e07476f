"""The agents page and its form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QPushButton

from atelier_desk.desktop.settings.agent_form import AgentForm
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.expand_button import Fold
from atelier_desk.domain import limits
from atelier_desk.domain.agent import Agent, AgentConfig, ApprovalMode, Budget, Effort, ToolDialect, ToolMode
from atelier_desk.domain.errors import ConflictError, UsageError
from atelier_desk.engine.importing.agent_files import ForeignAgent
from atelier_desk.engine.services.request.prompt_size import PromptCost
from atelier_desk.support.i18n import spoken
from tests.desktop.settings.conftest import Engine, announced
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle

Find = Callable[[str], Any]


@pytest.fixture
async def page(window: SettingsWindow) -> Any:
    window.show_page("agents")
    await settle()
    shown: Any = window.page("agents")
    open_everything(shown)
    return shown


def open_everything(page: Any) -> None:
    for fold in page.findChildren(Fold):
        fold.setChecked(True)
    assert child(page, QPushButton, "agent-advanced").isChecked()


async def test_the_form_shows_the_chosen_agent_and_its_tools(page: Any, find: Find) -> None:
    assert find("agent-form").isVisible()
    assert find("agent-name").text() == "Assistant"
    assert find("tool-enabled-TodoTool").isChecked()
    assert not find("tool-enabled-CalculatorTool").isChecked()
    for name in ("MemoryTool", "UserQuestionTool", "ReportTool"):
        assert find(f"tool-enabled-{name}").accessibleDescription()
    assert find("agent-control-note").text().startswith("In addition to these tools, every agent can ask you questions")
    assert not find("agent-save").isEnabled()
    page.list.setCurrentRow(1)
    await settle()
    assert find("agent-name").text() == "Researcher"
    offered = [find("agent-model").itemText(row) for row in range(find("agent-model").count())]
    assert offered == ["qwen3:4b"]


async def test_a_change_of_any_field_is_saved(page: Any, find: Find, atelier: Engine) -> None:
    find("tool-enabled-CalculatorTool").click()
    find("agent-tool-mode").setCurrentIndex(find("agent-tool-mode").findData(ToolMode.INVOKE))
    find("agent-max-cost").setValue(1.5)
    find("agent-temperature").setValue(0.2)
    assert find("agent-save").isEnabled()
    find("agent-save").click()
    await settle()
    config, agent_id = atelier.calls("agents.save")[0][0]
    assert agent_id == "a1"
    assert set(config.tools) == {"TodoTool", "CalculatorTool", "mcp__x__y"}
    assert (config.tool_mode, config.budget, config.temperature) == (ToolMode.INVOKE, Budget(max_cost=1.5), 0.2)


async def test_a_temperature_can_be_left_to_the_model(page: Any, find: Find, atelier: Engine) -> None:
    field = find("agent-temperature")
    assert field.text() == "model default"
    field.setValue(0.0)
    find("agent-save").click()
    await settle()
    assert atelier.calls("agents.save")[-1][0][0].temperature == 0.0
    field.setValue(field.minimum())
    assert child(page, AgentForm).values()["temperature"] is None


async def test_thinking_effort_is_chosen_and_reset(page: Any, find: Find, atelier: Engine) -> None:
    box = find("agent-effort")
    assert [box.itemText(row) for row in range(box.count())] == ["Server default", "Low", "Medium", "High"]
    assert box.currentIndex() == 0
    box.setCurrentIndex(1)
    assert page.form.values()["effort"] == Effort.LOW
    box.setCurrentIndex(0)
    assert page.form.values()["effort"] is None
    box.setCurrentIndex(3)
    find("agent-save").click()
    await settle()
    config, _agent = atelier.calls("agents.save")[-1][0]
    assert config.effort is Effort.HIGH


async def test_the_tool_call_format_is_chosen_and_reset(page: Any, find: Find, atelier: Engine) -> None:
    box = find("agent-tool-dialect")
    assert box.accessibleName() == "Tool-call format"
    offered = ["Automatic", "Native function calling", "As text (XML)", "Guided (very small models)"]
    assert [box.itemText(row) for row in range(box.count())] == offered
    assert box.currentText() == "Automatic"
    box.setCurrentIndex(box.findText("As text (XML)"))
    switch_language("fr")
    assert box.currentText() == "En texte (XML)"  # what is chosen stays
    find("agent-save").click()
    await settle()
    assert atelier.calls("agents.save")[-1][0][0].tool_dialect is ToolDialect.XML
    box.setCurrentIndex(box.findText("Automatique"))
    assert page.form.values()["tool_dialect"] == ToolDialect.AUTO


async def test_it_offers_approval_sections_and_the_planning_tools(page: Any, find: Find, atelier: Engine) -> None:
    find("agent-approval").setCurrentIndex(find("agent-approval").findData(ApprovalMode.MANUAL))
    find("agent-tool-mode").setCurrentIndex(find("agent-tool-mode").findData(ToolMode.SECTIONS))
    find("tool-enabled-SpawnAgentTool").click()
    assert find("tool-enabled-plan_actions").accessibleDescription()
    find("agent-max-tokens").setValue(2000)
    find("agent-max-total").setValue(9000)
    find("agent-max-tool-calls").setValue(7)
    find("agent-max-seconds").setValue(90)
    find("agent-save").click()
    await settle()
    config = atelier.calls("agents.save")[0][0][0]
    assert (config.approval, config.tool_mode) == (ApprovalMode.MANUAL, ToolMode.SECTIONS)
    assert "SpawnAgentTool" in config.tools
    assert config.budget == Budget(max_tokens=9000, max_tool_calls=7, max_seconds=90)


async def test_the_cost_of_each_tool_mode_is_beside_the_choice(page: Any, find: Find, atelier: Engine) -> None:
    tokens = {ToolMode.DIRECT: 2340, ToolMode.SECTIONS: 610, ToolMode.INVOKE: 2400}
    costs = {mode: PromptCost(100, each - 100, 9, listed=each) for mode, each in tokens.items()}
    atelier.set("agents", "prompt_cost", lambda _config: costs)
    note = find("agent-prompt-cost")
    find("tool-enabled-CalculatorTool").click()
    await page.jobs.settled()
    await settle()
    assert note.text() == "All at once: 2,340 tokens\nBy section: 610 tokens, 74% less\nAs a list: 2,400 tokens"
    measured = atelier.calls("agents.prompt_cost")[-1][0][0]
    assert "CalculatorTool" in measured.tools
    before = len(atelier.calls("agents.prompt_cost"))
    find("agent-name").clear()
    await page.jobs.settled()
    await settle()
    assert len(atelier.calls("agents.prompt_cost")) == before + 1
    assert find("agent-error-name").isHidden()


async def test_a_token_figure_names_tools_omitted_for_search(page: Any, find: Find, atelier: Engine) -> None:
    costs = {
        ToolMode.DIRECT: PromptCost(100, 523, 9, searched=57, listed=21_076),
        ToolMode.SECTIONS: PromptCost(100, 1_400, 11, listed=1_500),
        ToolMode.INVOKE: PromptCost(500, 100, 9, searched=1, listed=700),
    }
    atelier.set("agents", "prompt_cost", lambda _config: costs)
    find("tool-enabled-CalculatorTool").click()
    await page.jobs.settled()
    await settle()
    note = find("agent-prompt-cost")
    assert note.text().split("\n") == [
        "All at once: 623 tokens (57 tools are found by search when needed; listing them all would take 21,076 tokens)",
        "By section: 1,500 tokens",
        "As a list: 600 tokens, 4% less (1 tool is found by search when needed; listing it would take 700 tokens)",
    ]
    assert "with a workspace folder" in note.toolTip()
    with spoken("fr"):
        bind_text(note)
        assert " ".join(note.text().split("\n")[0].split()) == (
            "Tous à la fois : 623 jetons "
            "(57 outils sont recherchés au besoin ; les inclure tous d’office prendrait 21 076 jetons)"
        )
        assert "dossier de travail" in note.toolTip()


async def test_values_of_a_file_that_the_form_does_not_offer_are_preserved(page: Any) -> None:
    base = AgentConfig(
        name="A",
        provider="p",
        model="m",
        tool_mode=ToolMode.SECTIONS,
        approval=ApprovalMode.MANUAL,
        mcp_servers=("files",),
    )
    page.form.show_values(base)
    assert not page.form.edited()
    assert page.form.checked() == base


async def test_errors_are_shown_under_their_fields(page: Any, find: Find, atelier: Engine) -> None:
    find("agent-name").setText("   ")
    find("agent-system-prompt").setPlainText("x" * (limits.SYSTEM_PROMPT + 1))
    find("agent-save").click()
    await settle()
    assert atelier.calls("agents.save") == []
    assert find("agent-error-name").text() == "must not be blank"
    assert find("agent-error-system-prompt").text() == "is too long: 100,001 characters; the maximum is 100,000"
    assert page.busy.isVisible()
    find("agent-name").setText("Researcher")
    find("agent-system-prompt").setPlainText("Be brief.")
    atelier.set("agents", "save", ConflictError("An agent named {name} already exists.", name="Researcher"))
    find("agent-save").click()
    await settle()
    assert not find("agent-error-name").isVisible()
    assert page.busy.text.text() == "An agent named Researcher already exists."
    assert find("agent-name").text() == "Researcher"


async def test_a_new_agent_starts_as_a_copy_of_the_selected_one(page: Any, find: Find, atelier: Engine) -> None:
    find("agent-new").click()
    assert find("agent-name").text() == ""
    assert find("tool-enabled-TodoTool").isChecked()
    find("agent-name").setText("Écrivaine")
    find("agent-save").click()
    await settle()
    config, agent_id = atelier.calls("agents.save")[0][0]
    assert (config.name, agent_id) == ("Écrivaine", None)


async def test_revert_restores_the_stored_values(page: Any, find: Find) -> None:
    find("agent-name").setText("Something else")
    find("agent-revert").click()
    assert find("agent-name").text() == "Assistant"
    assert not find("agent-save").isEnabled()


async def test_an_edit_survives_a_change_elsewhere(page: Any, find: Find, bridge: Any) -> None:
    find("agent-name").setText("Half a na")
    bridge.changed.emit("agent", "a2")
    await settle()
    assert find("agent-name").text() == "Half a na"


async def test_duplicate_default_delete_and_undo(
    page: Any, find: Find, atelier: Engine, window: SettingsWindow
) -> None:
    copy = Agent(id="a3", config=AgentConfig(name="Assistant 2", provider="local", model="starter"))
    atelier.set("agents", "duplicate", copy)
    page.list.setCurrentRow(1)
    await settle()
    find("agent-default").click()
    await settle()
    assert atelier.stored.default_agent_id == "a2"
    before = list(page.things)
    atelier.set("agents", "list", [*before, copy])
    find("agent-duplicate").click()
    await settle()
    assert atelier.calls("agents.duplicate") == [(("a2",), {})]
    assert find("agent-name").text() == "Assistant 2"
    page.list.setCurrentRow(1)
    await settle()
    find("agent-delete").click()
    await settle()
    assert atelier.calls("agents.delete") == [(("a2",), {})]
    child(window, QPushButton, "toast-action").click()
    await settle()
    assert atelier.calls("agents.save")[-1][0][0].name == "Researcher"


async def test_import_and_export_of_agent_files(
    page: Any, atelier: Engine, window: SettingsWindow, tmp_path: Path
) -> None:
    atelier.set("agents", "export_json", '{"name": "Assistant"}')
    page.export_to(tmp_path / "a.json")
    while page.jobs._tasks:
        await page.jobs.settled()
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{"name": "Assistant"}'
    imported = AgentConfig(name="Imported", provider="local", model="m")
    atelier.set("agents", "read_file", ForeignAgent(imported))
    atelier.set("agents", "import_config", Agent(id="a1", config=imported))
    page.import_from(tmp_path / "a.json")
    await page.jobs.settled()
    assert atelier.calls("agents.read_file") == [(('{"name": "Assistant"}', "a.json"), {})]
    assert atelier.calls("agents.import_config") == [((imported,), {})]
    page.import_from(tmp_path / "none.json")
    await page.jobs.settled()
    assert "cannot be read" in announced(window)


async def test_another_order_of_tools_is_no_change(page: Any, find: Find, atelier: Engine, tmp_path: Path) -> None:
    config = AgentConfig(
        name="Tester", provider="local", model="m", tools=("mcp__x__y", "run_command", "read_file", "edit_file")
    )
    atelier.set("agents", "read_file", ForeignAgent(config))
    atelier.set("agents", "import_config", Agent(id="a9", config=config))
    atelier.set("agents", "list", [Agent(id="a9", config=config)])
    (tmp_path / "tester.md").write_text("---\nname: Tester\n---\nx")
    page.import_from(tmp_path / "tester.md")
    while page.jobs._tasks:
        await page.jobs.settled()
    assert find("agent-name").text() == "Tester"
    assert page.form_card.heading.text() == "Tester"
    assert not find("agent-save").isEnabled()
    assert page.form.tools.enabled() == config.tools


async def test_losses_of_an_import_are_shown_before_it_is_stored(
    page: Any, find: Find, atelier: Engine, tmp_path: Path
) -> None:
    config = AgentConfig(name="Reviewer", provider="local", model="m", tools=("read_file",))
    note = UsageError("No tool here corresponds to: {names}", names="NotebookRead")
    atelier.set("agents", "read_file", ForeignAgent(config, (note,)))
    atelier.set("agents", "import_config", Agent(id="a1", config=config))
    (tmp_path / "reviewer.md").write_text("---\nname: Reviewer\n---\nx")
    page.import_from(tmp_path / "reviewer.md")
    await page.jobs.settled()
    assert "NotebookRead" in page.question.informativeText()
    assert "read_file" in page.question.informativeText()
    assert atelier.calls("agents.import_config") == []
    page.question.reject()
    await page.jobs.settled()
    assert atelier.calls("agents.import_config") == []
    page.import_from(tmp_path / "reviewer.md")
    await page.jobs.settled()
    next(each for each in page.question.buttons() if each.objectName() == "agent-import-yes").click()
    await page.jobs.settled()
    assert atelier.calls("agents.import_config") == [((config,), {})]


async def test_changes_are_saved_or_cancelled_before_another_agent_is_shown(
    page: Any, find: Find, atelier: Engine
) -> None:
    find("agent-temperature").setValue(0.3)
    page.list.setCurrentRow(1)
    await settle()
    assert (find("agent-name").text(), page.list.currentRow()) == ("Assistant", 0)
    assert page.busy.text.text() == "Save your changes or cancel them first."
    find("agent-new").click()
    find("agent-duplicate").click()
    await settle()
    assert find("agent-name").text() == "Assistant"
    assert atelier.calls("agents.duplicate") == []
    find("agent-revert").click()
    await settle()
    page.list.setCurrentRow(1)
    await settle()
    assert find("agent-name").text() == "Researcher"
    assert atelier.calls("agents.save") == []


async def test_save_and_cancel_are_visible_at_any_scroll_position(page: Any, find: Find) -> None:
    assert page.area.verticalScrollBar().maximum() > 300
    for value in (0, page.area.verticalScrollBar().maximum()):
        page.area.verticalScrollBar().setValue(value)
        for name in ("agent-revert", "agent-save"):
            button = find(name)
            assert button.isVisible(), name
            assert page.rect().contains(button.mapTo(page, button.rect().bottomRight())), name


SCHEMA = '{"type": "object", "properties": {"why": {"type": "string"}, "total": {"type": "integer"}}}'


async def test_the_answer_schema_is_stored_shown_and_removed(page: Any, find: Find, atelier: Engine) -> None:
    assert find("agent-answer-schema").toPlainText() == ""
    find("agent-answer-schema").setPlainText(SCHEMA)
    assert find("agent-save").isEnabled()
    find("agent-save").click()
    await settle()
    config, _agent = atelier.calls("agents.save")[-1][0]
    assert list(config.answer_schema["properties"]) == ["why", "total"]
    page.form.show_values(config)
    assert '  "type": "object",' in find("agent-answer-schema").toPlainText().splitlines(), "one field a line"
    assert not page.form.edited()
    find("agent-answer-schema").clear()
    assert page.form.edited()
    made = page.form.checked()
    assert made is not None
    assert made.answer_schema is None


async def test_an_invalid_schema_is_reported_under_the_field_before_saving(
    page: Any, find: Find, atelier: Engine
) -> None:
    error, before = find("agent-error-answer-schema"), len(atelier.calls("agents.save"))
    find("agent-answer-schema").setPlainText('{"type": "object",')
    assert error.isVisible()
    assert "Line 1, column 19" in error.text()
    find("agent-answer-schema").setPlainText('{"type": "array"}')
    assert '"type": "object"' in error.text()
    find("agent-save").click()
    await settle()
    assert len(atelier.calls("agents.save")) == before
    assert error.isVisible()
    assert find("agent-answer-schema").toPlainText() == '{"type": "array"}', "what was written is not lost"
    find("agent-answer-schema").setPlainText(SCHEMA)
    assert error.isHidden()


async def test_another_provider_changes_the_model_or_clears_it(page: Any, find: Find) -> None:
    """A model of the previous provider would be refused by the new one at the first message."""
    form: AgentForm = page.form
    assert (form.provider.currentText(), form.model_box.currentText()) == ("local", "starter")
    form.provider.setCurrentText("Ollama")
    assert form.model_box.currentText() == "qwen3:4b"
    form.model_box.setCurrentText("my-own-model")
    form.set_models(["local", "Ollama", "Empty"], form._models)
    assert form.model_box.currentText() == "my-own-model", "no other provider was chosen"
    form.provider.setCurrentText("Empty")
    assert form.model_box.currentText() == ""


async def test_the_form_starts_with_the_main_fields_and_shows_others_on_demand(
    window: SettingsWindow, find: Find
) -> None:
    window.show_page("agents")
    await settle()
    for name in (
        "agent-name",
        "agent-purpose",
        "agent-model-picker",
        "agent-system-prompt",
        "tool-search",
        "tool-group-Files",
    ):
        assert find(name).isVisible(), name
    for name in (
        "agent-provider",
        "agent-model",
        "agent-temperature",
        "agent-tool-mode",
        "agent-max-cost",
        "agent-answer-schema",
    ):
        assert not find(name).isVisible(), name
    assert window.findChild(QCheckBox, "tool-enabled-read_file") is None, "its group was not opened"
    find("tool-group-open-Files").click()
    await settle()
    assert find("tool-enabled-read_file").isVisible()
    find("agent-advanced").click()
    assert find("agent-temperature").isVisible()


async def test_a_group_shows_none_some_or_all_checked_with_its_count(page: Any, find: Find, atelier: Engine) -> None:
    box, count = find("tool-group-Files"), find("tool-group-count-Files")
    total = len(atelier.registry.get_tools_by_section("file_ops"))
    states = [(box.checkState(), count.text())]
    find("tool-enabled-read_file").click()
    states.append((box.checkState(), count.text()))
    box.click()
    states.append((box.checkState(), count.text()))
    assert find("tool-enabled-delete_path").isChecked()
    box.click()
    states.append((box.checkState(), count.text()))
    none, part, checked = Qt.CheckState.Unchecked, Qt.CheckState.PartiallyChecked, Qt.CheckState.Checked
    assert states == [
        (none, f"0 of {total}"),
        (part, f"1 of {total}"),
        (checked, f"{total} of {total}"),
        (none, f"0 of {total}"),
    ]
    assert page.form.tools.enabled() == ("TodoTool", "mcp__x__y")
    assert not find("agent-save").isEnabled(), "it is as it was"
    box.click()
    find("agent-save").click()
    await settle()
    assert len(atelier.calls("agents.save")[-1][0][0].tools) == total + 2


async def test_the_tokens_of_the_chosen_tools_are_those_of_the_mode_they_are_sent_in(
    page: Any, find: Find, atelier: Engine
) -> None:
    direct = PromptCost(100, 2_000, 9, listed=2_100, by_tool={"read_file": 700, "write_file": 600, "TodoTool": 300})
    listed = PromptCost(100, 450, 5, listed=550)
    atelier.set("agents", "prompt_cost", lambda _config: {ToolMode.DIRECT: direct, ToolMode.INVOKE: listed})
    find("tool-enabled-read_file").click()
    find("tool-enabled-write_file").click()
    await page.jobs.settled()
    await settle()
    assert find("tool-group-count-Files").text().endswith(" · 1.3\u202fk tokens")
    assert find("tool-total").text() == "4 tools · 2,000 tokens with every request"
    find("agent-tool-mode").setCurrentIndex(find("agent-tool-mode").findData(ToolMode.INVOKE))
    await page.jobs.settled()
    await settle()
    assert find("tool-total").text() == "4 tools · 450 tokens with every request"
    assert "tokens" not in find("tool-group-count-Files").text()


async def test_tools_are_searched_by_name_and_description(window: SettingsWindow, find: Find) -> None:
    window.show_page("agents")
    await settle()
    find("tool-search").setText("delete")
    shown = {each.objectName() for each in window.findChildren(QCheckBox) if each.isVisible()}
    assert "tool-enabled-delete_path" in shown
    assert not {"tool-group-Web", "tool-enabled-read_file"} & shown
    find("tool-search").setText("nothing has this")
    assert not {each.objectName() for each in window.findChildren(QCheckBox) if each.isVisible()}
    find("tool-search").clear()
    assert find("tool-group-Web").isVisible()
    assert not find("tool-enabled-delete_path").isVisible(), "its group was not opened"


async def test_the_model_is_picked_from_the_same_menu_as_in_the_header(page: Any, find: Find, atelier: Engine) -> None:
    picker = find("agent-model-picker")
    assert (picker.key, picker.full_text) == ("local/starter", "starter")
    assert [each.key for each in picker.choices] == ["local/starter", "Ollama/qwen3:4b"]
    assert picker.choices[1].detail == "41.0\u202fk tokens"
    picker.chosen.emit("Ollama/qwen3:4b")
    assert picker.full_text == "qwen3:4b"
    find("agent-save").click()
    await settle()
    config = atelier.calls("agents.save")[-1][0][0]
    assert (config.provider, config.model) == ("Ollama", "qwen3:4b")


async def test_a_missing_model_is_asked_for_at_a_visible_field(page: Any, find: Find, atelier: Engine) -> None:
    find("agent-advanced").click()
    find("agent-model").setCurrentText("")
    assert find("agent-model-picker").full_text == "Choose a model"
    find("agent-save").click()
    await settle()
    assert atelier.calls("agents.save") == []
    assert find("agent-error-model").isVisible()
    find("agent-answer-schema").setPlainText("{")
    find("agent-save").click()
    await settle()
    assert find("agent-answer-schema").isVisible(), "Advanced is opened for what is wrong in it"


async def test_a_ready_made_agent_fills_the_form_and_is_stored_only_on_save(
    page: Any, find: Find, atelier: Engine
) -> None:
    ready = AgentConfig(
        name="Researcher", purpose="Finds sources", provider="local", model="starter", tools=("read_file",)
    )
    atelier.set("agents", "ready", ready)
    find("agent-gallery").click()
    assert len(page.gallery._choices) >= 14
    page.gallery.chosen.emit("researcher")
    page.gallery.hide()
    await settle()
    assert atelier.calls("agents.ready") == [(("researcher",), {})]
    assert (find("agent-name").text(), find("agent-purpose").text()) == ("Researcher (2)", "Finds sources")
    assert page.form.tools.enabled() == ("read_file",)
    assert atelier.calls("agents.save") == []
    find("agent-revert").click()
    assert find("agent-name").text() == "Assistant", "Cancel reverts it"
    page.open_gallery()
    page.gallery.chosen.emit("researcher")
    page.gallery.hide()
    await settle()
    find("agent-save").click()
    await settle()
    config, agent_id = atelier.calls("agents.save")[-1][0]
    assert (config.name, config.purpose, agent_id) == ("Researcher (2)", "Finds sources", None)
