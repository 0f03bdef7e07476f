"""A sent request as text: opaque data for its server is named and measured, never shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from atelier_desk.desktop.panes.context import request_text
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.model_messages import ChatMessage, ImagePart, Role, ToolCall
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.engine.services.request.sent_request_data import RequestSummary, SentItem, SentRequest
from atelier_desk.support import i18n

SIGNED = ProviderData.pack("server", "m", {"extra_content": {"google": {"thought_signature": "Zm9v" * 600}}})
CALLED = ChatMessage(
    role=Role.ASSISTANT, content="Let me see.", tool_calls=(ToolCall(id="c", name="read", provider_data=SIGNED),)
)


def item(returned: int, withheld: int = 0) -> SentItem:
    return SentItem(0, "r:1", "reply", "history", 12, returned_bytes=returned, withheld_bytes=withheld)


def summary() -> RequestSummary:
    facts = {
        "run_id": "r",
        "seq": 2,
        "stream_seq": 2,
        "time": datetime(2026, 1, 1, tzinfo=UTC),
        "agent_name": "A",
        "model": "m",
    }
    counts = {
        "provider": "server",
        "dialect": "native",
        "tokens_input": 1,
        "tokens_output": 1,
        "estimated": False,
        "cost": 0.0,
    }
    return RequestSummary(**facts, **counts, window=0, duration_ms=1)  # type: ignore[arg-type]


def test_opaque_data_is_shown_by_size_only() -> None:
    assert request_text.item_facts(item(SIGNED.size)) == "12 tokens · 2.4\u202fkB of provider data"
    text = request_text.item_text(item(SIGNED.size), CALLED)
    assert "2.4\u202fkB of provider data from this reply was sent back unchanged." in text
    assert SIGNED.data not in text
    assert "left out" in request_text.item_text(item(0, SIGNED.size), CALLED)
    assert request_text.item_text(item(0), CALLED) == request_text.message_text(CALLED)


def test_a_copied_request_has_only_the_size() -> None:
    request = SentRequest(summary(), (CALLED,), (), (CALLED,), 0.0, 1, 0, 1, (), ())
    copied = json.loads(request_text.as_json(request))
    assert copied["messages"][0]["tool_calls"][0]["provider_data"] == {
        "provider": "server",
        "model": "m",
        "size": SIGNED.size,
    }
    assert SIGNED.data not in request_text.as_json(request)


def test_each_attachment_shows_what_the_model_received() -> None:
    some = "a" * 64
    text = Attachment(
        name="notes.txt", media_type="text/plain", size=9, sha256=some, text_sha256=some, characters=4, text="blue"
    )
    cut = text.model_copy(update={"name": "log", "characters": 2_000, "text": "x" * 500})
    picture = Attachment(name="dot.png", media_type="image/png", size=9, sha256="b" * 64, width=40, height=30)
    sent = SentItem(1, "r:1", "user", "message", 900, attached=(text, cut, picture))
    seen = ChatMessage(role=Role.USER, content="Look", images=(ImagePart(media_type="image/png", sha256="b" * 64),))
    assert request_text.item_facts(sent).endswith("3 attachments")
    assert request_text.item_text(sent, seen).splitlines()[:3] == [
        "[notes.txt, full text: 4 characters]",
        "[log, excerpt: 500 of 2,000 characters]",
        "[dot.png, image, 40 × 30 pixels]",
    ]
    assert "[dot.png, name only: this model cannot see images]" in request_text.item_text(
        sent, ChatMessage(role=Role.USER, content="Look")
    )


def test_tools_found_by_search_are_counted_with_the_cost_of_listing_them_all() -> None:
    request = SentRequest(summary(), (), (), None, 0.0, 1, 0, 1, (), (), searched_tools=84, searched_tokens=12_400)
    english = request_text.searched(request)
    assert english == "84 tools available through search instead of being listed (saves 12.4\u202fk tokens)"
    i18n.set_language("fr")
    french = request_text.searched(request)
    assert french == "84 outils accessibles par recherche au lieu d’être listés (économie\u00a0: 12,4\u202fk jetons)"
