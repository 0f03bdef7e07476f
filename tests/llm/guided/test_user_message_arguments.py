"""Extracting arguments from the user's own words."""

import pytest

from atelier_desk.llm.guided import user_message_arguments
from atelier_desk.llm.guided.language_data import Language, language

EN, FR = language("en"), language("fr")


@pytest.mark.parametrize(
    ("words", "action", "text", "argument"),
    [
        (EN, "add", "Add a task: buy stamps.", "buy stamps"),
        (EN, "add", "please create an urgent task to fix the roof", "fix the roof"),
        (EN, "add", "remind me to feed the cat please", "feed the cat"),
        (EN, "add", "I must write to Ann, can you add it to my list?", "write to Ann"),
        (EN, "remember", "please remember that I hate onions", "I hate onions"),
        (EN, "remember", "I hate onions, remember that", "I hate onions"),
        (EN, "recall", "search your memory for Ann's address", "Ann's address"),
        (EN, "ask", "ask me what my budget is", "what my budget is"),
        (FR, "add", "Ajoute une tâche : poster la lettre", "poster la lettre"),
        (FR, "add", "rappelle-moi d'appeler Ann stp", "appeler Ann"),
        (FR, "remember", "n'oublie pas que je suis gaucher", "je suis gaucher"),
        (FR, "recall", "tu te souviens où j'ai mis la clé ?", "où j'ai mis la clé"),
        (FR, "ask", "demande-moi quel est mon budget", "quel est mon budget"),
    ],
)
def test_a_plain_wording_gives_the_argument(words: Language, action: str, text: str, argument: str) -> None:
    assert user_message_arguments.framed(text, action, words) == argument


@pytest.mark.parametrize("action", ["add", "list", "remember", "recall", "ask"])
@pytest.mark.parametrize("text", ["hello there", "I like rain", "12*7", "tell me a story about a task force"])
def test_other_messages_match_no_pattern(action: str, text: str) -> None:
    assert user_message_arguments.framed(text, action, EN) is None


def test_quoted_words_are_the_argument() -> None:
    assert user_message_arguments.quoted("put “buy ink” down") == "buy ink"
    assert user_message_arguments.quoted("mets « acheter de l'encre » là") == "acheter de l'encre"
    assert user_message_arguments.quoted("it's Ann's") is None
    assert user_message_arguments.quoted("'one' or 'two'") is None
    assert user_message_arguments.framed('add "buy ink" to my list', "add", EN) == "buy ink"


def test_a_request_is_explicit_and_a_statement_is_not() -> None:
    assert user_message_arguments.explicit("add a task: x", "add", EN)
    assert user_message_arguments.explicit("remember it: I am left-handed", "remember", EN)
    assert not user_message_arguments.explicit("I need to phone my aunt", "add", EN)
    assert not user_message_arguments.explicit("my dentist is Dr Gray", "remember", EN)
    assert not user_message_arguments.explicit("il faut que je téléphone à ma tante", "add", FR)


def test_spans_are_consecutive_words_of_the_message() -> None:
    text = "So, the neighbours are called Brown and they have a dog."
    found = user_message_arguments.spans(text, EN)
    assert "the neighbours are called Brown" in found
    assert "they have a dog" in found
    assert all(span in text for span in found)
    assert len(user_message_arguments.spans("word " * 500, EN)) <= 120


@pytest.mark.parametrize(
    ("text", "level", "rest"),
    [
        ("fix the roof, it is urgent", 1, "fix the roof"),
        ("fix the roof with high priority", 2, "fix the roof"),
        ("fix the roof, low priority", 4, "fix the roof"),
        ("fix the roof", None, "fix the roof"),
    ],
)
def test_priorities_are_removed_from_the_text(text: str, level: int | None, rest: str) -> None:
    assert user_message_arguments.parse_priority(text, EN) == (level, rest)


def test_french_priorities() -> None:
    assert user_message_arguments.parse_priority("appeler Ann, c'est urgent", FR) == (1, "appeler Ann")
    assert user_message_arguments.parse_priority("appeler Ann, priorité basse", FR) == (4, "appeler Ann")


def test_kinds_of_memory() -> None:
    assert user_message_arguments.memory_type("I prefer tea", EN) == "user_pref"
    assert user_message_arguments.memory_type("we decided to use blue", EN) == "decision"
    assert user_message_arguments.memory_type("the office closes at six", EN) == "knowledge"
    assert user_message_arguments.memory_type("j'aime le thé", FR) == "user_pref"


@pytest.mark.parametrize(
    ("words", "text", "question", "options"),
    [
        (EN, "which colour I prefer, red or blue", "Which colour do you prefer?", ("red", "blue")),
        (EN, "what size I want: small, medium or large", "What size do you want?", ("small", "medium", "large")),
        (EN, "whether I want tea or coffee", "Do you want tea or coffee?", ()),
        (EN, "tea or coffee", "Please choose: tea, coffee", ("tea", "coffee")),
        (FR, "quelle couleur je veux, bleu ou vert ?", "Quelle couleur tu veux\u00a0?", ("bleu", "vert")),
        (FR, "si je veux du sucre", "Est-ce que tu veux du sucre\u00a0?", ()),
    ],
)
def test_a_request_to_be_asked_becomes_a_question_with_options(
    words: Language, text: str, question: str, options: tuple[str, ...]
) -> None:
    assert user_message_arguments.question_for_user(text, words)[1] == options
    assert user_message_arguments.question_for_user(text, words)[0] == question
