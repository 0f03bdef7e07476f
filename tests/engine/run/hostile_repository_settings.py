"""Settings of repositories that run programs, and what tries them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.conftest import Opener, Recorder, send_and_wait
from tests.helpers.hostile_repositories import Hostile

LINE = (
    "git status; git diff; git diff --cached --stat; git log -p -1; git show; git ls-files -m; git ls-files -o; git "
    "shortlog HEAD; "
    "git branch -a; git describe --always; git rev-parse --show-toplevel; git tag; git remote -v"
)

ASKS = """
alias.status !P                    | include.path I                      | includeIf.gitdir:**.path I
includeIf.gitdir/i:**.path I       | includeIf.onbranch:**.path I        | includeIf.hasconfig:remote.*.url:**.path I
filter.evil.clean P                | filter.evil.smudge P                | filter.evil.process P
filter.a=b.clean P                 | filter.a=b.process P                | filter.\udcff\udcfe.clean P
filter.\udcff\udcfe.process P      | diff.evil.textconv P                | diff.evil.command P
diff.a=b.textconv P                | diff.external P                     | diff.orderFile S
merge.evil.driver P                | mergetool.evil.cmd P                | mergetool.evil.path P
difftool.evil.cmd P                | difftool.evil.path P                | core.attributesFile S
core.excludesFile S                | core.worktree O                     | core.worktree /
pager.status P                     | pager.log P                         | pager.diff P
gpg.ssh.defaultKeyCommand P        | gpg.evil.program P                  | format.pretty %GG
pretty.evil %GG                    | interactive.diffFilter P            | sequence.editor P
uploadpack.packObjectsHook P       | gc.recentObjectsHook P              | remote.origin.uploadpack P
remote.origin.receivepack P        | remote.origin.vcs evil              | submodule.mod.update !P
tar.evil.command P                 | trailer.evil.command P              | trailer.evil.cmd P
sendemail.smtpServer P             | sendemail.toCmd P                   | sendemail.ccCmd P
sendemail.sendmailCmd P            | sendemail.aliasesFile S             | trace2.eventTarget O/marked
trace2.normalTarget O/marked       | trace2.perfTarget O/marked          | init.templateDir O
mailmap.file S                     | browser.evil.cmd P                  | web.browser P
man.evil.cmd P                     | man.evil.path P                     | help.browser P
instaweb.browser P                 | instaweb.httpd P                    | instaweb.modulePath O
guitool.evil.cmd P                 | imap.tunnel P                       | fsmonitor.socketDir O
format.signatureFile S             | format.outputDirectory O            | bundle.evil.uri S
protocol.ext.allow always          | lfs.customtransfer.evil.path P      | lfs.extension.evil.clean P
gitcvs.logFile O/marked            | unheardof.program P                 | core.unheardOf P
"""
"""Settings that need approval. P is the canary, S a file outside, I one with settings, O the folder they are in."""

RUNS = """
core.fsmonitor P                   | core.hooksPath O                    | core.pager P
core.editor P                      | core.askPass P                      | core.sshCommand P
core.gitProxy P                    | core.alternateRefsCommand P         | credential.helper !P
credential.https://x.helper !P     | gpg.program P                       | gpg.ssh.program P
gpg.x509.program P                 | gpg.openpgp.program P               | gpg.ssh.allowedSignersFile S
log.showSignature true             | status.submoduleSummary true        | diff.submodule diff
submodule.recurse true             | diff.ignoreSubmodules none          | commit.template S
blame.ignoreRevsFile S             | http.cookieFile S                   | http.sslCert S
fsck.skipList S                    | receive.fsck.skipList S             | user.signingKey S
remote.origin.url ext::P           | remote.origin.proxy P               | url.ext::P.insteadOf https://
merge.tool evil                    | diff.tool evil                      | diff.guitool evil
branch.main.mergeOptions P         | core.notesRef refs/x                | safe.bareRepository all
"""
"""Settings that name programs and files, with which git runs all the same: their value is replaced, or reading
does not use them.
"""


def settings(row: str, place: Hostile) -> bytes:
    """The lines of a configuration, by key and value."""
    name, _, value = row.partition(" ")
    section, _, rest = name.partition(".")
    subsection, dot, key = rest.rpartition(".")
    for mark, path in (("P", "canary"), ("S", "secret"), ("I", "settings"), ("O", "")):
        if value.lstrip("!").startswith(mark) or value == f"ext::{mark}":
            value = value.replace(mark, str(place.outside / path).rstrip("/"), 1)
    subsection = subsection.replace("ext::P", f"ext::{place.outside}/canary")
    head = f'[{section} "{subsection}"]' if dot else f"[{section}]"
    return os.fsencode(f'{head}\n\t{key} = "{value}"\n')


def rows(table: str) -> list[str]:
    return [cell.strip() for line in table.strip().splitlines() for cell in line.split("|")]


AGENT = AgentConfig(
    name="A", provider="p", model="m", tools=("run_command", "git_status", "git_diff"), approval=ApprovalMode.PLAN
)


class Tried:
    """Runs calls in workspaces, each in its own run under Plan."""

    def __init__(self, open_atelier: Opener, template: Hostile, folder: Path) -> None:
        self._open, self.template, self._folder = open_atelier, template, folder

    async def __call__(
        self, *made: tuple[str, Hostile], asked: list[list[ToolCall]], mode: ApprovalMode = ApprovalMode.PLAN
    ) -> dict[str, list[dict[str, Any]]]:
        """The results of the calls, by the name of the workspace; ``asked`` are the calls of the workspaces in
        turn, cyclically.
        """
        steps: list[Any] = [step for number, _each in enumerate(made) for step in (asked[number % len(asked)], "done")]
        ended: dict[str, list[dict[str, Any]]] = {}
        async with self._open(steps) as atelier:
            for name, place in made:
                workflow = await atelier.workflows.create(ascii(name), workspace=(str(place.root),))
                heard = Recorder(atelier, workflow.id)
                await send_and_wait(atelier, workflow.id, "go", agent=AGENT.model_copy(update={"approval": mode}))
                ends = [event.data for event in heard.events if event.chunk_type.value == "tool_end"]
                ended[name] = sorted(ends, key=lambda end: str(end["call_id"]))
        return ended


@pytest.fixture
def tried(open_atelier: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sandbox_contents, "reading", lambda *_roots, **_more: None)
    return Tried(open_atelier, Hostile.template(tmp_path), tmp_path)


def quiet(place: Hostile, ended: dict[str, list[dict[str, Any]]]) -> None:
    assert list(place.marks.iterdir()) == []
    assert not (place.outside / "marked").exists()
    for name, ends in ended.items():
        text = json.dumps(ends)
        assert "s3cret" not in text, (name, text[max(0, text.index("s3cret") - 500) :][:700])
        assert "CANARY" not in text, name


def refused(ended: list[dict[str, Any]]) -> list[bool]:
    return [not each["success"] and "settings of this git repository" in str(each.get("error")) for each in ended]
