"""The table of commands: programs that only read, and a few that write only the files they are given, with their safe
options.

Each entry names its source. Options are omitted on purpose if they run a program, write a file or never end (``sort
-o``, ``sort --compress-program``, ``tail -f``, ``rg --pre``, ``tree -o``, ``diff --paginate``, ``file -C``, ``date
-s``), follow links (``ls -L``, ``grep -R``), or take names or arguments from inside a file, which cannot be checked
beforehand (``md5sum --check``, ``wc --files0-from``, ``file -f``, ``tree --fromfile``). An option that names one file
is in ``files``, so that the file is checked like any other; options with an optional value (``od -w``) are omitted,
because the next word would be taken for the value.

``python --version``, ``cargo --version`` and ``go version`` are omitted: version managers read a file of the current
folder and run what it names (CVE-2022-35861; ``path`` in ``rust-toolchain.toml``; ``toolchain`` in ``go.mod``).
``find``, ``sed`` and ``git`` have a language of their own and are parsed in
``find_sed_date_arguments`` and ``git_safety``.
"""

from __future__ import annotations

from atelier_desk.support.i18n import N_
from atelier_desk.workspace.commands.option_parsing import Operands, Rules

UNKNOWN_COMMAND = N_("Atelier does not know this command")
"""The reason for asking about a program that is not in the table."""
_GNU = "https://www.gnu.org/software/coreutils/manual/html_node/{}-invocation.html"


def _core(page: str) -> str:
    return _GNU.format(page)


_DIGEST = Rules(_core("md5sum"), flags="btz", long=("binary", "text", "tag", "zero"))
_GREP = Rules(
    "https://www.gnu.org/software/grep/manual/grep.html",
    flags="EFGPivwxcLlqsbHhnTZarUzIoy",
    values="emABCdD",
    files="f",
    long=(
        "extended-regexp", "fixed-strings", "basic-regexp", "perl-regexp", "ignore-case", "no-ignore-case",
        "invert-match", "word-regexp",
        "line-regexp", "count", "color=", "colour=", "files-without-match", "files-with-matches", "only-matching",
        "quiet", "silent",
        "no-messages", "byte-offset", "with-filename", "no-filename", "line-number", "initial-tab", "null", "text",
        "recursive",
        "null-data",
    ),
    long_values=(
        "regexp", "max-count", "after-context", "before-context", "context", "include", "exclude", "exclude-dir",
        "binary-files", "label",
    ),
    long_files=("file",),
    gives_pattern=("-e", "-f", "--regexp", "--file"),
    operands=Operands.PATTERN,
    number=True,
)  # fmt: skip
_RIPGREP = Rules(
    "https://github.com/BurntSushi/ripgrep/blob/master/GUIDE.md",
    flags="iSsvwxclnNohHIFPUua.0pq",
    values="eABCmgtTMdj",
    files="f",
    long=(
        "ignore-case", "smart-case", "case-sensitive", "invert-match", "word-regexp", "line-regexp", "count",
        "count-matches",
        "files-with-matches", "files-without-match", "files", "line-number", "no-line-number", "only-matching",
        "with-filename",
        "no-filename", "fixed-strings", "pcre2", "multiline", "multiline-dotall", "hidden", "no-hidden", "no-ignore",
        "no-ignore-vcs",
        "no-config", "no-messages", "null", "heading", "no-heading", "column", "vimgrep", "json", "stats", "trim",
        "pretty", "quiet",
        "text",
        "unrestricted", "passthru", "type-list", "no-follow", "crlf", "byte-offset", "block-buffered", "line-buffered",
    ),
    long_values=(
        "regexp", "after-context", "before-context", "context", "max-count", "glob", "iglob", "type", "type-not",
        "max-depth",
        "max-columns",
        "max-filesize", "color", "colors", "sort", "sortr", "replace", "threads", "encoding", "engine",
        "context-separator",
    ),
    long_files=("file",),
    gives_pattern=("-e", "-f", "--regexp", "--file", "--files", "--type-list"),
    operands=Operands.PATTERN,
)  # fmt: skip

_DF = "all human-readable si inodes local portability print-type total"

READS: dict[str, Rules] = {
    "basename": Rules(_core("basename"), flags="az", values="s", long=("multiple", "zero"), long_values=("suffix",),
        operands=Operands.WORDS),
    "cat": Rules(_core("cat"), flags="AbeEnstTuv",
    long=("number", "number-nonblank", "show-all", "show-ends", "show-tabs",
        "squeeze-blank")),
    "cmp": Rules(
        "https://www.gnu.org/software/diffutils/manual/html_node/cmp-Options.html",
        flags="bls", values="in", long=("print-bytes", "verbose", "quiet", "silent"),
        long_values=("bytes", "ignore-initial"),
    ),
    "comm": Rules(_core("comm"), flags="123z", long=("check-order", "nocheck-order", "total", "zero-terminated"),
    most=2),
    "cut": Rules(
        _core("cut"), flags="nsz", values="bcdf", long=("complement", "only-delimited", "zero-terminated"),
        long_values=("bytes", "characters", "delimiter", "fields", "output-delimiter"),
    ),
    "date": Rules(_core("date"), flags="uR", values="d", long=("utc", "universal", "rfc-email", "iso-8601="),
    long_values=("date",),
                  operands=Operands.WORDS, most=1),
    "df": Rules(_core("df"), flags="ahHiklmPT", long=tuple(_DF.split())),
    "diff": Rules(
        "https://www.gnu.org/software/diffutils/manual/html_node/diff-Options.html",
        flags="abBcdeEiNpqstTuwyZ", values="UCWxI",
        long=("brief", "unified=", "context=", "side-by-side", "new-file", "ignore-case", "ignore-all-space",
              "ignore-space-change", "ignore-blank-lines", "ignore-trailing-space", "text", "minimal",
              "report-identical-files",
              "color=", "show-c-function", "strip-trailing-cr", "suppress-common-lines", "no-dereference"),
        long_values=("width", "exclude", "label", "ignore-matching-lines"), number=True,
    ),
    "dirname": Rules(_core("dirname"), flags="z", long=("zero",), operands=Operands.WORDS),
    "du": Rules(
        _core("du"), flags="abcDhHklmPsSx0", values="dt",
        long=("all", "apparent-size", "bytes", "total", "human-readable", "si", "summarize", "separate-dirs",
        "one-file-system", "null"),
        long_values=("max-depth", "threshold", "exclude", "block-size"),
    ),
    "echo": Rules(_core("echo"), flags="neE", operands=Operands.WORDS),
    "expand": Rules(_core("expand"), flags="i", values="t", long=("initial",), long_values=("tabs",)),
    "false": Rules(_core("false"), operands=Operands.NONE, most=0),
    "file": Rules("man:file(1)", flags="bhikNnrs0", values="F",
    long=("brief", "mime", "mime-type", "mime-encoding", "no-dereference")),
    "fmt": Rules(_core("fmt"), flags="cstu", values="wp", long_values=("width", "prefix"), number=True),
    "fold": Rules(_core("fold"), flags="bs", values="w", long=("bytes", "spaces"), long_values=("width",)),
    "grep": _GREP, "egrep": _GREP, "fgrep": _GREP, "rg": _RIPGREP,
    "head": Rules(_core("head"), flags="qvz", values="nc", long=("quiet", "silent", "verbose"),
    long_values=("lines", "bytes"),
        number=True),
    "hexdump": Rules("man:hexdump(1)", flags="bcCdovx", values="ns"),
    "id": Rules(_core("id"), flags="Ggnruz", operands=Operands.NONE, most=0),
    "join": Rules(_core("join"), flags="iz", values="aejotv12", most=2),
    "jq": Rules(
        "https://jqlang.org/manual/", flags="acCejMnrsS", values="", operands=Operands.PATTERN,
        long=("compact-output", "raw-output", "join-output", "ascii-output", "color-output", "monochrome-output",
        "null-input", "raw-input",
              "slurp", "sort-keys", "exit-status", "tab"),
    ),
    "ls": Rules(
        _core("ls"), flags="aAbBcCdfFgGhiklmnNoopqQrRsStuUvxXZ1", values="Iw",
        long=("all", "almost-all", "author", "escape", "directory", "classify=", "file-type", "full-time",
        "group-directories-first",
              "human-readable", "si", "inode", "literal", "numeric-uid-gid", "no-group", "recursive", "reverse", "size",
              "color=", "zero"),
        long_values=("sort", "time", "time-style", "format", "hide", "ignore", "indicator-style", "width",
        "block-size"),
    ),
    "md5sum": _DIGEST, "sha1sum": _DIGEST, "sha256sum": _DIGEST, "sha512sum": _DIGEST, "b2sum": _DIGEST,
    "cksum": Rules(_core("cksum")),
    "nl": Rules(_core("nl"), flags="p", values="bdfhilnsvw"),
    "nproc": Rules(_core("nproc"), long=("all",), operands=Operands.NONE, most=0),
    "od": Rules(_core("od"), flags="abcdfilosxv", values="AjNt",
    long_values=("address-radix", "skip-bytes", "read-bytes", "format")),
    "paste": Rules(_core("paste"), flags="sz", values="d", long=("serial",), long_values=("delimiters",)),
    "printf": Rules(_core("printf"), operands=Operands.WORDS),
    "pwd": Rules(_core("pwd"), flags="LP", operands=Operands.NONE, most=0),
    "readlink": Rules(_core("readlink"), flags="efmnqsvz",
    long=("canonicalize", "canonicalize-existing", "canonicalize-missing")),
    "realpath": Rules(_core("realpath"), flags="emLPqsz",
    long=("canonicalize-existing", "canonicalize-missing", "no-symlinks")),
    "rev": Rules("man:rev(1)"),
    "seq": Rules(_core("seq"), flags="w", values="fs", operands=Operands.WORDS, most=3, number=True),
    "sort": Rules(
        _core("sort"), flags="bcCdfghiMmnRrsuVz", values="kt",
        long=("ignore-leading-blanks", "dictionary-order", "ignore-case", "general-numeric-sort", "human-numeric-sort",
        "month-sort",
              "numeric-sort", "random-sort", "reverse", "version-sort", "check=", "merge", "stable", "unique",
              "zero-terminated"),
        long_values=("key", "field-separator", "sort"),
    ),
    "stat": Rules(_core("stat"), flags="ft", values="c", long=("file-system", "terse"),
    long_values=("format", "printf")),
    "strings": Rules("https://sourceware.org/binutils/docs/binutils/strings.html", flags="adfow", values="nte",
    number=True),
    "tac": Rules(_core("tac"), flags="br", values="s"),
    "tail": Rules(_core("tail"), flags="qvz", values="nc", long=("quiet", "silent", "verbose"),
    long_values=("lines", "bytes"),
        number=True),
    "tr": Rules(_core("tr"), flags="cCdst", long=("complement", "delete", "squeeze-repeats", "truncate-set1"),
    operands=Operands.WORDS,
        most=2),
    "tree": Rules("man:tree(1)", flags="adfDhinpqrstugsACFN", values="LPI",
    long=("dirsfirst", "noreport", "du", "prune", "gitignore")),
    "true": Rules(_core("true"), operands=Operands.NONE, most=0),
    "uname": Rules(_core("uname"), flags="aimnoprsv", long=("all",), operands=Operands.NONE, most=0),
    "unexpand": Rules(_core("unexpand"), flags="a", values="t", long=("all", "first-only"), long_values=("tabs",)),
    "uniq": Rules(
        # A second operand is an output file.
        _core("uniq"), flags="cdDiuz", values="fsw", most=1,
        long=("count", "repeated", "unique", "ignore-case", "zero-terminated"),
        long_values=("skip-fields", "skip-chars", "check-chars"),
    ),
    "uptime": Rules(_core("uptime"), flags="ps", operands=Operands.NONE, most=0),
    "wc": Rules(_core("wc"), flags="cmlLw", long=("bytes", "chars", "lines", "words", "max-line-length")),
    "which": Rules("man:which(1)", flags="a", operands=Operands.WORDS),
    "whoami": Rules(_core("whoami"), operands=Operands.NONE, most=0),
    "xxd": Rules("man:xxd(1)", flags="abEiprud", values="cglnos", most=1),
}  # fmt: skip
"""Programs that only read; their only effect is their output."""

WRITES: dict[str, Rules] = {
    "cp": Rules(
        _core("cp"), flags="afRrpnuvTx", long=("archive", "recursive", "no-clobber", "update", "verbose"), writes=True
    ),
    "mkdir": Rules(
        _core("mkdir"), flags="pv", values="m", long=("parents", "verbose"), long_values=("mode",), writes=True
    ),
    "mv": Rules(_core("mv"), flags="fnuvT", long=("no-clobber", "update", "verbose"), writes=True),
    "rm": Rules(_core("rm"), flags="dfrRv", long=("dir", "force", "recursive", "verbose"), writes=True),
    "rmdir": Rules(_core("rmdir"), flags="pv", long=("parents", "verbose"), writes=True),
    "tee": Rules(_core("tee"), flags="a", long=("append",), writes=True),
    "touch": Rules(
        _core("touch"), flags="acm", values="dt", long=("no-create",), long_values=("date", "time"), writes=True
    ),
}
"""Programs that change only the files they name."""

DELETES = frozenset({"rm", "rmdir"})
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh"})
"""Shells that run the script named first."""

WRAPPERS = frozenset({
    "sudo", "doas", "su", "pkexec", "runuser", "env", "xargs", "parallel", "nohup", "timeout", "nice", "ionice", "chrt",
    "taskset",
    "setsid",
    "stdbuf", "unbuffer", "watch", "entr", "script", "expect", "strace", "ltrace", "gdb", "perf", "chroot", "unshare",
    "nsenter",
    "firejail",
    "bwrap", "flock", "systemd-run", "at", "batch", "crontab", "ssh", "scp", "rsync", "sftp", "docker", "podman",
    "kubectl", "busybox",
    "toybox", "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "pwsh", "osascript", "awk",
    "gawk", "mawk",
    "nawk",
    "less", "more", "most", "man", "info", "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "nano", "pico", "tmux",
    "screen", "nc", "ncat",
    "socat", "telnet", "openssl", "dd", "eval", "npx", "bunx", "pipx", "uvx",
})  # fmt: skip
"""Programs that run others, or have a language that can: a rule for their first words would cover anything.

Source: https://gtfobins.github.io (functions "shell" and "command").
"""
