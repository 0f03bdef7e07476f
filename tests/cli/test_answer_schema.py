"""``--schema``: structured answers for scripts, and an agent's answer schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atelier_desk.llm.scripted_model import ScriptedModel
from tests.cli.conftest import Cli

SCHEMA = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
FITS = '{"total": 3}'


@pytest.fixture
def schema(tmp_path: Path) -> str:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    return "schema.json"


def test_the_json_event_has_the_object_under_its_own_key(cli: Cli, schema: str) -> None:
    model = ScriptedModel([f"```json\n{FITS}\n```"])
    result = cli("run", "count", "--schema", schema, "--json", steps=model)
    assert result.status == 0
    assert result.of("workflow_complete")[0]["answer"] == {"total": 3}
    assert model.requests[0].response_schema == SCHEMA


def test_with_quiet_only_the_object_is_printed(cli: Cli, schema: str) -> None:
    result = cli("run", "count", "--schema", schema, "-q", steps=[f"```json\n{FITS}\n```"])
    assert (result.status, json.loads(result.out)) == (0, {"total": 3})


def test_an_answer_that_never_matches_is_reported(cli: Cli, schema: str) -> None:
    result = cli("run", "count", "--schema", schema, "-q", steps=["Three.", "Three!"])
    assert (result.status, result.out) == (0, "Three!\n")
    assert "The answer does not match its schema. The answer was kept as is. Problem: It is not JSON" in result.err
    shown = cli("run", "count", "--schema", schema, "--json", steps=["Three.", "Three!"])
    assert "answer" not in shown.of("workflow_complete")[0]
    assert [event["details"]["problem"][:14] for event in shown.of("misfit")] == ["It is not JSON"]


def test_a_second_attempt_is_reported_to_people(cli: Cli, schema: str) -> None:
    result = cli("run", "count", "--schema", schema, steps=["Three.", FITS])
    assert result.out.endswith(FITS + "\n")
    assert "Asked for a new answer: the last one did not match the answer schema" in result.err


def test_the_schema_can_come_from_standard_input(cli: Cli) -> None:
    result = cli("run", "count", "--schema", "-", "--json", piped=json.dumps(SCHEMA), steps=[FITS])
    assert result.of("workflow_complete")[0]["answer"] == {"total": 3}
    refused = cli("run", "-", "--schema", "-", piped="x")
    assert refused.status == 2
    assert "the prompt or the schema, not both" in refused.err


@pytest.mark.parametrize(
    ("text", "said"), [("{", "The schema is not JSON. Line 1"), ('{"type": "array"}', '"type": "object"')]
)
def test_an_invalid_schema_is_refused_before_any_request(cli: Cli, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.json").write_text(text, encoding="utf-8")
    model = ScriptedModel([FITS])
    result = cli("run", "count", "--schema", "bad.json", steps=model)
    assert result.status == 2
    assert said in result.err
    assert not model.requests
    assert cli("run", "count", "--schema", "missing.json", steps=model).status == 2


def test_an_agents_schema_is_set_changed_and_removed(cli: Cli, tmp_path: Path, schema: str) -> None:
    (tmp_path / "agent.json").write_text('{"name": "Counter", "provider": "local", "model": "m"}', encoding="utf-8")
    assert cli("agents", "add", "agent.json", "--schema", schema).status == 0
    assert cli("agents", "show", "Counter").json["answer_schema"] == SCHEMA
    assert cli("run", "count", "--agent", "Counter", "--json", steps=[FITS]).of("workflow_complete")[0]["answer"] == {
        "total": 3
    }
    assert cli("agents", "edit", "Counter", "--schema", "-", piped='{"type": "object", "title": "other"}').status == 0
    assert cli("agents", "show", "Counter").json["answer_schema"]["title"] == "other"
    refused = cli("agents", "edit", "Counter", "--schema", "-", piped="[]")
    assert (refused.status, "must be a JSON object" in refused.err) == (2, True)
    assert cli("agents", "edit", "Counter", "--no-schema").status == 0
    assert "answer_schema" not in cli("agents", "show", "Counter").json
    assert cli("agents", "edit", "Counter").status == 2
