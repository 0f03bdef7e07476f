"""What permission rules decide, without running anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy, ApprovalRequest
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, PermissionRule, Verdict
from atelier_desk.engine.journal.replay_and_fork import workflow_events
from atelier_desk.engine.run.call_facts import facts
from atelier_desk.engine.run.call_verdict import unreachable, verdict
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.verdict_replay import Replayed, replayed
from atelier_desk.engine.services.common.service import Service
from atelier_desk.policy.permissions.call_facts import Concern
from atelier_desk.policy.permissions.decide import Level, decide
from atelier_desk.policy.permissions.rule_scope import first
from atelier_desk.support.i18n import N_
from atelier_desk.support.locale_format import number
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Effect, Risk
from atelier_desk.tools.calls.argument_validation import InvalidArgumentsError
from atelier_desk.workspace.resolved_folders import resolved_paths


class RuleTrials(Service):
    """Verdicts about calls that are described or were made: the part of ``PermissionService`` that judges calls."""

    async def test(
        self,
        tool: str,
        arguments: dict[str, object],
        *,
        workspace: Sequence[str] = (),
        workflow_id: str = "",
        agent: str = "",
        mode: ApprovalMode = ApprovalMode.SELECTIVE,
    ) -> Verdict:
        """Return what would be decided about a call, and by which rule. Nothing is run.

        Args:
            workspace: granted folders; by default the workflow's.
            agent: name or id of the calling agent.

        Raises:
            NotFoundError: there is no such tool, workflow or agent. UsageError: invalid arguments.
        """
        registry = self._context.registry
        found = registry.get_tool(tool)
        if found is None:
            raise NotFoundError(N_("There is no tool {name}."), name=tool)
        try:
            described = registry.prepare(found, arguments).described
        except InvalidArgumentsError as error:
            raise UsageError(
                N_("The arguments are not valid for {tool}. {problems}"),
                code=error.code,
                tool=tool,
                problems=error.explained(number),
            ) from None
        agent_id = (await self._context.permissions.agent(agent)).id if agent else ""
        if workflow_id:
            workspace = workspace or (await self._context.repos.workflows.get(workflow_id)).workspace
        folder = first(resolved_paths(tuple(workspace)))
        active = (rule for rule in await self._context.permissions.rules() if not rule.held)
        holding = tuple(
            rule for rule in active if rule.holds_for(workflow_id=workflow_id, agent_id=agent_id, folder=folder)
        )
        state = await self._state(mode, workspace, holding, agent_id)
        own = (self._context.datadir.root.resolve().as_posix(),)
        if unreachable(state, found, described) is not None:
            # Like the call itself: nobody is asked, and no rule permits it.
            return Verdict(action=Action.DENY, reason="outside", about=", ".join(described.subjects.paths))
        intent = _intent(tool, found.section, described, arguments)
        return await in_tool_thread(verdict, state, intent, described, repaired=False, own=own)

    async def replay(self, workflow_id: str) -> list[Replayed]:
        """Recompute every verdict of a workflow from stored facts, and what today's rules and settings would decide.

        Nothing is run and no file is accessed. Raises NotFoundError.
        """
        await self._context.repos.workflows.get(workflow_id)
        settings = await self._context.repos.settings.load()
        return await replayed(workflow_events(self._context.repos, workflow_id), settings.approvals)

    async def covers(self, asked: ApprovalRequest, texts: Iterable[str]) -> bool:
        """Whether rules that allow these texts would cover the call, ignoring what always asks."""
        texts = set(texts)
        if asked.reason == Concern.REPOSITORY:
            return texts == set(asked.always)
        state = await self._state(
            ApprovalMode.MANUAL, (await self._context.repos.workflows.get(asked.workflow_id)).workspace, ()
        )
        described = Call(Effect(asked.effect or Effect.EXECUTE), Risk(asked.risk), asked.kind, subjects=asked.subjects)
        intent = _intent(asked.tool, asked.section, described, asked.arguments, server=asked.server)
        about = await in_tool_thread(facts, state, intent, described, repaired=False)
        rules = tuple(PermissionRule(text=text, action=Action.ALLOW) for text in texts)
        return decide([Level(rules, state.approvals)], about).reason in (
            "rule",
            *(concern.value for concern in about.concerns),
        )

    async def _state(
        self, mode: ApprovalMode, workspace: Sequence[str], rules: tuple[PermissionRule, ...], agent_id: str = ""
    ) -> RunState:

        settings = await self._context.settings.get()
        policy = ApprovalPolicy(**{**settings.approvals.__dict__, "rules": rules}, mode=mode)
        nobody = AgentConfig(name="-", provider="-", model="-")
        return RunState(
            run_id="", workflow_id="", agent_id=agent_id, agent=nobody, approvals=policy, workspace=tuple(workspace)
        )


def _intent(
    tool: str, section: str, described: Call, arguments: dict[str, object], *, server: str = ""
) -> ToolCallStarted:
    return ToolCallStarted(
        call_id="", tool=tool, arguments=arguments, section=section, server=server or described.subjects.server,
        effect=described.effect.value, risk=described.risk.value,
    )  # fmt: skip
