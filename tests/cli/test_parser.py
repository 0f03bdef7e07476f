"""The grammar: what is offered, what is refused, where global options may be, and that it loads nothing heavy."""

from __future__ import annotations

import argparse
import gettext
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from atelier_desk.cli.argparse_translation import WORDS
from atelier_desk.cli.command_arguments import memory, shared_options
from atelier_desk.cli.dispatch import execute
from atelier_desk.cli.parser import HelpShown, Usage, build_parser, parse
from atelier_desk.domain.agent import ApprovalMode, Thinking, ToolDialect, ToolMode
from atelier_desk.domain.memory import MemoryScope, MemoryType
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.presentation import permission_profiles
from atelier_desk.support import i18n
from tests.cli.conftest import Cli
from tests.engine.ipc.conftest import RecordingTerminal


@pytest.mark.parametrize(
    "argv",
    [
        ["--json", "--data-dir", "/d", "workflows", "list"],
        ["workflows", "--json", "--data-dir", "/d", "list"],
        ["workflows", "list", "--data-dir=/d", "--json"],
        ["--data-dir", "/elsewhere", "workflows", "list", "--data-dir", "/d", "--json"],
    ],
)
def test_global_options_may_precede_or_follow_the_command(argv: list[str]) -> None:
    arguments = parse(argv)
    assert (arguments.data_dir, arguments.json, arguments.lang) == ("/d", True, None)


@pytest.mark.parametrize("argv", [[], ["--data-dir", "/d", "--lang=fr", "--log-level", "info"]])
def test_opening_the_desktop_loads_no_command(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The grammar of all commands took a third of the time to the first paint."""
    loaded: list[str] = []
    monkeypatch.setattr("atelier_desk.cli.parser.import_module", loaded.append)
    arguments = parse(argv)
    assert (arguments.command, arguments.json, arguments.accept_loss) == (None, False, False)
    assert arguments.data_dir == ("/d" if argv else None)
    assert loaded == []


@pytest.mark.parametrize("argv", [["frobnicate"], ["--json", "frobnicate"]])
def test_an_unknown_command_lists_the_available_ones(argv: list[str]) -> None:
    with pytest.raises(Usage) as wrong:
        parse(argv)
    assert "frobnicate" in wrong.value.text
    assert "workflows" in wrong.value.text


@pytest.mark.parametrize(
    "argv",
    [
        ["frobnicate"],
        ["run"],
        ["run", "a", "b"],
        ["run", "a", "--max-cost", "-1"],
        ["run", "a", "--max-cost", "nan"],
        ["run", "a", "--max-tokens", "1.5"],
        ["run", "a", "--timeout", "0"],
        ["run", "a", "--timeout", "inf"],
        ["run", "a", "--tool-mode", "magic"],
        ["workflows"],
        ["workflows", "show"],
        ["workflows", "fork", "x"],
        ["workflows", "export", "x", "--format", "exe"],
        ["workflows", "list", "--limit", "0"],
        ["providers", "add", "x", "--kind", "azure"],
        ["--lang", "de", "models", "list"],
        ["--log-level", "loud", "models", "list"],
        ["run", "half a character \udcff"],
        ["mcp", "add", "x"],
        ["projects"],
        ["approvals"],
        ["approvals", "approve", "x", "--scope", "for-ever"],
        ["permissions", "add", "x"],
        ["permissions", "add", "x", "--action", "perhaps"],
        ["run", "a", "--approval", "never"],
        ["run", "a", "--on-approval", "guess"],
        ["resume", "--on-approval", "maybe"],
        ["workflows", "list", "--js"],
    ],
)
def test_a_usage_error_is_explained_with_status_2(argv: list[str], cli: Cli) -> None:
    with pytest.raises(Usage):
        parse(argv)
    result = cli(*argv)
    assert result.status == 2
    assert result.out == ""
    assert "atelier" in result.err


class Marked(gettext.NullTranslations):
    """Puts every requested text in brackets, and records those that argparse requested."""

    def __init__(self) -> None:
        super().__init__()
        self.of_argparse: set[str] = set()

    def gettext(self, message: str) -> str:
        if sys._getframe(2).f_globals["__name__"] == "argparse":
            self.of_argparse.add(message)
        return f"[{message}]"


def test_argparse_messages_are_in_the_readers_language(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = Marked()
    monkeypatch.setattr(i18n, "_current", marked)
    wrong = (
        ["frobnicate"],
        ["agents", "show"],
        ["run"],
        ["run", "a", "b"],
        ["run", "a", "--prompt", "b"],
        ["run", "a", "--agent"],
        ["run", "a", "--json=3"],
        ["run", "a", "--approval", "x"],
    )
    for argv in wrong:
        with pytest.raises(Usage) as caught:
            parse(argv)
        assert caught.value.text.startswith("[usage: ]")
    with pytest.raises(HelpShown):
        parse(["run", "--help"])
    # These two are looked up together with "expected one argument"; no option here takes such a number of values.
    never_said = {"expected at most one argument", "expected at least one argument"}
    assert marked.of_argparse - never_said == set(WORDS)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e400", "abc"])
def test_a_number_must_be_finite(text: str) -> None:
    with pytest.raises(Usage, match=f"argument --timeout: must be a number, not '{text}'"):
        parse(["run", "a", f"--timeout={text}"])


def test_an_invalid_number_names_its_option_once() -> None:
    with pytest.raises(Usage) as caught:
        parse(["models", "edit", "P", "m", "--window", "0"])
    problem = caught.value.text.splitlines()[-1]
    assert problem.count("--window") == 1
    assert "at least 1" in problem


def test_help_and_version_go_to_standard_output(cli: Cli) -> None:
    with pytest.raises(HelpShown):
        parse(["run", "--help"])
    assert cli("--help").out.startswith("usage: atelier")
    assert cli("--version").out == "Atelier 0.1.0\n"
    assert cli("workflows", "list", "--help").status == 0


def test_the_choices_are_those_of_the_domain() -> None:
    assert set(shared_options.TOOL_MODES) == {mode.value for mode in ToolMode}
    assert set(shared_options.DIALECTS) == {dialect.value for dialect in ToolDialect}
    assert set(shared_options.EFFORTS) == {level.value for level in Thinking}
    assert shared_options.PROFILES == permission_profiles.NAMES
    assert {profile.mode for profile in permission_profiles.ALL} == set(ApprovalMode)
    assert set(memory.TYPES) == {kind.value for kind in MemoryType}
    assert set(memory.SCOPES) == {scope.value for scope in MemoryScope}


@pytest.mark.parametrize("argv", [["--version"], ["run"], ["--help"]])
def test_help_and_errors_load_nothing_heavy(argv: list[str]) -> None:
    code = (
        "import sys; from atelier_desk.__main__ import main; main(sys.argv[1:]);"
        "print([m for m in ('pydantic','surrealdb','httpx','numpy','PySide6','keyring') if m in sys.modules], "
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.splitlines()[-1] == "[]"


LISTINGS = ("workflows", "agents", "tools", "models", "providers", "memory", "questions", "approvals", "tasks")
UNUSED = ("httpx", "numpy", "keyring", "babel", "PySide6", "xllamacpp", "atelier_desk.engine.runs.manager",
          "atelier_desk.engine.run.reducer.reduce", "atelier_desk.knowledge.memory_search",
          "atelier_desk.engine.services.sent_request_inspector",
          "atelier_desk.engine.services.workflow.transcript", "atelier_desk.domain.events.run")  # fmt: skip


def test_a_listing_loads_only_what_it_needs(tmp_path: Path) -> None:
    """All in one process, because each start takes a second; what one loads is reported from there on."""
    code = (
        "import sys; from atelier_desk.__main__ import main; lines = []\n"
        "for noun in sys.argv[3:]:\n"
        "    status = main(['--data-dir', sys.argv[2], noun, 'list'])\n"
        "    lines.append(' '.join([noun, str(status), *(m for m in sys.argv[1].split() if m in sys.modules)]))\n"
        "print(*lines, sep='\\n', file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, " ".join(UNUSED), str(tmp_path / "data")]
    # The first start creates the agents, for which it must know the tools.
    subprocess.run([*command, "tools"], capture_output=True, check=True, timeout=60)
    done = subprocess.run([*command, *LISTINGS], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.splitlines()[-len(LISTINGS) :] == [f"{noun} 0" for noun in LISTINGS]


def commands_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The function that each command of the grammar calls."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups and (handler := parser.get_default("handler")):
        yield handler
    for action in groups:
        for each in action.choices.values():
            yield from commands_of(each)


@pytest.mark.parametrize("handler", [name for name in commands_of(build_parser()) if name != "quick:quick"])
def test_every_command_has_its_function(handler: str) -> None:
    module, _colon, function = handler.partition(":")
    assert callable(getattr(import_module(f"atelier_desk.cli.commands.{module}"), function))


def test_a_wrong_subcommand_lists_all_subcommands() -> None:
    with pytest.raises(Usage, match=r"invalid choice: 'nonsense' .*'run'.*'completion'"):
        parse(["nonsense", "workflows"])


def test_a_folder_may_have_the_name_of_a_command() -> None:
    assert parse(["--data-dir", "tools", "workflows", "list"]).handler == "workflows:list_"


async def test_a_program_opened_for_a_listing_can_still_run_agents(tmp_path: Path) -> None:
    async with Atelier.open(tmp_path, model_factory=lambda agent: ScriptedModel(["hello"]), start=False) as atelier:
        assert not hasattr(atelier, "runs")
        terminal = RecordingTerminal()
        assert await execute(atelier, ["workflows", "list"], terminal) == 0
        assert not hasattr(atelier, "runs")
        assert await execute(atelier, ["run", "go", "--quiet"], terminal) == 0
        assert terminal.out.endswith("hello\n")


def test_the_language_option_overrides_the_settings(cli: Cli) -> None:
    assert cli("--lang", "fr", "workflows", "list").status == 0
    assert i18n.language() == "fr"
    assert cli("workflows", "list", "--lang", "en").status == 0
    assert i18n.language() == "en"


def test_the_environment_sets_the_language_and_the_option_overrides_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATELIER_LANG", "fr")
    assert "demande est vide" in cli("run", " ").err
    assert "prompt is empty" in cli("run", " ", "--lang", "en").err
    monkeypatch.setenv("ATELIER_LANG", "de")
    monkeypatch.setenv("LC_ALL", "C")
    assert "prompt is empty" in cli("run", " ").err
