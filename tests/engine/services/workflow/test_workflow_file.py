"""Exports as a document: one unreadable value hides nothing else."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from atelier_desk.domain.call_presentation_and_subjects import CallText, Presentation
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.workflow import Message, MessageRole, ToolExecution, Workflow
from atelier_desk.engine.services.workflow.importing import parse
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.engine.services.workflow.workflow_file import WorkflowFile, to_json, to_markdown
from atelier_desk.presentation.unreadable_values import unreadable
from atelier_desk.support.i18n import set_language
from tests.helpers.malformed_messages import NOTICES, POISON


def entry(role: MessageRole, details: dict[str, Any], *, content: str = "", kind: str = "") -> TranscriptEntry:
    message = Message.model_construct(
        **Message(workflow_id="w", run_id="r", seq=1, role=role, kind=kind, content=content).model_dump()
        | {"role": role, "details": details}
    )
    return TranscriptEntry(message)


def exported(entries: list[TranscriptEntry]) -> str:
    text = to_markdown(Workflow(name="Poisoned"), entries, [])
    return text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("role", list(MessageRole))
def test_whatever_details_hold_every_text_is_exported(role: MessageRole) -> None:
    texts = [f"text {number}." for number in range(len(POISON))]
    text = exported([entry(role, each, content=said) for each, said in zip(POISON, texts, strict=True)])
    assert [each for each in texts if each not in text] == []


@pytest.mark.parametrize("kind", NOTICES)
def test_notices_without_texts_hide_no_message(kind: str) -> None:
    poisoned = [entry(MessageRole.NOTICE, each, kind=kind) for each in POISON]
    last = entry(MessageRole.ASSISTANT, {}, content="Still here.")
    assert "Still here." in exported([*poisoned, last])


def test_a_file_without_a_name_is_unreadable_and_the_next_one_is_listed() -> None:
    text = exported([entry(MessageRole.USER, {"files": [{}, {"name": "a.txt"}], "attachments": 3}, content="Hello")])
    assert "Hello" in text
    assert "a.txt" in text
    assert text.count(unreadable()) == 2


def test_a_call_nested_too_deeply_hides_neither_its_message_nor_the_next_call() -> None:
    deep: Any = []
    for _level in range(100_000):
        deep = [deep]
    calls = tuple(
        ToolExecution(id=f"r:{number}", workflow_id="w", run_id="r", call_id=str(number), tool=f"Tool{number}")
        for number in (1, 2)
    )
    poisoned = calls[0].model_copy(update={"result": deep})
    message = entry(MessageRole.ASSISTANT, {}, content="Done.").message
    text = exported([TranscriptEntry(message, calls=(poisoned, calls[1]))])
    assert "Done." in text
    assert unreadable() in text
    assert "Tool2" in text


@pytest.mark.parametrize("value", ["\ud800", float("nan"), float("-inf"), 10**400])
def test_odd_values_are_exported_as_json(value: object) -> None:
    workflow = Workflow(name="w")
    message = entry(MessageRole.NOTICE, {"value": value}, content="x").message.model_copy(
        update={"workflow_id": workflow.id}
    )
    file = WorkflowFile(
        format="atelier-workflow", version=1, exported_at=workflow.created_at, workflow=workflow, messages=(message,)
    )
    assert '"content": "x"' in to_json(file)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"format": "atelier-workflow", "wor', "a part of it is missing"),
        ("Dear Sir", "a part of it is missing"),
        ('{"format": "atelier-workflow"}', "workflow: Field required"),
    ],
)
def test_a_cut_or_foreign_file_is_refused_by_its_reason(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as refused:
        parse(text)
    assert "EOF" not in str(refused.value)


def test_a_file_with_a_thousand_problems_names_three() -> None:
    with pytest.raises(UsageError) as refused:
        parse(json.dumps({str(number): 0 for number in range(1000)}))
    assert len(str(refused.value)) < 500


def test_times_are_local_and_in_the_form_of_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    at = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
    message = Message(workflow_id="w", run_id="r", seq=1, role=MessageRole.USER, content="Hello", created_at=at)
    try:
        set_language("fr")
        assert "## Vous · 03/03/2026 à 00:30\n" in exported([TranscriptEntry(message)])
    finally:
        set_language("en")
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("status", "presentation", "line"),
    [
        (
            "ok",
            Presentation(summary=CallText(text="Calculate {expression}", params={"expression": "12 × 7"})),
            "Calculer 12 × 7",
        ),
        ("ok", Presentation(title="Tasks"), "Tâches"),
        ("error", Presentation(title="Tasks"), "Tâches\u00a0: échec"),
    ],
)
def test_a_document_has_a_line_of_words_for_a_call_and_markdown_its_details(
    status: str, presentation: Presentation, line: str
) -> None:
    call = ToolExecution(
        id="r:1",
        workflow_id="w",
        run_id="r",
        call_id="1",
        tool="TodoTool",
        status=status,
        arguments={"operation": "create"},
        result={"success": True},
        presentation=presentation,
    )
    entries = [TranscriptEntry(entry(MessageRole.ASSISTANT, {}, content="Fait.").message, calls=(call, call))]
    set_language("fr")
    try:
        document, markdown = (to_markdown(Workflow(name="W"), entries, [], details=each) for each in (False, True))
    finally:
        set_language("en")
    assert f"Fait.\n\n- {line}\n- {line}\n" in document
    assert [word for word in ("TodoTool", "success", "operation", "`", "{") if word in document] == []
    assert [word for word in ("`TodoTool`", '"success": true', '"operation"') if word not in markdown] == []
