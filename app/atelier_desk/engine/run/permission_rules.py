"""The rules of one run, and their meaning for hosts and repository settings."""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.policy.permissions.call_facts import CallFacts
from atelier_desk.policy.permissions.rule_scope import of_agent


def rules(state: RunState) -> tuple[PermissionRule, ...]:
    """Return the rules of a run: those at its start and those from approvals, without other agents' rules.

    Unparsable allow rules, from files of another version, are dropped.
    """
    return readable(of_agent((*state.approvals.rules, *state.granted), state.agent_id))


def readable(rules: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Drop unparsable allow rules; other unparsable ones make every call ask."""
    return tuple(rule for rule in rules if is_readable(rule.text) or rule.action is not Action.ALLOW)


def is_readable(text: str) -> bool:
    try:
        rule_pattern.parse(text)
    except UsageError:
        return False
    return True


def settings_allowed(state: RunState, rule: str) -> bool:
    """Whether a person approved a repository's settings, by the text of their rule."""
    return any(each.text == rule and each.action is Action.ALLOW for each in rules(state))


def host_arguments(state: RunState, tool: str, section: str) -> tuple[str, ...]:
    """Return the host arguments of rules that allow calls of a tool.

    ``domain:nas.lan:80``. Rules for tool names do not count.
    """
    named = CallFacts(tool=tool, section=section)
    read = (rule_pattern.parse(rule.text) for rule in rules(state) if rule.action is Action.ALLOW)
    return tuple(
        each.argument
        for each in read
        if each.argument and rule_pattern.is_about_hosts(each.argument) and each.names(named)
    )


def barred_host(state: RunState, tool: str, section: str, host: str) -> str:
    """Return what a host rule says about a host reached on the way, by a redirect or script: ``deny``, ``ask``, or
    empty.

    Rules about the tool as a whole were checked for the call itself.
    """
    named = CallFacts(tool=tool, section=section)
    for action in (Action.DENY, Action.ASK):
        for rule in rules(state):
            if rule.action is not action:
                continue
            if not is_readable(rule.text):
                return action.value
            read = rule_pattern.parse(rule.text)
            if (
                read.argument
                and rule_pattern.is_about_hosts(read.argument)
                and read.names(named)
                and rule_pattern.covers_host(read.argument, host)
            ):
                return action.value
    return ""
