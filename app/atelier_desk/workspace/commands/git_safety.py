"""git: which commands only read, and how to keep a repository's settings from executing anything meanwhile.

A repository is untrusted data: ``core.fsmonitor``, ``diff.external``, text conversions, clean filters, hooks, signature
programs, pagers and a second repository hidden in a folder all run programs on ``git status`` or ``git diff``
(CVE-2026-19592, CVE-2026-45033). So a person is asked about every unknown setting of a repository
(``harmless_git_config_keys``), and settings with a fixed name, or from the person's own configuration, are overridden
by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from atelier_desk.support.i18n import N_
from atelier_desk.workspace.commands.harmless_git_config_keys import ASKS_GPG, is_switched_off
from atelier_desk.workspace.commands.option_parsing import Operands, Rules, UnknownOptionError, parse_options

_DOCS = "https://git-scm.com/docs/git-{}"
_DIFF_LONG = (
    "stat=", "numstat", "shortstat", "dirstat=", "summary", "name-only", "name-status", "patch", "no-patch", "raw",
    "minimal", "patience",
    "histogram", "no-renames", "find-renames=", "color=", "no-color", "color-words=", "word-diff=", "check",
    "full-index", "abbrev=",
    "ignore-space-at-eol", "ignore-space-change", "ignore-all-space", "ignore-blank-lines", "function-context",
    "exit-code", "quiet",
    "unified=", "no-ext-diff", "no-textconv", "text", "no-prefix", "relative=", "compact-summary", "cached", "staged",
    "merge-base",
)  # fmt: skip
_LOG_LONG = (
    "oneline", "graph", "all", "branches=", "tags=", "remotes=", "decorate=", "no-decorate", "reverse", "merges",
    "no-merges",
    "first-parent", "follow", "date=", "abbrev-commit", "no-abbrev-commit", "max-count=", "skip=", "since=", "after=",
    "until=", "before=",
    "author=", "committer=", "grep=", "all-match", "invert-grep", "regexp-ignore-case", "fixed-strings", "date-order",
    "topo-order",
    "author-date-order", "parents", "children", "left-right", "cherry-pick", "simplify-by-decoration", "full-history",
    "format=", "pretty=",
    "no-notes",
)  # fmt: skip
READING: dict[str, Rules] = {
    "status": Rules(
        # -v prints a diff, and status has no option that disables text conversions.
        _DOCS.format("status"), flags="sbz",
        long=("short", "branch", "porcelain=", "long", "show-stash", "ignored=", "untracked-files=", "ahead-behind",
        "no-ahead-behind",
              "no-renames", "column="),
        values="u",
    ),
    "diff": Rules(_DOCS.format("diff"), flags="pswbzMRaW", values="US", long=_DIFF_LONG, number=True),
    "log": Rules(_DOCS.format("log"), flags="pswbzMiE", values="USGnL", long=(*_LOG_LONG, *_DIFF_LONG), number=True),
    "show": Rules(_DOCS.format("show"), flags="pswbzM", values="U", long=(*_LOG_LONG, *_DIFF_LONG), number=True),
    "rev-parse": Rules(
        _DOCS.format("rev-parse"), flags="q",
        long=("show-toplevel", "abbrev-ref=", "short=", "verify", "git-dir", "is-inside-work-tree", "show-prefix",
        "show-cdup", "symbolic",
              "symbolic-full-name", "all", "branches=", "tags=", "quiet", "is-bare-repository"),
    ),
    "ls-files": Rules(
        # Not -X: the lines of its file can be inferred from omitted names, and its path is relative to the repository.
        _DOCS.format("ls-files"), flags="cdmoistuvz", values="x",
        long=("cached", "deleted", "modified", "others", "ignored", "stage", "unmerged", "killed", "directory",
        "exclude-standard",
              "full-name", "error-unmatch"),
    ),
    "ls-tree": Rules(_DOCS.format("ls-tree"), flags="drtlz",
    long=("name-only", "name-status", "full-name", "full-tree", "long")),
    "branch": Rules(
        # A name that is no pattern of --list would create a branch.
        _DOCS.format("branch"), flags="arv",
        long=("all", "remotes", "list", "show-current", "verbose", "no-color", "column="), most=0,
        operands=Operands.NONE,
    ),
    "tag": Rules(_DOCS.format("tag"), flags="l", long=("list", "column="), operands=Operands.NONE, most=0),
    "remote": Rules(_DOCS.format("remote"), flags="v", long=("verbose",), operands=Operands.NONE, most=0),
    "describe": Rules(_DOCS.format("describe"),
    long=("tags", "all", "always", "long", "abbrev=", "exact-match", "first-parent")),
    "shortlog": Rules(_DOCS.format("shortlog"), flags="nse", long=("numbered", "summary", "email", "no-merges")),
    "version": Rules(_DOCS.format("version"), long=("build-options",), operands=Operands.NONE, most=0),
}  # fmt: skip
"""Read-only git commands with their safe options.

``blame`` and ``grep`` are missing: no setting reliably disables their text conversions and pagers.
"""

SWITCHED_OFF: Mapping[str, str] = {
    "core.fsmonitor": "false", "core.hooksPath": "/dev/null", "core.pager": "cat", "core.editor": "true",
    "core.askPass": "true",
    "core.sshCommand": "false", "core.gitProxy": "false", "core.alternateRefsCommand": "true",
    "core.untrackedCache": "false",
    "safe.bareRepository": "explicit", "protocol.allow": "never", "log.showSignature": "false", "gpg.program": "false",
    "gpg.openpgp.program": "false", "gpg.x509.program": "false", "gpg.ssh.program": "false",
    "diff.ignoreSubmodules": "all",
    "diff.submodule": "short", "status.submoduleSummary": "false", "submodule.recurse": "false",
    "maintenance.auto": "false", "gc.auto":
    "0",
    "credential.helper": "", "column.ui": "never",
}  # fmt: skip
"""Settings of a repository that run programs, according to git-config(1), and their overriding values."""
_OFF_OPTIONS: dict[str, tuple[str, ...]] = {
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short"),
    "log": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short", "--no-show-signature"),
    "show": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--submodule=short", "--no-show-signature"),
    "status": ("--ignore-submodules=all",),
}
_NOTHING = "ATELIER_NOTHING"
"""Name of an empty variable.

``--config-env`` splits at its last ``=``, ``-c`` at the first, which may be part of a filter's name.
"""
ENVIRONMENT: Mapping[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "true",
    "GIT_NO_REPLACE_OBJECTS": "1",
    _NOTHING: "",
}
"""Additional environment of read-only commands. ``GIT_OPTIONAL_LOCKS`` keeps ``status`` from writing the index."""
OPEN_ENVIRONMENT: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    _NOTHING: "",
}
"""The same for approved git commands: hooks and helpers run as in a terminal, but nobody can answer a prompt."""


def reads(arguments: tuple[str, ...]) -> list[str]:
    """Return the operands of a read-only git command, which may be files; raises ``UnknownOptionError``.

    Options before the command (``-c``, ``--git-dir``, ``--exec-path``) are refused, except ``--no-pager``.
    """
    words = list(arguments)
    while words and words[0] == "--no-pager":
        words.pop(0)
    if words == ["--version"]:
        return []
    rules = READING.get(words[0]) if words else None
    if rules is None:
        raise UnknownOptionError(N_("it runs programs or changes files"), words[0] if words else "git")
    options = parse_options(rules, tuple(words[1:]))
    for word in words[1:]:
        if (
            ASKS_GPG.search(word)
            or "(trailers" in word
            or (word.startswith("-L") and words[0] == "log" and word.startswith("-L:"))
        ):
            raise UnknownOptionError(N_("its output format may be unsafe"), word)
    return [*options.operands]


def hardened(words: tuple[str, ...], settings: Iterable[str]) -> tuple[str, ...]:
    """Return a safe form of a read-only git command.

    ``words`` begin with ``git``; ``settings`` are the names of all settings it would find.
    """
    options = [word for key, value in SWITCHED_OFF.items() for word in ("-c", f"{key}={value}")]
    for name in sorted({name for name in settings if is_switched_off(name)}):
        if name.startswith("gpg."):
            options += ("-c", f"{name}=false") if "=" not in name else ()  # git has no such syntax
        else:
            options.append(f"--config-env={name}={_NOTHING}")
    asked = [word for word in words[1:] if word != "--no-pager"]
    command = asked[0] if asked else ""
    return (
        words[0],
        "--no-pager",
        "--no-optional-locks",
        *options,
        *asked[:1],
        *_OFF_OPTIONS.get(command, ()),
        *asked[1:],
    )


def settings_command(git: str) -> tuple[str, ...]:
    """Return the command that lists all settings with their files; it executes nothing."""
    return hardened((git, "config", "--list", "--includes", "--show-scope", "--show-origin", "-z"), ())


def place_command(git: str) -> tuple[str, ...]:
    """Return the command that prints, one per line, a repository's folder, its common folder, and its work tree."""
    return hardened((git, "rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"), ())


def rules() -> dict[str, Rules]:
    """Return git's part of the table, keyed by two words."""
    return {f"git {name}": replace(rule) for name, rule in READING.items()}
