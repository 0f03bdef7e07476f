"""Lines of untrusted ``.gitignore`` files.

Invalid lines do not invalidate the file, and matching is bounded in time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

LINE = 1_000
"""Maximum characters of a line; longer ones are ignored."""
DEEP = 4
"""Maximum number of ``**`` per line: their combinations multiply, and a match cannot be interrupted."""
_STAR = "[^/]*"
"""Expression for ``*`` in a regular expression."""


class _Line(GitIgnoreSpecPattern):
    """A line whose stars match without backtracking.

    In ``a*b*c`` the first ``b`` is as good as any other; trying all of them takes exponential time in the number of
    stars.
    """

    @classmethod
    def pattern_to_regex(cls, pattern: str) -> tuple[str | None, bool | None]:  # type: ignore[override]
        regex, include = super().pattern_to_regex(pattern)
        return (regex and _once(regex)), include


def rules_in(lines: Iterable[str]) -> GitIgnoreSpec:
    """Return the rules of an ignore file. Lines invalid for git, and excessive ones, are skipped."""
    found = []
    for line in lines:
        if len(line) > LINE or line.count("**") > DEEP:
            continue
        try:
            found.append(_Line(line))
        except (GitIgnorePatternError, re.error):  # including invalid expressions such as ``[z-a]``
            continue
    return GitIgnoreSpec(found)


def _once(regex: str) -> str:
    first, *parts = regex.split(_STAR)
    result = [first]
    for number, part in enumerate(parts, 1):
        between = number < len(parts) and "/" not in part  # another star follows in the same name
        result.append(f"(?>{_STAR}?{part})" if between else f"{_STAR}{part}")
    return "".join(result)
