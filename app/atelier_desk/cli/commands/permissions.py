"""``atelier permissions``: the rules of what agents may do without asking, only after asking, or not at all."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.agent_options import PROFILES
from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import Adder
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.permission import PermissionRule
    from atelier_desk.engine.atelier import Atelier

ACTIONS = ("allow", "ask", "deny")
SCOPES = ("always", "workflow", "agent")


def register(add: Adder) -> None:
    group = add.group("permissions", _("rules of what agents may do without asking, only after asking, or not at all"))
    group.command("list", _("the rules; deny beats ask, and ask beats allow"), "permissions:list_")
    new = group.command("add", _("add a rule"), "permissions:add")
    new.add_argument("rule", metavar="RULE", help=_("such as 'tool', 'tool(src/**)', 'tool(git log:*)', 'mcp__github', 'section:web_ops'"))
    new.add_argument("--action", choices=ACTIONS, required=True)
    new.add_argument("--match", metavar="EXAMPLE", action="append", default=[], help=_("what it must cover, such as 'git log -1'"))
    new.add_argument("--not-match", metavar="EXAMPLE", action="append", default=[], help=_("what it must not cover"))
    load = group.command("import", _("take over rules from .claude/settings.json or opencode.json"), "permissions:import_")
    load.add_argument("file", metavar="FILE", type=Path)
    load.add_argument("--dry-run", action="store_true", help=_("only show what each line becomes"))
    for command in (new, load):
        command.add_argument("--scope", choices=SCOPES, default="always", help=_("where it holds (always)"))
        add_id(command, "--workflow", "workflow", help=_("the workflow of --scope workflow"))
        command.add_argument("--agent", metavar="AGENT", default="", help=_("name or id of the agent of --scope agent"))
    remove = group.command("remove", _("remove rules"), "permissions:remove")
    remove.add_argument("rule", metavar="ID", nargs="+", help=_("ids of rules, which can be shortened"))
    test = group.command("test", _("which rule decides a call; nothing is run"), "permissions:test")
    test.add_argument("tool", metavar="TOOL")
    test.add_argument("arguments", metavar="JSON", help=_("the arguments of the call; - reads standard input"))
    test.add_argument("--workspace", metavar="DIR", type=Path, action="append", default=[], help=_("a folder it may work in"))
    test.add_argument("--agent", metavar="AGENT", default="", help=_("name or id of the agent that makes it"))
    add_id(test, "--workflow", "workflow", help=_("the workflow it is made in"))
    test.add_argument("--profile", choices=PROFILES, default="ask", help=_("the profile it is made under (ask)"))


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    found = await atelier.permissions.rules()
    if out.json:
        data(out, [rule.model_dump(mode="json") | {"unused": atelier.permissions.unused(rule)} for rule in found])
        return 0
    rows = []
    for rule in found:
        last = f"{rule.last_matched_at:%Y-%m-%d}" if rule.last_matched_at else "–"
        if atelier.permissions.unused(rule):
            last = _("{date}, unused", date=last)
        rows.append((rule.id, rule.action.value, rule.text, rule.scope.value, rule.scope_id, last))
    table(out, rows, (_("id"), _("action"), _("rule"), _("scope"), _("of"), _("last used")))
    return 0


async def add(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.domain.permission import PermissionRule
    from atelier_desk.engine.services.common import checks

    rule = checks.build(
        PermissionRule, _("rule"), text=arguments.rule, action=arguments.action, match=tuple(arguments.match),
        not_match=tuple(arguments.not_match), **await _scope(atelier, arguments),
    )  # fmt: skip
    _told(out, await atelier.permissions.add(rule))
    return 0


async def remove(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.errors import NotFoundError, UsageError

    kept = await atelier.permissions.rules()
    chosen = []
    for wanted in arguments.rule:
        found = [rule for rule in kept if rule.id.startswith(wanted)]
        if not found:
            raise NotFoundError(N_("There is no rule {id}."), id=wanted)
        if len(found) > 1:
            raise UsageError(N_("{count} rules begin with {id}; write more of it."), count=len(found), id=wanted)
        chosen.append(found[0])
    removed = [await atelier.permissions.remove(rule.id) for rule in chosen]
    if out.json:
        data(out, {"removed": [rule.model_dump(mode="json") for rule in removed]})
        return 0
    for rule in removed:
        line(out, _("Removed: {rule}", rule=f"{rule.action.value} {rule.text}"))
    return 0


async def test(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli import approval_words
    from atelier_desk.cli.decisions import parse_arguments
    from atelier_desk.cli.output import data, line
    from atelier_desk.profile_words import mode_of

    said = await atelier.permissions.test(
        arguments.tool,
        parse_arguments(await out.read_input() if arguments.arguments == "-" else arguments.arguments),
        workspace=tuple(str(folder.resolve()) for folder in arguments.workspace),
        workflow_id=arguments.workflow or "",
        agent=arguments.agent,
        mode=mode_of(arguments.profile),
    )
    if out.json:
        data(out, said.model_dump(mode="json"))
        return 0
    why = said.rule or approval_words.reason(said.reason)
    line(out, f"{said.action.value}: {why}" + (f" ({said.about})" if said.about else ""))
    return 0


async def import_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line

    lines = await atelier.permissions.preview(arguments.file)
    scope = await _scope(atelier, arguments)
    kept = () if arguments.dry_run else await atelier.permissions.import_(arguments.file, **scope)
    if out.json:
        read = [
            {"line": each.source, "rules": [f"{rule.action.value} {rule.text}" for rule in each.rules],
             "problem": each.problem.localized(_) if each.problem else ""}
            for each in lines
        ]  # fmt: skip
        data(out, {"read": read, "added": [rule.model_dump(mode="json") for rule in kept]})
        return 0
    for each in lines:
        becomes = ", ".join(f"{rule.action.value} {rule.text}" for rule in each.rules)
        line(out, f"{each.source}  →  {becomes or (each.problem.localized(_) if each.problem else '–')}")
    if not arguments.dry_run:
        line(out, _("Rules added: {count}", count=len(kept)))
    return 0


async def _scope(atelier: Atelier, arguments: argparse.Namespace) -> dict[str, Any]:
    """``scope`` and ``scope_id`` of a rule; raises UsageError when they do not belong together."""
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.domain.permission import RuleScope

    scope = RuleScope(arguments.scope)
    if bool(arguments.workflow) is not (scope is RuleScope.WORKFLOW):
        raise UsageError(N_("--workflow and --scope workflow belong together."))
    if bool(arguments.agent) is not (scope is RuleScope.AGENT):
        raise UsageError(N_("--agent and --scope agent belong together."))
    scope_id = arguments.workflow or ""
    if scope is RuleScope.AGENT:
        scope_id = (await atelier.permissions.agent(arguments.agent)).id
    return {"scope": scope, "scope_id": scope_id}


def _told(out: Output, rules: tuple[PermissionRule, ...]) -> None:
    from atelier_desk.cli.output import data, line

    if out.json:
        data(out, [rule.model_dump(mode="json") for rule in rules])
        return
    for rule in rules:
        line(out, f"{rule.id}  {rule.action.value} {rule.text}")
