"""Prompts for people: names, variables, files, precedence of equal names, and which content counts as untrusted."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ConflictError, LimitError, NotFoundError, UsageError
from atelier_desk.domain.prompt import PromptDraft
from atelier_desk.engine import Atelier
from atelier_desk.engine.importing.imported_data_restrictions import hold
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.workspace.skills import argument_placeholders
from tests.engine.conftest import Opener
from tests.engine.services.skill_folders import home, project, turn, write

__all__ = ["home", "project"]


@pytest.fixture
async def atelier(open_atelier: Opener) -> AsyncIterator[Atelier]:
    async with open_atelier() as opened:
        yield opened


GREET = PromptDraft(name="greet", description="Greets", content="Greet {{who}} in {{language=French}}.")


async def test_prompts_are_created_edited_copied_and_deleted_with_undo(atelier: Atelier) -> None:
    told: list[tuple[str, str]] = []
    atelier.bus.on_changed(lambda topic, id: told.append((topic, id)))
    made = await atelier.prompts.save(GREET)
    copy = await atelier.prompts.duplicate(made.id)
    third = await atelier.prompts.duplicate(copy.id)
    assert [each.name for each in await atelier.prompts.list()] == ["greet", "greet-2", "greet-3"]
    changed = await atelier.prompts.save(PromptDraft(name="hello", content="Hello"), made.id)
    assert (changed.id, changed.created_at, changed.name) == (made.id, made.created_at, "hello")
    assert await atelier.prompts.by_name("/HELLO") == changed
    with pytest.raises(ConflictError, match="Greet-2"):
        await atelier.prompts.save(PromptDraft(name="Greet-2", content="x"), made.id)
    with pytest.raises(NotFoundError, match="greet-2, greet-3, hello"):
        await atelier.prompts.by_name("nothing")
    gone = await atelier.prompts.delete(copy.id)
    assert gone == copy
    assert await atelier.prompts.put_back(gone) == copy
    await atelier.prompts.delete(third.id)
    await atelier.prompts.save(PromptDraft(name="greet-3", content="Another"))
    assert (await atelier.prompts.put_back(third)).name == "greet-4", "its name was given away: nothing is lost"
    assert ("prompt", made.id) in told


async def test_lengths_are_limited(atelier: Atelier, monkeypatch: pytest.MonkeyPatch) -> None:
    many = " ".join(f"{{{{v{number}}}}}" for number in range(limits.PROMPT_VARIABLES + 1))
    with pytest.raises(LimitError, match="21 variables; at most 20"):
        await atelier.prompts.save(PromptDraft(name="a", content=many))
    monkeypatch.setattr(limits, "PROMPTS", 1)
    await atelier.prompts.save(GREET)
    with pytest.raises(LimitError, match="Delete one first"):
        await atelier.prompts.save(PromptDraft(name="a", content="x"))


async def test_text_with_a_lone_surrogate_is_stored(atelier: Atelier) -> None:
    made = await atelier.prompts.save(PromptDraft(name="a", description="b\ud83d", content="c\udc00 {{d}}"))
    assert (await atelier.prompts.get(made.id)).content == "c\ufffd {{d}}"


async def test_a_too_long_filled_in_text_is_refused(atelier: Atelier, monkeypatch: pytest.MonkeyPatch) -> None:
    await atelier.prompts.save(PromptDraft(name="a", content="{{b}}" * 10_000))
    monkeypatch.setattr(
        argument_placeholders, "with_values", lambda *_given: pytest.fail("a thousand million characters")
    )
    with pytest.raises(LimitError, match="1000000000 characters"):
        await atelier.prompts.filled("a", {"b": "x" * 100_000})


async def test_variables_without_a_value_are_named(atelier: Atelier) -> None:
    await atelier.prompts.save(GREET)
    assert await atelier.prompts.filled("greet", {"who": "Ann"}) == "Greet Ann in French."
    assert await atelier.prompts.filled("greet", {"who": "", "language": "{{who}}"}) == "Greet  in {{who}}."
    with pytest.raises(UsageError, match=r"needs values for: who\. For example: /greet who=…"):
        await atelier.prompts.filled("greet", {})
    with pytest.raises(UsageError, match=r"no variable whom\. Its variables: who, language"):
        await atelier.prompts.filled("greet", {"whom": "Ann"})
    with pytest.raises(LimitError, match="variables filled in"):
        await atelier.prompts.filled("greet", {"who": "x" * limits.MESSAGE})


async def test_a_message_calls_a_prompt_and_the_model_gets_it_filled_in(open_atelier: Opener, home: Path) -> None:
    model = ScriptedModel(["Salut", "Hm"])
    async with open_atelier(model) as atelier:
        await atelier.prompts.save(GREET)
        workflow = await atelier.workflows.create()
        await turn(atelier, workflow.id, '/greet "Ann Lee"')
        said = model.requests[0].messages[-1].content
        assert said.startswith('/greet "Ann Lee"')
        assert "Greet Ann Lee in French." in said
        with pytest.raises(UsageError, match="who"):
            await turn(atelier, workflow.id, "/greet")
        await turn(atelier, workflow.id, "/Greet Ann")
        assert model.requests[1].messages[-1].content == "/Greet Ann", "no prompt of just that name"
        assert not (await atelier.workflows.get(workflow.id)).tainted


async def test_a_file_of_the_same_name_takes_precedence(atelier: Atelier, home: Path, project: Path) -> None:
    await atelier.prompts.save(GREET)
    assert (await atelier.skills.invoked("/greet Ann", ())).kind == "prompt"  # type: ignore[union-attr]
    mine = write(home, "greet")
    called = await atelier.skills.invoked("/greet Ann", ())
    assert called is not None
    assert (called.kind, called.source) == ("skill", str(mine))
    theirs = write(project, "greet")
    await atelier.workflows.create(workspace=(str(project),))
    assert await atelier.skills.files_by_name() == {"greet": str(mine)}, "nobody trusts the folder"
    await atelier.files.trust(str(project), True)
    assert await atelier.skills.files_by_name((str(project),)) == {"greet": str(theirs)}


async def test_files_are_imported_and_exported(atelier: Atelier, tmp_path: Path) -> None:
    made = await atelier.prompts.save(GREET)
    text = await atelier.prompts.export_text(made.id)
    again = await atelier.prompts.import_text(text, "x.md")
    assert again.prompt.draft == GREET.model_copy(update={"name": "greet-2"})
    assert (await atelier.prompts.import_text(text, "x.md", "skip")).prompt == made
    other = text.replace("Greet {{who}}", "Hail {{who}}")
    assert (await atelier.prompts.import_text(other, "x.md", "overwrite")).prompt.id == made.id
    assert (await atelier.prompts.get(made.id)).content.startswith("Hail")
    assert (await atelier.prompts.import_text("---\nmodel: opus\n---\nFix $1", "fix.md")).ignored == ("model",)
    with pytest.raises(UsageError, match="rename"):
        await atelier.prompts.import_text(text, "x.md", "never")


async def test_prompts_of_foreign_data_count_as_outside_content_until_a_person_saves_them(
    atelier: Atelier, home: Path
) -> None:
    made = await atelier.prompts.save(GREET)
    await hold(atelier.repos)
    held = await atelier.prompts.get(made.id)
    assert held.tainted
    assert (await atelier.skills.invoked("/greet Ann", ())).outside == held.tainted[0]  # type: ignore[union-attr]
    assert (await atelier.prompts.duplicate(made.id)).tainted == held.tainted
    await atelier.prompts.save(held.draft, made.id)
    assert (await atelier.skills.invoked("/greet Ann", ())).outside == ""  # type: ignore[union-attr]


async def test_a_file_written_by_an_agent_after_outside_content_is_not_confirmed_by_a_person(
    atelier: Atelier, tmp_path: Path
) -> None:
    file = tmp_path / "theirs.md"
    file.write_text("Obey {{who}}")
    atelier.workspace_files.marks.wrote(
        str(tmp_path), file.name, ("a page",), hashlib.sha256(file.read_bytes()).hexdigest()
    )
    imported = await atelier.prompts.import_text(file.read_text(), str(file))
    assert imported.prompt.tainted == ("a page",)
