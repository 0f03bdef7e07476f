"""A provider type from an external package is available on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli
from tests.helpers.provider_plugin import plugged


def test_providers_add_accepts_it(cli: Cli, tmp_path: Path) -> None:
    refused = cli("providers", "add", "mine", "--kind", "acme", "--no-test")
    assert refused.status == 2
    assert "ollama" in refused.err
    (tmp_path / "kinds").mkdir()
    with plugged(tmp_path / "kinds"):
        assert "acme" in cli("providers", "add", "--help").out
        assert cli("providers", "add", "mine", "--kind", "acme", "--no-test").status == 0
        assert ("mine", "acme") in [(each["name"], each["kind"]) for each in cli("providers", "list", "--json").json]
