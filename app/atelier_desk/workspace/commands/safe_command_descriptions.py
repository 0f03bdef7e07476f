"""The table of commands for display: what each command does, and with which options it is known to be harmless."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from atelier_desk.support.i18n import N_
from atelier_desk.workspace.commands import command_table, find_sed_date_arguments, git_safety
from atelier_desk.workspace.commands.option_parsing import Rules


class Does(StrEnum):
    """Effect of a command on files."""

    READS = "reads"
    WRITES = "writes"
    DELETES = "deletes"
    """It is in the table so that its files are known; every profile but Free asks."""


@dataclass(frozen=True, slots=True)
class SafeCommand:
    """One command.

    Attributes:
        does, about: its effect on files, and its purpose in one line: an English ``N_`` text.
        options: known options as written; ``X`` stands for a value, and letters after one dash may stand alone.
    """

    name: str
    does: Does
    about: str
    options: str = ""


_SHA = N_("Prints checksums of files")
_SEARCH = N_("Searches for text in files")
ABOUT = {
    "basename": N_("Prints the last part of a path"),
    "cat": N_("Prints the contents of files"),
    "cd": N_("Changes to another folder in the workspace for the rest of the command line"),
    "cmp": N_("Compares two files byte by byte"),
    "comm": N_("Compares two sorted files line by line"),
    "cut": N_("Prints selected columns of each line"),
    "date": N_("Prints the date and time, without setting them"),
    "df": N_("Prints the free disk space"),
    "diff": N_("Shows how files differ"),
    "dirname": N_("Prints a path without its last part"),
    "du": N_("Prints how much disk space files use"),
    "echo": N_("Prints text"),
    "expand": N_("Prints files with spaces instead of tabs"),
    "false": N_("Does nothing, and fails"),
    "file": N_("Prints the type of a file"),
    "find": N_("Finds files, without running, removing or writing anything"),
    "fmt": N_("Reflows text into lines of similar length"),
    "fold": N_("Wraps long lines"),
    "grep": _SEARCH,
    "egrep": _SEARCH,
    "fgrep": _SEARCH,
    "rg": _SEARCH,
    "head": N_("Prints the beginning of files"),
    "hexdump": N_("Prints the bytes of files"),
    "id": N_("Prints your user name and groups"),
    "join": N_("Joins lines of two files that have a field in common"),
    "jq": N_("Extracts values from JSON, without loading modules"),
    "ls": N_("Lists files"),
    "md5sum": _SHA,
    "sha1sum": _SHA,
    "sha256sum": _SHA,
    "sha512sum": _SHA,
    "b2sum": _SHA,
    "cksum": _SHA,
    "nl": N_("Prints files with numbered lines"),
    "nproc": N_("Prints the number of processors"),
    "od": N_("Prints the bytes of files"),
    "paste": N_("Prints lines of several files side by side"),
    "printf": N_("Prints formatted text"),
    "pwd": N_("Prints the current folder"),
    "readlink": N_("Prints the target of a link"),
    "realpath": N_("Prints the full path of a file"),
    "rev": N_("Prints each line reversed"),
    "sed": N_("Prints selected lines of files, as in sed -n 1,20p; other scripts need approval"),
    "seq": N_("Prints sequences of numbers"),
    "sort": N_("Prints lines in sorted order"),
    "stat": N_("Prints the size, timestamps and permissions of files"),
    "strings": N_("Prints the text found in binary files"),
    "tac": N_("Prints files from the last line to the first"),
    "tail": N_("Prints the end of files, without following them"),
    "tr": N_("Replaces characters of its input"),
    "tree": N_("Lists files as a tree"),
    "true": N_("Does nothing, and succeeds"),
    "uname": N_("Prints the name of the system"),
    "unexpand": N_("Prints files with tabs instead of spaces"),
    "uniq": N_("Omits repeated lines"),
    "uptime": N_("Prints how long the computer has been running"),
    "wc": N_("Counts lines, words and bytes"),
    "which": N_("Prints where a program is"),
    "whoami": N_("Prints your user name"),
    "xxd": N_("Prints the bytes of a file"),
    "git status": N_("Shows what has changed in a repository"),
    "git diff": N_("Shows changes, without running programs configured in the repository"),
    "git log": N_("Lists commits"),
    "git show": N_("Shows a commit or a file in it"),
    "git rev-parse": N_("Prints commit ids, branch names and paths in a repository"),
    "git ls-files": N_("Lists the files that git tracks"),
    "git ls-tree": N_("Lists the files of a commit"),
    "git branch": N_("Lists branches, without creating any"),
    "git tag": N_("Lists tags, without creating any"),
    "git remote": N_("Lists the remotes of a repository"),
    "git describe": N_("Names a commit by the nearest tag"),
    "git shortlog": N_("Lists commits by author"),
    "git version": N_("Prints the version of git"),
    "cp": N_("Copies files"),
    "mkdir": N_("Creates folders"),
    "mv": N_("Moves or renames files"),
    "rm": N_("Deletes files"),
    "rmdir": N_("Deletes empty folders"),
    "tee": N_("Writes its input to files"),
    "touch": N_("Creates empty files, or updates the timestamps of existing files"),
}
"""Purpose of each command of the table; complete."""


def safe_commands() -> tuple[SafeCommand, ...]:
    """Return the table by name, read-only commands first. Paths outside the workspace always ask."""
    reads = {
        **command_table.READS,
        **git_safety.rules(),
        "cd": Rules(""),
        "find": Rules(""),
        "sed": Rules("", flags="ne", long=("quiet", "silent")),
    }
    found = [
        SafeCommand(name, Does.READS, ABOUT[name], options(rules))
        for name, rules in sorted(reads.items())
        if name != "find"
    ]
    found.append(SafeCommand("find", Does.READS, ABOUT["find"], " ".join(find_sed_date_arguments.find_options())))
    found.sort(key=lambda each: each.name)
    for name, rules in sorted(command_table.WRITES.items()):
        does = Does.DELETES if name in command_table.DELETES else Does.WRITES
        found.append(SafeCommand(name, does, ABOUT[name], options(rules)))
    return tuple(found)


def options(rules: Rules) -> str:
    """Return the options of a program as written: ``-AbeE -n X --number --lines=X``."""
    words = [f"-{rules.flags}"] if rules.flags else []
    words += [f"-{letter} X" for letter in dict.fromkeys(rules.values + rules.files)]
    words += ["-20"] if rules.number else []
    words += [f"--{name}X" if name.endswith("=") else f"--{name}" for name in rules.long]
    words += [f"--{name}=X" for name in (*rules.long_values, *rules.long_files)]
    return " ".join(words)
