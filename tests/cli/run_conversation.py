"""A conversation that is stored."""

from __future__ import annotations

from tests.cli.conftest import Cli


def talk(cli: Cli, prompt: str = "Tell me about herons", *answers: str) -> str:
    return str(cli("run", prompt, "--json", steps=list(answers) or ["Herons fish."]).events[0]["workflow_id"])
