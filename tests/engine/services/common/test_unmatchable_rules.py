"""Rules that can never match a call."""

from __future__ import annotations

import pytest

from atelier_desk.engine.services.common.unmatchable_rules import unmatchable
from atelier_desk.tools.base import Tool
from atelier_desk.tools.registry.default_registry import create_default_tool_registry

NEVER = """
run_command(cat a | grep b)
run_command(make && make test)
run_command(cd vendor && make && make test)
run_command(cd vendor && FOO=1 make)
run_command(FOO=1 make)
run_command(for f in *)
run_command(do echo)
run_command(echo $X)
run_command(npm run:*:x)
run_command(ls > out)
run_command(make 2>&1)
run_command(source x)
run_command(echo {a,b})
run_command(domain:x.org)
read_file(/etc/passwd)
read_file(/home/ann/**)
read_file($FOO/x)
read_file(~bob/x)
read_file(C:\\x)
read_file( .env)
read_file(domain:x.org)
read_image(https://x.org/y.png)
fetch_web_page(https://x.org)
search_web(x)
nope(x)
mcp__gone__x
section:nope
"""
MAY = """
run_command(git log:*)
run_command(cd vendor && make)
run_command(cd packages/* && npm run test:*)
run_command(cd 'my folder' && make)
git_settings(00a027df5e3221ef41f7871c9724eec0 /home/ann/project/.git)
run_command(* --version)
run_command(cat $HOME/x:*)
run_command(cat ~/secret.txt)
run_command(find . -name "*.py":*)
run_command(sed -n '1,5p' file)
run_command(grep -E 'a|b':*)
run_command
read_file(//etc/passwd)
read_file(/src/**)
read_file(${HOME}/x)
fetch_web_page(domain:x.org)
web_ops(domain:*.x.org)
file_ops(.env*)
*(.env)
section:file_ops
SpawnAgentTool(Writer)
git_diff(.env)
*
"""


@pytest.fixture(scope="module")
def tools() -> list[Tool]:
    registry = create_default_tool_registry()
    found = [registry.get_tool(name) for name in registry.get_all_tool_names()]
    return [tool for tool in found if tool is not None]


def test_a_rule_that_can_never_match_is_explained(tools: list[Tool]) -> None:
    assert [
        rule
        for rule in filter(None, NEVER.splitlines())
        if not (said := unmatchable(rule, tools)) or not said.localized(_plain)
    ] == []


def test_a_rule_that_may_match_is_not_reported(tools: list[Tool]) -> None:
    assert [rule for rule in filter(None, MAY.splitlines()) if unmatchable(rule, tools)] == []


def _plain(text: str, **params: object) -> str:
    return text.format(**params)
