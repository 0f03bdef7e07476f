"""Ids shortened on the command line."""

from __future__ import annotations

import itertools

from tests.cli.conftest import Cli


def test_unambiguous_prefixes_of_ids_are_accepted(cli: Cli) -> None:
    first = cli("run", "one", "--json", steps=["1"]).events[0]["workflow_id"]
    second = cli("run", "two", "--json", steps=["2"]).events[0]["workflow_id"]
    common = "".join(
        a for a, b in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=True))
    )
    assert len(common) >= 4
    assert cli("workflows", "show", second[: len(common) + 1], "--json").json["workflow"]["id"] == second
    assert cli("run", "go", "--workflow", first[:-1].upper(), "--json", steps=["3"]).events[0]["workflow_id"] == first
    several = cli("workflows", "show", common)
    assert several.status == 2
    assert first in several.err
    assert second in several.err
    assert "no workflow ffffff" in cli("workflows", "show", "ffffff").err
    memory = cli("memory", "add", "Blue", "--json").json["id"]
    assert cli("memory", "delete", memory[:-2], "--json").json["id"] == memory
