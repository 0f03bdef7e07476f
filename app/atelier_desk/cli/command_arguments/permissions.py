"""The grammar of ``atelier permissions``."""

from __future__ import annotations

import argparse
import re
from datetime import datetime, timedelta

from atelier_desk.cli.command_arguments.shared_options import PROFILES
from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import DATABASE, AddCommands, flag, number, several
from atelier_desk.support.i18n import _

ACTIONS = ("allow", "ask", "deny")
SCOPES = ("always", "folder", "workflow", "agent")
DECISIONS = ("allowed", "approved", "rejected", "cancelled", "denied")
AUDITED = 50
"""Audit entries listed when no number is given."""


def register(add: AddCommands) -> None:
    group = add.group("permissions")
    group.command(
        "list", _("list the rules, most recently used first; deny overrides ask, ask overrides allow"), needs=DATABASE
    )
    new = group.command("add", _("add a rule"))
    forms = _(
        "such as 'read_file', 'read_file(src/**)', 'run_command(git log:*)', 'run_command(cd vendor "
        "&& make)', 'mcp__github', 'section:web_ops'"
    )
    new.add_argument("rule", help=forms)
    new.add_argument("--action", choices=ACTIONS, required=True)
    several(new, "--match", "EXAMPLE", _("an example that the rule must match, such as 'git log -1'"))
    several(new, "--not-match", "EXAMPLE", _("an example that the rule must not match"))
    load = group.command("import", _("import rules from .claude/settings.json or opencode.json"))
    load.add_argument("file")
    flag(load, "--dry-run", _("only preview the result"))
    for command in (new, load):
        command.add_argument("--scope", choices=SCOPES, default="always", help=_("scope of the rule (default: always)"))
        add_id(command, "--workflow", "workflow", help=_("with --scope workflow: the workflow"))
        command.add_argument(
            "--folder",
            metavar="DIR",
            default="",
            help=_("with --scope folder: the folder; the rule applies to workflows that work in it"),
        )
        command.add_argument(
            "--agent", metavar="AGENT", default="", help=_("with --scope agent: the agent's name or id")
        )
    remove = group.command("remove", _("remove rules"))
    confirm = group.command("confirm", _("enable rules restored from another installation's backup"))
    for command in (remove, confirm):
        command.add_argument("rule", metavar="ID", nargs="+", help=_("rule ids (can be abbreviated)"))
    test = group.command("test", _("show which rule decides a call; nothing is run"))
    test.add_argument("tool")
    test.add_argument("arguments", metavar="JSON", help=_("the arguments of the call; - reads standard input"))
    several(test, "--workspace", "DIR", _("a folder that the agent may work in"))
    test.add_argument("--agent", metavar="AGENT", default="", help=_("name or id of the agent that makes the call"))
    add_id(test, "--workflow", "workflow", help=_("the workflow in which the call is made"))
    test.add_argument(
        "--profile", choices=PROFILES, default="ask", help=_("permission profile to test with (default: ask)")
    )
    again = group.command(
        "replay", _("show what today's rules would decide for a workflow's calls; nothing is run"), needs=DATABASE
    )
    add_id(again, "workflow", "workflow")
    flag(again, "--all", _("also show the decisions that would be the same today"))
    safe = group.command(
        "commands",
        _("list the commands that run without asking, and their allowed options"),
        handler="safe_commands:commands",
        needs=DATABASE,
    )
    safe.add_argument("words", metavar="WORD", nargs="*", help=_("only commands that contain all these words"))
    audit = group.command("audit", _("list the decisions on the agents' calls, newest first"), needs=DATABASE)
    add_id(audit, "--workflow", "workflow", help=_("only this workflow"))
    audit.add_argument("--agent", metavar="AGENT", default="", help=_("calls made by the agent with this name or id"))
    audit.add_argument("--tool", metavar="TOOL", default="", help=_("calls to this tool"))
    audit.add_argument("--decision", choices=DECISIONS, help=_("decisions with this outcome"))
    audit.add_argument(
        "--text", metavar="WORDS", default="", help=_("decisions whose call, agent or rule contains all these words")
    )
    when = _("a day (2026-11-23), a time (2026-11-23T14:30), or how long ago (7d, 12h)")
    audit.add_argument("--since", metavar="WHEN", type=moment, help=_("only decisions since WHEN: {when}", when=when))
    audit.add_argument("--until", metavar="WHEN", type=moment, help=_("only decisions before WHEN"))
    most = _("show at most the N newest (default: {count}; all with --csv)", count=AUDITED)
    audit.add_argument("--limit", metavar="N", type=number(int, least=1), help=most)
    audit.add_argument("--csv", metavar="FILE", help=_("write CSV to a file; - writes to standard output"))


def moment(text: str) -> datetime:
    """A date and time as typed, in this machine's time zone."""
    ago = re.fullmatch(r"(\d{1,5})([dh])", text)
    try:
        if ago is not None:
            count = int(ago[1])
            return datetime.now().astimezone() - (timedelta(days=count) if ago[2] == "d" else timedelta(hours=count))
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        problem = _(
            "must be a date (2026-11-23), a date and time (2026-11-23T14:30) or an age (7d, 12h), not {text}",
            text=repr(text),
        )
        raise argparse.ArgumentTypeError(problem) from None
