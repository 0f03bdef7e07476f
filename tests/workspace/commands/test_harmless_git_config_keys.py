"""Which keys of git's documentation are known to be harmless while git only reads."""

from __future__ import annotations

import re

import pytest

from atelier_desk.workspace.commands import git_safety
from atelier_desk.workspace.commands.harmless_git_config_keys import ASKS_GPG, is_known, is_switched_off

ASKS = """
alias.* attr.x browser.<tool>.cmd browser.<tool>.path bundle.<id>.uri bundle.heuristic bundle.mode bundle.version
core.attributesFile core.excludesFile core.worktree diff.<driver>.command diff.<driver>.textconv diff.external
diff.orderFile difftool.<tool>.cmd difftool.<tool>.path filter.<driver>.clean filter.<driver>.process
filter.<driver>.smudge filter.lfs.clean filter.lfs.process format.outputDirectory format.pretty format.signatureFile
fsmonitor.socketDir gc.recentObjectsHook gitcvs.dbDriver gitcvs.logFile gitweb.url gpg.<format>.program
gpg.ssh.defaultKeyCommand guitool.<name>.cmd help.browser help.htmlPath imap.tunnel include.path
includeIf.<condition>.path init.templateDir instaweb.browser instaweb.httpd instaweb.modulePath interactive.diffFilter
lfs.customtransfer.<x>.path lfs.extension.<x>.clean mailmap.file man.<tool>.cmd man.<tool>.path man.viewer
merge.<driver>.driver mergetool.<tool>.cmd mergetool.<tool>.path pager.<cmd> pretty.<name> protocol.<name>.allow
remote.<name>.receivepack remote.<name>.uploadpack remote.<name>.vcs safe.directory sendemail.aliasesFile
sendemail.ccCmd sendemail.headerCmd sendemail.sendmailCmd sendemail.smtpServer sendemail.toCmd sequence.editor
submodule.<name>.update tar.<format>.command trace2.eventTarget trace2.normalTarget trace2.perfTarget
trailer.<token>.cmd trailer.<token>.command uploadpack.packObjectsHook web.browser unheardof.key unheardof.<name>.key
core.unheardOf remote.<name>.unheardOf
"""
"""Need approval whatever their value: ``%GG`` and ``!evil`` for those that are judged by their value."""
KNOWN = """
add.ignoreErrors advice.statusHints am.threeWay apply.whitespace author.name blame.ignoreRevsFile branch.<name>.merge
branch.<name>.mergeOptions branch.<name>.rebase branch.<name>.remote branch.autoSetupMerge branch.sort checkout.guess
clean.requireForce color.diff.<slot> color.ui column.ui commit.gpgSign commit.template commitGraph.readChangedPaths
committer.email core.abbrev core.askPass core.autocrlf core.bare core.bigFileThreshold core.commentChar core.compression
core.editor core.eol core.fileMode core.fsmonitor core.gitProxy core.hooksPath core.ignoreCase core.logAllRefUpdates
core.longPaths core.notesRef core.pager core.precomposeUnicode core.protectHFS core.protectNTFS core.quotePath
core.repositoryFormatVersion core.safecrlf core.sharedRepository core.sparseCheckout core.sparseCheckoutCone
core.splitIndex core.sshCommand core.symlinks core.trustctime core.untrackedCache core.whitespace
credential.<url>.helper credential.helper credential.username diff.<driver>.binary diff.<driver>.wordRegex
diff.<driver>.xfuncname diff.algorithm diff.colorMoved diff.context diff.ignoreSubmodules diff.mnemonicPrefix
diff.noprefix diff.renames diff.submodule diff.tool difftool.prompt extensions.objectFormat extensions.partialClone
extensions.refStorage extensions.worktreeConfig feature.manyFiles fetch.parallel fetch.prune fetch.recurseSubmodules
filter.<driver>.required format.subjectPrefix fsck.skipList gc.auto gc.reflogExpire gpg.format gpg.openpgp.program
gpg.program gpg.ssh.allowedSignersFile gpg.ssh.program gpg.x509.program grep.lineNumber gui.encoding help.autoCorrect
http.<url>.extraHeader http.postBuffer http.proxy http.sslVerify i18n.commitEncoding index.threads index.version
init.defaultBranch lfs.<url>.access lfs.repositoryformatversion log.date log.showSignature mailmap.blob maintenance.auto
maintenance.strategy merge.<driver>.name merge.conflictStyle merge.ff merge.renames merge.tool mergetool.keepBackup
notes.displayRef pack.threads pull.ff pull.rebase push.autoSetupRemote push.default push.followTags rebase.autoSquash
rebase.autoStash receive.denyCurrentBranch remote.<name>.fetch remote.<name>.gh-resolved remote.<name>.mirror
remote.<name>.partialclonefilter remote.<name>.promisor remote.<name>.prune remote.<name>.push remote.<name>.pushurl
remote.<name>.tagOpt remote.<name>.url remote.pushDefault repack.writeBitmaps rerere.enabled sendemail.to
stash.showPatch status.showUntrackedFiles status.submoduleSummary submodule.<name>.active submodule.<name>.branch
submodule.<name>.ignore submodule.<name>.url submodule.active submodule.recurse svn-remote.<name>.url tag.gpgSign
tag.sort tar.umask transfer.fsckObjects uploadpack.allowFilter url.<base>.insteadOf url.<base>.pushInsteadOf
user.email user.name user.signingKey versionsort.suffix worktree.guessRemote
"""


def spelled(key: str) -> str:
    """A key of the documentation, spelled as by ``git config --list``."""
    section, _, rest = re.sub(r"<[^>]+>|\*", "a.b=c", key).partition(".")
    name, dot, last = rest.rpartition(".")
    return f"{section.lower()}.{name}{dot}{last.lower()}"


def test_the_keys_of_the_documentation() -> None:
    asks, known = ASKS.split(), KNOWN.split()
    assert len(asks) + len(known) > 230
    wrong = [
        key
        for key in asks
        for value in ("!evil %GG", None)
        if is_known(spelled(key), value) and (value or "pager" not in key)
    ]
    assert wrong == []
    assert [key for key in known if not is_known(spelled(key), "true")] == []


@pytest.mark.parametrize(
    ("name", "value", "known"),
    [
        ("filter.lfs.clean", "git-lfs clean -- %f", True),
        ("filter.lfs.process", "git-lfs filter-process --skip", True),
        ("filter.lfs.process", "git-lfs filter-process; ./evil", False),
        ("filter.lfs.smudge", "./git-lfs smudge -- %f", False),
        ("filter.LFS.clean", "git-lfs clean -- %f", False),
        ("pager.log", "false", True),
        ("pager.log", None, True),
        ("pager.log", "less", False),
        ("format.pretty", "format:%h %s", True),
        ("format.pretty", "format:%h%+GG", False),
        ("pretty.mine", "%h%-G?", False),
        ("submodule.a.update", "rebase", True),
        ("submodule.a.update", "!./evil", False),
        ("protocol.ext.allow", "always", False),
        ("protocol.ext.allow", "never", True),
        ("protocol.version", "2", True),
        ("diff.a=b.xfuncname", "^x", True),
        ("diff.a=b.textconv", "x", False),
        ("diff.x.y.command", "x", False),
    ],
)
def test_settings_judged_by_their_value(name: str, value: str | None, known: bool) -> None:
    assert is_known(name, value) is known


@pytest.mark.parametrize("name",
["core.fsmonitor", "core.hookspath", "core.editor", "core.pager", "core.sshcommand", "core.askpass",
                                  "core.gitproxy", "core.alternaterefscommand", "credential.helper",
                                  "credential.https://x.helper",
                                  "gpg.program", "gpg.ssh.program"])  # fmt: skip
def test_programs_with_a_fixed_name_are_harmless_only_for_reading(name: str) -> None:
    assert is_known(name, "./evil")
    assert not is_known(name, "./evil", reading=False)
    assert is_known(name, "false", reading=False)
    # A different value replaces it.
    assert name in {key.lower() for key in git_safety.SWITCHED_OFF} or name == "credential.https://x.helper"


def test_settings_disabled_by_their_name() -> None:
    names = [
        "filter.a=b.clean",
        "filter.\udcff.process",
        "filter.lfs.required",
        "gpg.ssh.program",
        "gpg.ssh.defaultkeycommand",
        "gpg.program",
    ]
    assert [name for name in names if not is_switched_off(name)] == ["gpg.program"]
    words = git_safety.hardened(("git", "status"), [*names, "alias.x", "gpg.a=b.program"])
    assert "--config-env=filter.a=b.clean=ATELIER_NOTHING" in words
    assert "--config-env=filter.\udcff.process=ATELIER_NOTHING" in words
    assert "gpg.ssh.defaultkeycommand=false" in words
    assert words[-2:] == ("status", "--ignore-submodules=all")
    assert git_safety.ENVIRONMENT["ATELIER_NOTHING"] == git_safety.OPEN_ENVIRONMENT["ATELIER_NOTHING"] == ""


@pytest.mark.parametrize("word", ["%GG", "%h%G?", "%+GS", "%-GK", "% GF"])
def test_placeholders_that_check_signatures(word: str) -> None:
    assert ASKS_GPG.search(word)
