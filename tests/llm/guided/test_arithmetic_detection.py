"""Arithmetic found by patterns, and text that is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.llm.guided.arithmetic_detection import find
from atelier_desk.llm.guided.language_data import language
from atelier_desk.tools.core.arithmetic_expression import evaluate

EN = [
    ("what is 2^10", 1024),
    ("(3.5+2)/4 please", 1.375),
    ("12 x 7", 84),
    ("12×7", 84),
    ("how much is two hundred and five minus six?", 199),
    ("sqrt(16)+2", 6),
    ("3 * (4 - 2", 6),
    ("(it is 3 + 4", 7),
    ("subtract 5 from 20", 15),
    ("what is 1,000 + 5", 1005),
    ("half of 30", 15),
    ("twenty-one times two", 42),
    ("7 squared", 49),
    ("Compute -3 + 5", 2),
    ("$5 + $7", 12),
    ("what do 2 and 3 and 4 make in total", 9),
    ("I had 12 apples and gave 5 away, how many are left?", 7),
    ("60 euros split between 4 people, how much is that?", 15),
    ("a dozen times 3", 36),
]
FR = [
    ("combien font 1,5 + 2,25", 3.75),
    ("quatre-vingt-dix plus vingt et un", 111),
    ("5 % de 1 200", 60),
    ("enlève 5 de 20", 15),
    ("racine carrée de 81", 9),
    ("trois au carré", 9),
    ("deux mille trois moins trois", 2000),
    ("le double de 21", 42),
    ("la moitié de 9", 4.5),
    ("j'ai 12 pommes, j'en ai mangé 5, combien il en reste ?", 7),
]


@pytest.mark.parametrize(("text", "value"), EN)
def test_english(text: str, value: float) -> None:
    assert evaluate(find(text, language("en")).candidates[0]) == value


@pytest.mark.parametrize(("text", "value"), FR)
def test_french(text: str, value: float) -> None:
    assert evaluate(find(text, language("fr")).candidates[0]) == value


@pytest.mark.parametrize(
    "text",
    [
        "call me on 01-02-03",
        "meet at 12:30 on 2026-05-03",
        "one and two",
        "I have 3 cats",
        "version 1.2.3",
        "",
        "room 12, floor 3",
        "a x b",
    ],
)
def test_text_without_arithmetic(text: str) -> None:
    assert find(text, language("en")).candidates == ()


def test_written_operators_are_certain_and_word_problems_are_not() -> None:
    assert find("12*7", language("en")).certain
    assert find("12*7", language("en")).bare
    assert not find("what is 12*7", language("en")).bare
    assert not find("5 boxes of 6 eggs, how many eggs?", language("en")).certain


def test_a_word_problem_without_a_cue_is_left_to_the_model() -> None:
    assert len(find("how much 3 7", language("en")).candidates) == 4


@given(st.text(max_size=60), st.sampled_from(["en", "fr"]))
def test_any_text_gives_a_valid_expression_or_none(text: str, code: str) -> None:
    import ast

    for candidate in find(text, language(code)).candidates:
        ast.parse(candidate, mode="eval")


@given(st.integers(0, 999), st.integers(1, 999), st.sampled_from("+-*/"))
def test_digits_are_never_changed(first: str, second: str, sign: str) -> None:
    assert find(f"please compute {first} {sign} {second} for me", language("en")).candidates == (
        f"{first} {sign} {second}",
    )
