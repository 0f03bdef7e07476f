"""The texts in the head of a tool call's card."""

from __future__ import annotations

import pytest

from atelier_desk.desktop.chat.transcript.tool_call_texts import call_text
from atelier_desk.domain.call_presentation_and_subjects import CallText, Presentation
from atelier_desk.presentation.rows.transcript_entries import Call

SHOWN = Presentation(title="Tasks", summary=CallText(text="Complete a task"), done="Completed a task")


@pytest.mark.parametrize(
    ("status", "result", "text"),
    [
        ("ok", {"task": {"id": "t1", "name": "Read the report"}}, ("Completed a task", "Read the report")),
        ("ok", {"task": {"id": "t1", "name": "safe\u202egnp"}}, ("Completed a task", "safe⟨U+202E⟩gnp")),
        ("running", None, ("Complete a task", "")),
        ("error", {"task": {"name": "Read the report"}}, ("Complete a task", "")),
        ("ok", {"task": "Read the report"}, ("Completed a task", "")),
    ],
)
def test_a_call_whose_input_has_only_an_id_names_the_task_of_its_result(
    status: str, result: object, text: tuple[str, str]
) -> None:
    call = Call("c", "T", {"operation": "complete", "task_id": "t1"}, status=status, result=result, presentation=SHOWN)
    assert call_text(call) == text
