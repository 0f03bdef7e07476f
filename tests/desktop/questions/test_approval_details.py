"""What an approval card says about agents, tasks, commands and repository settings."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from tests.desktop.questions.approval_fixtures import SPAWN, MakeScene, asks
from tests.helpers.fake_bridge import settle


async def test_a_new_agent_is_shown_with_prompt_and_tools_and_a_batch_with_its_tasks(scene: MakeScene) -> None:
    s = scene(
        asks(kind=ApprovalKind.SUB_AGENT, tool="SpawnAgentTool", operation="spawn", details=SPAWN, reason="selective")
    )
    await settle()
    assert s.find("approval-title").text() == "Checker wants to start the agent Type checker"
    assert s.find("approval-why").text() == "Your settings require approval before agents are started."
    assert s.find("approval-prompt").text() == "Read every module…"
    assert s.find("approval-tools").text() == "read_file, TodoTool"
    assert s.find("approval-arguments").isHidden()
    s.find("approval-arguments-fold").click()
    assert not s.find("approval-arguments").isHidden()
    tasks = [
        {"agent_id": "a", "prompt_preview": "one"},
        {"agent_name": "Second", "agent_id": "b", "prompt_preview": "two"},
    ]
    t = scene(asks(tool="ParallelTasksTool", details={"task_count": 2, "tasks": tasks}))
    await settle()
    assert t.find("approval-title").text() == "Checker wants to give 2 agents a task each"
    assert t.find("approval-task-2").isVisible()
    actions = [{"description": "Count the words", "tool": "CalculatorTool"}, {"description": "Write it up", "tool": ""}]
    p = scene(
        asks(
            tool="plan_actions",
            details={"goal": "A summary", "strategy": "sequential", "action_count": 2, "actions": actions},
        )
    )
    await settle()
    assert p.find("approval-title").text() == "Checker wants to run a sequence of 2 actions"
    assert p.find("approval-action-2").isVisible()


async def test_a_command_is_shown_in_parts_with_effects_and_folder(scene: MakeScene) -> None:
    commands = [
        {"text": "git status", "kind": "reads", "reason": "", "about": "", "safe": True},
        {
            "text": "make all",
            "kind": "runs",
            "reason": "Atelier does not know this command",
            "about": "make",
            "safe": False,
        },
        {"text": "rm -rf build", "kind": "writes", "reason": "it changes files", "about": "rm", "safe": False},
    ]
    details = {
        "command": "git status && make all > log",
        "commands": commands,
        "writes": ["log"],
        "reason": "",
        "about": "",
    }
    request = asks(
        tool="run_command",
        details=details,
        subjects=Subjects(sandbox="workspace", hosts=("pypi.org",)),
        reason="rule",
        rule="run_command(make:*)",
    )
    s = scene(request)
    await settle()

    def texts_of(name: str) -> list[str]:
        return [each.text() for each in s.find(name).findChildren(QLabel)]

    assert texts_of("approval-command-1") == ["git status", "Read-only."]
    assert texts_of("approval-command-2") == ["make all", "Unknown effect: make is not a known command."]
    assert texts_of("approval-command-3") == ["rm -rf build", "Changes files (rm)."]
    words = texts_of("approval-details")
    order = [words.index(text) for text in ("make all", "rm -rf build", "git status")]
    assert order == sorted(order), "in a low card what changes something is in sight first"
    assert "pypi.org" in words
    assert "log" in words
    assert "In a sandbox: the command can write only in the workspace and has no network access." in words
    assert s.find("approval-why").text() == "Your rule “run_command(make:*)” requires approval."


async def test_approving_the_settings_of_a_repository_shows_its_duration(scene: MakeScene) -> None:
    commands = [{"text": "git diff", "kind": "reads", "reason": "", "about": "", "safe": True}]
    rule = "git_settings(00a0 /p/.git)"
    s = scene(
        asks(
            tool="run_command",
            details={"command": "git diff", "commands": commands},
            reason="repository",
            about="filter.x.clean (.git/config)",
            always=(rule,),
        )
    )
    await settle()
    assert s.find("approval-approve").text() == s.find("approval-approve").accessibleName() == "Allow these settings"
    assert "until these settings change" in s.find("approval-approve").toolTip()
    assert s.find("approval-run").text() == "Allow these settings in this run only"
    assert s.find("approval-scope").isHidden()
    assert s.find("approval-why").text().endswith("until the settings change.\nfilter.x.clean (.git/config)")
    texts = [each.text() for each in s.find("approval-command-1").findChildren(QLabel)]
    assert texts == ["git diff", "Apart from these settings, the command is read-only."]
