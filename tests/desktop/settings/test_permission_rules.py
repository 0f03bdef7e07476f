"""The permissions page: rules are listed, filtered, added, edited and imported; the rule tester."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes import time_format
from atelier_desk.desktop.settings.rule_form_and_import import RuleForm, RuleImport
from atelier_desk.desktop.settings.rule_tester import call_of
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalSettings
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import ConflictError, UsageError
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope, Verdict
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.services.tools import ParameterInfo, ToolInfo, ToolService
from atelier_desk.policy.permissions import rule_import
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.desktop.settings.conftest import Engine
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle

Find = Callable[[str], Any]
OLD = PermissionRule(
    id="old", text="run_command(git log:*)", action=Action.ALLOW, created_at=datetime(2026, 1, 1, tzinfo=UTC)
)
NEW = PermissionRule(id="new", text="read_file(.env*)", action=Action.DENY, created_at=utc_now() - timedelta(days=2))
OF_AGENT = PermissionRule(
    id="agent", text="section:web_ops", action=Action.ASK, scope=RuleScope.AGENT, scope_id="a2",
    created_at=NEW.created_at,
    last_matched_at=utc_now() - timedelta(hours=3),
)  # fmt: skip


class RuleStore:
    """Stores rules like the service."""

    def __init__(self, atelier: Engine) -> None:
        self._atelier = atelier
        atelier.stored = Settings(approvals=ApprovalSettings(rules=(OLD, NEW, OF_AGENT)))
        for name in ("add", "change", "remove", "import_"):
            atelier.set("permissions", name, getattr(self, name))
        atelier.set("permissions", "missing", self.missing)
        atelier.set("permissions", "preview", lambda path: rule_import.read(path.read_text()))
        self.path: Path | None = None

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        return self._atelier.stored.approvals.rules

    def missing(self, text: str) -> str:
        if text == "red_file":
            raise UsageError("There is no tool {name}. Closest: {names}.", name=text, names="read_file")
        return "shelf" if text.startswith("mcp__shelf") else ""

    def _store(self, *rules: PermissionRule) -> None:
        self._atelier._update(approvals=self._atelier.stored.approvals.model_copy(update={"rules": rules}))

    def add(self, *rules: PermissionRule) -> tuple[PermissionRule, ...]:
        if any(rule.text == "taken" for rule in rules):
            raise ConflictError("There is a rule “taken” already.")
        self._store(*self.rules, *rules)
        return rules

    def change(self, rule_id: str, **fields: Any) -> None:
        self._store(*(rule.model_copy(update=fields) if rule.id == rule_id else rule for rule in self.rules))

    def remove(self, rule_id: str) -> None:
        self._store(*(rule for rule in self.rules if rule.id != rule_id))

    def import_(self, path: Path) -> tuple[PermissionRule, ...]:
        return self.add(*(rule for line in rule_import.read(path.read_text()) for rule in line.rules))


@pytest.fixture
async def rule_store(window: SettingsWindow, atelier: Engine) -> RuleStore:
    made = RuleStore(atelier)
    window.show_page("approvals")
    await settle()
    return made


def listed(find: Find) -> list[str]:
    rows = [button.objectName() for button in find("approval-rules").findChildren(QPushButton)]
    return [name.removeprefix("rule-remove-") for name in rows]


async def test_the_time_of_a_rules_last_use_is_updated(
    rule_store: RuleStore, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_format, "utc_now", lambda: utc_now() + timedelta(hours=2))
    row = find("rule-section:web_ops")
    child(row, MinuteClock).timeout.emit()
    assert row.accessibleName().endswith("used 5 hours ago")
    assert any(each.text().endswith("used 5 hours ago") for each in row.findChildren(QLabel))


async def test_rules_are_listed_by_last_use_with_action_and_scope_and_unneeded_ones_marked(
    rule_store: RuleStore, find: Find
) -> None:
    assert listed(find) == ["section:web_ops", "read_file(.env*)", "run_command(git log:*)"]
    assert (
        find("rule-section:web_ops").accessibleName()
        == "section:web_ops: Ask · For the agent Researcher · used 3 hours ago"
    )
    assert find("rule-read_file(.env*)").accessibleName() == "read_file(.env*): Deny · Everywhere · never used"
    assert find("rule-unused-run_command(git log:*)").isVisible()
    with pytest.raises(AssertionError):
        find("rule-unused-read_file(.env*)")
    find("rule-filter").setText("deny")
    assert listed(find) == ["read_file(.env*)"]
    find("rule-filter").setText("nothing like it")
    assert find("approval-rules-empty").text() == "No matching rules."


async def test_a_rule_is_added_with_examples_and_a_refused_one_stays_in_the_form(
    rule_store: RuleStore, find: Find, window: SettingsWindow
) -> None:
    find("rule-add").click()
    form: Any = window.findChild(RuleForm, "rule-form")
    form.text.setText("read_file(../x)")
    before = {name: find(name).height() for name in ("rule-text", "rule-action", "rule-scope", "rule-match")}
    high = form.height()
    find("form-submit").click()
    assert "which is not allowed" in find("form-error").text()
    await settle()
    assert form.height() > high, "it grows with its text"
    assert {name: find(name).height() for name in before} == before
    assert find("form-submit").geometry().bottom() < form.height()
    form.text.setText("red_file")
    find("form-submit").click()
    await settle()
    assert find("form-error").text() == "There is no tool red_file. Closest: read_file.", "as on the command line"
    form.text.setText("taken")
    find("form-submit").click()
    await settle()
    assert find("form-error").text() == "There is a rule “taken” already."
    form.text.setText("run_command(npm run test:*)")
    form.action.setCurrentIndex(form.action.findData(Action.ALLOW))
    form.scope.setCurrentIndex(2)
    form.match.setPlainText("npm run test\nnpm run test:unit")
    find("form-submit").click()
    await settle()
    rule = rule_store.rules[-1]
    assert (rule.text, rule.action, rule.scope, rule.scope_id) == (
        "run_command(npm run test:*)",
        Action.ALLOW,
        RuleScope.AGENT,
        "a2",
    )
    assert rule.match == ("npm run test", "npm run test:unit")
    assert rule.text in listed(find)


async def test_a_rule_is_changed_removed_and_restored_by_undo(
    rule_store: RuleStore, find: Find, window: SettingsWindow
) -> None:
    find("rule-edit-section:web_ops").click()
    form: Any = window.findChild(RuleForm, "rule-form")
    assert (form.text.text(), form.scope.currentText()) == ("section:web_ops", "For the agent Researcher")
    form.action.setCurrentIndex(form.action.findData(Action.DENY))
    find("form-submit").click()
    await settle()
    assert next(rule.action for rule in rule_store.rules if rule.id == "agent") is Action.DENY
    child(window, QPushButton, "toast-action").click()
    await settle()
    assert next(rule for rule in rule_store.rules if rule.id == "agent") == OF_AGENT, "the change is undone"
    find("rule-remove-read_file(.env*)").click()
    await settle()
    assert "read_file(.env*)" not in listed(find)
    child(window, QPushButton, "toast-action").click()
    await settle()
    assert "read_file(.env*)" in listed(find)


async def test_the_tester_shows_which_rule_or_profile_decides(
    rule_store: RuleStore, find: Find, atelier: Engine
) -> None:
    atelier.set(
        "permissions.trials",
        "test",
        Verdict(action=Action.ASK, reason="rule", rule="run_command(git push:*)", about="git push"),
    )
    find("rule-test-call").setText("run_command(git push)")
    find("rule-test-run").click()
    await settle()
    [(args, fields)] = atelier.calls("permissions.trials.test")
    assert args == ("run_command", {"command": "git push", "modifies_files": False})
    assert fields["mode"] is ApprovalMode.SELECTIVE
    assert find("rule-test-result").text() == "Ask: the rule “run_command(git push:*)” decides. (git push)"
    atelier.set("permissions.trials", "test", Verdict(action=Action.ALLOW, reason="mode"))
    find("rule-test-run").click()
    await settle()
    assert find("rule-test-result").text() == "Allow: no rule applies, so the profile “Ask” decides."
    atelier.set("permissions.trials", "test", Verdict(action=Action.ASK, reason="installs"))
    find("rule-test-run").click()
    await settle()
    assert find("rule-test-result").text() == "Ask: The call installs a package, whose scripts run on this computer."
    find("rule-test-call").setText("run_command(")
    find("rule-test-run").click()
    await settle()
    assert "parentheses" in find("rule-test-result").text()


async def test_another_programs_rules_are_shown_line_by_line_before_import(
    rule_store: RuleStore, find: Find, window: SettingsWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"permissions": {"allow": ["Bash(npm run lint)"], "deny": ["Read(./secret/**)", "Nonsense(x)"]}}')
    page: Any = window.page("approvals")
    before = rule_store.rules
    await page._preview(file)
    dialog: Any = window.findChild(RuleImport, "rule-import")
    assert find("import-line-1").text() == "Allow  run_command(npm run lint)"
    assert find("import-line-3").text()
    assert rule_store.rules == before
    child(dialog, QPushButton, "form-submit").click()
    await settle()
    assert "run_command(npm run lint)" in listed(find)
    child(window, QPushButton, "toast-action").click()
    await settle()
    assert rule_store.rules == before


def test_a_call_is_parsed_from_one_line() -> None:
    def needed(*names: str) -> tuple[ParameterInfo, ...]:
        return tuple(ParameterInfo(name, "string", True, "") for name in names)

    tools = [
        ToolInfo("read_file", "Files", "", "low", parameters=needed("path")),
        ToolInfo("write_file", "Files", "", "low", parameters=needed("path", "content")),
        ToolInfo("TodoTool", "Core", "", "low", parameters=needed("name")),
    ]
    assert call_of(" read_file(src/a.py) ", tools) == ("read_file", {"path": "src/a.py"})
    assert call_of("write_file(a.py)", tools) == ("write_file", {"path": "a.py", "content": ""})
    assert call_of('TodoTool({"name": "x"})', tools) == ("TodoTool", {"name": "x"})
    assert call_of("TodoTool", tools) == ("TodoTool", {})
    for wrong in ("", "read_file(a", 'read_file({"path": })', "TodoTool(x)"):
        with pytest.raises(UsageError):
            call_of(wrong, tools)


async def test_a_rule_of_a_folder_names_it_and_workspace_folders_are_offered(
    rule_store: RuleStore, find: Find, window: SettingsWindow, atelier: Engine
) -> None:
    missing = PermissionRule(
        id="f", text="run_command(make)", action=Action.ALLOW, scope=RuleScope.FOLDER, scope_id="/old/place"
    )
    rule_store._store(*rule_store.rules, missing)
    atelier.set("workflows", "list", [Workflow(id="w", name="W", workspace=("/home/ada/shelf", "/b"))])
    window.show_page("general")
    window.show_page("approvals")
    await settle()
    find("rule-edit-run_command(make)").click()
    form: Any = window.findChild(RuleForm, "rule-form")
    offered = [form.scope.itemText(row) for row in range(form.scope.count())]
    assert form.scope.currentText() == "In the folder /old/place"
    assert "In the folder /home/ada/shelf" in offered
    form.scope.setCurrentIndex(offered.index("In the folder /home/ada/shelf"))
    find("form-submit").click()
    await settle()
    assert next(rule.where for rule in rule_store.rules if rule.id == "f") == (RuleScope.FOLDER, "/home/ada/shelf")


async def test_a_rule_for_an_unknown_server_says_when_it_applies(
    rule_store: RuleStore, find: Find, window: SettingsWindow
) -> None:
    find("rule-add").click()
    form: Any = window.findChild(RuleForm, "rule-form")
    form.text.setText("mcp__shelf__read")
    find("form-submit").click()
    await settle()
    assert rule_store.rules[-1].text == "mcp__shelf__read"
    assert find("toast").accessibleName().startswith("There is no MCP server shelf with this tool yet")


async def test_an_edit_is_tested_by_its_path_only() -> None:
    context: Any = SimpleNamespace(registry=create_default_tool_registry())
    tools = ToolService(context)
    name, arguments = call_of("edit_file(src/a.py)", await tools.list())
    assert arguments["path"] == "src/a.py"
    await tools.check(name, arguments)


async def test_tab_visits_the_rules_from_top_to_bottom(
    rule_store: RuleStore, find: Find, window: SettingsWindow, qtbot: QtBot
) -> None:
    find("rule-filter").setText("git")
    find("rule-filter").setText("")
    await settle()
    found, each = [], find("rule-filter")
    while "safe-filter" not in found:
        if each.isVisible() and each.isEnabled() and each.focusPolicy() & Qt.FocusPolicy.TabFocus:
            found.append(each.objectName())
        each = each.nextInFocusChain()
    rows = [f"rule-{action}-{text}" for text in listed(find) for action in ("edit", "remove")]
    assert found[: len(rows) + 3] == ["rule-filter", *rows, "rule-add", "rule-import-file"]
    below = ("rule-test-run", "audit-days", "audit-text", "audit-decision", "safe-filter")
    assert [name for name in found if name in below] == list(below)


async def test_the_reason_is_shown_below_a_rule_that_never_matches(
    rule_store: RuleStore, find: Find, window: SettingsWindow
) -> None:
    page: Any = window.page("approvals")
    page.rules.show_rules(rule_store.rules, {}, {"read_file(.env*)": "it contains no path"})
    assert find("rule-never-read_file(.env*)").text() == "Never matches: it contains no path"
    with pytest.raises(AssertionError):
        find("rule-never-section:web_ops")


async def test_an_imported_rule_is_disabled_until_confirmed(
    rule_store: RuleStore, find: Find, window: SettingsWindow, atelier: Engine
) -> None:
    waiting = PermissionRule(id="held", text="write_file", action=Action.ALLOW, held=True)
    atelier.set("permissions", "held", (waiting,))
    atelier.set("permissions", "confirm", (waiting,))
    await window.page("approvals").load()
    assert (
        find("rule-held-write_file").text()
        == "Waiting for your confirmation: restored from another installation's backup"
    )
    assert window.findChild(QPushButton, f"rule-confirm-{NEW.text}") is None
    find("rule-confirm-write_file").click()
    await settle()
    assert atelier.calls("permissions.confirm") == [(("held",), {})]


async def test_approving_the_settings_of_a_repository_is_described_in_words(find: Find, window: SettingsWindow) -> None:
    page: Any = window.page("approvals")
    rule = PermissionRule(text="git_settings(00a0 /home/ann/my project/.git)", action=Action.ALLOW)
    page.rules.show_rules([rule])
    shown = [each.text() for each in find(f"rule-{rule.text}").findChildren(QLabel)]
    assert "Settings of the git repository /home/ann/my project/.git, until they change" in shown
    assert "Everywhere" in shown, "its last use is unknown"
    assert find(f"rule-edit-{rule.text}").isHidden()
    assert not find(f"rule-remove-{rule.text}").isHidden()


async def test_the_hints_of_the_rule_form_are_not_clipped(
    rule_store: RuleStore, find: Find, window: SettingsWindow
) -> None:
    find("rule-add").click()
    await settle()
    form: Any = window.findChild(RuleForm, "rule-form")
    cut = [
        each.text()
        for each in form.findChildren(QLabel)
        if each.isVisible() and each.heightForWidth(each.width()) > each.height()
    ]
    assert cut == []
