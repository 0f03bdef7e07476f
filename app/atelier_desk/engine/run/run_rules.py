"""The rules of one run, and what they say of hosts, of a repository's settings and of the disk."""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.permissions import path_denials, pattern
from atelier_desk.policy.permissions.call_facts import CallFacts
from atelier_desk.policy.permissions.scope import of_agent
from atelier_desk.workspace.denied_files import home_folder
from atelier_desk.workspace.run_denials import Denials


def rules(state: RunState) -> tuple[PermissionRule, ...]:
    """The rules of a run: those it started with, and those that came with a person's yes, but for those of other agents. One that cannot
    be read, from a file of another version, allows nothing."""
    return readable(of_agent((*state.approvals.rules, *state.granted), state.agent_id))


def readable(rules: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Without those that cannot be read and would allow something; others make every call ask."""
    return tuple(rule for rule in rules if is_readable(rule.text) or rule.action is not Action.ALLOW)


def is_readable(text: str) -> bool:
    try:
        pattern.parse(text)
    except UsageError:
        return False
    return True


def settings_allowed(state: RunState, rule: str) -> bool:
    """Whether a person said yes to a repository's settings, by the text of the rule for it."""
    return any(each.text == rule and each.action is Action.ALLOW for each in rules(state))


def host_arguments(state: RunState, tool: str, section: str) -> tuple[str, ...]:
    """The arguments about hosts of the rules that allow calls of a tool: ``domain:nas.lan:80``. Rules for names of tools do not count."""
    named = CallFacts(tool=tool, section=section)
    read = (pattern.parse(rule.text) for rule in rules(state) if rule.action is Action.ALLOW)
    return tuple(each.argument for each in read if each.argument and pattern.is_about_hosts(each.argument) and each.names(named))


def barred_host(state: RunState, tool: str, section: str, host: str) -> str:
    """What a rule about hosts says of a host that a call comes to only on its way, by a redirect or a program of a page: ``deny``, ``ask``,
    or nothing. Rules about the tool as a whole were held against the call itself."""
    named = CallFacts(tool=tool, section=section)
    for action in (Action.DENY, Action.ASK):
        for rule in rules(state):
            if rule.action is not action:
                continue
            if not is_readable(rule.text):
                return action.value
            read = pattern.parse(rule.text)
            if read.argument and pattern.is_about_hosts(read.argument) and read.names(named) and pattern.covers_host(read.argument, host):
                return action.value
    return ""


def denials(state: RunState, held: Iterable[PermissionRule]) -> Denials:
    """What these rules of a run deny on its disk; false without a rule that denies a path."""
    return Denials(path_denials.bans(held), state.workspace, home_folder())
