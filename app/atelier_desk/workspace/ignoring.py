"""The lines of a ``.gitignore`` as strangers write them: one that names nothing is no reason to read none, and none takes for ever."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

LINE = 1_000
"""Characters of the longest line that is followed."""
DEEP = 4
"""Most ``**`` in one line: what they may stand for multiplies, and a comparison cannot be stopped."""
_STAR = "[^/]*"
"""What ``*`` becomes in a regular expression."""


class _Line(GitIgnoreSpecPattern):
    """A line whose stars are each tried once: in ``a*b*c`` the first ``b`` is as good as any other one, and trying all of them takes a time
    that grows with the power of their number."""

    @classmethod
    def pattern_to_regex(cls, pattern: str) -> tuple[str | None, bool | None]:  # type: ignore[override]
        regex, include = super().pattern_to_regex(pattern)
        return (regex and _once(regex)), include


def rules_in(lines: Iterable[str]) -> GitIgnoreSpec:
    """The rules in the lines of an ignore file. Lines that name nothing, as git says, and those that no project needs are not followed."""
    found = []
    for line in lines:
        if len(line) > LINE or line.count("**") > DEEP:
            continue
        try:
            found.append(_Line(line))
        except (GitIgnorePatternError, re.error):  # also what is no regular expression, such as ``[z-a]``
            continue
    return GitIgnoreSpec(found)


def _once(regex: str) -> str:
    first, *parts = regex.split(_STAR)
    said = [first]
    for number, part in enumerate(parts, 1):
        between = number < len(parts) and "/" not in part  # another star follows it in the same name
        said.append(f"(?>{_STAR}?{part})" if between else f"{_STAR}{part}")
    return "".join(said)
