"""Converts servers' requests for user input into questions.

Requests are untrusted: a form that asks for a secret is declined, as the protocol requires; an address is
shown, never fetched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import ValidationError

from atelier_desk.domain import limits
from atelier_desk.domain.elicitation_form import MOST_CHOICES, MOST_FIELDS, FieldKind, Form, FormChoice, FormField
from atelier_desk.domain.question import (
    ACCEPT,
    DECLINE,
    Asker,
    QuestionOption,
    QuestionSpec,
    QuestionType,
    SampledText,
    Sampling,
)
from atelier_desk.llm.secrets import redact
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestURLParams

MOST_SAMPLED = 100_000
"""Characters that a server may send to a model."""
LONGEST_URL = 4_000
"""Characters of an address that a person is asked to open."""
_FORMATS: tuple[Literal["email", "uri", "date", "date-time"], ...] = ("email", "uri", "date", "date-time")
_SECRET = re.compile(
    r"pass\W*(?:word|wd|phrase|code)|\bpwd\b|secret(?!ar)|api\W*key|(?:access|auth\w*|bearer|refresh|session|personal|security)\W*token"
    r"|^\W*token\W*$|private\W*key|credential|\bcvv2?\b|\bcvc\b|card\W*number|\bpin\b|\bssn\b|seed\W*phrase|one\W*time\W*code|\botp\b"
    r"|mot\W*(?:s\W*)?de\W*passe|cl[ée]\W*(?:d\W*api|api|priv[ée]e|secr[èe]te)|jeton\W*d|num[ée]ro\W*de\W*carte",
    re.IGNORECASE,
)


class UnsupportedRequest(Exception):
    """A request that nobody is asked; the text says why, in English.

    Attributes:
        declined: the request is valid but refused.
    """

    def __init__(self, why: str, *, declined: bool = False) -> None:
        super().__init__(why)
        self.declined = declined


def elicitation(
    params: ElicitRequestFormParams | ElicitRequestURLParams, server: str, *, key: str = "", live: bool = False
) -> QuestionSpec:
    """The question for a server's request for user input. Raises ``UnsupportedRequest``."""
    message = _message(params.message)
    if params.mode == "url":
        asker = Asker(server=server, key=key, live=live)
        return _spec(QuestionType.URL, message or _("Open a page?"), asker, url=address(params.url))
    form = form_of(params.requested_schema)
    for field in form.fields:
        if field.kind in (FieldKind.TEXT, FieldKind.NUMBER, FieldKind.INTEGER) and _secret(field.name, field.title):
            raise UnsupportedRequest(
                (
                    f"the form asks for a secret ({shorten(field.label, 60)}), which the protocol forbids: secrets are "
                    f"asked for by an address"
                ),
                declined=True,
            )
    texts = [field.about for field in form.fields if field.kind is FieldKind.TEXT]
    doubtful = bool(texts) and _secret(message, *texts)
    asker = Asker(server=server, key=key, live=live, doubtful=doubtful)
    return _spec(QuestionType.FORM, message or _("The server asks for this:"), asker, form=form)


def sampling(
    params: CreateMessageRequestParams, server: str, model: str, *, key: str = "", live: bool = False
) -> QuestionSpec:
    """The question whether a server may use a model. Raises ``UnsupportedRequest``."""
    if params.tools:
        raise UnsupportedRequest("models are asked without tools here")
    texts = []
    for message in params.messages:
        for block in message.content_as_list:
            if block.type != "text":
                raise UnsupportedRequest(f"a model is asked in text here, not with {block.type}")
        joined = "\n".join(getattr(block, "text", "") for block in message.content_as_list)
        texts.append(SampledText(role=message.role, text=joined))
    system = params.system_prompt or ""
    if sum(len(each.text) for each in texts) + len(system) > MOST_SAMPLED:
        raise UnsupportedRequest(f"a request to a model may have {MOST_SAMPLED} characters at most")
    temperature = params.temperature
    try:
        asked = Sampling(
            messages=tuple(texts),
            system=system,
            max_tokens=params.max_tokens,
            temperature=temperature if temperature is not None and math.isfinite(temperature) else None,
            stop=tuple(params.stop_sequences or ())[:4],
            model=model,
        )
    except ValidationError as error:
        raise UnsupportedRequest(f"the request to a model is not valid: {error.errors()[0]['msg']}") from None
    return _spec(
        QuestionType.SAMPLING,
        _("Let the server use a model?"),
        Asker(server=server, key=key, live=live),
        sampling=asked,
    )


def address(url: str) -> str:
    """Check an address that a person may be asked to open. Raises ``UnsupportedRequest``."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _port = parts.port
    except ValueError:
        raise UnsupportedRequest("its address cannot be read") from None
    if (
        parts.scheme not in ("http", "https")
        or not host
        or len(url) > LONGEST_URL
        or not url.isprintable()
        or " " in url
    ):
        raise UnsupportedRequest(
            f"its address cannot be opened: it must begin with http:// or https:// and have {LONGEST_URL} characters "
            f"at most"
        )
    if parts.username is not None or parts.password is not None:
        raise UnsupportedRequest(
            "its address names a user before the host, as addresses do that pretend to be others", declined=True
        )
    return url


def form_of(schema: Mapping[str, object]) -> Form:
    """The form of a flat schema with the protocol's field types. Raises ``UnsupportedRequest``."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or schema.get("type", "object") != "object":
        raise UnsupportedRequest("its form is no object with properties")
    if len(properties) > MOST_FIELDS:
        raise UnsupportedRequest(f"its form has {len(properties)} fields; {MOST_FIELDS} are allowed")
    required = schema.get("required")
    needed = {str(each) for each in required} if isinstance(required, list | tuple) else set()
    try:
        return Form(fields=tuple(_field(str(name), each, name in needed) for name, each in properties.items()))
    except ValidationError as error:
        raise UnsupportedRequest(f"its form is not valid: {error.errors()[0]['msg']}") from None


def _field(name: str, said: object, required: bool) -> FormField:
    if not isinstance(said, Mapping):
        raise UnsupportedRequest(f"the field {shorten(name, 60)} of its form has no schema")
    kind = said.get("type")
    fields: dict[str, Any] = {
        "name": name,
        "title": _line(said.get("title")),
        "about": shorten(redact(str(said.get("description") or "")), 1_000),
        "required": required,
        "default": said.get("default"),
    }
    items = said.get("items")
    if kind == "string" and (said.get("enum") is not None or said.get("oneOf") is not None):
        fields |= {"kind": FieldKind.CHOICE, "choices": _choices(name, said)}
    elif kind == "array" and isinstance(items, Mapping):
        fields |= {"kind": FieldKind.CHOICES, "choices": _choices(name, items)}
        fields |= {"least": _figure(said.get("minItems")), "most": _figure(said.get("maxItems"))}
    elif kind == "string":
        form = said.get("format")
        fields |= {"kind": FieldKind.TEXT, "format": form if form in _FORMATS else ""}
        fields |= {"shortest": _count(said.get("minLength")), "longest": _count(said.get("maxLength"))}
    elif kind in ("number", "integer"):
        fields |= {"kind": FieldKind(kind), "least": _figure(said.get("minimum")), "most": _figure(said.get("maximum"))}
    elif kind == "boolean":
        fields["kind"] = FieldKind.BOOLEAN
    else:
        raise UnsupportedRequest(
            f"the field {shorten(name, 60)} of its form is of a kind that forms do not have ({shorten(str(kind), 40)})"
        )
    return FormField(**fields)


def _choices(name: str, said: Mapping[str, Any]) -> tuple[FormChoice, ...]:
    titled = said.get("oneOf") if said.get("oneOf") is not None else said.get("anyOf")
    found = []
    if isinstance(titled, list | tuple):
        for each in titled:
            if isinstance(each, Mapping) and isinstance(each.get("const"), str):
                found.append(FormChoice(value=each["const"], title=_line(each.get("title")) or each["const"]))
    elif isinstance(said.get("enum"), list | tuple):
        names = said.get("enumNames")
        titles = list(names) if isinstance(names, list | tuple) else []
        for number, value in enumerate(each for each in said["enum"] if isinstance(each, str)):
            title = _line(titles[number]) if number < len(titles) else ""
            found.append(FormChoice(value=value, title=title or value))
    if not found or len(found) > MOST_CHOICES:
        raise UnsupportedRequest(
            f"the field {shorten(name, 60)} of its form has {len(found)} choices; 1 to {MOST_CHOICES} are allowed"
        )
    return tuple(found)


def _spec(kind: QuestionType, message: str, asker: Asker, **fields: Any) -> QuestionSpec:
    options = (QuestionOption(id=ACCEPT, label=_("Accepted")), QuestionOption(id=DECLINE, label=_("Declined")))
    return QuestionSpec(question=message, question_type=kind, options=options, asker=asker, **fields)


def _secret(*texts: str) -> bool:
    # Names have many spellings: apiKey, api_key, API-KEY.
    return any(_SECRET.search(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)) for text in texts if text)


def _message(text: str) -> str:
    return shorten(redact(text).strip(), limits.QUESTION)


def _line(text: object) -> str:
    return shorten(" ".join(redact(str(text)).split()), 256) if text else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _figure(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return value if usable and not math.isnan(value) else None
