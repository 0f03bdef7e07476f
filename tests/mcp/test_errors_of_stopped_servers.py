"""Errors of servers: what stopped a program is a sentence in the reader's language."""

from __future__ import annotations

import pytest

from atelier_desk.mcp.error_conversion import died
from atelier_desk.mcp.stdio_transport import Ended
from atelier_desk.support import i18n


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("memory", "il a demandé trop de mémoire"),
        ("processes", "il a lancé trop de processus"),
        ("disk", "le disque était presque plein"),
        ("unknown", "ses processus ne pouvaient plus être suivis"),
    ],
)
def test_a_stopped_program_is_reported_with_the_reason_in_words(why: str, reason: str) -> None:
    ended = Ended()
    ended.why, ended.last_words = why, "loading\nalmost there\n"
    error = died("files", ended)
    assert error.code == "died"
    i18n.set_language("fr")
    assert (
        error.localized(i18n._)
        == f"Le programme du serveur MCP files a été arrêté\N{NO-BREAK SPACE}: {reason}. "
        + "Dernière sortie\N{NO-BREAK SPACE}: almost there"
    )


@pytest.mark.parametrize("why", ["memory", "noise", ""])
def test_the_error_of_a_program_without_output_says_nothing_of_output(why: str) -> None:
    ended = Ended()
    ended.why, ended.status = why, 1
    error = died("files", ended)
    assert "files" in str(error)
    assert str(error).endswith(".")
    assert "Last output" not in str(error)
