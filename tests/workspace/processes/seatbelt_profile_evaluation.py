"""What a profile of macOS allows."""

from __future__ import annotations

import re

STRING = r'"(?:[^"\\]|\\.)*"'

TOKEN = re.compile(rf'\s+|[()]|{STRING}|[^\s()"]+', re.DOTALL)


def rules(text: str) -> list[list[str]]:
    """Each rule as its words; fails unless the text is a list of balanced rules."""
    found: list[list[str]] = []
    depth, place = 0, 0
    while place < len(text):
        token = TOKEN.match(text, place)
        assert token is not None, text[place:]
        place = token.end()
        if token[0] == "(":
            depth += 1
            if depth == 1:
                found.append([])
        elif token[0] == ")":
            depth -= 1
            assert depth >= 0
        elif not token[0].isspace():
            assert depth > 0
            found[-1].append(token[0])
    assert depth == 0
    return found


def allows(text: str, operation: str, path: str) -> bool:
    """The decision of the last matching rule, as the sandbox evaluates it."""
    said = False
    for action, *words in rules(text):
        if action not in ("allow", "deny"):
            continue
        operations = [word for word in words if word.startswith("file-")]
        paths = [word[1:-1].replace('\\"', '"').replace("\\\\", "\\") for word in words if word.startswith('"')]
        meant = "subpath" in words and any(operation.startswith(each.rstrip("*")) for each in operations)
        if meant and any(path == each or path.startswith(each.rstrip("/") + "/") for each in paths):
            said = action == "allow"
    return said
