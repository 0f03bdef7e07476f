"""Programs outside the table of commands that follow the links inside a folder they are given: by an option, or unless one forbids it.

What lies behind such a link is named by no word of the command. In the table no option follows links inside a folder (``cp -L``,
``grep -R``, ``ls -L``): a command with one is covered by no rule with a star anyway, and neither is ``rsync``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from atelier_desk.workspace.commands.indirect import program_name


@dataclass(frozen=True, slots=True)
class LinkFollower:
    """What of one program says whether links are followed.

    Attributes:
        source: where it is described.
        letters, long: options that follow links; the long one may be shortened.
        unless: words that forbid it; empty where it takes an option to follow links.
        bundled: the first word is letters without a dash too.
    """

    source: str
    letters: str = ""
    long: str = ""
    unless: str = ""
    bundled: bool = False


FOLLOWING = {
    "tar": LinkFollower("https://www.gnu.org/software/tar/manual/html_section/dereference.html", "hL", "dereference", bundled=True),
    "zip": LinkFollower("https://linux.die.net/man/1/zip", unless="-[rqvX0-9]*y[rqvX0-9]*|--symlinks"),
    "7z": LinkFollower("https://documentation.help/7-Zip-18.0/switches.htm", unless="-snl"),
    "ag": LinkFollower("https://github.com/ggreer/the_silver_searcher/blob/master/doc/ag.1.md", "f", "follow"),
    "ack": LinkFollower("https://beyondgrep.com/documentation/", long="follow"),
    "fd": LinkFollower("https://github.com/sharkdp/fd", "L", "follow"),
}
FOLLOWING |= {"7za": FOLLOWING["7z"], "7zz": FOLLOWING["7z"], "fdfind": FOLLOWING["fd"]}


def follows_links(words: tuple[str, ...]) -> bool:
    """Whether a command may read what links lead to inside the folders that it names."""
    row = FOLLOWING.get(words[0].rpartition("/")[2]) or FOLLOWING.get(program_name(words[0]))
    if row is None:
        return False
    if row.unless:
        return not any(re.fullmatch(row.unless, word) for word in words[1:])
    return any(_says(row, word, first=place == 0) for place, word in enumerate(words[1:]))


def _says(row: LinkFollower, word: str, *, first: bool) -> bool:
    if word.startswith("--"):
        return bool(row.long) and len(word) > 2 and row.long.startswith(word[2:])
    return (word.startswith("-") or (first and row.bundled)) and any(letter in word for letter in row.letters)
