"""Order and state of the pending questions over all workflows, without any widget.

Each workflow has a first-in, first-out line. A question keeps its place ("question 1 / 2") from the moment it is asked until the whole
line of its workflow is done, so that the numbers a reader sees never jump. "Later" puts a question aside: it is not shown by itself
again, but stays pending. What a person had typed or ticked is kept as a draft until the question is closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from atelier_desk.domain.question import QuestionAnswer, QuestionStatus, UserQuestion


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Where a question stands in its workflow's line, counted from 1."""

    number: int
    total: int


@dataclass(slots=True)
class _Line:
    """One workflow's questions since its line was last empty: ids in the order they were asked, closed ones included."""

    order: list[str] = field(default_factory=list)
    open: dict[str, UserQuestion] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)


class QuestionQueue:
    """All pending questions; every method is quick and has no side effect outside the object."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}
        self._drafts: dict[str, QuestionAnswer] = {}

    def replace(self, questions: Iterable[UserQuestion]) -> None:
        """Make the queue hold exactly these pending questions; places, "later" marks and drafts of those that remain are kept."""
        wanted = {q.id: q for q in questions if q.status is QuestionStatus.PENDING}
        for line in list(self._lines.values()):
            for question_id in [key for key in line.open if key not in wanted]:
                self.close(question_id)
        for question in sorted(wanted.values(), key=lambda q: (q.created_at, q.id)):
            self.add(question)

    def add(self, question: UserQuestion) -> bool:
        """Put a question at the end of its line; False when it was there already (its data is refreshed)."""
        line = self._lines.setdefault(question.workflow_id, _Line())
        known = question.id in line.open
        line.open[question.id] = question
        if question.id not in line.order:
            line.order.append(question.id)
        return not known

    def close(self, question_id: str) -> UserQuestion | None:
        """A question was answered, skipped or timed out; gives it back, or None when it was not pending here."""
        self._drafts.pop(question_id, None)
        for workflow_id, line in self._lines.items():
            question = line.open.pop(question_id, None)
            if question is not None:
                line.later.discard(question_id)
                if not line.open:
                    del self._lines[workflow_id]
                return question
        return None

    def get(self, question_id: str) -> UserQuestion | None:
        """The pending question with this id."""
        return next((line.open[question_id] for line in self._lines.values() if question_id in line.open), None)

    def place(self, question_id: str) -> QueuePosition:
        """Its place in its workflow's line; ``QueuePosition(1, 1)`` for one that is not in the queue."""
        for line in self._lines.values():
            if question_id in line.open:
                return QueuePosition(line.order.index(question_id) + 1, len(line.order))
        return QueuePosition(1, 1)

    def next_for(self, workflow_id: str) -> UserQuestion | None:
        """The oldest question of the workflow that was not put aside."""
        line = self._lines.get(workflow_id)
        if line is None:
            return None
        return next((line.open[key] for key in line.order if key in line.open and key not in line.later), None)

    def put_aside(self, question_id: str, draft: QuestionAnswer | None = None) -> None:
        """Mark it "later": not shown by itself again; the draft comes back when it is opened."""
        for line in self._lines.values():
            if question_id in line.open:
                line.later.add(question_id)
                if draft is not None:
                    self.save_draft(question_id, draft)

    def bring_back(self, question_id: str) -> UserQuestion | None:
        """Undo "later", for a question that is opened from the inbox."""
        for line in self._lines.values():
            line.later.discard(question_id)
        return self.get(question_id)

    def save_draft(self, question_id: str, draft: QuestionAnswer) -> None:
        """Remember what was typed and ticked; an empty draft forgets it."""
        if draft.selected_options or draft.text_response:
            self._drafts[question_id] = draft
        else:
            self._drafts.pop(question_id, None)

    def draft(self, question_id: str) -> QuestionAnswer:
        """What was typed and ticked before, empty when nothing was."""
        return self._drafts.get(question_id, QuestionAnswer())

    def is_aside(self, question_id: str) -> bool:
        """Whether the person chose "Later" for it."""
        return any(question_id in line.later for line in self._lines.values())

    def pending(self, workflow_id: str | None = None) -> list[UserQuestion]:
        """Pending questions, oldest first; of one workflow or of all."""
        lines = self._lines.values() if workflow_id is None else [self._lines.get(workflow_id, _Line())]
        found = [question for line in lines for question in line.open.values()]
        return sorted(found, key=lambda q: (q.created_at, q.id))

    def __len__(self) -> int:
        return sum(len(line.open) for line in self._lines.values())
