"""Rules for commands, from a model's call to its execution: no star covers another program, and a rule applies in
its folder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalScope
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.conftest import Opener, send_and_wait
from tests.helpers.tool_calls import tool_call

pytestmark = pytest.mark.skipif(not sandbox_contents.available(), reason="everything is unconfined here, and asks")

TABLE = r"""
# rule | command | the folder it is called in | verdict
# Programs of the table: the options that it knows, and files of the workspace
sort:* | sort -r f.txt | | allow
sort:* | sort {out}/secret.txt | | ask
sort:* | sort {ws}/f.txt | | allow
sort:* | sort door/secret.txt | | refuse
sort:* | sort door/* | | refuse
sort:* | sort -r {ws}/door/secret.txt | | ask
sort:* | sort < {out}/secret.txt | | ask
sort:* | sort -o g.txt f.txt | | ask
sort:* | sort --compress-program=./evil.sh -S 1b f.txt | | ask
sort:* | sort --compress-prog ./evil.sh -S 1b f.txt | | ask
sort:* | sort --files0-from=names | | ask
sort:* | sort -T {out} f.txt | | ask
sort:* | /usr/bin/sort {ws}/f.txt | | ask
sort {out}/secret.txt | sort {out}/secret.txt | | allow
sort {out}/secret.txt:* | sort {out}/secret.txt -r | | ask
sort | sort < {out}/secret.txt | | ask
rg:* | rg hello {ws} | | allow
rg:* | rg --pre ./evil.sh hello | | ask
rg:* | rg --pre=./evil.sh hello | | ask
rg:* | rg --ignore-file {out}/secret.txt hello | | ask
rg --pre:* | rg --pre ./evil.sh hello | | ask
rg --pre ./evil.sh hello | rg --pre ./evil.sh hello | | allow
grep:* | grep -f {out}/secret.txt f.txt | | ask
sed:* | sed -n 1p {ws}/f.txt | | allow
sed:* | sed -i s/h/j/ f.txt | | ask
sed:* | sed -n '1e ./evil.sh' f.txt | | ask
sed:* | sed 's/h/.\/evil.sh/e' f.txt | | ask
sed:* | sed -n 'w g.txt' f.txt | | ask
wc:* | wc --files0-from=names | | ask
md5sum:* | md5sum -c names | | ask
strings:* | strings @names | | ask
file:* | file -f names | | ask
date:* | date -f names | | ask
date:* | date -r {out}/secret.txt | | ask
jq:* | jq -f {out}/secret.txt f.txt | | ask
jq:* | jq -n --rawfile a {out}/secret.txt '$a' | | ask
diff:* | diff -X {out}/secret.txt f.txt g.txt | | ask
cat:* | cat /proc/1/environ | | ask
cat:* | cat ../out/secret.txt | | ask
rm:* | rm -rf build {ws}/old | | allow
rm:* | rm -rf {out} | | ask
cp:* | cp -t {out} f.txt | | ask
find:* | find {ws} -name f.txt | | allow
find:* | find . -exec ./evil.sh ; | | ask
find:* | find . -fprint g.txt | | ask
git log:* | git log -1 | | allow
git log:* | git log --output=g.txt | | ask
git log:* | git log --ext-diff -p | | ask
git:* | git -c alias.log=!./evil.sh log | | ask
git tag:* | git tag v1 | | allow
git rebase:* | git rebase main | | allow
git rebase:* | git rebase -x ./evil.sh main | | ask
git rebase:* | git rebase --exe ./evil.sh main | | ask
git submodule:* | git submodule foreach ./evil.sh | | ask
git grep:* | git grep -O./evil.sh hello | | ask
git diff:* | git diff --no-index f.txt {out}/secret.txt | | ask
# Other programs: as it is written, but for the options that run another one
make | make | | allow
make | make x | | ask
make:* | make -j4 x V=1 | | allow
make:* | make -f vendor/Makefile | | ask
make:* | make -sfvendor/Makefile | | ask
make:* | make --mak=vendor/Makefile | | ask
make:* | make -C vendor | | ask
make:* | make SHELL=./evil.sh | | ask
make:* | make CC=./evil.sh | | ask
make:* | make --eval 'x: ; ./evil.sh' | | ask
make:* | make S*/* | | ask
make:* | make docs/*.html | | allow
tar:* | tar x* ./evil.sh a.tar | | ask
make:* | ./make | | ask
make -C vendor:* | make -C vendor all | | allow
make -f vendor/Makefile | make -f vendor/Makefile | | allow
npm run test:* | npm run test -- -v | | allow
npm run test:* | npm run test:evil | | ask
npm run test:* | npm run test --script-shell ./evil.sh | | ask
npm run test:* | npm run test --script-sh=./evil.sh | | ask
npm run test:* | npm run test --prefix vendor | | ask
npm run test:* | npm run test -w vendor | | ask
npm --prefix web run test:* | npm --prefix web run test -- -v | | allow
pytest:* | pytest -xvs tests/test_a.py -k 'a or b' | | allow
pytest:* | pytest -p evil | | ask
pytest:* | pytest -qc evil.ini | | ask
pytest:* | pytest --rootdir=vendor | | ask
python -m pytest:* | python -m pytest -q | | allow
python -m pytest:* | python -m pytest -q -p evil | | ask
python3:* | python3 -c 'import os' | | ask
python3:* | python3 tool.py -c x | | allow
poetry run pytest:* | poetry run pytest -q | | allow
poetry run pytest:* | poetry run pytest -p evil | | ask
cargo test:* | cargo test --release | | allow
cargo test:* | cargo test --config evil.toml | | ask
go test:* | go test -race ./... | | allow
go test:* | go test -exec ./evil.sh ./... | | ask
tar:* | tar -xf a.tar | | allow
tar:* | tar -cf a.tar f.txt | | allow
tar:* | tar -cf a.tar same | | allow
tar:* | tar -cf a.tar door | | ask
tar:* | tar -cf a.tar door/secret.txt | | ask
tar:* | tar -cf a.tar d* | | ask
tar:* | tar -cf a.tar -T door/secret.txt | | ask
tar:* | tar -cf a.tar -Tdoor/secret.txt | | ask
tar:* | tar -cvfT a.tar door/secret.txt | | ask
tar:* | tar -cf a.tar --files-from=door/secret.txt | | ask
tar:* | tar -cf a.tar -T up/../../door/secret.txt | deep | ask
tar:* | cd vendor && tar -cf a.tar ../door/secret.txt | | ask
tar -cf a.tar door/secret.txt | tar -cf a.tar door/secret.txt | | allow
git:* | git interpret-trailers f.txt | | allow
git:* | git interpret-trailers door/secret.txt | | ask
git:* | git interpret-trailers --trailer=x {ws}/door/secret.txt | | ask
git:* | git apply --stat door/secret.txt | | ask
git:* | git blame -s --contents=door/secret.txt f.txt | | ask
awk:* | awk -f door/secret.txt | | ask
pytest:* | pytest @door/secret.txt | | ask
pytest:* | pytest -v same | | allow
# Links inside a folder that is named
tar:* | tar -cf a.tar links | | allow
tar:* | tar -chf a.tar links | | ask
tar:* | tar chf a.tar links | | ask
tar:* | tar -c --dereference -f a.tar links | | ask
tar:* | tar --deref -cf a.tar links | | ask
tar:* | tar -chf a.tar . | | ask
tar:* | tar -chf a.tar round | | ask
tar:* | tar -chf a.tar -C links in | | ask
tar:* | tar -chf a.tar deep | | allow
tar -chf a.tar links | tar -chf a.tar links | | allow
zip:* | zip -r a.zip links | | ask
zip:* | zip -ry a.zip links | | allow
zip:* | zip -r a.zip links --symlinks | | allow
zip:* | zip -r a.zip deep | | allow
7z:* | 7z a a.7z links | | ask
7z:* | 7z a -snl a.7z links | | allow
ag:* | ag -f TOP links | | ask
ag:* | ag TOP links | | allow
ack:* | ack --follow TOP links | | ask
fd:* | fd -L . links | | ask
fdfind:* | fdfind --fol . links | | ask
tar:* | tar -xf a.tar --to-command=./evil.sh | | ask
tar:* | tar xIf ./evil.sh a.tar | | ask
# Runs in
make | make | . | allow
make | make | vendor | ask
make | make | same | ask
make | make | vendor/.. | allow
make | cd vendor && make | | ask
make | cd vendor; make | | ask
make | cd . && make | | allow
cd vendor && make | cd vendor && make | | allow
cd vendor && make | make | vendor | allow
cd ./vendor/ && make | make | vendor/ | allow
cd vendor && make | make | same | allow
cd vendor && make | make | | ask
cd vendor && make | make x | vendor | ask
cd vendor && make | cd vendor && cd .. && make | | ask
make | cd same/.. && make | | ask
make | make | deep/up/.. | ask
make | cd deep/up/.. && make | | ask
cd vendor && make | cd . \| cd vendor && make | | ask
cd vendor && make | true \|\| cd vendor && make | | ask
cd vendor && make:* | make -j4 | vendor | allow
cd vendor && make:* | make -f ../Makefile | vendor | ask
cd vend* && make | make | vendor | allow
cd * && make | make | vendor | allow
cd vendor && * | make x | vendor | allow
* | make x | vendor | allow
"""


def rows() -> list[tuple[str, ...]]:
    """Rule, command, folder and verdict of each line."""
    lines = [line for line in TABLE.splitlines() if " | " in line and not line.startswith("#")]
    return [tuple(cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<= )\|(?= )", line)) for line in lines]


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """A workspace with programs and definitions that leave ``EXECUTED`` behind, and files outside it."""
    ws, out = tmp_path / "ws", tmp_path / "out"
    for folder in (ws / "vendor", out):
        folder.mkdir(parents=True)
    (out / "secret.txt").write_text("TOP-SECRET\n")
    (ws / "f.txt").write_text("hello\n")
    (ws / "names").write_text(f"{out}/secret.txt\n")
    (ws / "door").symlink_to(out)
    (ws / "same").symlink_to("vendor")
    (ws / "links" / "in").mkdir(parents=True)
    (ws / "links" / "in" / "door").symlink_to(out)
    (ws / "round").mkdir()
    (ws / "round" / "links").symlink_to(ws / "links")
    (ws / "round" / "self").symlink_to(".")
    (ws / "deep").mkdir()
    (ws / "deep" / "up").symlink_to(ws / "vendor")
    (ws / "deep" / "Makefile").write_text("all:\n\t@touch EXECUTED\n")
    (ws / "Makefile").write_text("all:\n\t@touch TOP\n")
    (ws / "vendor" / "Makefile").write_text("all:\n\t@touch EXECUTED\n")
    for name in ("evil.sh", "make"):
        (ws / name).write_text("#!/bin/sh\ntouch EXECUTED\n")
        (ws / name).chmod(0o755)
    return {"ws": str(ws), "out": str(out)}


def command(id: str, text: str, folder: str) -> ToolCall:
    return tool_call("run_command", id, command=text, cwd=folder, modifies_files=False)


AGENT = AgentConfig(name="A", provider="p", model="m", tools=("run_command",), approval=ApprovalMode.SELECTIVE)


async def test_what_a_rule_covers_and_what_needs_approval(open_atelier: Opener, places: dict[str, str]) -> None:
    wrong = []
    async with open_atelier() as atelier:
        for rule, text, folder, wanted in rows():
            rule, text = placed(rule, places), placed(text, places)
            [kept] = await atelier.permissions.add(PermissionRule(text=f"run_command({rule})", action=Action.ALLOW))
            arguments: dict[str, Any] = {"command": text, "cwd": folder, "modifies_files": False}
            where: dict[str, Any] = {"workspace": (places["ws"],), "mode": ApprovalMode.MANUAL}
            said = await atelier.permissions.trials.test("run_command", arguments, **where)
            if f"{said.action.value} {said.reason}" not in VERDICTS[wanted]:
                wrong.append(f"{rule} | {text} | {folder}: {said.action.value} {said.reason}, not {wanted}")
            await atelier.permissions.remove(kept.id)
    assert not wrong, "\n".join(wrong)
    assert len(rows()) >= 100


VERDICTS = {
    "allow": ("allow rule",),
    "ask": ("ask manual", "ask opaque"),
    # it seems to read only the workspace, until links are resolved as it starts
    "refuse": ("allow mode", "allow rule"),
}


async def test_nothing_runs_without_approval(open_atelier: Opener, places: dict[str, str]) -> None:
    """In one run, with all rules of the table: calls that need approval wait, and refusals reveal nothing outside."""
    rules = {rule for rule, *_rest in rows() if not re.search(r" -|&&|\{|^\*", rule)}
    lines = [row[1:] for row in rows() if row[0] in rules and row[3] != "allow" and row[:2] != ("make", "make x")]
    each = enumerate(lines)
    calls = tuple(command(f"{want} {number}", placed(text, places), folder) for number, (text, folder, want) in each)
    async with open_atelier([calls, "Done."]) as atelier:
        texts = sorted(f"run_command({rule})" for rule in rules)
        await atelier.permissions.add(*(PermissionRule(text=text, action=Action.ALLOW) for text in texts))
        workflow = await atelier.workflows.create(workspace=(places["ws"],))
        run_id = await send_and_wait(atelier, workflow.id, "Go.", agent=AGENT)
        asked = {one.call_id for one in await atelier.approvals.pending()}
        assert {call.id for call in calls} - asked == {call.id for call in calls if call.id.startswith("refuse")}
        events = [event.body.model_dump_json() for event in await run_events(atelier.repos, run_id)]
        assert not any("TOP-SECRET" in text for text in events)
        assert not list(Path(places["ws"]).rglob("EXECUTED"))
    assert len(calls) > 60


def placed(text: str, places: dict[str, str]) -> str:
    return text.replace("{ws}", places["ws"]).replace("{out}", places["out"])


async def test_always_in_a_folder_applies_only_there(open_atelier: Opener, places: dict[str, str]) -> None:
    ws = Path(places["ws"])
    again = (command("b", "make", "vendor"), command("c", "cd vendor && make", ""), command("d", "make", ""))
    async with open_atelier([(command("a", "make", "vendor"),), "Done.", again, "Done."]) as atelier:
        workflow = await atelier.workflows.create(workspace=(places["ws"],))
        await send_and_wait(atelier, workflow.id, "Go.", agent=AGENT)
        [asked] = await atelier.approvals.pending()
        assert asked.always == ("run_command(cd vendor && make)",)
        await atelier.approvals.approve(asked.id, scope=ApprovalScope.ALWAYS)
        await atelier.runs.wait(asked.run_id)
        assert (ws / "vendor" / "EXECUTED").exists()
        await send_and_wait(atelier, workflow.id, "Go on.", agent=AGENT)
        [asked] = await atelier.approvals.pending()
        assert asked.call_id == "d"
        assert asked.always == ("run_command(make)",)
        assert not (ws / "TOP").exists()
        assert await replayed(atelier, workflow.id) == set()


async def replayed(atelier: Atelier, workflow_id: str) -> set[str]:
    """Calls whose verdict cannot be reproduced from the journal."""
    found = await atelier.permissions.trials.replay(workflow_id)
    return {one.call_id for one in found if one.again is not None and not one.same}
