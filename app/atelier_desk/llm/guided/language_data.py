"""Language data of the guided dialect: one file per language, with examples, patterns, small talk and result texts."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources
from typing import Any

LANGUAGES = ("en", "fr")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’]", re.IGNORECASE)


class Language:
    """One language's data with compiled patterns. ``<name>`` in a pattern is replaced by the macro of that name."""

    def __init__(self, code: str, data: dict[str, Any]) -> None:
        self.code = code
        self.data = data
        self._macros: dict[str, str] = data["macros"]
        self.examples: dict[str, list[str]] = data["examples"]
        self.fill: dict[str, list[list[str]]] = data["fill"]
        self.frames = {
            action: [self.compile(pattern) for pattern in patterns] for action, patterns in data["frames"].items()
        }
        self.explicit = {action: self.compile(pattern) for action, pattern in data["explicit"].items()}
        self.lead = self.compile(data["lead"])
        self.trail = self.compile(data["trail"])
        self.clauses = self.compile(data["clauses"])
        self.polite = self.compile("^<polite>")
        self.priority = [(self.compile(pattern), level) for pattern, level in data["priority"]]
        self.question = self.compile(data["question"])
        self.preference = self.compile(data["preference"])
        self.decision = self.compile(data["decision"])
        self.speaker = [(self.compile(pattern), replacement) for pattern, replacement in data["speaker"]]
        self.smalltalk = [(self.compile(rf"^(?:{pattern})$"), name) for pattern, name in data["smalltalk"]]
        self.words = frozenset(data["detect"])

    def compile(self, pattern: str) -> re.Pattern[str]:
        """Compile a pattern after replacing macros; macros may use earlier ones."""
        for name, body in self._macros.items():
            pattern = pattern.replace(f"<{name}>", body)
        return re.compile(pattern, re.IGNORECASE | re.DOTALL)

    def text(self, name: str, **params: object) -> str:
        """Return a filled-in text for the user."""
        return str(self.data["texts"][name]).format(**params)

    def help(self, actions: list[str]) -> str:
        """Return a sentence about what the starter can do with these actions."""
        abilities = [self.data["abilities"][action] for action in actions]
        joined = self.text("abilities_join").join(
            [", ".join(abilities[:-1]), abilities[-1]] if len(abilities) > 1 else abilities
        )
        return self.text("help", abilities=joined)


@lru_cache(maxsize=len(LANGUAGES))
def language(code: str) -> Language:
    """Return the data of ``en`` or ``fr``; any other code means English."""
    code = code if code in LANGUAGES else "en"
    text = (resources.files("atelier_desk.llm.guided") / "data" / f"{code}.json").read_text("utf-8")
    return Language(code, json.loads(text))


def detect(text: str, default: str = "en") -> str:
    """Detect a message's language by common words and French letters; ``default`` if undecided."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    scores = {code: sum(word in language(code).words for word in words) for code in LANGUAGES}
    scores["fr"] += sum(character in "éèêëàâçùûôîïœ«»" for character in text.lower()) + len(_ELISION.findall(text))
    best = max(scores.values())
    leaders = [code for code, score in scores.items() if score == best]
    return leaders[0] if len(leaders) == 1 else default if default in LANGUAGES else "en"


def plain(text: str) -> str:
    """Normalise text for patterns: one line, straight apostrophes, single spaces."""
    text = text.replace("’", "'").replace("\u00a0", " ").replace("\u202f", " ")
    return " ".join(text.split())
