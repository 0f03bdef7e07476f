"""Decisions allowed in notifications: questions with few options or a short text, and calls that fit completely.

Approving is offered only if everything on the card is visible. Anything that needs a closer look (high risk, repaired
arguments, a plan or an agent with details, long or secret arguments) opens the card instead.
"""

from __future__ import annotations

from collections.abc import Callable

from atelier_desk.desktop.questions import approval_text as wording
from atelier_desk.desktop.system.notification import Action, Notice
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.question import QuestionAnswer, UserQuestion
from atelier_desk.llm.secrets import redact
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import shorten, visible, visible_json

TEXT = 200
"""Maximum characters of a notification; longer ones are cut and cannot be decided there.

Servers show about four lines.
"""
OPTIONS, LABEL = 3, 40
"""Maximum number of options, and characters of each, that fit as buttons."""
REVIEW_REASONS = ("risk_high", "repaired", "repository", "protected", "denied", "tainted")
"""Reasons that require reading the card: the arguments, or other details."""


def plain(text: str) -> str:
    """The text without keys and in one paragraph, as it may leave the program."""
    return " ".join(redact(text).split())


def question_notice(
    question: UserQuestion, show: Callable[[], object], answer: Callable[[QuestionAnswer], object]
) -> Notice:
    """A question with its options, or with a field for a short answer, if it is shown completely."""
    spec = question.spec
    text = plain(spec.question)
    if spec.asker is not None:
        # Questions of MCP servers are answered only where they are shown completely.
        return Notice(
            _("The server “{server}” has a question", server=spec.asker.server), shorten(text, TEXT), show, question.id
        )
    title = _("{agent} has a question", agent=question.agent_name or _("The agent"))
    complete = len(text) <= TEXT and not spec.context
    actions: list[Action] = []
    fits = len(spec.options) <= OPTIONS and all(len(option.label) <= LABEL for option in spec.options)
    if complete and fits:
        for option in spec.options:
            chosen = QuestionAnswer(selected_options=(option.id,))
            if chosen.problem(spec) is None:
                actions.append(Action(plain(option.label), lambda chosen=chosen: answer(chosen)))  # type: ignore[misc]
    reply = None
    if complete and not spec.options:
        reply = lambda reply_text: answer(QuestionAnswer(text_response=reply_text)) if reply_text.strip() else show()  # noqa: E731
    return Notice(title, shorten(text, TEXT), show, question.id, tuple(actions), reply)


def approval_notice(
    request: ApprovalRequest, show: Callable[[], object], allow: Callable[[], object], reject: Callable[[], object]
) -> Notice:
    """A call waiting for approval. Reject is always offered, approve only if the call is shown completely."""
    summary, full = plain(wording.summary(request)), call_text(request)
    actions = [Action(_("Reject"), reject)]
    if may_allow(request):
        actions.insert(0, Action(_("Allow once"), allow))
    return Notice(
        plain(wording.title(request)),
        shorten(summary if len(full) > TEXT else full, TEXT),
        show,
        request.id,
        tuple(actions),
    )


def call_text(request: ApprovalRequest) -> str:
    """A call in words with its exact arguments."""
    return plain(" · ".join(filter(None, (wording.summary(request), *_arguments(request)))))


def may_allow(request: ApprovalRequest) -> bool:
    """Whether approving is possible without the card: the text is complete, visible, and needs no closer look."""
    closer = (
        request.risk == "high"
        or request.reason in REVIEW_REASONS
        or bool(request.details)
        or request.edited is not None
    )
    exact = all(
        plain(argument) == argument and "⟨U+" not in argument and "\\u" not in argument
        for argument in _arguments(request)
    )
    return not closer and exact and len(call_text(request)) <= TEXT


def _arguments(request: ApprovalRequest) -> list[str]:
    values = request.arguments.items()
    return [f"{key}: {visible(value) if isinstance(value, str) else visible_json(value)}" for key, value in values]
