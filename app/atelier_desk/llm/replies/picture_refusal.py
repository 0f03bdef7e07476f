"""Recognise errors of servers or models that accept no images, and errors without a known reason."""

from __future__ import annotations

import re

from atelier_desk.domain.errors import ProviderError

_CODES = frozenset({"bad_request", "not_found", "server_error"})
_WHAT = r"\b(?:input[_ ])?(images?|image[_ -]?(url|input|part|content)s?|pictures?|vision|multi-?modal)\b"
_WORDS = re.compile(
    # llama.cpp: 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj';
    # Mistral: 'Image input is not enabled for this model'; Google: 'Image input modality is not enabled for models/…'
    rf"{_WHAT}[^.]{{0,30}} (is|are|was|were) (not|un)[ -]?(supported|available|enabled|allowed|permitted)"
    # OpenAI: 'Invalid content type. image_url is only supported by certain models.'
    rf"|{_WHAT} (is|are) only (supported|available)"
    # Anthropic: 'this model does not support image input'; OpenRouter: 'No endpoints found that support image input'
    rf"|(does not|doesn't|do not|don't|not|cannot|can't) (support(ed)?|accept|take|process|read)[^.]{{0,30}}{_WHAT}"
    rf"|no (endpoints?|providers?)[^.]{{0,40}} support[^.]{{0,20}}{_WHAT}"
    # vLLM: '… is not a multimodal model'; 'At most 0 image(s) may be provided in one request.'
    r"|is not a multi-?modal|at most 0 image"
    # Ollama: 'this model is missing data required for image input'
    rf"|missing data required for {_WHAT}"
    rf"|unsupported[^.]{{0,30}}{_WHAT}"
    # DeepSeek: 'unknown variant `image_url`, expected `text`'
    rf"|unknown variant [`'\"]?{_WHAT}",
    re.IGNORECASE,
)
_OTHER = re.compile(
    (
        r"\b(too (large|big|many)|larger than|exceed|in size|uploaded|format|media[_ "
        r"]type|mime|decode|corrupt|damaged|base64|download)"
    ),
    re.IGNORECASE,
)
"""Messages about one image rather than images in general."""


def refuses_pictures(error: ProviderError) -> bool:
    """Whether an error says that this server, or model, accepts no images."""
    if error.code == "images":
        return True
    detail = str(error.params.get("detail", ""))
    return error.code in _CODES and _WORDS.search(detail) is not None and _OTHER.search(detail) is None


_UNEXPLAINED = frozenset({400, 412, 413, 422})
"""Status codes for requests refused because of their content; xAI uses 412 for too large images."""


def unexplained(error: ProviderError) -> bool:
    """Whether a request was refused without a known reason: possibly an image, or the length."""
    return error.code == "bad_request" and error.status in _UNEXPLAINED
