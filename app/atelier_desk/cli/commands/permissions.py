"""``atelier permissions``: rules for what agents may do: freely, with approval, or never."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.approval_decisions import parse_arguments
from atelier_desk.cli.command_arguments.permissions import AUDITED
from atelier_desk.cli.command_result import Note, Result, Shown, Table, report
from atelier_desk.cli.file_arguments import folders, path_of
from atelier_desk.cli.terminal_io import Output, first, moment
from atelier_desk.domain import limits
from atelier_desk.domain.audit import AuditDecision, AuditFilter, AuditLine, as_csv
from atelier_desk.domain.call_presentation_and_subjects import CallText
from atelier_desk.domain.errors import LimitError, NotFoundError, UsageError
from atelier_desk.domain.permission import PermissionRule, RuleScope, by_last_use
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.common import input_checks
from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.presentation.audit_text import acted, columns, decision, ground, why
from atelier_desk.presentation.permission_profiles import mode_of
from atelier_desk.presentation.permission_rule_text import verdict_text
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.engine.run.verdict_replay import Replayed


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = by_last_use(await atelier.permissions.rules())
    if found:
        await atelier.load_tools()  # tools of servers and of the person's own files decide which rules can never match
    never = await atelier.permissions.unmatchable([rule.text for rule in found])

    def last(rule: PermissionRule) -> str:
        if rule.held:
            return _("disabled: from another installation's backup")
        date = f"{rule.last_matched_at:%Y-%m-%d}" if rule.last_matched_at else "–"
        return _("{date}, not used recently", date=date) if atelier.permissions.unused(rule) else date

    more = [{"unused": atelier.permissions.unused(rule), "never": _never(never, rule.text)} for rule in found]
    rows = ((rule.id, rule.action.value, rule.text, rule.scope.value, rule.scope_id, last(rule)) for rule in found)
    return Result(
        [rule.model_dump(mode="json") | fields for rule, fields in zip(found, more, strict=True)],
        Table((_("id"), _("action"), _("rule"), _("scope"), _("applies to"), _("last used")), rows),
        (Note(_never_matches(rule.text, why), "warn") for rule in found if (why := _never(never, rule.text))),
    )


def _never(never: Mapping[str, CallText], text: str) -> str:
    """Why a rule can never match; empty for one that can."""
    return never[text].localized(_) if text in never else ""


def _never_matches(text: str, why: str) -> str:
    return _("The rule “{rule}” never matches: {reason}.", rule=text, reason=why)


async def add(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    rule_pattern.parse(arguments.rule)
    if len(arguments.rule) > limits.RULE_TEXT:
        raise LimitError(
            N_("A rule can have at most {most} characters; this one has {length}."),
            most=limits.RULE_TEXT,
            length=len(arguments.rule),
        )
    rule = input_checks.build(
        PermissionRule, _("rule"), text=arguments.rule, action=arguments.action, match=tuple(arguments.match),
        not_match=tuple(arguments.not_match), **await _scope(atelier, arguments, out),
    )  # fmt: skip
    away = await atelier.permissions.missing(rule.text)
    status = report(out, _rules(await atelier.permissions.add(rule)))
    if away:
        out.note(
            _("There is no MCP server {name} with this tool yet; the rule will apply once there is.", name=away),
            "warn",
        )
    elif reason := _never(await atelier.permissions.unmatchable([rule.text]), rule.text):
        out.note(_never_matches(rule.text, reason), "warn")
    return status


async def remove(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    removed = [await atelier.permissions.remove(rule.id) for rule in await _chosen(atelier, arguments)]
    return Result(
        {"removed": removed}, (_("Removed: {rule}", rule=f"{rule.action.value} {rule.text}") for rule in removed)
    )


async def confirm(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    chosen = await _chosen(atelier, arguments)
    return _rules(await atelier.permissions.confirm(*(rule.id for rule in chosen)))


async def _chosen(atelier: Atelier, arguments: Namespace) -> list[PermissionRule]:
    """Rules by id; ids can be shortened."""
    rules = await atelier.permissions.rules()
    chosen = []
    for wanted in arguments.rule:
        found = [rule for rule in rules if rule.id.startswith(wanted)]
        if not found:
            raise NotFoundError(N_("There is no rule {id}."), id=wanted)
        if len(found) > 1:
            raise UsageError(N_("{id} matches {count} rules; type more characters."), count=len(found), id=wanted)
        chosen.append(found[0])
    return chosen


async def test(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    mode = mode_of(arguments.profile)
    verdict = await atelier.permissions.trials.test(
        arguments.tool,
        parse_arguments(await out.read_input() if arguments.arguments == "-" else arguments.arguments),
        workspace=tuple(str(path_of(out, folder).resolve()) for folder in arguments.workspace),
        workflow_id=arguments.workflow or "",
        agent=arguments.agent,
        mode=mode,
    )
    return Result(verdict, verdict_text(verdict, mode))


async def replay(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.permissions.trials.replay(arguments.workflow)
    return Result(list(map(_replayed, found)), _compared(found, arguments.all))


def _compared(found: list[Replayed], every: bool) -> Iterator[Shown]:
    # A call that a person was asked about is decided again when it runs; count it once.
    once = [one for one in found if not one.answered]
    rows = []
    for one in once:
        if one.differs or every:
            today = f"{acted(one.today)} ({ground(one.today)})" if one.today is not None else _("unknown")
            when = moment(one.time, seconds=True)
            rows.append(
                (
                    when,
                    one.agent_name,
                    f"{one.tool}  {one.detail}",
                    f"{acted(one.recorded)} ({ground(one.recorded)})",
                    today,
                )
            )
    if rows:
        yield Table((_("when"), _("agent"), _("call"), _("at the time"), _("today")), rows)
    different, unknown = sum(one.differs for one in once), sum(one.again is None for one in once)
    yield _("Decisions: {count}; different under today's rules: {different}", count=len(once), different=different)
    if unknown:
        yield Note(_("Decisions by an older version, which cannot be compared: {count}", count=unknown))
    if lost := sum(one.again is not None and not one.same for one in found):
        yield Note(
            _("Decisions that cannot be reproduced from the recorded events: {count}. Please report this.", count=lost)
        )


async def import_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    file = path_of(out, arguments.file)
    lines = await atelier.permissions.preview(file)
    scope = await _scope(atelier, arguments, out)
    added = () if arguments.dry_run else await atelier.permissions.import_(file, **scope)
    read = [
        {"line": each.source, "rules": [f"{rule.action.value} {rule.text}" for rule in each.rules],
         "problem": each.problem.localized(_) if each.problem else "",
         "never": each.warning.localized(_) if each.warning else ""}
        for each in lines
    ]  # fmt: skip

    def shown() -> Iterator[Shown]:
        for each in read:
            yield f"{each['line']}  →  {', '.join(each['rules']) or each['problem'] or '–'}"
            if each["never"]:
                yield Note(_("This rule never matches: {reason}.", reason=each["never"]), "warn")
        if not arguments.dry_run:
            yield _("Rules added: {count}", count=len(added))

    return Result({"read": read, "added": added}, shown())


async def audit(atelier: Atelier, arguments: Namespace, out: Output) -> Result | int:
    if arguments.workflow:
        await atelier.workflows.get(arguments.workflow)
    wanted = AuditFilter(
        workflow_id=arguments.workflow or "", agent=arguments.agent, tool=arguments.tool, text=arguments.text,
        since=arguments.since,
        until=arguments.until, decision=AuditDecision(arguments.decision) if arguments.decision else None,
    )  # fmt: skip
    if arguments.csv:
        return await _export(atelier, wanted, arguments, out)
    limit = arguments.limit or AUDITED
    found = first(out, await atelier.audit.newest(wanted, limit + 1), limit)
    rows = (
        (
            moment(one.created_at, seconds=True),
            each.workflow,
            one.agent_name,
            f"{one.tool}  {one.detail}",
            decision(one),
            why(one),
        )
        for each in found
        for one in (each.entry,)
    )
    header = (_("when"), _("workflow"), _("agent"), _("call"), _("decision"), _("reason"))
    return Result(list(map(_plain, found)), Table(header, rows))


async def _export(atelier: Atelier, wanted: AuditFilter, arguments: Namespace, out: Output) -> int:
    if arguments.csv == "-":
        out.write(as_csv(await atelier.audit.newest(wanted, arguments.limit), columns).replace("\r\n", "\n"))
        return 0
    path = path_of(out, arguments.csv)
    await atelier.audit.export(wanted, path, arguments.limit)
    out.note(_("Written to {path}", path=path))
    return 0


def _replayed(one: Replayed) -> dict[str, object]:
    return {
        "time": one.time.isoformat(), "run_id": one.run_id, "call_id": one.call_id, "agent": one.agent_name,
        "tool": one.tool,
        "call": one.detail, "then": one.recorded, "again": one.again, "today": one.today, "same": one.same,
        "differs": one.differs, "answered": one.answered,
    }  # fmt: skip


def _plain(line: AuditLine) -> dict[str, Any]:
    return line.entry.model_dump(mode="json") | {"workflow": line.workflow, "in_bin": line.in_bin}


async def _scope(atelier: Atelier, arguments: Namespace, out: Output) -> dict[str, Any]:
    """``scope`` and ``scope_id`` of a rule; UsageError when they do not fit together."""
    scope = RuleScope(arguments.scope)
    if bool(arguments.workflow) is not (scope is RuleScope.WORKFLOW):
        raise UsageError(N_("Use --workflow and --scope workflow together."))
    if bool(arguments.agent) is not (scope is RuleScope.AGENT):
        raise UsageError(N_("Use --agent and --scope agent together."))
    if bool(arguments.folder) is not (scope is RuleScope.FOLDER):
        raise UsageError(N_("Use --folder and --scope folder together."))
    scope_id = arguments.workflow or (folders(out, [arguments.folder])[0] if arguments.folder else "")
    if scope is RuleScope.AGENT:
        scope_id = (await atelier.permissions.agent(arguments.agent)).id
    return {"scope": scope, "scope_id": scope_id}


def _rules(rules: tuple[PermissionRule, ...]) -> Result:
    return Result(rules, (f"{rule.id}  {rule.action.value} {rule.text}" for rule in rules))
