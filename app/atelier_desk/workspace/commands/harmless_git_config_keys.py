"""Repository settings that start no program and open no other file while git only reads.

An allow list, never a deny list. Settings that are harmless for all of git are in ``processes.git_settings_parsing``,
which the launcher reads too. Listed here are keys that no command of ``git_safety.READING`` uses, that only take a
number, a name or a text, or that ``git_safety.SWITCHED_OFF`` overrides. Source: git-config(1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from atelier_desk.workspace.processes.git_settings_parsing import harmless


class Setting(NamedTuple):
    """One line of ``git config --list``: the name as git spells it, section and key in lower case; ``value`` is None
    for a bare name.

    ``scope``: ``system``, ``global``, ``local``, ``worktree`` or ``command``; ``origin``: ``file:`` and the path, as
    git prints it.
    """

    name: str
    value: str | None
    scope: str
    origin: str


_ALL = (
    "add advice am apply author blame branch checkout clean clone color column commit commitgraph committer "
    "completion credential "
    "credentialcache credentialstore difftool fastimport feature fetch fsck gitflow gitreview grep gui http i18n "
    "index lfs log lsrefs "
    "mailinfo maintenance merge mergetool notes pack promisor pull push rebase receive reftable remotes repack "
    "rerere revert showbranch "
    "sparse splitindex stash status submodule tag transfer trailer uploadarchive uploadpackfilter user versionsort "
    "worktree"
)
"""Sections whose keys without a subsection (``section.key``) are all known."""
_KEYS: Mapping[str, str] = {
    "attr": "tree",
    "core": (
        "abbrev alternaterefscommand alternaterefsprefixes askpass bigfilethreshold checkroundtripencoding checkstat "
        "commentchar commentstring commitgraph compression createobject deltabasecachelimit editor filesreflocktimeout "
        "fsmonitor fsmonitorhookversion fsync fsyncmethod fsyncobjectfiles gitproxy hidedotfiles hookspath ignorestat "
        "loosecompression maxtreedepth multipackindex notesref packedgitlimit packedgitwindowsize packedrefstimeout "
        "pager "
        "partialclonefilter prefersymlinkrefs preloadindex protecthfs protectntfs quotepath restrictinheritedhandles "
        "safecrlf "
        "sharedrepository splitindex sshcommand trustctime unsetenvvars untrackedcache usereplacerefs "
        "warnambiguousrefs "
        "whitespace"
    ),
    "diff": (
        "algorithm autorefreshindex colormoved colormovedws context dirstat dstprefix guitool ignoresubmodules "
        "indentheuristic "
        "interhunkcontext mnemonicprefix noprefix relative renamelimit renames srcprefix statgraphwidth "
        "statnamewidth submodule "
        "suppressblankempty tool trustexitcode wordregex wserrorhighlight"
    ),
    "format": (
        "attach cc coverfromdescription coverletter encodeemailheaders filenamemaxlength forceinbodyfrom from "
        "headers mboxrd notes "
        "noprefix numbered signature signoff subjectprefix suffix thread to useautobase"
    ),
    "fsmonitor": "allowremote",
    "gc": (
        "aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold cruftpacks logexpiry "
        "maxcruftsize packrefs "
        "pruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved worktreepruneexpire "
        "writecommitgraph"
    ),
    "gpg": "format mintrustlevel program",
    "help": "autocorrect format",
    "init": "defaultobjectformat defaultrefformat",
    "interactive": "singlekey",
    "mailmap": "blob",
    "protocol": "allow version",
    "safe": "barerepository",
    "sendemail": (
        "annotate assume8bitencoding bcc cc chainreplyto confirm envelopesender from multiedit signedoffbycc "
        "smtpdomain smtpencryption "
        "smtpserverport smtpuser suppresscc suppressfrom thread to transferencoding validate xmailer"
    ),
    "ssh": "variant",
    "tar": "umask",
    "uploadpack": (
        "allowanysha1inwant allowfilter allowreachablesha1inwant allowrefinwant allowtipsha1inwant hiderefs keepalive"
    ),
}
"""Known keys of the other sections."""
_NAMED: Mapping[str, str] = {
    "add": "usebuiltin",
    "branch": "*",
    "color": "*",
    "credential": "*",
    "diff": "algorithm binary cachetextconv funcname wordregex xfuncname",
    "difftool": "hasoutput trustexitcode",
    "fetch": "*",
    "filter": "required",
    "gc": "reflogexpire reflogexpireunreachable",
    "gitflow": "*",
    "http": "*",
    "lfs": "access locksverify",
    "maintenance": "auto enabled schedule",
    "merge": "name recursive",
    "mergetool": "hasoutput hideresolved layout trustexitcode useautomerge",
    "notes": "*",
    "receive": "*",
    "remote": (
        "followremotehead gh-resolved glab-resolved lfspushurl lfsurl proxy proxyauthmethod prunetags serveroption "
        "skipdefaultupdate "
        "skipfetchall"
    ),
    "submodule": "branch fetchrecursesubmodules gitdir ignore shallow",
    "svn-remote": "*",
    "trailer": "ifexists ifmissing key separators where",
    "uploadpackfilter": "allow maxdepth",
    "url": "insteadof pushinsteadof",
}
"""Known keys with a subsection (``section.name.key``); ``*``: all."""
_PROGRAMS = frozenset({
    "core.alternaterefscommand", "core.askpass", "core.editor", "core.fsmonitor", "core.gitproxy", "core.hookspath",
    "core.pager",
    "core.sshcommand", "gpg.program",
})  # fmt: skip
"""Known because ``git_safety.SWITCHED_OFF`` overrides them."""
_PROGRAMS_OF_GPG = frozenset({"gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"})
_FILES_OF_GPG = frozenset({"gpg.ssh.allowedsignersfile", "gpg.ssh.revocationfile"})
"""Read only by the programs above."""
_LFS = {
    "filter.lfs.clean": ("git-lfs clean -- %f", "git lfs clean -- %f"),
    "filter.lfs.smudge": ("git-lfs smudge -- %f", "git-lfs smudge --skip -- %f", "git lfs smudge -- %f"),
    "filter.lfs.process": ("git-lfs filter-process", "git-lfs filter-process --skip"),
}
"""Written by ``git lfs install --local`` (git-lfs, lfs/attribute.go). Disabled while reading, like every filter."""
ASKS_GPG = re.compile(r"%[-+ ]?G")
"""Placeholder of a format that checks a signature (git-log(1), "PRETTY FORMATS")."""
_BOOLEANS = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", ""})


def _one_of(*values: str) -> Callable[[str | None], bool]:
    return lambda value: value is not None and value.lower() in values


def _is_boolean(value: str | None) -> bool:
    return value is None or value.lower() in _BOOLEANS


def _is_plain_format(value: str | None) -> bool:
    """Whether a log format contains no signature placeholders, for which a program would run."""
    return value is not None and not ASKS_GPG.search(value)


def _read(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    return {section: frozenset(keys.split()) for section, keys in table.items()}


_ALL_OF, _KEYS_OF, _NAMED_OF = frozenset(_ALL.split()), _read(_KEYS), _read(_NAMED)


def is_known(name: str, value: str | None, *, reading: bool = True) -> bool:
    """Whether a setting executes nothing and opens no other file while git only reads.

    ``core.worktree`` must be checked on disk by the caller. ``reading``: settings that name a program are overridden;
    otherwise they are unknown unless boolean.
    """
    if harmless(("", name, value)):
        return True
    if (
        not reading
        and (name in _PROGRAMS or name in _PROGRAMS_OF_GPG or name.startswith("credential."))
        and not _is_boolean(value)
    ):
        return False
    section, _dot, rest = name.partition(".")
    _name, dot, key = rest.rpartition(".")
    if not dot:
        by_value = _BY_VALUE.get(f"{section}.{key}") or _BY_VALUE.get(f"{section}.")
        return by_value(value) if by_value is not None else section in _ALL_OF or key in _KEYS_OF.get(section, ())
    if name in _LFS:
        return value in _LFS[name]
    by_value = _BY_VALUE.get(f"{section}.*.{key}")
    if by_value is not None:
        return by_value(value)
    known = _NAMED_OF.get(section, frozenset())
    return "*" in known or key in known or name in _PROGRAMS_OF_GPG or name in _FILES_OF_GPG


_BY_VALUE: Mapping[str, Callable[[str | None], bool]] = {
    "format.pretty": _is_plain_format,
    "pretty.": _is_plain_format,
    "pager.": _is_boolean,
    "protocol.*.allow": _one_of("never", "user"),
}
"""Known depending on their value; ``section.`` is any key of it, ``section.*.key`` any subsection."""


def is_switched_off(name: str) -> bool:
    """Whether a setting, from any file, must be overridden by its own name: filters, and signature programs."""
    section, _dot, rest = name.partition(".")
    _name, dot, key = rest.rpartition(".")
    return bool(dot) and (section == "filter" or (section == "gpg" and key in ("program", "defaultkeycommand")))
