"""The approval card: its texts, the decisions, its keys, and always visible buttons."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QListWidget, QPushButton
from shiboken6 import isValid

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.approval import ApprovalKind, ApprovalScope, ApprovalStatus
from atelier_desk.domain.call_presentation_and_subjects import CallText, Presentation, Subjects
from atelier_desk.domain.errors import ConflictError
from atelier_desk.support.i18n import set_language
from tests.desktop.questions.approval_fixtures import LINEAGE, SPAWN, TODO, MakeScene, asks, emit_event
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import DelayedResult, settle

REPLACES = "Checker wants to replace the content of a.md"
WRITE = Presentation(summary=CallText(text="Write {path}", params={"path": "a.md"}))
TRASHED = "The item goes to the trash and can be restored for 30 days."
RUNS = "Usually, only changes to files in the workspace can be undone."
SERVER = "What the server does cannot be undone here."


async def test_it_shows_action_reason_risk_and_parent_agents(scene: MakeScene) -> None:
    s = scene(asks(lineage=LINEAGE, risk="high", reason="risk_high"))
    await settle()
    assert s.card.objectName() == "approval-card"
    assert s.card.accessibleName() == "Checker wants to use TodoTool · create"
    assert s.find("approval-title").text() == "Checker wants to use TodoTool · create"
    assert s.find("approval-lineage").text() == "Architect → Reviewer → Checker"
    assert s.find("approval-why").text() == "High-risk calls always need approval."
    assert s.find("approval-risk").text() == "high risk"
    assert s.find("approval-time").isHidden()
    assert "Read the registry" in s.find("approval-arguments").toPlainText()
    for name in (
        "approval-approve",
        "approval-run",
        "approval-reject",
        "approval-scope",
        "approval-edit",
        "approval-reason",
    ):
        assert s.find(name).accessibleName(), name


async def test_unknown_settings_of_a_repository_are_never_of_low_risk(scene: MakeScene) -> None:
    s = scene(
        asks(
            tool="git_status",
            section="shell_ops",
            risk="low",
            reason="repository",
            about="filter.a.clean (.git/config)",
        )
    )
    assert s.find("approval-risk").text() == "high risk"


@pytest.mark.parametrize(("section", "what"), [("shell_ops", "commands are run"), ("file_ops", "files are changed")])
async def test_commands_and_files_are_described_separately(scene: MakeScene, section: str, what: str) -> None:
    s = scene(asks(kind=ApprovalKind.FILE_OP, tool="run_command", section=section, reason="selective"))
    assert s.find("approval-why").text() == f"Your settings require approval before {what}."


@pytest.mark.parametrize("button", ["approve", "reject"])
async def test_a_double_click_decides_once_in_every_card(scene: MakeScene, button: str) -> None:
    s = scene(asks())
    delayed = DelayedResult(asks(status=ApprovalStatus.APPROVED))
    s.engine.set("approvals", button, delayed)
    if button == "reject":
        s.find("approval-reject").click()
    s.find(f"approval-{button}").click()
    s.find(f"approval-{button}").click()
    await settle()
    s.find(f"approval-{button}").click()
    await settle()
    assert len(s.engine.calls(f"approvals.{button}")) == 1
    await delayed.release()


async def test_allow_once_and_reject_with_a_reason(scene: MakeScene) -> None:
    s = scene(asks())
    decided: list[str] = []
    s.card.decided.connect(decided.append)
    QTest.mouseClick(s.find("approval-approve"), Qt.MouseButton.LeftButton)
    await settle()
    assert s.engine.calls("approvals.approve") == [
        (("v1",), {"arguments": None, "scope": ApprovalScope.ONCE, "rules": ()})
    ]
    assert decided == ["approved"]
    assert s.find("approval-state").text() == "allowed"
    assert s.find("approval-approve").isHidden()
    t = scene(asks("v2"))
    assert not t.find("approval-reason").isVisible(), "it appears only when rejecting"
    t.find("approval-reject").click()
    assert t.find("approval-approve").isHidden(), "one thing at a time"
    assert t.engine.calls("approvals.reject") == []
    t.find("approval-reason").setPlainText("  Use the other file. ")
    t.find("approval-reject").click()
    await settle()
    assert t.engine.calls("approvals.reject") == [(("v2",), {"note": "Use the other file."})]
    assert t.find("approval-decision").text() == "You rejected this call: Use the other file."


@pytest.mark.parametrize(
    ("name", "scope", "rules"),
    [
        ("tool", ApprovalScope.ALWAYS, ("mcp__files__read",)),
        ("server", ApprovalScope.ALWAYS, ("mcp__files",)),
    ],
)
async def test_an_approval_can_cover_more_calls(
    scene: MakeScene, name: str, scope: ApprovalScope, rules: tuple[str, ...]
) -> None:
    s = scene(asks(tool="mcp__files__read", operation="", server="files", section="mcp:files", kind=ApprovalKind.MCP))
    await settle()
    assert s.find("approval-title").text() == "Checker wants to use read from the server “files”"
    entries = {action.objectName(): action for action in s.card.buttons.scope_menu().actions() if action.objectName()}
    assert "approval-scope-section" not in entries
    entries[f"approval-scope-{name}"].trigger()
    await settle()
    assert s.engine.calls("approvals.approve") == [(("v1",), {"arguments": None, "scope": scope, "rules": rules})]


async def test_the_server_of_a_tool_is_named_once_and_in_the_rules_text(scene: MakeScene) -> None:
    shown = Presentation(title="files: Read a file")
    s = scene(
        asks(
            tool="mcp__files__read",
            operation="",
            server="files",
            section="mcp:files",
            kind=ApprovalKind.MCP,
            presentation=shown,
        )
    )
    await settle()
    assert s.find("approval-title").text() == "Checker wants to use “Read a file” from the server “files”"
    (entry,) = [
        action for action in s.card.buttons.scope_menu().actions() if action.objectName() == "approval-scope-tool"
    ]
    assert "files: Read a file" in entry.text()


async def test_a_call_that_always_asks_offers_no_permanent_approval(scene: MakeScene) -> None:
    """A protected file: a broad rule would open the tool, and still not allow this call."""
    s = scene(asks(tool="write_file", section="file_ops", reason="protected", about=".git/hooks/pre-commit", always=()))
    assert s.find("approval-scope").isHidden()
    assert s.find("approval-run").isVisible()


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (("write_file(~/proj/notes.md)",), "“Write file” (~/proj/notes.md)"),
        (("run_command(ls -la)", "run_command(echo done)"), "“Run a command” (ls -la) · “Run a command” (echo done)"),
        (("mcp__map__route(Lyon)",), "“route” (Lyon)"),
    ],
)
async def test_the_narrow_approval_is_described_in_plain_words(
    scene: MakeScene, rules: tuple[str, ...], expected: str
) -> None:
    s = scene(asks(tool=rules[0].partition("(")[0], always=rules))
    entry = next(
        action for action in s.card.buttons.scope_menu().actions() if action.objectName() == "approval-scope-always"
    )
    assert entry.text() == f"Always, everywhere: {expected}"
    entry.trigger()
    await settle()
    assert s.engine.calls("approvals.approve")[0][1]["rules"] == rules, "the rule itself stays as it is"


async def test_a_section_can_be_always_allowed(scene: MakeScene) -> None:
    s = scene(asks())
    entry = next(
        action for action in s.card.buttons.scope_menu().actions() if action.objectName() == "approval-scope-section"
    )
    assert entry.text() == "Always, everywhere: all tools in “Basics”"
    entry.trigger()
    await settle()
    assert s.engine.calls("approvals.approve")[0][1]["rules"] == ("section:core_ops",)


async def test_an_error_of_the_engine_loses_no_input(scene: MakeScene) -> None:
    s = scene(asks())
    s.engine.set("approvals", "approve", ConflictError("This was decided already: {status}.", status="rejected"))
    s.edit('{"operation": "create", "name": "kept"}')
    s.find("approval-reason").setPlainText("half a reason")
    s.find("approval-approve").click()
    await settle()
    assert s.find("approval-error").text() == "This was decided already: rejected."
    assert "kept" in s.find("approval-arguments").toPlainText()
    assert s.find("approval-reason").toPlainText() == "half a reason"
    assert s.find("approval-approve").isEnabled()


async def test_keys_decide_on_the_card_but_not_in_its_fields(scene: MakeScene) -> None:
    s = scene(asks())
    QTest.keyClick(s.find("approval-arguments-copy"), Qt.Key.Key_A)
    QTest.keyClick(s.card, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    await settle()
    assert s.engine.calls("approvals.approve") == []
    QTest.keyClick(s.card, Qt.Key.Key_A)
    await settle()
    assert len(s.engine.calls("approvals.approve")) == 1


async def test_r_asks_for_the_reason_enter_rejects_and_escape_goes_back(scene: MakeScene) -> None:
    s = scene(asks())
    reason = s.find("approval-reason")
    reject = child(s.card, QPushButton, "approval-reject")
    assert reject.icon().isNull()
    QTest.keyClick(s.card, Qt.Key.Key_R)
    assert not reject.icon().isNull(), "the sign of the Enter key"
    QTest.keyClicks(reason, "draft")
    QTest.keyClick(reason, Qt.Key.Key_Escape)
    assert reject.icon().isNull()
    assert (reason.isVisible(), reason.toPlainText(), s.find("approval-approve").isVisible()) == (False, "", True)
    QTest.keyClick(s.card, Qt.Key.Key_R)
    QTest.keyClicks(reason, "Ra")
    QTest.keyClick(reason, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(reason, "b")
    assert s.engine.calls("approvals.reject") == s.engine.calls("approvals.approve") == []
    QTest.keyClick(reason, Qt.Key.Key_Return)
    await settle()
    assert s.engine.calls("approvals.reject") == [(("v1",), {"note": "Ra\nb"})]


@pytest.mark.parametrize("scale", [100, 150])
async def test_nothing_overlaps_while_a_long_reason_is_typed(scene: MakeScene, scale: int) -> None:
    theme().set_scale(scale)
    s = scene(asks(tool="write_file", presentation=WRITE), 360)
    s.find("approval-reject").click()
    s.find("approval-reason").setPlainText("No, because it is wrong. " * 30)
    await settle(30)
    parts = [s.card.head, s.find("approval-scroll"), s.card.reason, s.card.buttons]
    for above, below in itertools.pairwise(parts):
        assert above.geometry().bottom() < below.geometry().top(), (above.objectName(), below.objectName())
    assert s.card.rect().contains(s.card.buttons.geometry())
    assert s.find("approval-reason").height() <= s.card.reason.height()


@pytest.mark.parametrize(
    ("fields", "accented"), [({}, True), ({"risk": "high"}, False), ({"reason": "repository"}, False)]
)
async def test_the_allow_button_is_not_accented_at_high_risk(
    scene: MakeScene, fields: dict[str, Any], accented: bool
) -> None:
    s = scene(asks(**fields))
    assert (s.find("approval-approve").property("variant") == "primary") is accented
    assert s.find("approval-run").property("variant") != "primary"


@pytest.mark.parametrize(
    ("fields", "title", "undo"),
    [
        ({"tool": "write_file", "effect": "write"}, REPLACES, "This can be undone for 30 days."),
        ({"tool": "write_file", "effect": "write", "days": 0}, REPLACES, "This can be undone."),
        ({"tool": "delete_path", "effect": "write", "undo": "trash"}, "Checker wants to delete a.md", TRASHED),
        ({"tool": "run_command", "effect": "execute"}, "Checker wants to run “ls”", RUNS),
        (
            {"tool": "fetch_web_page", "effect": "network"},
            "Checker wants to read the page a.md",
            "Sent data cannot be recalled.",
        ),
        (
            {"tool": "mcp__a__b", "effect": "execute", "server": "a"},
            "Checker wants to use b from the server “a”",
            SERVER,
        ),
        ({"tool": "own_tool", "effect": "read"}, "Checker wants to use “Own”", ""),
    ],
)
async def test_one_sentence_describes_the_request_and_another_how_to_undo_it(
    scene: MakeScene, fields: dict[str, Any], title: str, undo: str
) -> None:
    words = {
        "write_file": "Replace the content of {path}",
        "delete_path": "Delete {path}",
        "run_command": "Run “{command}”",
    }
    words |= {"fetch_web_page": "Read the page {path}"}
    expected = CallText(text=words.get(fields["tool"], ""), params={"path": "a.md", "command": "ls"})
    details = {"undo_days": fields.pop("days", 30)} | ({"undo": fields.pop("undo")} if "undo" in fields else {})
    shown = Presentation(title="Own" if fields["tool"] == "own_tool" else "", summary=expected)
    s = scene(asks(kind=ApprovalKind.FILE_OP, operation="", presentation=shown, details=details, **fields))
    assert s.find("approval-title").text() == title
    assert (s.find("approval-undo").text(), s.find("approval-undo").isHidden()) == (undo, not undo)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Create {path}", "Checker veut créer a.md"),
        ("Replace the content of {path}", "Checker veut remplacer le contenu de a.md"),
        ("Edit {path}", "Checker veut modifier a.md"),
    ],
)
async def test_a_french_title_says_whether_a_file_is_new(scene: MakeScene, text: str, title: str) -> None:
    set_language("fr")
    shown = Presentation(summary=CallText(text=text, params={"path": "a.md"}))
    s = scene(asks(kind=ApprovalKind.FILE_OP, operation="", tool="write_file", effect="write", presentation=shown))
    assert s.find("approval-title").text() == title


async def test_a_broader_approval_is_a_button_in_plain_words(scene: MakeScene) -> None:
    for fields, text in (
        ({"details": SPAWN}, "Allow sub-agents in this run"),
        ({"subjects": Subjects(command="ls")}, "Allow all commands in this run"),
        ({}, "Allow TodoTool in this run"),
        ({"lineage": LINEAGE, "agent_name": "Writer"}, "Allow TodoTool for Writer"),
        ({"lineage": LINEAGE, "agent_name": "Writer", "details": SPAWN}, "Allow sub-agents of Writer"),
        (
            {"lineage": LINEAGE, "agent_name": "Writer", "subjects": Subjects(command="ls")},
            "Allow all commands from Writer",
        ),
    ):
        s = scene(asks(**fields))
        assert s.find("approval-run").text() == text
        s.find("approval-run").click()
        await settle()
        assert s.engine.calls("approvals.approve") == [
            (("v1",), {"arguments": None, "scope": ApprovalScope.RUN, "rules": ()})
        ]


async def test_after_a_click_letters_do_not_decide(scene: MakeScene) -> None:
    s = scene(asks())
    s.window.activateWindow()
    fold = s.find("approval-arguments-fold")
    QTest.mouseClick(fold, Qt.MouseButton.LeftButton)
    QTest.keyClick(fold, Qt.Key.Key_A)
    QTest.mouseClick(s.card, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert QApplication.focusWidget() is not s.card
    await settle()
    assert s.engine.calls("approvals.approve") == []
    s.card.setFocus()
    QTest.keyClick(s.card, Qt.Key.Key_A)
    await settle()
    assert len(s.engine.calls("approvals.approve")) == 1


@pytest.mark.parametrize("scale", [100, 150, 200])
@pytest.mark.parametrize("width", [300, 700])
async def test_the_buttons_stay_visible_however_long_the_content(scene: MakeScene, width: int, scale: int) -> None:
    theme().set_scale(scale)
    s = scene(asks(arguments={"content": "word " * 4_000}, lineage=LINEAGE), width)
    s.card.limit_height(theme().px(320))
    await settle(30)
    assert s.card.height() <= theme().px(320)
    for name in ("approval-approve", "approval-run", "approval-reject", "approval-scope"):
        button = s.find(name)
        corner = button.mapTo(s.card, QPoint(button.width(), button.height()))
        assert s.card.rect().contains(corner), name
        assert button.width() >= theme().px(34)
    for name in ("approval-approve", "approval-reject"):
        assert s.find(name).width() >= s.find(name).minimumSizeHint().width(), name


async def test_the_wider_yes_says_everything_in_a_narrow_french_card(scene: MakeScene) -> None:
    set_language("fr")
    theme().set_scale(150)
    s = scene(asks(tool="edit_file", section="file_ops", operation="", lineage=LINEAGE, agent_name="Accountant"), 360)
    await settle(30)
    button = s.find("approval-run")
    assert " ".join(button.text().split("\n")) == button.accessibleName()
    assert button.text().count("\n") == 1
    assert button.width() >= button.sizeHint().width()
    assert button.height() >= button.sizeHint().height() > s.find("approval-reject").height()


async def test_no_scroll_bar_appears_and_disappears_endlessly(scene: MakeScene) -> None:
    """With on-demand scroll bars Qt resizes endlessly at some widths, until the stack overflows.

    This holds for the first layout too.
    """
    s = scene(asks(arguments={"content": "word " * 4_000}))
    area = s.find("approval-scroll")
    assert area.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    s.card.limit_height(240)
    await settle(30)
    assert area.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAlwaysOn
    s.card.limit_height(None)
    s.card.fit(700)
    assert area.verticalScrollBarPolicy() is not Qt.ScrollBarPolicy.ScrollBarAsNeeded


async def test_in_a_low_pane_the_buttons_have_priority_over_the_content(scene: MakeScene) -> None:
    s = scene(asks(arguments={"content": "word " * 4_000}), 276)
    s.card.set_where("Build the shelf")
    s.card.limit_height(250)
    await settle(30)
    assert s.card.height() <= 250
    assert s.find("approval-scroll").height() >= 20
    assert s.find("approval-scope").geometry().bottom() < s.card.buttons.height(), "the last button is cut"


@pytest.mark.parametrize("command", ["make build", "rm -rf build && make build && " * 5 + "ls"])
async def test_the_details_have_six_lines_in_a_small_window_with_large_french_text(
    scene: MakeScene, command: str
) -> None:
    """Below a long sentence they have them by scrolling with it; a short one stays above them."""
    set_language("fr")
    theme().set_scale(150)
    details = {"commands": [{"text": part, "kind": "writes"} for part in command.split(" && ")]}
    shown = Presentation(summary=CallText(text="Run “{command}”", params={"command": command}))
    s = scene(asks(tool="run_command", operation="", presentation=shown, details=details), 620)
    s.card.limit_height(400)
    await settle(30)
    area, title = s.find("approval-scroll"), s.find("approval-title")
    assert s.card.height() <= 400
    assert area.height() >= 6 * s.card.fontMetrics().lineSpacing()
    assert s.card.rect().contains(title.mapTo(s.card, title.rect().bottomRight())), "the sentence is in sight"
    assert s.find("approval-scope").geometry().bottom() < s.card.buttons.height(), "the last button is cut"
    s.card.limit_height(900)
    await settle(30)
    assert not area.isAncestorOf(title), "with room for both it never scrolls away"


async def test_two_cards_of_a_request_share_input_and_decision(scene: MakeScene) -> None:
    s = scene(asks())
    other = s.add(asks())
    s.find("approval-reason").setPlainText("shared")
    s.edit('{"operation": "create", "name": "also shared"}')
    assert s.find("approval-reason", other).toPlainText() == "shared"
    assert "also shared" in s.find("approval-arguments", other).toPlainText()
    third = s.add(asks())
    assert s.find("approval-reason", third).toPlainText() == "shared"
    s.find("approval-reject", other).click()
    await settle()
    assert s.find("approval-state").text() == s.find("approval-state", third).text() == "rejected"


async def test_it_follows_a_decision_from_elsewhere_and_another_round(scene: MakeScene) -> None:
    s = scene(asks(timeout_s=60))
    s.find("approval-reason").setPlainText("kept")
    s.engine.change("v1", round=2)
    await emit_event(s.bridge, s.engine.stored["v1"])
    assert s.find("approval-why").text().endswith("No decision was made in time, so you are asked again.")
    assert s.find("approval-reason").toPlainText() == "kept"
    s.engine.change("v1", status=ApprovalStatus.APPROVED, decided_by="timeout")
    await emit_event(s.bridge, s.engine.stored["v1"])
    assert s.find("approval-decision").text() == "Allowed automatically: no decision was made in time."
    assert not s.find("approval-decision").isHidden()


async def test_fit_returns_the_height_for_a_transcript(scene: MakeScene) -> None:
    s = scene(asks())
    await settle()
    narrow, wide = s.card.fit(300), s.card.fit(700)
    assert narrow > wide > theme().px(120)
    assert s.card.height() == wide


async def test_a_decided_request_shows_the_arguments_that_ran(scene: MakeScene) -> None:
    edited = TODO | {"name": "Other"}
    s = scene(asks(status=ApprovalStatus.APPROVED, scope=ApprovalScope.RUN, edited=edited, decided_by="user"))
    await settle()
    assert s.find("approval-decision").text() == "You allowed this tool for this run. You edited the arguments."
    assert "Other" in s.find("approval-arguments").toPlainText()
    assert s.find("approval-edit").isHidden()


async def test_it_follows_the_language(scene: MakeScene) -> None:
    s = scene(asks())
    switch_language("fr")
    await settle()
    switch_language("en")
    await settle()
    assert s.find("approval-reject").text() == "Reject"


async def test_the_hint_of_the_reason_is_not_clipped_at_the_usual_width(scene: MakeScene) -> None:
    s = scene(asks(), 420)
    s.find("approval-reject").click()
    await settle(30)
    assert s.find("approval-reason").placeholderText() == "Reason for rejecting (optional)"


async def test_qts_own_objects_outlive_a_card_after_tab_visited_it(scene: MakeScene) -> None:
    s = scene(asks())
    await settle()
    around = QListWidget()
    s.column.addWidget(around)
    bar = around.verticalScrollBar()
    names = [each.objectName() for each in s.card.stops()]
    assert names[0] == "approval-card"
    order = [names.index(f"approval-{name}") for name in ("approve", "reject", "run", "scope")]
    assert order == sorted(order)
    s.card.deleteLater()
    QApplication.sendPostedEvents(s.card, QEvent.Type.DeferredDelete)
    assert not isValid(s.card)
    assert isValid(bar)


@pytest.mark.parametrize("width", [340, 400, 460, 520])
async def test_how_long_a_permission_lasts_is_always_readable(scene: MakeScene, width: int) -> None:
    s = scene(asks(subjects=Subjects(command="ls")), width=width)
    await settle()
    assert s.find("approval-run").text() == "Allow all commands in this run"
