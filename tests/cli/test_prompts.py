"""``atelier prompts``, and prompts in ``atelier run``: by ``/name`` and by ``--prompt NAME --set variable=value``."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.llm.scripted_model import ScriptedModel
from tests.cli.conftest import Cli

TEXT = "Greet {{who}} in {{language=French}}."


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATELIER_HOME", str(tmp_path / "someone"))
    return tmp_path / "someone"


def test_prompts_are_added_listed_changed_and_removed(cli: Cli) -> None:
    assert cli("prompts", "add", "greet", "--text", TEXT, "--description", "Greets").out == "/greet\n"
    assert cli("prompts", "add", "read", "--text", "-", piped="Read it.\n").status == 0
    listed = cli("prompts", "list").out.splitlines()
    assert [line.split() for line in listed[1:]] == [["/greet", "Greets", "who,", "language"], ["/read"]]
    assert [each["name"] for each in cli("prompts", "list", "--search", "french GREET", "--json").json] == ["greet"]
    shown = cli("prompts", "show", "/greet")
    assert shown.out == f"---\nname: greet\ndescription: Greets\nvariables: [who, language]\n---\n\n{TEXT}\n"
    assert cli("prompts", "show", "greet", "--json").json["variables"] == [
        {"name": "who", "default": None},
        {"name": "language", "default": "French"},
    ]
    assert cli("prompts", "edit", "greet", "--rename", "hail").out == "/hail\n"
    assert cli("prompts", "edit", "hail", "--text", "Hail {{who}}", "--json").json["description"] == "Greets"
    assert cli("prompts", "remove", "hail", "--json").json["removed"]["content"] == "Hail {{who}}"
    for arguments in (
        ("show", "hail"),
        ("edit", "read"),
        ("add", "Read", "--text", "x"),
        ("add", "a b", "--text", "x"),
    ):
        refused = cli("prompts", *arguments)
        assert refused.status == 2, arguments
        assert refused.err


def test_files_are_imported_and_skipped_ones_reported(cli: Cli, tmp_path: Path) -> None:
    cli("prompts", "add", "greet", "--text", TEXT)
    file = tmp_path / "own.md"
    file.write_text(cli("prompts", "show", "greet").out)
    claude = tmp_path / "fix.md"
    claude.write_text("---\nmodel: opus\n---\nFix $ARGUMENTS\n")
    done = cli("prompts", "import", str(file), str(claude))
    assert done.out == "/greet-2\n/fix\n"
    assert f"Not imported from {claude}: model" in done.err
    assert cli("prompts", "import", str(file), "--on-conflict", "skip", "--json").json[0]["name"] == "greet"
    assert cli("prompts", "show", "fix", "--json").json["content"] == "Fix {{arguments}}"


def test_a_prompt_starts_a_run(cli: Cli) -> None:
    cli("prompts", "add", "greet", "--text", TEXT)
    model = ScriptedModel(["Salut", "Ciao"])
    assert cli("run", "--prompt", "greet", "--set", "who=Ann Lee", "--set", "language=a=b", steps=model).status == 0
    assert model.requests[0].messages[-1].content == "Greet Ann Lee in a=b."
    assert cli("run", "/greet Ann language=Italian", steps=model).status == 0
    assert "Greet Ann in Italian." in model.requests[1].messages[-1].content


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "PROMPT --prompt"),
        (("Hello", "--prompt", "greet"), "--prompt"),
        (("Hello", "--set", "who=Ann"), "PROMPT has none"),
        (("--prompt", "greet"), "needs values for: who. For example: --set who=…"),
        (("--prompt", "greet", "--set", "whom=Ann"), "no variable whom"),
        (("--prompt", "greet", "--set", "who"), "--set language=French"),
        (("--prompt", "gret"), "Prompts: greet"),
        (("/greet",), "needs values for: who. For example: /greet who=…"),
    ],
)
def test_a_prompt_with_missing_variables_starts_nothing(cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    cli("prompts", "add", "greet", "--text", TEXT)
    refused = cli("run", *arguments)
    assert refused.status == 2
    assert says in refused.err
    assert cli("workflows", "list", "--json").json == []


def test_a_file_of_the_same_name_takes_precedence_and_a_note_says_so(cli: Cli, home: Path) -> None:
    cli("prompts", "add", "greet", "--text", TEXT)
    file = home / ".agents/commands/greet.md"
    file.parent.mkdir(parents=True)
    file.write_text("Wave.")
    assert f"/greet calls {file}" in cli("prompts", "list").err
