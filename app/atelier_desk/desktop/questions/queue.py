"""Order and state of pending questions over all workflows. No widgets.

Each workflow has a first-in, first-out queue. A question keeps its position ("question 1 / 2") until the workflow's
queue is completed, so that displayed numbers never jump. "Later" postpones a question: it is not shown automatically
again, but stays pending. Input is stored as a draft until the question is closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from atelier_desk.domain.question import QuestionAnswer, QuestionStatus, UserQuestion


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Position of a question in its workflow's queue, counted from 1."""

    number: int
    total: int


@dataclass(slots=True)
class _Line:
    """A workflow's questions since its queue was last empty: ids in order, including closed ones."""

    order: list[str] = field(default_factory=list)
    open: dict[str, UserQuestion] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)


class QuestionQueue:
    """All pending questions; methods are fast and have no external effects."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}
        self._drafts: dict[str, QuestionAnswer] = {}

    def replace(self, questions: Iterable[UserQuestion]) -> None:
        """Replace the pending questions; positions, "later" marks and drafts of remaining ones are preserved."""
        pending = {q.id: q for q in questions if q.status is QuestionStatus.PENDING}
        for line in list(self._lines.values()):
            for question_id in [key for key in line.open if key not in pending]:
                self.close(question_id)
        for question in sorted(pending.values(), key=lambda q: (q.created_at, q.id)):
            self.add(question)

    def add(self, question: UserQuestion) -> bool:
        """Append a question to its queue; False if it was already pending (its data is updated)."""
        line = self._lines.setdefault(question.workflow_id, _Line())
        known = question.id in line.open
        line.open[question.id] = question
        if question.id not in line.order:
            line.order.append(question.id)
        return not known

    def close(self, question_id: str) -> UserQuestion | None:
        """Remove a question that was answered, skipped or timed out; returns it, or None if it was not pending here."""
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
        """Its position in its workflow's queue; ``QueuePosition(1, 1)`` if not queued."""
        for line in self._lines.values():
            if question_id in line.open:
                return QueuePosition(line.order.index(question_id) + 1, len(line.order))
        return QueuePosition(1, 1)

    def next_for(self, workflow_id: str) -> UserQuestion | None:
        """The oldest question of the workflow that was not postponed."""
        line = self._lines.get(workflow_id)
        if line is None:
            return None
        return next((line.open[key] for key in line.order if key in line.open and key not in line.later), None)

    def put_aside(self, question_id: str, draft: QuestionAnswer | None) -> None:
        """Mark it "later": not shown automatically again; the draft is restored when it is opened."""
        for line in self._lines.values():
            if question_id in line.open:
                line.later.add(question_id)
                if draft is not None:
                    self.save_draft(question_id, draft)

    def bring_back(self, question_id: str) -> UserQuestion | None:
        """Undo "later" for a question opened from the inbox."""
        for line in self._lines.values():
            line.later.discard(question_id)
        return self.get(question_id)

    def save_draft(self, question_id: str, draft: QuestionAnswer) -> None:
        """Store the input; an empty draft deletes it."""
        if draft.selected_options or draft.text_response:
            self._drafts[question_id] = draft
        else:
            self._drafts.pop(question_id, None)

    def draft(self, question_id: str) -> QuestionAnswer:
        """The stored input, empty if there is none."""
        return self._drafts.get(question_id, QuestionAnswer())

    def is_aside(self, question_id: str) -> bool:
        """Whether the user chose "Later"."""
        return any(question_id in line.later for line in self._lines.values())

    def pending(self, workflow_id: str | None = None) -> list[UserQuestion]:
        """Pending questions, oldest first; of one workflow or of all."""
        lines = self._lines.values() if workflow_id is None else [self._lines.get(workflow_id, _Line())]
        found = [question for line in lines for question in line.open.values()]
        return sorted(found, key=lambda q: (q.created_at, q.id))

    def __len__(self) -> int:
        return sum(len(line.open) for line in self._lines.values())
