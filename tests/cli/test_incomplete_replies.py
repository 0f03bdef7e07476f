"""An incomplete reply in a terminal, and how to continue it."""

from __future__ import annotations

import shlex

import pytest

from atelier_desk.cli.event_text import notice
from atelier_desk.domain.model_messages import LOADING, ChatReply, FinishReason
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import set_language
from tests.cli.conftest import Cli

CUT = ChatReply(content="One, two,", finish_reason=FinishReason.LENGTH)
THOUGHT = ChatReply(reasoning="I should answer.")


def test_a_cut_reply_is_reported_and_the_suggested_command_continues_it(cli: Cli) -> None:
    model = ScriptedModel([CUT, " three."])
    result = cli("run", "count", steps=model)
    assert (result.status, result.out) == (0, "One, two,\n")
    lines = result.err.splitlines()
    assert lines[0].startswith("The reply was cut off.")
    (hint,) = [line for line in lines if line.startswith("To continue: ")]
    command = shlex.split(hint.removeprefix("To continue: "))
    assert command[0] == "atelier"
    again = cli(*command[1:], steps=model)
    assert (again.status, again.out) == (0, " three.\n")
    assert "cut" not in again.err
    assert [message.content for message in model.requests[1].messages[-3:]] == [
        "count",
        "One, two,",
        "Continue exactly where you stopped.",
    ]


@pytest.mark.parametrize(
    ("reply", "finish", "english", "french"),
    [
        (CUT, "length", "The reply was cut off.", "La réponse a été coupée."),
        (ChatReply(content=""), "empty", "The reply is empty.", "La réponse est vide."),
        (THOUGHT, "empty", "The model thought but did not answer.", "Le modèle a réfléchi sans répondre."),
        (
            THOUGHT.model_copy(update={"finish_reason": FinishReason.LENGTH}),
            "length",
            "The model was still thinking when",
            "Le modèle réfléchissait encore quand",
        ),
        (
            ChatReply(content="No", finish_reason=FinishReason.CONTENT_FILTER),
            "content_filter",
            "The reply was filtered.",
            "filtrée.",
        ),
    ],
)
def test_json_stays_json_and_the_notice_is_on_standard_error(
    cli: Cli, reply: ChatReply, finish: str, english: str, french: str
) -> None:
    result = cli("run", "go", "--json", steps=[reply])
    assert result.status == 0
    assert result.of("message")[-1]["finish_reason"] == finish
    assert result.of("workflow_complete")[-1]["finish_reason"] == finish
    assert english in result.err
    assert french in cli("run", "go", "--lang", "fr", steps=[reply]).err


def test_a_complete_reply_shows_no_notice(cli: Cli) -> None:
    result = cli("run", "go", "--json", steps=["Done."])
    assert result.of("message")[-1]["finish_reason"] == "stop"
    assert result.err == ""


def test_in_a_chat_the_next_message_continues(cli: Cli) -> None:
    result = cli("chat", steps=[CUT, " three."], typed="count\nContinue exactly where you stopped.\n")
    assert "To continue, type: Continue exactly where you stopped." in result.err
    assert "atelier run" not in result.err
    assert result.out == "One, two,\n three.\n"


def test_help_explains_the_status(cli: Cli) -> None:
    shown = " ".join(cli("run", "--help").out.split())
    assert "0 completed, 1 failed, 2 usage error" in shown
    assert "finish_reason" in shown


def said(kind: ChunkType, **data: object) -> str:
    return notice(StreamEvent(workflow_id="w", chunk_type=kind, data=data))[0]


def test_notices_have_rounded_numbers_and_plain_words() -> None:
    wait = {"reason": "rate_limited", "details": {"attempt": 2, "delay_s": 0.43172}}
    assert (
        said(ChunkType.RETRY, **wait)
        == "Retrying the model. Attempt 2 after 0.4\u202fs: the rate limit of the server was reached"
    )
    limit = {"reason": "cost", "details": {"value": 0.1234567, "cap": 0.1}}
    assert said(ChunkType.LIMIT_REACHED, **limit) == "Cost limit reached: $0.12 of $0.10"
    short = {"reason": "cost", "details": {"value": 0.05, "cap": 0.1}}
    assert said(ChunkType.LIMIT_REACHED, **short) == (
        "The next request could exceed the cost limit: $0.05 of $0.10. "
        "The remaining amount is not enough for the next request."
    )
    assert "ms" in said(ChunkType.TOOL_END, tool="x", success=True, duration_ms=12, result=None)
    assert "3\u202fmin 05\u202fs" in said(ChunkType.TOOL_END, tool="x", success=True, duration_ms=185_123, result=None)
    taken = {"denied": ["read_file(.env)"], "asked": ["run_command(make)"], "folders": ["/work"], "stricter": True}
    assert said(ChunkType.RIGHTS_NARROWED, details=taken) == (
        "Permissions withdrawn from here on: read_file(.env), run_command(make) without asking, the folder /work, "
        "calls without approval where the stricter profile requires it"
    )
    set_language("fr")
    try:
        assert (
            said(ChunkType.RIGHTS_NARROWED, details={"folders": ["/work"]})
            == "Permissions retirées à partir d’ici\u00a0: le dossier /work"
        )
        assert said(ChunkType.RETRY, **wait) == (
            "Nouvelle tentative auprès du modèle. "
            "Tentative 2 après 0,4\u202fs\u00a0: la limite de requêtes du serveur est atteinte"
        )
        assert said(ChunkType.LIMIT_REACHED, **limit) == "Limite de coût atteinte\u00a0: 0,12\u202f$ sur 0,10\u202f$"
        assert locale_format.number(1234567.5, 1) == "1\u202f234\u202f567,5"
    finally:
        set_language("en")


def test_a_model_that_is_loading_is_not_retried_at_once() -> None:
    text = said(ChunkType.RETRY, reason=LOADING, details={"attempt": 1, "delay_s": 0.0})
    assert text.startswith("Loading the model.")
    assert "0" not in text
    waits = said(ChunkType.RETRY, reason=LOADING, details={"attempt": 2, "delay_s": 4.2})
    assert waits == "Loading the model. The server is not ready yet; retrying in 4.2\u202fs."
