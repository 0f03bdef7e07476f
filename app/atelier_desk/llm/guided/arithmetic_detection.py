"""Find arithmetic in a message by pattern, so that no model has to copy digits.

Handles digits and operators, numbers and operators as words, percentages, roots and the commonest word problems, in
both languages. Every candidate is an expression of CalculatorTool.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from atelier_desk.llm.guided.language_data import Language

_NUMBER = r"\d+(?:\.\d+)?"
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "·": "*"})
_EXPRESSION = re.compile(
    rf"(?<![\w.])(?:sqrt\(\s*{_NUMBER}\s*\)|[-(\s]*{_NUMBER})(?:[\s)]*(?:\*\*|//|[-+*/%^])[\s(]*-?(?:sqrt\(\s*{_NUMBER}\s*\)|{_NUMBER})\)*)*(?![\w.])"
)
_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Expressions found, best first.

    Attributes:
        certain: operators were explicit, not guessed from a word problem.
        bare: the message is nothing but the expression.
    """

    candidates: tuple[str, ...] = ()
    certain: bool = False
    bare: bool = False


def find(text: str, language: Language) -> Arithmetic:
    """Return the expressions in a message; none without two numbers."""
    words = _digits(_normalise(text, language), language)
    spoken = _spoken(words, language)
    if spoken:
        return Arithmetic(tuple(spoken), certain=True)
    signs = _operators(words, language)
    written = _written(signs)
    if written:
        rest = _EXPRESSION.sub("", signs)
        return Arithmetic(tuple(written), certain=True, bare=not any(character.isalnum() for character in rest))
    return Arithmetic(tuple(_word_problem(words, language)))


def _normalise(text: str, language: Language) -> str:
    """Normalise typographic signs, French decimal commas, and ``12x7`` or ``12 x 7``."""
    text = _THOUSANDS.sub("", text.translate(_SIGNS).lower().replace("’", "'"))
    text = re.sub(r"(?<=\d)\s*[x]\s*(?=\d)", " * ", text)
    if language.code != "fr":
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = re.sub(r"(?<=\d),(?=\d)", ".", text)
    return re.sub(r"[$€£](?=\d)|(?<=\d)\s?[$€£]", "", text)


def _digits(text: str, language: Language) -> str:
    """Replace number words by digits: ``twenty-one`` → 21, ``quatre-vingt-dix`` → 90. A lone article stays a word."""
    values: dict[str, int] = language.data["arithmetic"]["numbers"]
    word = "|".join(sorted(map(re.escape, values), key=len, reverse=True))
    pattern = re.compile(rf"\b(?:{word})(?:(?:[\s-]+(?:and[\s-]+|et[\s-]+)?)(?:{word}))*\b")
    articles = {"un", "une", "one", "a"}

    def digits(match: re.Match[str]) -> str:
        parts = [part for part in re.split(r"[\s-]+", match.group()) if part in values]
        if len(parts) == 1 and parts[0] in articles:
            return match.group()
        return str(_value([values[part] for part in parts]))

    return pattern.sub(digits, text)


def _value(parts: list[int]) -> int:
    """Combine number words: a larger part multiplies the preceding ones (``two hundred``, ``quatre-vingt``), others
    add.
    """
    total = current = 0
    for part in parts:
        if part == 1000:
            total, current = total + max(current, 1) * part, 0
        elif part == 100 or (part == 20 and 0 < current < 10 and current == 4):
            current = max(current, 1) * part
        else:
            current += part
    return total + current


def _spoken(text: str, language: Language) -> list[str]:
    """Return operations phrased in words: ``divide 90 by 5``, ``20 % of 85``, ``the square root of 81``."""
    found = []
    for phrase, template in language.data["arithmetic"]["verbs"]:
        pattern = re.compile(
            phrase.replace("<n>", rf"[^\d\s.,;]?({_NUMBER})(?: [^\d\s]+)?")
            if phrase.count("<n>") > 1
            else phrase.replace("<n>", f"({_NUMBER})")
        )
        match = pattern.search(text)
        if match and _outside(text, match):
            found.append(template.format(*match.groups()))
    return found


def _outside(text: str, match: re.Match[str]) -> bool:
    """Whether no operator follows: ``double of 5 + 3`` is an expression that contains one, not a phrase."""
    return re.match(r"\s*[-+*/^]\s*[\d(]", text[match.end() :]) is None


def _operators(text: str, language: Language) -> str:
    """Replace operator words between numbers by signs."""
    words: dict[str, str] = language.data["arithmetic"]["words"]
    for word in sorted(words, key=len, reverse=True):
        text = re.sub(rf"(?<=[\d)])\s+{re.escape(word)}\s+(?=[\d(-])", f" {words[word]} ", text)
    return text


def _written(text: str) -> list[str]:
    """Return expressions in signs, longest first; not single numbers, dates or telephone numbers."""
    found = []
    for match in _EXPRESSION.finditer(text):
        expression = " ".join(_balanced(match.group()).replace("^", "**").split())
        works = re.search(r"\d\)*\s*[-+*/%]", expression) and not re.fullmatch(r"\d+(?:[-/]\d+){2,}", expression)
        if works and _complete(expression):
            found.append(expression)
    return sorted(found, key=len, reverse=True)


def _balanced(expression: str) -> str:
    """Drop parentheses of the sentence that do not belong to the expression."""
    expression = expression.strip()
    missing = expression.count("(") - expression.count(")")
    while missing > 0 and expression.startswith("("):
        expression, missing = expression[1:].lstrip(), missing - 1
    while missing < 0 and expression.endswith(")"):
        expression, missing = expression[:-1].rstrip(), missing + 1
    return expression + ")" * missing


def _complete(expression: str) -> bool:
    """Whether it can be parsed as an expression."""
    try:
        ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _word_problem(text: str, language: Language) -> list[str]:
    """For two or three bare numbers and a question of quantity.

    The operation named by cue words, otherwise all four.
    """
    data = language.data["arithmetic"]
    numbers = re.findall(rf"(?<![\w.-]){_NUMBER}(?![\w:/.-]*\d)", text)
    if not 2 <= len(numbers) <= 3 or not re.search(data["question"], text):
        return []
    if len(numbers) == 3:
        return [" + ".join(numbers)]
    first, second = numbers
    for cue, sign in data["cues"]:
        if re.search(cue, text):
            return [f"{first} {sign} {second}"]
    return [f"{first} {sign} {second}" for sign in ("*", "+", "-", "/")]
