"""``/`` in the composer: completion by keyboard, and asking for arguments."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer import Composer
from atelier_desk.desktop.chat.compose.message_field import MessageField
from atelier_desk.desktop.chat.compose.prompt_variables_form import PromptForm
from atelier_desk.desktop.chat.compose.slash_commands import PromptDialog, SlashCommandController
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import McpArgument, McpPrompt
from atelier_desk.domain.prompt import Prompt
from atelier_desk.engine.services.skills import ListedSkill
from atelier_desk.workspace.skills.skill_discovery import FoundSkill
from atelier_desk.workspace.skills.skill_file import Text
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.list_texts import titles


def row(name: str, text: Text) -> ListedSkill:
    return ListedSkill(
        FoundSkill("skill", "user", "/home/ann", ".agents/skills", f".agents/skills/{name}/SKILL.md", text)
    )


ROWS = [
    row(
        "fix",
        Text("fix", "Fixes an issue.", "Fix $issue on $branch.", hint="[issue] [branch]", names=("issue", "branch")),
    ),
    row("notes", Text("notes", "Writes notes.", "Write.")),
    row("prefix", Text("prefix", "Prefixes.", "Do $ARGUMENTS.", hint="[what]")),
]

POEM = McpPrompt(
    name="poem",
    call="poem",
    title="A poem",
    about="Writes one.",
    arguments=(McpArgument(name="topic", about="What it is about.", required=True), McpArgument(name="style")),
)
PROMPTS = [("made", POEM), ("made", McpPrompt(name="tidy up", call="tidy_up", title="Tidy up"))]


OWN = [
    Prompt(name="greet", description="Greets", content="Greet {{who}} in {{language=French}}.\nThen {{who}} goes."),
    Prompt(name="notes", content="Hidden by the skill of that name."),
    Prompt(name="weekly", content="/fix 7\nWrite the 😀 report."),
]


class Bench:
    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.engine = FakeAtelier(skills={"callable": ROWS}, mcp={"content.prompts": PROMPTS}, prompts={"list": OWN})
        self.composer = Composer()
        qtbot.addWidget(self.composer)
        self.composer.resize(600, 200)
        self.composer.show()
        self.composer.set_enabled(True)
        self.controller = SlashCommandController(FakeBridge(self.engine), self.composer, lambda: ("/work",))
        self.field.setFocus()
        qtbot.waitUntil(self.field.hasFocus)

    @property
    def field(self) -> MessageField:
        return self.composer.field

    async def write(self, text: str) -> None:
        QTest.keyClicks(self.field, text)
        self.controller.popup.search()
        await settle()

    def shown(self) -> list[str]:
        popup = self.controller.popup
        return titles(popup.list) if popup.isVisible() else []

    def press(self, key: Qt.Key) -> None:
        QTest.keyClick(self.field, key)


@pytest.fixture
def bench(qtbot: QtBot) -> Bench:
    return Bench(qtbot)


async def test_prefix_matches_come_first_and_are_accepted_by_keyboard(bench: Bench) -> None:
    await bench.write("/")
    assert [each.split()[0] for each in bench.shown()] == [
        "/fix",
        "/notes",
        "/prefix",
        "/greet",
        "/weekly",
        "/made:poem",
        "/made:tidy_up",
    ]
    assert bench.engine.calls("skills.callable")[-1] == ((("/work",),), {})
    await bench.write("fix")
    assert [each.split()[0] for each in bench.shown()] == ["/fix", "/prefix"]
    bench.press(Qt.Key.Key_Backspace)
    bench.press(Qt.Key.Key_Backspace)
    bench.press(Qt.Key.Key_Backspace)
    await bench.write("no")
    bench.press(Qt.Key.Key_Return)
    assert bench.field.toPlainText() == "/notes "
    assert bench.shown() == []
    assert bench.controller.dialog is None, "it has no arguments"


async def test_a_row_shows_its_name_and_the_list_aligns_with_the_composer(bench: Bench) -> None:
    await bench.write("/fix")
    popup = bench.controller.popup
    row = popup.list.rows.item(0)
    assert row.text() == "/fix"
    assert str(row.data(Qt.ItemDataRole.AccessibleTextRole)).startswith("/fix, ")
    assert popup.geometry().left() == bench.composer.mapTo(bench.composer.window(), bench.composer.rect().topLeft()).x()


async def test_arguments_are_asked_for_by_name_and_inserted_in_the_message(bench: Bench) -> None:
    await bench.write("/fi")
    bench.press(Qt.Key.Key_Tab)
    dialog = bench.controller.dialog
    assert dialog is not None
    labels = [each.text() for each in dialog.findChildren(QLabel)]
    assert {"issue", "branch", "Fixes an issue."} <= set(labels)
    issue, branch = dialog.fields
    QTest.keyClicks(issue, "7")
    QTest.keyClicks(branch, "main line")
    QTest.keyClick(branch, Qt.Key.Key_Return)
    await settle()
    assert bench.field.toPlainText() == '/fix 7 "main line"'
    sent: list[str] = []
    bench.composer.sent.connect(lambda text, *_rest: sent.append(text))
    bench.press(Qt.Key.Key_Return)
    assert sent == ['/fix 7 "main line"']


async def test_unnamed_arguments_are_one_optional_text(bench: Bench) -> None:
    await bench.write("/pre")
    bench.press(Qt.Key.Key_Down)
    bench.press(Qt.Key.Key_Return)
    dialog = bench.controller.dialog
    assert dialog is not None
    (field,) = dialog.fields
    assert isinstance(field, QLineEdit)
    assert field.placeholderText() == "[what]"
    QTest.keyClicks(field, "all 'of it")
    dialog.submit()
    assert bench.field.toPlainText() == "/prefix all 'of it"
    await settle()
    assert bench.controller.dialog is None


async def test_escape_closes_the_completion_and_typing_reopens_it(bench: Bench) -> None:
    await bench.write("/n")
    assert bench.shown()
    bench.press(Qt.Key.Key_Escape)
    assert bench.shown() == []
    assert bench.field.toPlainText() == "/n"
    await bench.write("o")
    assert bench.shown()


@pytest.mark.parametrize("text", ["see /", "a/b", "/notes now", "/zzz", "//"])
async def test_nothing_is_offered_elsewhere(bench: Bench, text: str) -> None:
    await bench.write(text)
    assert bench.shown() == []


async def test_a_failed_lookup_completes_nothing(bench: Bench) -> None:
    bench.engine.set("skills", "callable", UsageError("no"))
    await bench.write("/")
    assert bench.shown() == []


async def test_a_servers_prompt_asks_for_its_arguments_before_it_is_inserted(bench: Bench) -> None:
    await bench.write("/po")
    assert bench.shown() == ["/made:poem"]
    assert "A poem — Writes one." in bench.controller.popup.list.rows.item(0).data(Qt.ItemDataRole.AccessibleTextRole)
    bench.press(Qt.Key.Key_Return)
    dialog = bench.controller.dialog
    assert isinstance(dialog, PromptDialog)
    labels = {each.text() for each in dialog.findChildren(QLabel)}
    assert {"topic", "style (optional)", "What it is about.", "A prompt from the MCP server made."} <= labels
    topic, style = dialog.fields
    QTest.keyClicks(style, "haiku")
    QTest.keyClick(style, Qt.Key.Key_Return)
    assert bench.field.toPlainText() == "/made:poem "
    assert "Fill in the required fields: topic." in {each.text() for each in dialog.findChildren(QLabel)}
    QTest.keyClicks(topic, 'the "wide" sea')
    QTest.keyClick(topic, Qt.Key.Key_Return)
    await settle()
    assert bench.field.toPlainText() == '/made:poem topic="the \\"wide\\" sea" style=haiku'
    assert bench.controller.dialog is None


async def test_a_prompt_without_arguments_is_inserted_at_once(bench: Bench) -> None:
    await bench.write("/made:t")
    bench.press(Qt.Key.Key_Return)
    assert bench.field.toPlainText() == "/made:tidy_up "
    assert bench.controller.dialog is None


async def test_a_stored_prompt_is_filled_in_and_its_text_shown_before_sending(bench: Bench) -> None:
    sent: list[str] = []
    bench.composer.sent.connect(lambda text, *_rest: sent.append(text))
    await bench.write("/gr")
    bench.press(Qt.Key.Key_Return)
    form = bench.controller.dialog
    assert isinstance(form, PromptForm)
    assert bench.field.toPlainText() == "/gr"
    who, language = (field.editor for field in form.fields)
    assert (who.accessibleName(), language.toPlainText()) == ("who", "French")
    assert form.preview.toPlainText() == "Greet {{who}} in French.\nThen {{who}} goes."
    QTest.keyClick(who, Qt.Key.Key_Return)
    assert "Fill in: who" in {each.text() for each in form.findChildren(QLabel)}
    QTest.keyClicks(who, "Ann")
    QTest.keyClick(who, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(who, "Lee {{language}}")
    language.clear()
    assert form.preview.toPlainText().startswith("Greet Ann\nLee {{language}} in .")
    QTest.keyClick(language, Qt.Key.Key_Return)
    await settle()
    assert bench.field.toPlainText() == "Greet Ann\nLee {{language}} in .\nThen Ann\nLee {{language}} goes."
    assert bench.controller.dialog is None
    assert sent == []
    bench.field.undo()
    assert bench.field.toPlainText() == "/gr"


async def test_escape_in_the_form_restores_the_typed_text(bench: Bench) -> None:
    await bench.write("/gr")
    bench.press(Qt.Key.Key_Return)
    form = bench.controller.dialog
    assert isinstance(form, PromptForm)
    QTest.keyClicks(form.fields[0].editor, "Ann")
    QTest.keyClick(form.fields[0].editor, Qt.Key.Key_Escape)
    await settle()
    assert bench.field.toPlainText() == "/gr"
    assert bench.controller.dialog is None


async def test_a_prompt_without_variables_is_inserted_in_the_composer_at_once(bench: Bench) -> None:
    await bench.write("/we")
    assert "Write the" not in bench.controller.popup.list.rows.item(0).data(Qt.ItemDataRole.AccessibleTextRole), (
        "its first line describes it"
    )
    bench.press(Qt.Key.Key_Tab)
    assert bench.field.toPlainText() == "/fix 7\nWrite the 😀 report."
    assert bench.controller.dialog is None
    assert bench.shown() == []
