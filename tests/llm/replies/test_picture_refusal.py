"""Error messages of servers whose model accepts no images; they were seen at the servers named next to them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from atelier_desk.llm.error_conversion import ErrorLocation, response_error
from atelier_desk.llm.replies.picture_refusal import refuses_pictures


def error(status: int, text: str) -> Any:
    body = json.dumps({"error": {"message": text, "type": "invalid_request_error"}}).encode()
    return response_error(ErrorLocation("server", "model"), status, {}, body, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        # llama.cpp
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (400, "Image input is not enabled for this model"),  # Mistral
        (400, "Image input modality is not enabled for models/gemma-3-1b-it"),  # Google
        (400, "Invalid content type. image_url is only supported by certain models."),  # OpenAI
        (400, "Invalid content type. input_image is only supported by certain models."),  # OpenAI, Responses
        (404, "No endpoints found that support image input"),  # OpenRouter
        (400, "some/model is not a multimodal model"),  # vLLM
        (400, "At most 0 image(s) may be provided in one request."),  # vLLM
        (400, "this model is missing data required for image input"),  # Ollama
        (400, "This model does not support images"),
        (400, "Unsupported content: image_url"),
    ],
)
def test_refusals_of_images_are_recognised(status: int, text: str) -> None:
    assert refuses_pictures(error(status, text))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "temperature is not supported with this model"),
        (400, "The image is too large and cannot be processed: at most 20 MB are supported"),
        (400, "Unsupported image media_type: image/bmp"),
        (400, "Could not decode the image: unsupported image data"),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (401, "This key does not support images"),
        (429, "Rate limit reached; images are not available now"),
    ],
)
def test_other_errors_are_not(status: int, text: str) -> None:
    assert not refuses_pictures(error(status, text))
