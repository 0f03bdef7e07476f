"""Finding skills and commands: their locations, problems in plain words, and no links out of the folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import UsageError
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.skills.skill_discovery import BYTES, FoundSkill, command_name, files, in_project, of_user
from atelier_desk.workspace.skills.skill_file import command, skill

GOOD = "---\nname: {name}\ndescription: Does {name}.\n---\nDo {name}.\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    folder.mkdir()
    return folder


def write(top: Path, path: str, text: str | bytes) -> None:
    (top / path).parent.mkdir(parents=True, exist_ok=True)
    (top / path).write_bytes(text.encode() if isinstance(text, str) else text)


def good(top: Path, path: str) -> None:
    write(top, f"{path}/SKILL.md", GOOD.format(name=path.rpartition("/")[2]))


def only(found: list[FoundSkill]) -> FoundSkill:
    assert len(found) == 1, found
    return found[0]


def test_the_locations_of_other_programs_are_searched(top: Path) -> None:
    for path in (
        ".agents/skills/a",
        ".atelier/skills/b",
        ".claude/skills/team/c",
        ".claude/skills/c/scripts/d",
        "skills/none",
        ".claude/skills/node_modules/e",
    ):
        good(top, path)
    good(top, ".claude/skills/c")
    write(top, ".claude/commands/review/security.md", "Look for holes in $ARGUMENTS")
    write(top, ".github/prompts/plan.prompt.md", "---\ndescription: Plans\nargument-hint: what\n---\nPlan {{what}}")
    write(top, ".github/prompts/readme.md", "no prompt")
    found = in_project(ConfinedRoot(top))
    assert [(each.kind, each.name, each.place) for each in found] == [
        ("skill", "a", ".agents/skills"),
        ("skill", "b", ".atelier/skills"),
        ("skill", "c", ".claude/skills"),
        ("skill", "c", ".claude/skills"),
        ("command", "review:security", ".claude/commands"),
        ("command", "plan", ".github/prompts"),
    ]
    assert not any(each.problem for each in found)
    plan = found[-1].text
    assert plan is not None
    assert (plan.description, plan.hint, plan.names) == ("Plans", "what", ("what",))
    assert files(ConfinedRoot(top), found[2]) == ["scripts/d/SKILL.md"]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("Just text", "no header"),
        ("---\nname: x\n", "has no end"),
        ("---\nname: [\n---\nx", "not YAML"),
        ("---\nname: x\n---\nBody", "no description"),
        ("---\nname: x\ndescription: y\n---\n", "no instructions"),
        (b"\x00\x01\x02" * 100, "not text"),
        (GOOD.format(name="x") + "x" * 10 * 1024 * 1024, "the maximum is"),
        ("", "no header"),
    ],
)
def test_an_unusable_skill_has_a_reason(top: Path, content: str | bytes, word: str) -> None:
    write(top, ".agents/skills/x/SKILL.md", content)
    found = only(in_project(ConfinedRoot(top)))
    assert found.text is None
    assert found.name == "x"
    assert word in str(found.problem)


@pytest.mark.parametrize(
    ("content", "name", "word"),
    [
        ("---\nname: other\ndescription: d\n---\nB", "other", "folder is named x"),
        ("---\ndescription: d\n---\nB", "x", "no name"),
        ("---\nname: My Skill\ndescription: d\n---\nB", "x", "is not a valid skill name"),
        (f"---\nname: {'n' * 70}\ndescription: d\n---\nB", "n" * 70, "70 characters"),
        (f"---\nname: x\ndescription: {'d ' * 600}\n---\nB", "x", "only the first"),
        (f"---\nname: x\ndescription: d\n---\n{'B ' * 11_000}", "x", "take up much of a model's context window"),
        ("---\nname: x\ndescription: Use when: asked\n---\nB", "x", "quotes"),
        ("---\nname: x\ndescription: café\n---\nB".encode("cp1252"), "x", "UTF-8"),
    ],
)
def test_an_odd_skill_is_used_with_a_warning(top: Path, content: str | bytes, name: str, word: str) -> None:
    write(top, ".agents/skills/x/SKILL.md", content)
    found = only(in_project(ConfinedRoot(top)))
    assert found.text is not None
    assert found.name == name
    assert any(word in str(each) for each in found.text.warnings), found.text.warnings


def test_byte_order_marks_and_foreign_line_ends_are_accepted(top: Path) -> None:
    write(top, ".agents/skills/x/SKILL.md", b"\xef\xbb\xbf" + GOOD.format(name="x").replace("\n", "\r\n").encode())
    found = only(in_project(ConfinedRoot(top)))
    assert found.text is not None
    assert (found.text.body, found.text.warnings) == ("Do x.", ())


def test_a_folder_with_an_invalid_name_cannot_be_used(top: Path) -> None:
    write(top, ".agents/skills/My Skill/SKILL.md", "---\nname: Also Bad\ndescription: d\n---\nB")
    found = only(in_project(ConfinedRoot(top)))
    assert found.text is None
    assert "is not a valid skill name" in str(found.problem)


def test_no_link_leads_out_of_a_project(top: Path, tmp_path: Path) -> None:
    good(tmp_path, "outside/evil")
    (tmp_path / "secret").write_text("password")
    (top / ".agents/skills/s").mkdir(parents=True)
    (top / ".agents/skills/s/SKILL.md").symlink_to(tmp_path / "secret")
    (top / ".agents/skills/t").symlink_to(tmp_path / "outside/evil")
    (top / ".agents/skills/u").symlink_to("../../../outside/evil")
    (top / ".agents/skills/loop").symlink_to(".")
    (top / ".claude").mkdir()
    (top / ".claude/skills").symlink_to(tmp_path / "outside")
    found = in_project(ConfinedRoot(top))
    assert {str(each.problem) for each in found} == {"A link leads outside the folder."}
    assert [each.path for each in found] == [
        ".agents/skills/s/SKILL.md",
        ".agents/skills/t/SKILL.md",
        ".agents/skills/u/SKILL.md",
        ".claude/skills/SKILL.md",
    ]


def test_links_in_a_skill_are_not_listed(top: Path) -> None:
    good(top, ".agents/skills/x")
    (top / ".agents/skills/x/passwd").symlink_to("/etc/passwd")
    (top / ".agents/skills/x/etc").symlink_to("/etc")
    write(top, ".agents/skills/x/references/a.md", "a")
    assert files(ConfinedRoot(top), only(in_project(ConfinedRoot(top)))) == ["references/a.md"]


def test_links_inside_the_home_folder_are_followed(top: Path) -> None:
    good(top, "dev/mine")
    good(top, ".agents/skills/shared")
    (top / ".claude/skills").mkdir(parents=True)
    (top / ".claude/skills/mine").symlink_to(top / "dev/mine")
    (top / ".claude/skills/shared").symlink_to(top / ".agents/skills/shared")
    (top / ".claude/skills/passwd").symlink_to("/etc")
    found = of_user(ConfinedRoot(top))
    assert [(each.name, each.path, each.problem is None) for each in found] == [
        ("shared", ".agents/skills/shared/SKILL.md", True),
        ("mine", "dev/mine/SKILL.md", True),
        ("passwd", ".claude/skills/passwd/SKILL.md", False),
    ]


def test_a_folder_with_too_many_entries_is_cut(top: Path) -> None:
    for number in range(600):
        good(top, f".agents/skills/s{number}")
    assert len(in_project(ConfinedRoot(top))) == 500


def test_a_pipe_and_an_unreadable_file_are_named(top: Path) -> None:
    (top / ".agents/skills/pipe").mkdir(parents=True)
    os.mkfifo(top / ".agents/skills/pipe/SKILL.md")
    assert "cannot be read" in str(only(in_project(ConfinedRoot(top))).problem)


def test_the_limit_of_bytes_is_that_of_the_file(top: Path) -> None:
    text = GOOD.format(name="x")
    write(top, ".agents/skills/x/SKILL.md", text + "x" * (BYTES - len(text)))
    assert only(in_project(ConfinedRoot(top))).problem is None


def test_the_usage_options_of_a_header() -> None:
    said = skill(
        "---\nname: x\ndescription: d\ndisable-model-invocation: true\nuser-invocable: no\nallowed-tools: Bash(*) "
        "Read\n"
        "argument-hint: '[issue]'\narguments: [issue]\n---\nFix $issue",
        "x",
    )
    assert (said.by_model, said.by_person, said.allowed, said.hint, said.names) == (
        False,
        False,
        ("Bash(*)", "Read"),
        "[issue]",
        ("issue",),
    )
    assert said.takes_arguments


def test_a_command_needs_no_header() -> None:
    said = command("# Review\n\nLook at it.", "review")
    assert (said.description, said.takes_arguments) == ("Review", False)
    assert command_name("a/b.prompt.md") == "a:b"
    for text, name in (("", "x"), ("x", "a b"), ("x", "../x")):
        with pytest.raises(UsageError):
            command(text, name)


@given(st.text(max_size=300), st.text(max_size=20))
def test_any_file_is_a_skill_or_refused(text: str, folder: str) -> None:
    for read in (skill, command):
        with contextlib.suppress(UsageError):
            said = read(f"---\nname: x\ndescription: {text}\n---\n{text}", folder)
            assert said.name
            assert said.body
