"""The page of permissions: every choice is stored, invalid ones are prevented, permissions can be revoked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.risk_table import RiskTable
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.approval import ApprovalFlags, ApprovalSettings, OnTimeout
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.settings import Settings
from atelier_desk.presentation.permission_profiles import ALL
from tests.desktop.settings.conftest import Engine
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle

Find = Callable[[str], Any]
TOOL, SECTION = (
    PermissionRule(id=f"r{number}", text=text, action=Action.ALLOW)
    for number, text in enumerate(("TodoTool", "section:core_ops"))
)


@pytest.fixture
async def page(window: SettingsWindow, atelier: Engine) -> Any:
    atelier.stored = Settings(
        approvals=ApprovalSettings(risks={"TodoTool": "high", "gone": "low"}, rules=(TOOL, SECTION))
    )

    async def remove(rule_id: str) -> None:
        rules = tuple(each for each in atelier.stored.approvals.rules if each.id != rule_id)
        atelier._update(approvals=atelier.stored.approvals.model_copy(update={"rules": rules}))

    async def add(rule: PermissionRule) -> None:
        atelier.stored = atelier.stored.with_rules((*atelier.stored.approvals.rules, rule))

    atelier.set("permissions", "remove", remove)
    atelier.set("permissions", "add", add)
    window.show_page("approvals")
    await settle()
    return window.page("approvals")


async def test_it_explains_the_modes_and_shows_stored_settings(page: Any, find: Find) -> None:
    texts = [each.text() for each in page.findChildren(QLabel)]
    assert [each for each in texts if each in {one.title for one in ALL}] == [
        "Plan",
        "Ask",
        "Ask every time",
        "Edit",
        "Free",
    ]
    assert {one.allows for one in ALL} <= set(texts)
    assert find("approval-flag-sub_agents").isChecked()
    assert not find("approval-flag-tools").isChecked()
    assert find("approval-auto-low").isChecked()
    assert not find("approval-confirm-high").isChecked()
    assert find("approval-timeout").value() == 0
    assert find("max-depth").value() == 3
    assert find("risk-TodoTool").currentText() == "high"
    assert find("risk-MemoryTool").currentText() == "default (low)"
    assert find("risk-gone").currentText() == "low"
    words = {each.text() for each in page.findChildren(QLabel)}
    assert {"Tasks", "Memory", "gone"} <= words, "people read words, not identifiers"
    table = page.findChild(RiskTable)
    assert not {each.text() for each in table.findChildren(QLabel)} & {"TodoTool", "MemoryTool"}
    assert find("risk-TodoTool").accessibleName() == "Risk of Tasks"


async def test_every_choice_is_stored(page: Any, find: Find, atelier: Engine) -> None:
    find("approval-flag-tools").click()
    await settle()
    find("approval-confirm-high").click()
    await settle()
    find("max-depth").setValue(1)
    await settle()
    box = find("approval-on-timeout")
    box.setCurrentIndex(box.findData(OnTimeout.ASK_AGAIN))
    box.activated.emit(box.currentIndex())
    await settle()
    approvals = atelier.stored.approvals
    assert approvals.flags == ApprovalFlags(tools=True)
    assert (approvals.always_confirm_high, approvals.on_timeout, atelier.stored.max_depth) == (
        True,
        OnTimeout.ASK_AGAIN,
        1,
    )
    assert approvals.rules == (TOOL, SECTION)


async def test_a_timeout_is_empty_or_within_its_bounds(page: Any, find: Find, atelier: Engine) -> None:
    box = find("approval-timeout")
    for _ in range(4):
        box.stepDown()
        await settle()
    assert atelier.stored.approvals.timeout_s == 0
    assert box.text() == "none"
    assert not find("approval-on-timeout").isEnabled()
    box.stepUp()
    await settle()
    assert atelier.stored.approvals.timeout_s == 30
    box.selectAll()
    QTest.keyClicks(box, "7")
    QTest.keyClick(box, Qt.Key.Key_Return)
    await settle()
    assert atelier.stored.approvals.timeout_s == 30
    box.selectAll()
    QTest.keyClicks(box, "250")
    QTest.keyClick(box, Qt.Key.Key_Return)
    await settle()
    assert atelier.stored.approvals.timeout_s == 250


async def test_a_tools_risk_is_overridden_and_reset(page: Any, find: Find, atelier: Engine) -> None:
    for risk, expected in (
        ("medium", {"TodoTool": "high", "gone": "low", "MemoryTool": "medium"}),
        ("", {"TodoTool": "high", "gone": "low"}),
    ):
        box = find("risk-MemoryTool")
        box.setCurrentIndex(box.findData(risk))
        box.activated.emit(box.currentIndex())
        await settle()
        assert atelier.stored.approvals.risks == expected


async def test_a_permission_is_revoked_and_undo_restores_it(
    page: Any, find: Find, atelier: Engine, window: SettingsWindow
) -> None:
    assert find("rule-section:core_ops").isVisible()
    find("rule-remove-TodoTool").click()
    await settle()
    assert atelier.stored.approvals.rules == (SECTION,)
    child(window, QPushButton, "toast-action").click()
    await settle()
    assert list(atelier.stored.approvals.rules) == [SECTION, TOOL]
    find("rule-remove-section:core_ops").click()
    await settle()
    find("rule-remove-TodoTool").click()
    await settle()
    assert find("approval-rules-empty").isVisible()


async def test_it_follows_the_language(page: Any, find: Find) -> None:
    switch_language("fr")
    switch_language("en")
    await settle()
    assert child(find("approval-rules"), QPushButton).text() == "Remove"
