"""Permission rules: what agents may do without asking, only after asking, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain import limits
from atelier_desk.domain.agent import Agent
from atelier_desk.domain.call_presentation_and_subjects import CallText
from atelier_desk.domain.errors import ConflictError, LimitError, NotFoundError, UsageError
from atelier_desk.domain.permission import PermissionRule, RuleScope
from atelier_desk.engine.services.common.service import Service
from atelier_desk.policy.permissions import rule_pattern, word_patterns
from atelier_desk.support.i18n import N_
from atelier_desk.support.regular_files import open_plain
from atelier_desk.workspace.resolved_folders import resolved_paths

if TYPE_CHECKING:
    from atelier_desk.engine.services.common.rule_dry_run import RuleTrials
    from atelier_desk.policy.permissions.rule_import import Line

MCP = "mcp__"
"""Prefix of tools of MCP servers."""
UNUSED_AFTER = timedelta(days=30)
"""Rules without a match for so long are marked. See docs/permissions.md, "Rules"."""


class PermissionService(Service):
    """Rules. A change is announced as the setting ``approvals``; running runs keep their rules."""

    @cached_property
    def trials(self) -> RuleTrials:
        """What rules decide. It loads most of the run engine, which listing rules does not need."""
        from atelier_desk.engine.services.common.rule_dry_run import RuleTrials

        return RuleTrials(self._context)

    async def rules(self) -> tuple[PermissionRule, ...]:
        """Return all rules, oldest first."""
        return tuple(await self._context.repos.rules.list())

    async def add(self, *rules: PermissionRule) -> tuple[PermissionRule, ...]:
        """Store rules, all or none; duplicates resolve to the existing rule.

        Raises:
            UsageError: a text is not a rule, an example does not match it, or its workflow or agent does not exist.
            ConflictError: another rule of the same scope has a different action for the same text.
            LimitError: there would be more than ``limits.RULES``.
        """
        kept = await self.rules()
        new: list[PermissionRule] = []
        found: list[PermissionRule] = []
        confirmed: list[PermissionRule] = []
        for rule in map(_followed, rules):
            await self._check(rule)
            same = next((each for each in (*kept, *new) if _place(each) == _place(rule) and each.id != rule.id), None)
            if same is not None and same.action is not rule.action:
                raise ConflictError(
                    N_("The rule “{rule}” already exists with the action {action}. Change that rule instead."),
                    code="contradicts", rule=same.text, action=same.action.value,
                )  # fmt: skip
            if same is not None and same.held and not rule.held:
                same = same.model_copy(update={"held": False})
                confirmed.append(same)
            found.append(same or rule)
            if same is None:
                new.append(rule)
        if len(kept) + len(new) > limits.RULES:
            raise LimitError(
                N_("There can be at most {most} rules; there are already {count}."), most=limits.RULES, count=len(kept)
            )
        if new or confirmed:
            await self._context.repos.rules.save(*new, *confirmed)
            await self._changed()
        return tuple(found)

    async def change(self, rule_id: str, **fields: object) -> PermissionRule:
        """Change fields of a rule: ``text``, ``action``, ``scope`` with ``scope_id``, ``match``, ``not_match``.

        Raises as ``add``, and NotFoundError.
        """
        before = await self._get(rule_id)
        changed = _followed(PermissionRule.model_validate({**before.model_dump(), **fields, "id": before.id}))
        await self._check(changed)
        if any(_place(each) == _place(changed) for each in await self.rules() if each.id != rule_id):
            raise ConflictError(N_("The rule “{rule}” already exists."), code="exists", rule=changed.text)
        await self._context.repos.rules.save(changed)
        await self._changed()
        return changed

    async def held(self) -> tuple[PermissionRule, ...]:
        """Return rules from a foreign backup that wait for ``confirm``; no other part of Atelier sees them."""
        return tuple(rule for rule in await self.rules() if rule.held)

    async def confirm(self, *rule_ids: str) -> tuple[PermissionRule, ...]:
        """Activate rules from a foreign backup; active ones stay unchanged. Raises NotFoundError."""
        rules = [await self._get(rule_id) for rule_id in rule_ids]
        confirmed = tuple(rule.model_copy(update={"held": False}) for rule in rules)
        if any(rule.held for rule in rules):
            await self._context.repos.rules.save(*confirmed)
            await self._changed()
        return confirmed

    async def missing(self, text: str) -> str:
        """Return the MCP server named by a rule that does not exist here; empty otherwise.

        Raises:
            UsageError: the text is not a rule, or names an unknown tool or section; the error suggests the closest
                names.
        """
        from atelier_desk.tools.calls.argument_validation import closest

        read = rule_pattern.parse(text)
        registry = self._context.registry
        tools = registry.get_all_tool_names()
        sections = sorted({tool.section for tool in map(registry.get_tool, tools) if tool is not None and tool.section})
        if read.section:
            if read.section not in sections:
                raise UsageError(
                    N_("There is no section {name}. Sections: {names}."),
                    code="unknown",
                    name=read.section,
                    names=", ".join(sections),
                )
            return ""
        of_server = f"{read.name}__" if read.name.startswith(MCP) else ""
        if read.name in sections or any(
            word_patterns.word_covers(read.name, tool) or (of_server and tool.startswith(of_server)) for tool in tools
        ):
            return ""
        if read.name.startswith(MCP):
            server = read.name.removeprefix(MCP).partition("__")[0]
            return "" if "*" in server else server
        near = closest(read.name, [*tools, *sections])
        if near:
            raise UsageError(
                N_("There is no tool {name}. Closest: {names}."), code="unknown", name=read.name, names=", ".join(near)
            )
        raise UsageError(
            N_("There is no tool {name}. To list all tools: atelier tools list"), code="unknown", name=read.name
        )

    async def unmatchable(self, texts: Iterable[str]) -> dict[str, CallText]:
        """Return the rules that can never match a call of the present tools, and why."""
        wanted = tuple(texts)
        if not wanted:
            return {}
        from atelier_desk.engine.services.common.unmatchable_rules import unmatchable

        registry = self._context.registry
        tools = [tool for name in registry.get_all_tool_names() if (tool := registry.get_tool(name)) is not None]
        return {text: said for text in wanted if (said := unmatchable(text, tools)) is not None}

    async def remove(self, rule_id: str) -> PermissionRule:
        """Delete a rule and return it, for ``add``. Raises NotFoundError."""
        rule = await self._get(rule_id)
        await self._context.repos.rules.delete(rule_id)
        await self._changed()
        return rule

    def unused(self, rule: PermissionRule) -> bool:
        """Whether it decided nothing for thirty days."""
        return rule.used_or_made < self._context.clock.now() - UNUSED_AFTER

    async def preview(self, path: Path) -> tuple[Line, ...]:
        """Return what each line of another program's file becomes; nothing is stored.

        Raises:
            UsageError: it cannot be read, or contains no rules. LimitError: it is longer than ``limits.RULE_FILE``
                bytes.
        """
        from atelier_desk.policy.permissions import rule_import

        try:
            text = await asyncio.to_thread(_read, path)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                N_("{path} cannot be read: {reason}"), path=path, reason=getattr(error, "strerror", None) or error
            ) from None
        lines = rule_import.read(text)
        never = await self.unmatchable(rule.text for line in lines for rule in line.rules)
        return tuple(
            replace(line, warning=next((never[rule.text] for rule in line.rules if rule.text in never), None))
            for line in lines
        )

    async def import_(
        self, path: Path, *, scope: RuleScope = RuleScope.ALWAYS, scope_id: str = ""
    ) -> tuple[PermissionRule, ...]:
        """Store the rules of a file unless they conflict with existing ones; return the new ones."""
        known = {_place(rule): rule for rule in await self.rules()}
        new: dict[tuple[str, str, str], PermissionRule] = {}
        for line in await self.preview(path):
            for rule in line.rules:
                placed = rule.model_copy(update={"scope": scope, "scope_id": scope_id})
                other = new.get(_place(placed))
                if _place(placed) not in known and (
                    other is None or other.action.strictness < placed.action.strictness
                ):
                    new[_place(placed)] = placed
        return await self.add(*new.values())

    async def _changed(self) -> None:
        """Apply changed rules: running runs lose what is now denied, and everybody is notified."""
        self._context.bus.changed("settings", "approvals")  # first, so that a turn that begins meanwhile uses them
        await self._context.runs.rights_withdrawal.apply()

    async def _get(self, rule_id: str) -> PermissionRule:
        found = next((rule for rule in await self.rules() if rule.id == rule_id), None)
        if found is None:
            raise NotFoundError(N_("There is no rule {id}."), id=rule_id)
        return found

    async def agent(self, wanted: str) -> Agent:
        """Return the agent with this id or name; raises NotFoundError."""
        agents = await self._context.repos.agents.list()
        found = next((agent for agent in agents if wanted in (agent.id, agent.name)), None)
        if found is None:
            raise NotFoundError(N_("There is no agent {name}."), name=wanted)
        return found

    async def _check(self, rule: PermissionRule) -> None:
        read = rule_pattern.parse(rule.text)
        if rule.scope is RuleScope.WORKFLOW:
            await self._context.repos.workflows.get(rule.scope_id)
        if rule.scope is RuleScope.AGENT:
            await self._context.repos.agents.get(rule.scope_id)
        if rule.scope is RuleScope.FOLDER and not Path(rule.scope_id).is_absolute():
            raise UsageError(N_("A workspace folder must be an absolute path, not {path}."), path=rule.scope_id)
        if both := set(rule.match) & set(rule.not_match):
            raise UsageError(
                N_("“{example}” cannot be given both as an example that must match and as one that must not."),
                code="contradicts",
                example=min(both),
            )
        if read.argument is None or not (rule.match or rule.not_match):
            return
        from atelier_desk.engine.services.common.rule_example_matching import covers_example

        for example, wanted in [*((each, True) for each in rule.match), *((each, False) for each in rule.not_match)]:
            if covers_example(read, example) is not wanted:
                message = (
                    N_("The rule “{rule}” does not cover “{example}”.")
                    if wanted
                    else N_("The rule “{rule}” covers “{example}”.")
                )
                raise UsageError(message, code="example", rule=rule.text, example=example)


def _followed(rule: PermissionRule) -> PermissionRule:
    """Return a folder's rule with links resolved, as runs name their folder."""
    if rule.scope is not RuleScope.FOLDER or not Path(rule.scope_id).is_absolute():
        return rule
    return rule.model_copy(update={"scope_id": resolved_paths([rule.scope_id])[0]})


def _place(rule: PermissionRule) -> tuple[str, str, str]:
    return rule.text, rule.scope.value, rule.scope_id


def _read(path: Path) -> str:
    with open_plain(path) as file:
        content = file.read(limits.RULE_FILE + 1)
    if len(content) > limits.RULE_FILE:
        raise LimitError(N_("{path} is too large: the maximum is {most} bytes."), path=path, most=limits.RULE_FILE)
    return content.decode("utf-8-sig")
