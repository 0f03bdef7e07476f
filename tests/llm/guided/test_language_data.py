"""Detecting a message's language, and equivalent data files in both languages."""

import pytest

from atelier_desk.llm.guided.actions import ACTIONS
from atelier_desk.llm.guided.language_data import LANGUAGES, detect, language, plain


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("What is on my list?", "en"),
        ("Qu'est-ce qu'il y a sur ma liste ?", "fr"),
        ("add a task: buy a baguette", "en"),
        ("ajoute une tâche : acheter du lait", "fr"),
        ("Salut !", "fr"),
        ("hello", "en"),
        ("l’été dernier", "fr"),
    ],
)
def test_the_language_of_a_message(text: str, code: str) -> None:
    assert detect(text, "fr" if code == "en" else "en") == code


def test_an_ambiguous_message_uses_the_default() -> None:
    assert detect("12*7", "fr") == "fr"
    assert detect("12*7", "en") == "en"
    assert detect("12*7", "de") == "en"


def test_both_languages_have_the_same_keys() -> None:
    english, french = (language(code).data for code in LANGUAGES)
    assert english.keys() == french.keys()
    for part in ("texts", "abilities", "status", "examples", "frames", "explicit", "fill", "fill_label"):
        assert english[part].keys() == french[part].keys(), part
    assert {name for _, name in english["smalltalk"]} == {name for _, name in french["smalltalk"]}
    for name, text in english["texts"].items():
        assert set(_placeholders(text)) == set(_placeholders(french["texts"][name])), name


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_action_has_examples_and_none_is_an_evaluation_prompt(code: str) -> None:
    examples = language(code).examples
    assert set(examples) == {action.name for action in ACTIONS} - {"done"}
    assert all(len(requests) >= 6 for requests in examples.values())


def test_help_lists_the_abilities_in_a_sentence() -> None:
    assert "I can calculate, add tasks and list them." in language("en").help(["calculate", "add", "list"])
    assert "Je peux calculer." in language("fr").help(["calculate"])


def test_an_unknown_language_is_english() -> None:
    assert language("de").code == "en"


def test_plain_text_has_straight_apostrophes_and_single_spaces() -> None:
    assert plain("l’eau\u00a0 :\n oui") == "l'eau : oui"


def _placeholders(text: str) -> list[str]:
    import string

    return [field for _, field, _, _ in string.Formatter().parse(text) if field]
