"""Shell completion: the scripts are run by the shells themselves, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from atelier_desk.cli.completion_scripts import words_of
from atelier_desk.cli.parser import build_parser
from tests.cli.conftest import Cli

LINES = [
    (["wor"], ["workflows"]),
    (["--data-dir", "/tmp", "agents", ""], ["add", "edit", "gallery", "import", "list", "remove", "show"]),
    (["workflows", "export", "x", "--format", ""], ["docx", "html", "json", "md", "pdf"]),
    (["run", "go", "--eff"], ["--effort"]),
    (["run", "go", "--effort", "m"], ["medium"]),
    (["providers", "add", "x", "--kind", "ol"], ["ollama"]),
    (["completion", "fi"], ["fish"]),
]


def script(cli: Cli, shell: str, tmp_path: Path) -> Path:
    result = cli("completion", shell)
    assert (result.status, result.err) == (0, "")
    (tmp_path / shell).write_text(result.out, "utf-8")
    return tmp_path / shell


def run(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert done.stderr == ""
    return sorted(
        line for line in done.stdout.splitlines() if (line and not line.startswith("-")) or line.startswith("--eff")
    )


def test_every_command_and_option_of_the_grammar_is_known() -> None:
    words = words_of(build_parser())
    places = {" ".join(path) for path, _words in words.walk()}
    assert {"run", "chat", "workflows fork", "tasks list", "models edit", "tools own confirm"} <= places
    options = {name for option in words.commands["run"].options for name in option.names}
    assert {"--attach", "--continue", "-c", "--quiet", "--data-dir"} <= options


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(cli: Cli, tmp_path: Path) -> None:
    source = script(cli, "bash", tmp_path)
    for typed, expected in LINES:
        words = " ".join(f"'{word}'" for word in ["atelier", *typed])
        code = (
            f"source {source}; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _atelier; printf '%s\\n' "
            f'"${{COMPREPLY[@]}}"'
        )
        assert run("bash", "--norc", "-c", code) == expected, typed


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes(cli: Cli, tmp_path: Path) -> None:
    source = script(cli, "fish", tmp_path)
    for typed, expected in LINES:
        line = " ".join(["atelier", *typed])
        assert (
            run("fish", "--no-config", "-c", f"source {source}; complete -C '{line}' | string split -f1 \\t; true")
            == expected
        ), typed


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_accepts_the_script(cli: Cli, tmp_path: Path) -> None:
    source = script(cli, "zsh", tmp_path)
    names = run(
        "zsh",
        "-f",
        "-c",
        f"autoload -Uz compinit; compinit -u -D; source {source}; print -l ${{(k)functions}} $_comps[atelier]",
    )
    assert {"_atelier", "_atelier_run", "_atelier_workflows_fork"} <= set(names)


def test_an_unknown_shell_is_a_usage_error(cli: Cli) -> None:
    assert cli("completion", "tcsh").status == 2
