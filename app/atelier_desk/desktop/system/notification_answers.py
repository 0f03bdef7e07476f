"""What a notification may decide: a question with a few options or a short text, and a call that is seen whole in it.

A yes is offered only where a person sees all they would see on the card. What the card would have them look at twice (high risk, arguments
that were mended, a plan or an agent with details, arguments that are long or hold a secret) opens the card instead.
"""

from __future__ import annotations

from collections.abc import Callable

from atelier_desk.desktop.questions import approval_text as wording
from atelier_desk.desktop.system.notification import Action, Notice
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.question import QuestionAnswer, UserQuestion
from atelier_desk.support.i18n import _
from atelier_desk.support.text import shorten, visible, visible_json

TEXT = 200
"""Characters of a notification's text; more is cut, and cannot be decided there. Servers show some four lines."""
OPTIONS, LABEL = 3, 40
"""Most options, and characters of each, that still fit as buttons."""
REVIEW_REASONS = ("risk_high", "repaired", "repository", "protected", "denied", "tainted")
"""Reasons for which a person is to read the card: the arguments, or what a yes is about besides them."""


def plain(text: str) -> str:
    """The text as it may leave the program: without keys, in one paragraph."""
    from atelier_desk.llm.secrets import redact

    return " ".join(redact(text).split())


def question_notice(question: UserQuestion, show: Callable[[], object], answer: Callable[[QuestionAnswer], object]) -> Notice:
    """A question; its options, or a field for a short answer, where nothing of it is hidden."""
    spec = question.spec
    text = plain(spec.question)
    if spec.asker is not None:
        # What a server asks is answered where all of it is seen.
        return Notice(_("The server “{server}” has a question", server=spec.asker.server), shorten(text, TEXT), show, question.id)
    title = _("{agent} has a question", agent=question.agent_name or _("The agent"))
    whole = len(text) <= TEXT and not spec.context
    actions: list[Action] = []
    fits = len(spec.options) <= OPTIONS and all(len(option.label) <= LABEL for option in spec.options)
    if whole and fits:
        for option in spec.options:
            chosen = QuestionAnswer(selected_options=(option.id,))
            if chosen.problem(spec) is None:
                actions.append(Action(plain(option.label), lambda chosen=chosen: answer(chosen)))  # type: ignore[misc]
    reply = None
    if whole and not spec.options:
        reply = lambda said: answer(QuestionAnswer(text_response=said)) if said.strip() else show()  # noqa: E731
    return Notice(title, shorten(text, TEXT), show, question.id, tuple(actions), reply)


def approval_notice(
    request: ApprovalRequest, show: Callable[[], object], allow: Callable[[], object], reject: Callable[[], object]
) -> Notice:
    """A call that waits for a yes. A no is always offered, a yes where the notification shows the whole call."""
    summary, whole = plain(wording.summary(request)), call_text(request)
    actions = [Action(_("Reject"), reject)]
    if may_allow(request):
        actions.insert(0, Action(_("Allow once"), allow))
    return Notice(plain(wording.title(request)), shorten(summary if len(whole) > TEXT else whole, TEXT), show, request.id, tuple(actions))


def call_text(request: ApprovalRequest) -> str:
    """A call in words, and its exact arguments."""
    return plain(" · ".join(filter(None, (wording.summary(request), *_arguments(request)))))


def may_allow(request: ApprovalRequest) -> bool:
    """Whether a person can say yes without the card: nothing is left out of the text, hidden in it, or worth a second look."""
    closer = request.risk == "high" or request.reason in REVIEW_REASONS or bool(request.details) or request.edited is not None
    exact = all(plain(argument) == argument and "⟨U+" not in argument and "\\u" not in argument for argument in _arguments(request))
    return not closer and exact and len(call_text(request)) <= TEXT


def _arguments(request: ApprovalRequest) -> list[str]:
    values = request.arguments.items()
    return [f"{key}: {visible(value) if isinstance(value, str) else visible_json(value)}" for key, value in values]
