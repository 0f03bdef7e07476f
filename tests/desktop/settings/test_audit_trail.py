"""The audit trail and the table of safe commands: reading, filtering, opening, exporting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.audit import AuditDecision, AuditEntry, AuditFilter, AuditLine, AuditPage
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.permission import Action, Verdict
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.run.verdict_replay import Replayed
from atelier_desk.workspace.commands.safe_command_descriptions import Does, safe_commands
from tests.desktop.settings.conftest import Engine, announced
from tests.helpers.fake_bridge import settle

Find = Callable[[str], Any]
NOW = utc_now()
REJECTED: dict[str, Any] = {
    "decision": AuditDecision.REJECTED, "decided_by": "user", "note": "Too dear.", "rule": "",
    "reason": "installs", "about": "pip install x",
}  # fmt: skip


def line(number: int, **fields: Any) -> AuditLine:
    given: dict[str, Any] = {
        "id": f"{number:032x}", "workflow_id": "w1", "run_id": "r1", "call_id": f"c{number}",
        "message_id": f"m{number}",
        "agent_name": "Ada", "tool": "run_command", "detail": f"git push {number}", "decision": AuditDecision.DENIED,
        "reason": "rule",
        "rule": "run_command(git push:*)", "mode": "selective", "created_at": NOW - timedelta(minutes=number), **fields,
    }  # fmt: skip
    return AuditLine(entry=AuditEntry(**given), workflow="Garden", in_bin=given["workflow_id"] == "gone")


class Trail:
    """Answers like the service, one page at a time."""

    def __init__(self, atelier: Engine, lines: list[AuditLine]) -> None:
        self.lines = lines
        self.asked: list[AuditFilter] = []
        self.saved: list[Path] = []
        atelier.set("audit", "page", self.page)
        atelier.set("audit", "export", self.export)
        atelier.set("workflows", "list", [Workflow(id="w1", name="Garden")])

    def page(self, filters: AuditFilter, after: tuple[datetime, str] | None = None, limit: int = 100) -> AuditPage:
        self.asked.append(filters)
        fit = [
            each
            for each in self.lines
            if filters.text in each.entry.detail and filters.decision in (None, each.entry.decision)
        ]
        start = next((row + 1 for row, each in enumerate(fit) if after is not None and each.entry.id == after[1]), 0)
        found = fit[start : start + limit]
        return AuditPage(
            lines=tuple(found), next=(found[-1].entry.created_at, found[-1].entry.id) if len(found) == limit else None
        )

    def export(self, filters: AuditFilter, path: Path, most: int | None = None) -> int:
        if path.name == "full.csv":
            raise UsageError("It cannot be written.")
        self.asked.append(filters)
        self.saved.append(path)
        return len(self.lines)


@pytest.fixture
async def trail(window: SettingsWindow, atelier: Engine) -> Trail:
    made = Trail(
        atelier,
        [
            line(0),
            line(1, decision=AuditDecision.APPROVED, decided_by="user", edited=True, rule="", reason="selective"),
            line(
                2,
                decision=AuditDecision.REJECTED,
                decided_by="user",
                note="Too dear.",
                rule="",
                reason="installs",
                about="pip install x",
            ),
            line(3, workflow_id="gone"),
            *(
                line(number, decision=AuditDecision.ALLOWED, rule="", reason="mode", mode="auto")
                for number in range(4, 2004)
            ),
        ],
    )
    window.show_page("approvals")
    await settle()
    return made


def cells(table: Any, row: int) -> list[str]:
    model = table.model()
    return [str(model.index(row, column).data()) for column in range(model.columnCount())]


async def test_decisions_are_listed_with_who_what_why_and_by_whom(trail: Trail, find: Find) -> None:
    table = find("audit-table")
    model = table.model()
    assert [model.headerData(column, Qt.Orientation.Horizontal) for column in range(3)] == ["Call", "Decision", "When"]
    assert cells(table, 0)[:2] == ["Run a command  git push 0\nAda · Garden", "Denied\nRule “run_command(git push:*)”"]
    assert cells(table, 1)[1] == "Approved by you, with edited arguments\nProfile “Ask”"
    assert cells(table, 2)[1] == "Rejected by you\nInstalls a package"
    assert cells(table, 4)[1] == "Allowed\nProfile “Free”"
    tool_tip = model.index(2, 0).data(Qt.ItemDataRole.ToolTipRole).splitlines()
    assert tool_tip[1:] == [
        "Workflow: Garden", "Agent: Ada", "Tool: run_command", "Call: git push 2",
        "Decision: Rejected by you: Too dear.",
        "Reason: Installs a package (pip install x)",
    ]  # fmt: skip
    assert "; Call: git push 2; " in model.index(2, 0).data(Qt.ItemDataRole.AccessibleTextRole)


async def test_thousands_of_entries_are_loaded_page_by_page_while_scrolling(
    trail: Trail, find: Find, qtbot: QtBot
) -> None:
    table = find("audit-table")
    assert table.model().rowCount() == 100, "no more than a page at first"
    for pages in (2, 3):
        table.scrollToBottom()
        await settle()
        assert table.model().rowCount() == 100 * pages
    assert cells(table, 299)[0].startswith("Run a command  git push 299\n")


async def test_new_decisions_are_added_on_top_without_moving_the_scroll_position(
    trail: Trail, find: Find, window: SettingsWindow
) -> None:
    table = find("audit-table")
    table.scrollToBottom()
    await settle()
    table.setCurrentIndex(table.model().index(150, 0))
    trail.lines.insert(0, line(9000, created_at=NOW + timedelta(minutes=1)))
    window.page("approvals").reload()
    await settle()
    assert table.model().rowCount() == 201
    assert cells(table, 0)[0].startswith("Run a command  git push 9000\n")
    assert cells(table, table.currentIndex().row())[0].startswith("Run a command  git push 150\n")


async def test_the_filters_query_what_they_show(trail: Trail, find: Find) -> None:
    find("audit-text").setText("push 1")
    QTest.keyClick(find("audit-text"), Qt.Key.Key_Return)
    for name, data in (
        ("workflow", "w1"),
        ("agent", "Researcher"),
        ("tool", "run_command"),
        ("decision", AuditDecision.APPROVED),
    ):
        box: QComboBox = find(f"audit-{name}")
        box.setCurrentIndex(box.findData(data))
        box.activated.emit(box.currentIndex())
        await settle()
    filters = trail.asked[-1]
    assert (filters.text, filters.workflow_id, filters.agent, filters.tool) == (
        "push 1",
        "w1",
        "Researcher",
        "run_command",
    )
    assert filters.decision is AuditDecision.APPROVED
    assert find("audit-table").model().rowCount() == 1
    day = find("audit-day")
    spans = []
    for data in ("today", "yesterday", "week", ""):
        day.setCurrentIndex(day.findData(data))
        day.activated.emit(day.currentIndex())
        await settle()
        asked = trail.asked[-1]
        spans.append(((asked.until or NOW) - asked.since).total_seconds() // 3600 if asked.since else None)
    assert spans[0] is not None
    assert spans[0] < 25
    assert spans[1] in (23, 24, 25), "a day with its clock change"
    assert spans[3] is None
    trail.lines = []
    find("audit-text").setText("nothing like it")
    find("audit-day").activated.emit(0)
    await settle()
    assert find("audit-empty").text() == "No decision matches these filters."
    assert not find("audit-export").isEnabled()


async def test_enter_opens_the_workflow_at_the_call_unless_deleted(
    trail: Trail, find: Find, window: SettingsWindow, qtbot: QtBot
) -> None:
    table, opened = find("audit-table"), []
    window.place_requested.connect(lambda *target: opened.append(target))
    assert not find("audit-open").isEnabled(), "nothing is chosen yet"
    table.setCurrentIndex(table.model().index(1, 0))
    find("audit-open").click()
    table.activated.emit(table.model().index(1, 0))
    assert opened == [("w1", "tool_execution", "r1:c1", "m1")] * 2
    table.setCurrentIndex(table.model().index(3, 0))
    find("audit-open").click()
    assert len(opened) == 2
    assert announced(window) == "The workflow Garden was deleted. Restore it first."


async def test_matching_entries_are_exported_and_a_failure_is_reported(
    trail: Trail, find: Find, window: SettingsWindow, tmp_path: Path
) -> None:
    page: Any = window.page("approvals")
    find("audit-text").setText("push")
    page.trail.export_to(tmp_path / "trail.csv")
    await settle()
    assert trail.saved == [tmp_path / "trail.csv"]
    assert trail.asked[-1].text == "push"
    assert announced(window) == "2004 entries saved as trail.csv"
    page.trail.export_to(tmp_path / "full.csv")
    await settle()
    assert "cannot be written" in announced(window)


async def test_the_retention_period_is_a_setting(trail: Trail, find: Find, atelier: Engine) -> None:
    box = find("audit-days")
    assert box.value() == 30
    switch_language("fr")
    await settle()
    assert box.text() == "30\u202fj"
    switch_language("en")
    await settle()
    assert box.text() == "30\u202fd"
    box.setValue(7)
    await settle()
    assert atelier.stored.audit_days == 7
    box.setValue(0)
    assert box.text() == "all"


async def test_the_safe_commands_are_listed_searched_and_explained(trail: Trail, find: Find) -> None:
    table = find("safe-commands")
    assert table.rowCount() == len(safe_commands())

    def shown() -> list[str]:
        return [table.item(row, 0).text() for row in range(table.rowCount())]

    find("safe-filter").setText("deletes")
    assert shown() == ["rm", "rmdir"]
    find("safe-filter").setText("lists commits oneline")
    assert shown() == ["git log"]
    assert table.item(0, 2).text() == "Only reads"
    assert find("safe-options").text().startswith("git log · allowed options: -")
    assert "--oneline" in find("safe-options").text()
    find("safe-filter").setText("curl")
    assert shown() == []
    assert find("safe-options").text() == "No matching commands. Commands not listed here need approval."
    find("safe-filter").setText("")
    assert {each.does for each in safe_commands()} == set(Does)


async def test_decisions_are_replayed_with_todays_rules(
    trail: Trail, find: Find, atelier: Engine, window: SettingsWindow
) -> None:
    def replayed(number: int, today: Action | None, **fields: Any) -> Replayed:
        verdict = Verdict(action=Action.DENY, reason="rule")
        other = Verdict(action=today, reason="mode") if today is not None else None
        return Replayed(NOW, "r1", f"c{number}", "Ada", "run_command", "", verdict, other and verdict, other, **fields)

    asked: list[str] = []

    def replay(workflow_id: str) -> list[Replayed]:
        asked.append(workflow_id)
        return [
            replayed(0, Action.ALLOW),
            replayed(1, Action.DENY),
            replayed(2, None),
            replayed(4, Action.ASK, answered=True),
        ]

    atelier.set("permissions.trials", "replay", replay)
    button, table = find("audit-today"), find("audit-table")
    assert not button.isEnabled(), "no entry is chosen"
    table.selectRow(1)
    button.click()
    await settle()
    assert asked == ["w1"]
    assert cells(table, 0)[2].endswith("\ntoday: allowed")
    assert [row for row in range(6) if "today" in cells(table, row)[2]] == [0]
    assert "Under today's rules: today: allowed" in table.model().index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert announced(window) == "1 decision would be different today. 1 older decision cannot be compared."
