"""Why a call failed, for people: English text as models get it, other languages by code; every code has a message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import atelier_desk
from atelier_desk.domain.errors import ToolError
from atelier_desk.presentation.call_failure_text import _BY_CODE, explain, in_words
from atelier_desk.support.i18n import set_language

FOR_THE_MODEL = frozenset({
    "exit_status", "timeout", "ended", "no_memory", "no_team", "no_parent", "no_workflow", "not_asking",
    "unknown_child", "unknown_name",
    "unknown_section", "question_refused", "limit", "wait_cycle", "skipped", "tool_error",
})  # fmt: skip
"""Codes with other messages, or of calls between agents, which no person sees."""
CODE = re.compile(r"(?:code=|failure\([^\n]*, |errno\.[A-Z]+: \()\"([a-z_]+)\"")


def test_every_failure_code_has_a_message() -> None:
    package = Path(atelier_desk.__file__).parent
    sources = [path for folder in ("tools", "workspace") for path in (package / folder).rglob("*.py")]
    # what is wrong with a skill's file is said in translated sentences
    sources = [path for path in sources if "skills" not in path.parts]
    used = {code for path in sources for code in CODE.findall(path.read_text())}
    assert len(used) > 40
    assert used - set(_BY_CODE) - FOR_THE_MODEL == set()


@pytest.mark.parametrize(
    ("result", "french"),
    [
        ({"code": "not_found"}, "L’élément désigné par l’appel n’existe pas."),
        ({"code": "exit_status", "exit_status": 2}, "La commande s’est terminée avec le code 2."),
        ({"code": "exit_status", "exit_status": 137}, "La commande a été arrêtée par le signal 9."),
        ({"code": "timeout", "duration_ms": 60_400}, "La commande a été arrêtée au bout de 60\u00a0s."),
        ({"code": "ended", "ended_by": "memory"}, "La commande a été arrêtée\u00a0: elle a demandé trop de mémoire."),
        ({"code": "ended", "ended_by": "disk"}, "La commande a été arrêtée\u00a0: le disque était presque plein."),
        ({"code": "of_an_own_tool"}, "As the tool said it."),
        ("a text", "As the tool said it."),
    ],
)
def test_the_message_is_in_the_readers_language(result: object, french: str) -> None:
    assert explain("Tool", result, "As the tool said it.") == "As the tool said it."
    set_language("fr")
    assert explain("Tool", result, "As the tool said it.") == french


def test_the_messages_of_a_preview() -> None:
    error = ToolError("{path} is a binary file: it cannot be edited as text.", code="binary", path="a.png")
    assert in_words(error) == "a.png is a binary file: it cannot be edited as text."
    set_language("fr")
    assert in_words(error) == "Le fichier n’est pas du texte."


def test_a_call_without_a_folder_explains_what_to_do() -> None:
    set_language("fr")
    assert "Donnez à ce workflow" in explain("Write a file", {"success": False, "code": "no_workspace"}, "No folder.")
