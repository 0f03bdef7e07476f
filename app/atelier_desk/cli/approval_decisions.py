"""Approvals on the command line: decided in the terminal, by an option, or left for later."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence

from atelier_desk.cli import approval_text
from atelier_desk.cli.answering_base import Asker
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.approval import NOBODY_TO_ASK, ApprovalRequest, ApprovalScope, ApprovalStatus
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.policy.approval_strictness_and_grouping import together
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible_json

TICK_S = 1.0
"""Seconds between two counts of the time that a request is visible in the terminal."""
ALL = N_("all")
"""Input that allows every call listed with the current one."""
CHOICES = {"yes": N_("yes"), "no": N_("no"), "edit": N_("edit"), "run": N_("run"), "always": N_("always")}
"""Possible inputs; any unambiguous beginning counts.

``run`` allows the tool for the rest of the run.
"""


class Decisions(Asker[ApprovalRequest]):
    """Decides about calls that need approval.

    ``ask`` prompts when somebody is there; ``allow`` and ``deny`` decide the same about every call.
    """

    how = N_(
        "To decide: atelier approvals approve ID, or atelier approvals reject ID. Then continue: atelier "
        "resume {workflow}"
    )

    def __init__(self, atelier: Atelier, out: Output, mode: str) -> None:
        super().__init__(out, atelier.approvals)
        self._approvals = atelier.approvals
        self._clock = atelier.clock
        self._mode = mode

    async def _by_option(self, asked: ApprovalRequest) -> bool | None:
        if asked.status is ApprovalStatus.PENDING:
            if self._mode == "ask":
                return None
            if self._mode == "allow":
                # Nobody reviews the request here, so approval of a repository's settings ends with the run.
                await self._approve(
                    asked, scope=ApprovalScope.RUN if asked.reason == "repository" else ApprovalScope.ONCE
                )
            else:
                await self._reject(asked, NOBODY_TO_ASK)
        return True

    async def _approve(
        self,
        asked: ApprovalRequest,
        arguments: dict[str, object] | None = None,
        scope: ApprovalScope = ApprovalScope.ONCE,
    ) -> None:
        await self._give(asked, self._approvals.approve(asked.id, arguments, scope))

    async def _listed(self, asked: ApprovalRequest) -> tuple[ApprovalRequest, ...]:
        """The calls that can be allowed together with this one, itself included."""
        waiting = await self._approvals.pending(asked.workflow_id)
        group = next((group for group in together(waiting) if asked.id in {each.id for each in group}), ())
        # A line that is cut off cannot be allowed: its end is not visible.
        return group if not any(approval_text.asked_for(each).endswith("…") for each in group) else ()

    async def _approve_together(self, listed: Sequence[ApprovalRequest]) -> None:
        ids = [each.id for each in listed]
        self.given.update(ids)
        try:
            await self._approvals.approve_together(ids)
        except AtelierError:
            self.given.difference_update(ids)
            raise

    async def _reject(self, asked: ApprovalRequest, note: str) -> None:
        await self._give(asked, self._approvals.reject(asked.id, note))

    def _in_a_line(self, asked: ApprovalRequest) -> str:
        who = approval_text.lineage(asked.lineage, asked.agent_name)
        return _(
            "Approval {id} requested by {agents}: {call}", id=asked.id, agents=who, call=approval_text.asked_for(asked)
        )

    def _show(self, asked: ApprovalRequest) -> None:
        first, *rest = approval_text.described(asked)
        self._out.note(first, "bold")
        for line in rest:
            self._out.note(line, "")

    async def _by_person(self, asked: ApprovalRequest) -> bool:
        choices = dict(CHOICES)
        # Calls that arrive while the person types are not in the list, so they are not allowed.
        listed = await self._listed(asked)
        if len(listed) > 1:
            choices["all"] = ALL
            self._out.note(_("{n} calls in this run are waiting for approval:", n=len(listed)), "bold")
            for each in listed:
                self._out.note(f"  {approval_text.risk(each)} · {approval_text.asked_for(each)}", "")
        words = ", ".join(_(word) for word in choices.values())
        typed = await self._typed(_("Approve this call? ({choices}; Enter to decide later): ", choices=words))
        if not typed:
            return False
        match _choice(typed, words, choices):
            case "all":
                await self._approve_together(listed)
            case "yes":
                await self._approve(asked)
            case "run":
                await self._approve(asked, scope=ApprovalScope.RUN)
            case "always":
                await self._approve(asked, scope=ApprovalScope.ALWAYS)
            case "edit":
                self._out.note(visible_json(asked.arguments), "")
                typed = (await self._out.ask(_("New arguments as JSON (Enter keeps the current ones): "))) or ""
                await self._approve(asked, parse_arguments(typed) if typed.strip() else None)
            case _:
                await self._reject(
                    asked, (await self._out.ask(_("Reason for rejecting (optional, shown to the agent): "))) or ""
                )
        return True

    @contextlib.asynccontextmanager
    async def _in_sight(self, asked: ApprovalRequest) -> AsyncIterator[None]:
        """Count the time during which the request is visible in the terminal."""
        ticking = asyncio.create_task(self._tick(asked.id))
        try:
            yield
        finally:
            ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError, AtelierError):
                await ticking

    async def _tick(self, approval_id: str) -> None:
        left: float | None = TICK_S
        while left is not None:
            await self._clock.sleep(TICK_S)
            left = await self._approvals.seen(approval_id, round(TICK_S * 1000))


def parse_arguments(text: str) -> dict[str, object]:
    """Parse a call's arguments from JSON.

    Raises:
        UsageError: not JSON, or not an object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(N_("The arguments are not JSON: {reason}"), reason=error) from None
    if not isinstance(value, dict):
        raise UsageError(N_("The arguments must be a JSON object, such as {example}."), example='{"operation": "list"}')
    return value


def _choice(typed: str, words: str, choices: Mapping[str, str]) -> str:
    """The choice that was typed: its word in the current language or in English, or a beginning."""
    answer = typed.casefold()
    for spellings in ({_(word): choice for choice, word in choices.items()}, {choice: choice for choice in choices}):
        fitting = [choice for word, choice in spellings.items() if word.casefold().startswith(answer)]
        if len(fitting) == 1:
            return fitting[0]
    raise UsageError(N_("“{typed}” is not a valid answer; type one of these: {choices}."), typed=typed, choices=words)
