"""The page of prompts: search, write, edit, copy, preview, delete with undo, and import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.prompt import Prompt, PromptDraft
from atelier_desk.engine.services.prompts import Imported
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import settle

Find = Callable[[str], Any]
GREET = Prompt(id="g", name="greet", description="Greets", content="Greet {{who}} in {{language=French}}.")
READ = Prompt(id="r", name="read", content="Read it aloud.\nSlowly.")


class Prompts:
    """Stored prompts of a fake engine."""

    def __init__(self, atelier: Engine, *initial: Prompt) -> None:
        self.stored = {each.id: each for each in initial}
        for method in ("list", "save", "delete", "put_back", "duplicate", "import_text"):
            atelier.set("prompts", method, getattr(self, method))
        atelier.set("prompts", "export_text", "exported")

    def list(self) -> list[Prompt]:
        return sorted(self.stored.values(), key=lambda each: each.name)

    def put_back(self, prompt: Prompt) -> Prompt:
        self.stored[prompt.id] = prompt
        return prompt

    def save(self, draft: PromptDraft, id: str | None = None) -> Prompt:
        return self.put_back(Prompt(id=id or "new", **draft.checked().model_dump()))

    def delete(self, prompt_id: str) -> Prompt:
        return self.stored.pop(prompt_id)

    def duplicate(self, prompt_id: str) -> Prompt:
        return self.put_back(self.stored[prompt_id].model_copy(update={"id": "copy", "name": "greet-2"}))

    def import_text(self, text: str, file: str, on_conflict: str = "rename") -> Imported:
        return Imported(self.put_back(Prompt(id="i", name=Path(file).stem, content=text)), ("model",))


@pytest.fixture
def prompts(atelier: Engine) -> Prompts:
    return Prompts(atelier, GREET, READ)


@pytest.fixture
async def page(window: SettingsWindow, prompts: Prompts) -> Any:
    window.show_page("prompts")
    await settle()
    return window.page("prompts")


def rows(page: Any) -> list[str]:
    return [page.list.item(row).text() for row in range(page.list.count())]


def texts(widget: Any) -> str:
    return "\n".join(each.text() for each in widget.window().findChildren(QLabel) if not each.isHidden())


async def test_the_selected_prompt_is_in_the_form_with_its_variables(page: Any, find: Find) -> None:
    assert rows(page) == ["/greet", "/read"]
    assert (page.name.text(), page.form.controls["description"].text(), page.text.toPlainText()) == (
        "greet",
        "Greets",
        GREET.content,
    )
    assert page.facts.text() == "Variables: who, language = French"
    assert not page.save.isEnabled()
    switch_language("fr")
    await settle()
    assert page.facts.text() == "Variables\u00a0: who, language = French"
    assert page.window().title.text() == "Invites"


async def test_a_search_covers_names_descriptions_and_texts(page: Any, find: Find) -> None:
    find("prompt-search").setText("aloud SLOWLY")
    assert rows(page) == ["/read"]
    assert page.name.text() == "greet", "what is in the form stays"
    find("prompt-search").setText("nothing of it")
    assert rows(page) == []
    assert find("prompt-nothing").text() == "No results"


async def test_a_prompt_is_written_changed_and_duplicated(page: Any, find: Find, prompts: Prompts) -> None:
    find("prompt-new").click()
    page.name.setText("two words")
    page.text.setPlainText("Sum {{what}} up")
    assert page.facts.text() == "Variables: what"
    page.save.click()
    await settle()
    assert "letters, digits" in page.busy.text.text()
    page.list.setCurrentRow(1)
    assert "Save your changes" in page.busy.text.text()
    assert page.name.text() == "two words"
    page.name.setText("sum")
    page.save.click()
    await settle()
    assert rows(page) == ["/greet", "/read", "/sum"]
    assert page.current() == prompts.stored["new"]
    page.text.appendPlainText("briefly")
    page.save.click()
    await settle()
    assert prompts.stored["new"].content == "Sum {{what}} up\nbriefly"
    page.list.setCurrentRow(0)
    find("prompt-duplicate").click()
    await settle()
    assert page.current().name == "greet-2"
    page.name.setText("other")
    page.cancel.click()
    assert page.name.text() == "greet-2"


async def test_a_duplicate_name_is_reported_and_nothing_typed_is_lost(page: Any, atelier: Engine) -> None:
    atelier.set(
        "prompts", "save", ConflictError("There is already a prompt named {name}. Choose another name.", name="read")
    )
    page.name.setText("read")
    page.save.click()
    await settle()
    assert "Choose another name" in page.busy.text.text()
    assert page.name.text() == "read"


async def test_a_deleted_prompt_is_restored_by_undo(page: Any, find: Find, prompts: Prompts) -> None:
    find("prompt-delete").click()
    await settle()
    assert rows(page) == ["/read"]
    assert page.name.text() == "read"
    page.window().toasts.undo.undo()
    await settle()
    assert rows(page) == ["/greet", "/read"]
    assert page.current() == GREET
    for _each in range(2):
        find("prompt-delete").click()
        await settle()
    assert "No prompts yet" in texts(page)
    assert not find("prompt-delete").isEnabled()
    assert not page.text.isVisible()


async def test_a_preview_uses_the_forms_values_and_can_be_copied(page: Any, find: Find, qtbot: QtBot) -> None:
    page.text.setPlainText("Hello {{who}}!")
    find("prompt-preview").click()
    dialog = page.dialog
    dialog.fields[0].set_text("Ann")
    assert dialog.preview.toPlainText() == "Hello Ann!"
    find("form-submit").click()
    await settle()
    assert QApplication.clipboard().text() == "Hello Ann!"
    assert page.dialog is None
    assert page.text.toPlainText() == "Hello {{who}}!"


async def test_prompts_are_imported_and_exported_as_files(page: Any, find: Find, tmp_path: Path) -> None:
    file = tmp_path / "fix.md"
    file.write_text("Fix {{what}}")
    page.import_from(file)
    while page.jobs._tasks:
        await page.jobs.settled()
    assert page.current().name == "fix"
    assert "/fix imported. Ignored fields: model" in texts(page)
    page.export_to(tmp_path / "out.md")
    while page.jobs._tasks:
        await page.jobs.settled()
    assert (tmp_path / "out.md").read_text() == "exported"


async def test_shadowed_and_untrusted_prompts_are_marked(page: Any, prompts: Prompts, atelier: Engine) -> None:
    prompts.put_back(GREET.model_copy(update={"tainted": ("a backup from another installation",)}))
    atelier.set("skills", "files_by_name", {"greet": "/home/ann/.agents/commands/greet.md"})
    page.reload()
    await settle()
    warning = page.warning.text()
    assert "takes precedence: /home/ann/.agents/commands/greet.md" in warning
    assert "From a backup from another installation" in warning
    assert page.save.isEnabled(), "saving reports that it was read"
    page.save.click()
    await settle()
    assert "elsewhere" not in page.warning.text()


async def test_typed_text_stays_when_its_prompt_is_deleted_elsewhere(page: Any, prompts: Prompts) -> None:
    page.name.setText("half a na")
    prompts.delete("g")
    page.reload()
    await settle()
    assert (rows(page), page.name.text(), page.cancel.isEnabled()) == (["/read"], "half a na", True)
    page.cancel.click()
    await settle()
    assert (page.name.text(), page.current()) == ("read", READ)


async def test_the_result_of_saving_is_shown_until_the_form_changes(page: Any, find: Find) -> None:
    QTest.keyClicks(find("prompt-description"), "!")
    find("prompt-save").click()
    await settle()
    assert (page.busy.isVisible(), page.busy.text.text()) == (True, "Saved.")
    QTest.keyClicks(find("prompt-description"), "!")
    assert not page.busy.isVisible()
