"""Google's Gemini API, and compatible servers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.domain.provider import KeyStyle, ModelInfo
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.google import message_conversion
from atelier_desk.llm.google.parser import ContentParser
from atelier_desk.llm.google.request_options import Takes, thinking, thinking_support
from atelier_desk.llm.http_provider import REFUSAL_STATUSES, HttpProvider
from atelier_desk.llm.model_assumptions import is_embedder_name, merge_profile, profile
from atelier_desk.llm.network.proxy_and_certificates import checked_base_url
from atelier_desk.llm.provider_type_registry import is_own
from atelier_desk.llm.replies.assembly import StreamParser
from atelier_desk.llm.replies.provider_data import needs_provider_data
from atelier_desk.llm.replies.typed_json_fields import flag, positive, string_of

DEFAULT_URL = "https://generativelanguage.googleapis.com/v1beta"
HOTTEST = 2.0
"""Maximum temperature of the API."""
MOST_STOPS = 5
MOST_PAGES, PAGE = 20, 1000
"""Maximum pages of models, and models per page."""
_VERSION_PATH = re.compile(r"/v\d+(alpha|beta)?\d*$")
_TAIL = re.compile(r"(/openai)?(/chat/completions)?(/models(/[^/]*)?)?$")
"""Endings that people leave on an address, including Google's OpenAI-compatible one."""
_TOO_LONG = re.compile(
    r"maxOutputTokens value of (\d+) but the supported range is from 1 \(inclusive\) to (\d+) \(exclusive\)"
)
_LEVEL = re.compile(r"thinking level (minimal|low|medium|high) is not supported", re.IGNORECASE)
_NO_TEXT = re.compile(r"-(tts|image|live|native-audio)(-|$)")
"""Models that answer only in audio or images."""
# Patterns of the API's messages, and the field to omit then; the first one that was sent applies.
_NOT_WITH_TOOLS = re.compile(r"function calling with a response mime type", re.IGNORECASE)
SCHEMA_WITH_TOOLS = "responseJsonSchema with tools"
"""Marks a model that refuses a response schema together with tools. It accepts one without."""
_KNOWN_REFUSALS = (
    (r"developer instruction|system[_ ]?instruction", "systemInstruction"),
    (r"json mode|response[_ ]?mime|response[_ ]?(json[_ ]?)?schema", "responseJsonSchema"),
    (r"thinking[_ ]?level", "thinkingLevel"),
    (r"include[_ ]?thoughts", "includeThoughts"),
    (r"budget", "thinkingBudget"),
    (r"\bthinking|\bthoughts?\b", "thinkingConfig"),
    (r"stop[_ ]?sequence", "stopSequences"),
    (r"\bseed\b", "seed"),
    (r"\btemperature\b", "temperature"),
)


class GoogleProvider(HttpProvider):
    """Chat with Gemini.

    Refused reasoning options, reply lengths and other fields are omitted from then on; for a model without system
    prompts, it is prepended to the first message.
    """

    kind = "google"
    chat_path = "/models/{model}:streamGenerateContent?alt=sse"

    def __init__(self, *given: Any, **options: Any) -> None:
        """See ``HttpProvider``."""
        super().__init__(*given, **options)
        self._longest: dict[str, int] = {}
        self._thinks: dict[str, bool] = {}

    @staticmethod
    def base_url(configured: str) -> str:
        """Add ``/v1beta`` if no version is present, and remove page endings."""
        url = _TAIL.sub("", checked_base_url(configured or DEFAULT_URL))
        return url if _VERSION_PATH.search(urlsplit(url).path) else f"{url}/v1beta"

    def usual_key_style(self) -> KeyStyle:
        return KeyStyle.X_GOOG_API_KEY

    def chat_page(self, model: str) -> str:
        return _page(model, "streamGenerateContent?alt=sse")

    def payload(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, object]:
        known = thinking_support(request.model) if self._thinks.get(request.model) is not False else Takes()
        system, conversation = message_conversion.contents(request.messages, signed=known.signs)
        if "systemInstruction" in refused and system:
            first = conversation[0]
            conversation[0] = {**first, "parts": [{"text": system}, *first["parts"]]}
            system = ""
        longest = self._longest.get(request.model) or profile(self.kind, request.model).max_output or request.max_tokens
        max_tokens = min(request.max_tokens, longest)
        generation: dict[str, object] = {
            "maxOutputTokens": max_tokens,
            "temperature": request.temperature_up_to(HOTTEST) if known.temperature else None,
            "stopSequences": [text for text in request.stop if text][:MOST_STOPS] or None,
            "seed": request.seed,
            "thinkingConfig": thinking(request, known, refused, max_tokens),
        }
        alone = not request.tools or SCHEMA_WITH_TOOLS not in refused
        if request.response_schema is not None and "responseJsonSchema" not in refused and alone:
            generation |= {"responseMimeType": "application/json", "responseJsonSchema": request.response_schema}
        return {
            "contents": conversation,
            **({"systemInstruction": {"parts": [{"text": system}]}} if system.strip() else {}),
            **({"tools": declared} if (declared := message_conversion.tools(request)) else {}),
            "generationConfig": {
                field: value for field, value in generation.items() if value is not None and field not in refused
            },
        }

    def refused_fields(self, payload: dict[str, Any], error: ProviderError) -> set[str]:
        """Also return levels and budgets of reasoning, and the maximum reply length with its number."""
        if error.status not in REFUSAL_STATUSES or error.code != "bad_request" or needs_provider_data(error):
            return set()
        detail = str(error.params.get("detail", ""))
        generation = payload["generationConfig"]
        most = _TOO_LONG.search(detail)
        if most is not None and generation["maxOutputTokens"] >= int(most[2]) > 1:
            self._longest[str(error.params["model"])] = int(most[2]) - 1
            return {f"maxOutputTokens {most[2]}"}
        if level := _LEVEL.search(detail):
            return {f"level {level[1].lower()}"}
        if "tools" in payload and "responseJsonSchema" in generation and _NOT_WITH_TOOLS.search(detail):
            return {SCHEMA_WITH_TOOLS}
        thought = generation.get("thinkingConfig", {})
        if thought.get("thinkingBudget") == 0 and "budget" in detail.lower():
            return {"budget 0"}
        sent = {*payload, *generation, *thought}
        return next(
            ({field} for said, field in _KNOWN_REFUSALS if field in sent and re.search(said, detail, re.IGNORECASE)),
            set(),
        )

    def parser(self, request: ChatRequest, where: ErrorLocation) -> StreamParser:
        return ContentParser(request, where)

    async def embeddings(self, payload: dict[str, Any], model: str) -> tuple[object, int | None]:
        """See ``HttpProvider.embeddings``."""
        resource = _resource(model)
        asked = [{"model": resource, "content": {"parts": [{"text": text}]}} for text in payload["input"]]
        answer = await self.http.json("POST", _page(model, "batchEmbedContents"), {"requests": asked}, model=model)
        return [item.get("values") for item in self.items(answer, "embeddings")], None

    async def read_models(self, get: Callable[[str, str], Awaitable[object]]) -> list[ModelInfo]:
        """Read all pages of ``GET /models``: text models and embedders."""
        found: dict[str, ModelInfo] = {}
        token = ""
        for _page_number in range(MOST_PAGES):
            query = urlencode({"pageSize": PAGE, **({"pageToken": token} if token else {})})
            answer = await get("GET", f"/models?{query}")
            infos = [info for item in self.items(answer, "models", "name") if (info := self._info(item)) is not None]
            fresh = [info for info in infos if info.name not in found]
            found |= {info.name: info for info in fresh}
            token = string_of(answer, "nextPageToken") if isinstance(answer, dict) else ""
            if not (fresh and token):
                break
        return [merge_profile(self.kind, info, own=is_own(self.config)) for info in found.values()]

    def _info(self, item: dict[str, object]) -> ModelInfo | None:
        name = string_of(item, "name").removeprefix("models/")
        methods = item.get("supportedGenerationMethods")
        embedding = "embedContent" in methods if isinstance(methods, list) else is_embedder_name(name)
        chat = "generateContent" in methods if isinstance(methods, list) else not embedding
        if not name or not (chat or embedding) or _NO_TEXT.search(name):
            return None
        label, thinks = string_of(item, "displayName"), flag(item.get("thinking"))
        window, longest = (positive(item.get(f"{way}TokenLimit")) for way in ("input", "output"))
        if longest and chat:
            self._longest[name] = longest
        if thinks is not None:
            self._thinks[name] = thinks
        return ModelInfo(
            provider=self.name,
            name=name,
            label=label if label != name else "",
            context_window=window,
            max_output_tokens=longest if chat else None,
            supports_thinking=thinks,
            embedding=embedding and not chat,
            source="server" if window else "assumed",
        )


def _resource(model: str) -> str:
    """Return a model's resource name; tuned models have another prefix."""
    return model if "/" in model else f"models/{model}"


def _page(model: str, method: str) -> str:
    return f"/{quote(_resource(model))}:{method}"
