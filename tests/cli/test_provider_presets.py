"""``atelier providers presets``, and ``add --preset``: a service is added by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def test_services_are_listed_with_their_requirements(cli: Cli) -> None:
    shown = cli("providers", "presets", "claude")
    assert shown.status == 0
    assert "https://console.anthropic.com/settings/keys" in shown.out
    assert "API key required" in shown.out
    assert "Groq" not in shown.out
    assert {each["id"] for each in cli("providers", "presets", "claude", "--json").json} == {"anthropic", "openrouter"}


def test_a_service_is_added_with_its_kind_and_address(cli: Cli) -> None:
    assert cli("providers", "add", "work", "--preset", "Groq", "--api-key-env", "GROQ_API_KEY", "--no-test").status == 0
    assert cli("providers", "add", "gemini", "--preset", "google", "--no-test").status == 0
    added = {each["name"]: (each["kind"], each["base_url"]) for each in cli("providers", "list", "--json").json}
    assert added["work"] == ("openai", "https://api.groq.com/openai/v1")
    assert added["gemini"] == ("google", "https://generativelanguage.googleapis.com/v1beta")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Specify the server"),
        (["--preset", "nobody"], "There is no service nobody. Services: openai, anthropic"),
        (["--preset", "azure"], "--base-url https://NAME.openai.azure.com"),
    ],
)
def test_missing_values_are_reported(cli: Cli, options: list[str], said: str) -> None:
    result = cli("providers", "add", "work", *options, "--no-test")
    assert result.status != 0
    assert said in result.err


def test_keys_are_stored_in_a_file_on_request_and_missing_ones_listed(cli: Cli) -> None:
    assert cli("providers", "add", "gemini", "--preset", "google", "--no-test").status == 0
    assert "API key required" in cli("providers", "list").out
    assert cli("providers", "key-file", "--json").json == {"place": "memory", "file": None}
    switched = cli("providers", "key-file", "on")
    assert "unencrypted in" in switched.out
    path = Path(cli("providers", "key-file", "--json").json["file"])
    assert path.read_text("utf-8") == "{}"
    assert cli("providers", "edit", "gemini", "--header", "X-Team: blue-team-1").status == 0
    assert "blue-team-1" in path.read_text("utf-8")
    assert "lost when Atelier closes" in cli("providers", "key-file", "off").out
    assert not path.exists()
