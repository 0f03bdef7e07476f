"""Programs outside the table that follow links inside a folder argument: with an option, or unless one forbids it.

No word of the command names what lies behind such a link. In the table no allowed option follows links (``cp -L``,
``grep -R``, ``ls -L``): commands with one are never covered by a rule with a star, nor is ``rsync``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from atelier_desk.workspace.commands.indirect_execution import program_name


@dataclass(frozen=True, slots=True)
class LinkFollower:
    """Link behaviour of one program.

    Attributes:
        source: its documentation.
        letters, long: options that follow links; the long one may be abbreviated.
        unless: words that forbid it; empty where following needs an option.
        bundled: the first word may be letters without a dash.
    """

    source: str
    letters: str = ""
    long: str = ""
    unless: str = ""
    bundled: bool = False


FOLLOWING = {
    "tar": LinkFollower(
        "https://www.gnu.org/software/tar/manual/html_section/dereference.html", "hL", "dereference", bundled=True
    ),
    "zip": LinkFollower("https://linux.die.net/man/1/zip", unless="-[rqvX0-9]*y[rqvX0-9]*|--symlinks"),
    "7z": LinkFollower("https://documentation.help/7-Zip-18.0/switches.htm", unless="-snl"),
    "ag": LinkFollower("https://github.com/ggreer/the_silver_searcher/blob/master/doc/ag.1.md", "f", "follow"),
    "ack": LinkFollower("https://beyondgrep.com/documentation/", long="follow"),
    "fd": LinkFollower("https://github.com/sharkdp/fd", "L", "follow"),
}
FOLLOWING |= {"7za": FOLLOWING["7z"], "7zz": FOLLOWING["7z"], "fdfind": FOLLOWING["fd"]}


def follows_links(words: tuple[str, ...]) -> bool:
    """Whether a command may read targets of links inside folders that it names."""
    row = FOLLOWING.get(words[0].rpartition("/")[2]) or FOLLOWING.get(program_name(words[0]))
    if row is None:
        return False
    if row.unless:
        return not any(re.fullmatch(row.unless, word) for word in words[1:])
    return any(_matches_option(row, word, first=index == 0) for index, word in enumerate(words[1:]))


def _matches_option(row: LinkFollower, word: str, *, first: bool) -> bool:
    if word.startswith("--"):
        return bool(row.long) and len(word) > 2 and row.long.startswith(word[2:])
    return (word.startswith("-") or (first and row.bundled)) and any(letter in word for letter in row.letters)
