"""Who answers the questions of agents and servers on the command line."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass

from atelier_desk.cli.approval_decisions import Decisions
from atelier_desk.cli.question_answers import Answers
from atelier_desk.cli.terminal_io import Output
from atelier_desk.engine.atelier import Atelier


@dataclass(frozen=True, slots=True)
class Responders:
    """Answers questions and decides about calls."""

    questions: Answers
    approvals: Decisions

    @classmethod
    async def create(cls, atelier: Atelier, out: Output, arguments: Namespace | None = None) -> Responders:
        """Create from the options of ``add_people_options``; without them ask at the terminal."""
        answers, on_approval = (arguments.answers, arguments.on_approval) if arguments is not None else ("ask", "ask")
        return cls(await Answers.create(atelier, out, answers), Decisions(atelier, out, on_approval))

    @property
    def given(self) -> set[str]:
        """Ids of everything answered by this command."""
        return self.questions.given | self.approvals.given

    async def show_pending(self, workflow_id: str) -> int:
        """List what a workflow waits for and what to type; returns the number."""
        return await self.questions.show_pending(workflow_id) + await self.approvals.show_pending(workflow_id)
