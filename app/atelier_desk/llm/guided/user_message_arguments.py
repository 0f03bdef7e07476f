"""Extract an action's argument from the user's words.

By frame, otherwise as spans from which a grammar lets the model choose.
"""

from __future__ import annotations

import re

from atelier_desk.llm.guided.language_data import Language

_QUOTED = re.compile(r"«\s*([^»]+?)\s*»|“([^”]+)”|\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)")
_EDGES = " \t,;:.!?-–—"
_MAX_SPAN_WORDS = 14
_MAX_SPANS = 120
_SHORT_OPTION, _LONGEST_OPTION = 2, 4
"""Words of an option separated only by commas, and maximum words of an option."""


def framed(text: str, action: str, language: Language) -> str | None:
    """Return the argument if the message is a plain request for this action (``add a task: …``), else None.

    A frame without an argument place returns the whole message, which is right for searches and irrelevant for lists.
    """
    for frame in language.frames.get(action, []):
        match = frame.match(text)
        if match is None:
            continue
        found = match.groupdict().get("text")
        cleaned = clean(found if found is not None else text, language)
        if cleaned:
            return cleaned
    return None


def explicit(text: str, action: str, language: Language) -> bool:
    """Whether the message explicitly orders this action, so that writing needs no confirmation."""
    pattern = language.explicit.get(action)
    return framed(text, action, language) is not None or (pattern is not None and pattern.search(text) is not None)


def quoted(text: str) -> str | None:
    """Return the single quoted part of a message, None if there is none or more than one."""
    parts = [next(group for group in match.groups() if group) for match in _QUOTED.finditer(text)]
    return parts[0].strip() if len(parts) == 1 else None


def clean(text: str, language: Language) -> str:
    """Strip polite words, quotation marks, a leading ``I have to`` and surrounding punctuation."""
    text = quoted(text) or text
    before = ""
    while before != text:
        before = text
        text = text.strip(_EDGES)
        text = language.trail.sub("", text)
        text = language.polite.sub("", text, count=1)
        text = language.lead.sub("", text, count=1)
    return text.strip(_EDGES + "\"'«»“” ")


def spans(text: str, language: Language) -> list[str]:
    """Return runs of words inside the message's clauses for a model to choose from, at most 120.

    Whole clauses first, then their parts, longest first; single words only if a clause is one.
    """
    clauses = [clause.split() for clause in language.clauses.split(text) if clause and clause.strip()]
    parts = [
        words[start : start + size]
        for words in clauses
        for size in range(2, min(len(words), _MAX_SPAN_WORDS + 1))
        for start in range(len(words) - size + 1)
    ]
    runs = [*clauses, *sorted(parts, key=len, reverse=True)]
    found = dict.fromkeys(clean(" ".join(words[:_MAX_SPAN_WORDS]), language) for words in runs)
    return [span for span in found if span][:_MAX_SPANS]


def parse_priority(text: str, language: Language) -> tuple[int | None, str]:
    """Return the priority named in a message, 1 (most urgent) to 5, and the text without it."""
    for pattern, level in language.priority:
        match = pattern.search(text)
        if match is not None:
            rest = clean((text[: match.start()] + " " + text[match.end() :]).replace("  ", " "), language)
            return level, rest
    return None, text


def memory_type(text: str, language: Language) -> str:
    """Return ``user_pref`` for likes and habits, ``decision`` for decisions, else ``knowledge``."""
    if language.preference.search(text):
        return "user_pref"
    return "decision" if language.decision.search(text) else "knowledge"


def question_for_user(text: str, language: Language) -> tuple[str, tuple[str, ...]]:
    """Convert a request to be asked something to the question and the options it names (``tea or coffee``), if any."""
    head, options = _options(text, language)
    for pattern, replacement in language.speaker:
        head = pattern.sub(replacement, head)
    head = head.strip(_EDGES)
    if not head:
        head = language.text("choose", text=", ".join(options))
        return head, options
    return language.text("question", text=head[0].upper() + head[1:]), options


def _options(text: str, language: Language) -> tuple[str, tuple[str, ...]]:
    """Split ``which colour I prefer, red or blue`` into question and options; without a list of words, everything is
    the question.

    The list ends the message. It begins after a colon, or extends back over parts of one or two words.
    """
    word = language.data["or"]
    head, colon, tail = text.rstrip(_EDGES).rpartition(":")
    parts = [part.strip(_EDGES) for part in re.split(r"[,;?]\s*", tail)]
    last = re.split(rf",?\s+{re.escape(word)}\s+", parts[-1], flags=re.IGNORECASE)
    if len(last) < 2:
        return text, ()
    before = parts[:-1]
    options = list(last)
    while before and (colon or len(before[-1].split()) <= _SHORT_OPTION):
        options.insert(0, before.pop())
    question = ", ".join([*([head] if colon else []), *before])
    options = [re.sub(rf"^{re.escape(word)}\s+", "", option, flags=re.IGNORECASE) for option in options if option]
    if (
        len(options) < 2
        or any(len(option.split()) > _LONGEST_OPTION for option in options)
        or (not question and len(last[0].split()) > _SHORT_OPTION)
    ):
        return text, ()
    return question, tuple(dict.fromkeys(options))
