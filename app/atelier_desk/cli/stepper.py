"""Stepping in the terminal: show the next step and wait before it."""

from __future__ import annotations

from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.workflow import RunMode
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.step_mode import WaitingStep
from atelier_desk.support.i18n import _


class Stepper:
    """Releases a stepping run's steps: one at each Enter, or a single one when nobody is there.

    ``free`` lets the run continue to its end.
    """

    def __init__(self, atelier: Atelier, out: Output, *, free: bool = False) -> None:
        self._atelier = atelier
        self._out = out
        self._free = free
        self._steps_taken = 0

    async def take_steps(self, workflow_id: str, run_id: str) -> bool:
        """Release the next step; False when no step of ``run_id``'s team waits, or nobody wants it."""
        waiting = [step for step in await self._atelier.stepping.waiting(workflow_id) if step.root_run_id == run_id]
        if not waiting:
            return False
        if self._free:
            await self._release(waiting)
            return True
        for step in waiting:
            self._out.note("  " * step.depth + _("Next: {step}", step=_described(step)), "bold")
        if self._out.interactive:
            typed = await self._out.ask(_("Enter: next step, c: continue to the end, q: quit: "))
            answer = "q" if typed is None else typed.strip().casefold()
            if answer == "c":
                self._free = True
                await self._release(waiting)
                return True
            if answer:
                return False
        elif self._steps_taken:
            return False
        self._steps_taken += 1
        await self._atelier.runs.steering.step(run_id)
        return True

    async def _release(self, waiting: list[WaitingStep]) -> None:
        """Stop stepping for these runs, and for their parents when their turn comes."""
        for step in waiting:
            await self._atelier.runs.steering.resume(step.run_id, mode=RunMode.AUTO)


def _described(step: WaitingStep) -> str:
    if step.tools:
        return _("{agent} calls {tools}", agent=step.agent_name, tools=", ".join(step.tools))
    return _("{agent} calls its model", agent=step.agent_name)
