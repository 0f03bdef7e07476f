# ruff: noqa: PTH113, PTH111, PTH117, PTH118, PTH120
"""Parse git settings: the files and folders they name, and whether they execute anything. A leaf: the launcher loads it
as a file.

git itself parses them from standard input, so no repository file is opened by name, and no program is started
(git-config(1), "--list", "--file -"). It is called only if the bytes contain a relevant word.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Sequence

ANSWERS_S = 10.0
Entries = list[tuple[str, str, str | None]]
"""File of an entry (empty for standard input), key, value."""
_NAMES_FILES = re.compile(rb"include|hookspath", re.IGNORECASE)
"""Section and key are literal, in any case: settings without these words name no file (git-config(1), "Syntax")."""
_HARMLESS = re.compile(
    r"""
    core\.(repositoryformatversion|filemode|bare|symlinks|ignorecase|precomposeunicode|logallrefupdates|autocrlf|eol|sparsecheckout
        |sparsecheckoutcone|longpaths)
    | extensions\.(compatobjectformat|noop|noop-v1|objectformat|partialclone|preciousobjects|refstorage
        |relativeworktrees
        |submodulepathconfig|worktreeconfig)
    | index\.sparse | user\.(name|email) | (commit|tag)\.gpgsign | init\.defaultbranch | lfs\.repositoryformatversion
    | remote\..+\.(url|pushurl|fetch|push|promisor|partialclonefilter|tagopt|mirror|prune) | remote\.pushdefault
    | branch\..+\.(remote|merge|rebase|pushremote|description) | submodule\..+\.(url|active) | submodule\.active
    """,
    re.VERBOSE | re.DOTALL,
)
"""Written by ``git init`` and ``git clone``.

No program, no file. More is known to be harmless while git only reads (``commands.harmless_git_config_keys``).
"""


class Git:
    """The machine's git, unless it lies in ``roots``. Without git nothing is known."""

    def __init__(self, roots: Sequence[str]) -> None:
        inside = tuple(f"{root}/" for root in roots)
        folders = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]
        safe = [each for each in folders if not f"{os.path.realpath(each)}/".startswith(inside)]
        programs = (os.path.join(each, "git") for each in safe)
        self._program = next((each for each in programs if os.path.isfile(each) and os.access(each, os.X_OK)), "")
        passed = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_NOSYSTEM")
        self._environment = {
            **{name: os.environ[name] for name in passed if name in os.environ},
            "PATH": os.pathsep.join(safe),
        }

    def of_folder(self, folder: str) -> Entries:
        """Return all effective settings in a folder.

        The system's, the user's and the repository's, with absolute file paths.
        """
        output = self._ask(
            "-c",
            "safe.directory=*",
            "-c",
            "core.fsmonitor=false",
            "config",
            "--list",
            "--show-origin",
            "-z",
            cwd=folder,
        )
        fields = (output or b"").split(b"\0")
        found: Entries = []
        for origin, entry in zip(fields[::2], fields[1::2], strict=False):
            kind, _colon, name = os.fsdecode(origin).partition(":")
            if kind == "file":
                found.append((os.path.join(folder, name), *_entry(entry)))
        return found

    def of_text(self, content: bytes) -> Entries | None:
        """Return the entries of a settings file without its includes; None if git cannot parse it."""
        output = self._ask("config", "--file", "-", "--no-includes", "--list", "-z", cwd="/", given=content)
        return None if output is None else [("", *_entry(entry)) for entry in output.split(b"\0") if entry]

    def _ask(self, *arguments: str, cwd: str, given: bytes = b"") -> bytes | None:
        if not self._program:
            return None
        try:
            done = subprocess.run(
                (self._program, *arguments), cwd=cwd, env=self._environment, input=given, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, timeout=ANSWERS_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None


def _entry(data: bytes) -> tuple[str, str | None]:
    key, newline, value = data.partition(b"\n")
    return os.fsdecode(key), os.fsdecode(value) if newline else None


def may_name_files(content: bytes) -> bool:
    """Whether settings may name a hooks folder or another settings file; otherwise git need not be called."""
    return _NAMES_FILES.search(content) is not None


def included(entries: Iterable[tuple[str, str, str | None]], file: str = "") -> list[str]:
    """Return the files that entries include, whether or not their condition holds, as absolute paths that are not
    normalised.

    ``file``: location of entries from standard input.
    """
    found = []
    for origin, key, value in entries:
        if value and (key == "include.path" or (key.startswith("includeif.") and key.endswith(".path"))):
            found.append(os.path.join(os.path.dirname(origin or file), os.path.expanduser(value)))
    return found


def hook_folders(entries: Iterable[tuple[str, str, str | None]]) -> list[str]:
    """Return the hook folders that entries name; relative ones start at the top of the work tree (githooks(5))."""
    return [os.path.expanduser(value) for _origin, key, value in entries if key == "core.hookspath" and value]


def harmless(entry: tuple[str, str, str | None]) -> bool:
    """Whether an entry starts no program and opens no file, whatever its value."""
    _origin, key, value = entry
    if key.startswith("submodule.") and key.endswith(".update"):
        return value in ("checkout", "merge", "rebase", "none")
    return _HARMLESS.fullmatch(key) is not None


def written(entries: Iterable[tuple[str, str, str | None]]) -> bytes:
    """Return a settings file with these entries."""
    lines = []
    for _origin, key, value in entries:
        section, _dot, rest = key.partition(".")
        below, dot, name = rest.rpartition(".")
        head = f'[{section} "{_escaped(below)}"]' if dot else f"[{section}]"
        lines.append(f'{head}\n\t{name} = "{_escaped(value)}"' if value is not None else f"{head}\n\t{name}")
    return os.fsencode("\n".join(lines) + "\n")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
