"""Generate images and 3D models with configured services.

Supported are image endpoints in OpenAI's format, Tripo and Meshy.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import AtelierError, ProviderError, ToolError
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.domain.usage import Paying, uncounted
from atelier_desk.llm.network.http_client import HttpClient, RawBody, Timeouts
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.web.address import read
from atelier_desk.web.service_keys import credentials

if TYPE_CHECKING:
    from atelier_desk.web.checked_connections import Allowed
    from atelier_desk.web.page_fetcher import Web

PICTURE = 40 * 1024 * 1024
MODEL = 200 * 1024 * 1024
"""Bytes of a result."""
POLL_S = 5.0
WAIT_S = 20 * 60.0
"""Seconds after which an unfinished 3D model is abandoned."""
_IMAGE_WAIT = Timeouts(connect_s=15.0, call_s=240.0)
_TRIAL_WAIT = Timeouts(connect_s=10.0, call_s=20.0)
_MODEL_WAIT = Timeouts(connect_s=15.0, call_s=60.0)
SIZES = {"1:1": "1024x1024", "3:2": "1536x1024", "4:3": "1536x1024", "16:9": "1536x1024", "2:3": "1024x1536",
"3:4": "1024x1536",
         "9:16": "1024x1536"}  # fmt: skip
"""Sizes requested from the endpoint: OpenAI's own models support these three."""
_HEADS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp", b"GIF8": "image/gif"}
OnProgress = Callable[[int, bool], None]
"""``say(percent, stops)``: progress of a job, and whether stopping the call still stops it."""
_MISSED = 5
"""Consecutive status checks that may fail: the job is paid for and continues."""


def media_type(data: bytes) -> str:
    """Media type of an image by its first bytes; empty when unknown."""
    return next((kind for head, kind in _HEADS.items() if data.startswith(head)), "")


class MediaGenerator:
    """Calls the configured services; the settings may change at any time."""

    def __init__(self, vault: KeyVault, clock: Clock, web: Web) -> None:
        self._vault = vault
        self._clock = clock
        self._web = web
        self.settings = MediaSettings()

    def missing_for_images(self) -> str:
        """What must be configured for images, as text for the model; empty when nothing is missing."""
        if self.settings.images and self.settings.images_model:
            return ""
        return (
            "No service that generates images is set up. The user can enter the address and model of one in Settings, "
            "Images and 3D (atelier media images)."
        )

    def missing_for_models(self) -> str:
        """What must be configured for 3D models, as text for the model; empty when ready."""
        if self.settings.models != "off":
            return ""
        return (
            "No service that generates 3D models is set up. The user can choose Tripo or Meshy in Settings, "
            "Images and 3D (atelier media models)."
        )

    def models_by(self) -> str:
        """Display name of the service for 3D models."""
        return SERVICES[self.settings.models].title if self.settings.models in SERVICES else ""

    async def picture(self, prompt: str, ratio: str, paying: Paying | None = None) -> bytes:
        """Generate an image; ``paying`` accounts for its cost.

        Raises:
            ToolError: not configured, over a limit, or the service returns something else.
            ProviderError: the service cannot be reached, or refuses.
        """
        if lacking := self.missing_for_images():
            raise ToolError("{text}", code="not_configured", text=lacking)
        settings = self.settings
        async with _Service(
            self, "images", urlsplit(settings.images).netloc, settings.images, settings.images_key_env, _IMAGE_WAIT
        ) as service:
            payload = {"model": settings.images_model, "prompt": prompt, "n": 1, "size": SIZES[ratio]}
            name = urlsplit(settings.images).netloc
            async with (paying or uncounted)(name, settings.images_model, settings.images_price, "a picture"):
                answer = await service.json("POST", "/images/generations", payload)
        rows = answer.get("data") if isinstance(answer, dict) else None
        first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
        if isinstance(first.get("b64_json"), str):
            try:
                data = base64.b64decode(first["b64_json"], validate=True)
            except (binascii.Error, ValueError):
                data = b""
        else:
            data = await self._fetched(str(first.get("url") or ""), settings.images, PICTURE)
        if not media_type(data):
            raise ToolError(
                "The service that generates images answered something that is no picture. Try again.", code="bad_answer"
            )
        return data

    async def model(self, job: Job, say: OnProgress, paying: Paying | None = None) -> bytes:
        """Generate a 3D model (GLB): start the job, wait, and download it.

        ``paying`` accounts for its cost.

        Stopping the call stops the wait, and the job where the service allows it: Meshy while the job is
        queued, Tripo never.

        Raises:
            ToolError: not configured, failed, or timed out.
            ProviderError: the service cannot be reached, or refuses.
        """
        if lacking := self.missing_for_models():
            raise ToolError("{text}", code="not_configured", text=lacking)
        kind = SERVICES[self.settings.models]
        address = self.settings.models_address or kind.address
        async with (
            _Service(
                self, self.settings.models, kind.title, address, self.settings.models_key_env, _MODEL_WAIT
            ) as service,
            (paying or uncounted)(kind.title, "3D", self.settings.models_price, "a 3D model") as payment,
        ):
            page, task = await kind.begin(service, job)
            payment.accepted = True
            until = self._clock.monotonic() + WAIT_S
            state, missed = State(queued=True), 0
            try:
                while True:
                    try:
                        state, missed = kind.read(await service.json("GET", page)), 0
                    except ProviderError as error:
                        missed += 1
                        if missed > _MISSED or not error.recoverable:
                            raise
                    if state.url:
                        break
                    if state.failed:
                        raise ToolError(
                            "{service} could not make the model ({detail}).",
                            code="making",
                            service=kind.title,
                            detail=state.failed[:300],
                        )
                    if self._clock.monotonic() > until:
                        raise ToolError(
                            "{service} has not finished after {minutes} minutes: task {task}.",
                            code="web_timeout", service=kind.title, minutes=round(WAIT_S / 60), task=task,
                        )  # fmt: skip
                    say(min(95, state.percent), state.queued and kind.stops)
                    await self._clock.sleep(POLL_S)
            except asyncio.CancelledError:
                # Deleting a finished job would delete its model, which is paid for.
                if kind.stops and state.queued:
                    payment.returned = await _stopped(service, page)
                raise
            return await self._fetched(state.url, address, MODEL)

    async def knows_model(self) -> bool | None:
        """Whether the images endpoint lists its model; None when it lists none. Free of charge.

        Raises:
            ToolError: not configured.
            ProviderError: the service cannot be reached, or refuses the key.
        """
        if lacking := self.missing_for_images():
            raise ToolError("{text}", code="not_configured", text=lacking)
        settings = self.settings
        async with _Service(
            self, "images", urlsplit(settings.images).netloc, settings.images, settings.images_key_env, _TRIAL_WAIT
        ) as service:
            answer = await service.json("GET", "/models")
        rows = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(rows, list) or not rows:
            return None
        return any(isinstance(row, dict) and row.get("id") == settings.images_model for row in rows)

    async def balance(self) -> float | None:
        """Remaining credits at the 3D service; None when unknown. Raises like ``knows_model``."""
        if lacking := self.missing_for_models():
            raise ToolError("{text}", code="not_configured", text=lacking)
        kind, settings = SERVICES[self.settings.models], self.settings
        address = settings.models_address or kind.address
        async with _Service(
            self, settings.models, kind.title, address, settings.models_key_env, _TRIAL_WAIT
        ) as service:
            answer = await service.json("GET", kind.balance)
        inner = answer.get("data", answer) if isinstance(answer, dict) else None
        left = inner.get("balance") if isinstance(inner, dict) else None
        return float(left) if isinstance(left, int | float) and left == left and abs(left) < 1e15 else None

    async def _fetched(self, url: str, service: str, most: int) -> bytes:
        """Download a result from the service's own host or a public one."""
        async with self._web.client(_only(service)) as client:
            answer = await client.get(read(url), most=most, seconds=120.0)
        if answer.status != 200 or answer.cut or answer.elsewhere:
            raise ToolError("The result cannot be fetched from {host}.", code="bad_answer", host=answer.address.host)
        return answer.body


def _only(address: str) -> Allowed:
    """Allow only the configured service in the own network."""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return lambda host, at: (host, at) == ((parts.hostname or "").lower(), port)


class _Service:
    """One service during one job."""

    def __init__(
        self, maker: MediaGenerator, name: str, title: str, address: str, key_env: str, timeouts: Timeouts
    ) -> None:
        vault, clock = maker._vault, maker._clock
        # A local image server often needs no key; others report it when they do.
        key = credentials(vault, name, title, key_env, "authorization", "Bearer ", needed=name != "images")
        self._http = HttpClient(address, provider=title, clock=clock, credentials=key, timeouts=timeouts)
        self.json: Callable[..., Awaitable[object]] = self._http.json

    async def __aenter__(self) -> _Service:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.aclose()


async def _stopped(service: _Service, page: str) -> bool:
    """Cancel a job at its service; whether it was accepted.

    A failure is not an error of the call.
    """
    try:
        async with asyncio.timeout(5):
            await service.json("DELETE", page)
    except (AtelierError, TimeoutError, asyncio.CancelledError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Job:
    """Input for a 3D model: text, or one to four images (front, then left, back, right)."""

    prompt: str = ""
    pictures: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class State:
    percent: int = 0
    url: str = ""
    failed: str = ""
    queued: bool = False


@dataclass(frozen=True, slots=True)
class ModelService:
    """A service that generates 3D models.

    Attributes:
        begin: starts a job; returns its status page and id.
        read: parses the status page.
        stops: a DELETE of the status page cancels a queued job and refunds it (Meshy). Later the job
            continues.
        balance: page with the account's credits, which tests a key free of charge.
    """

    title: str
    address: str
    begin: Callable[[_Service, Job], Awaitable[tuple[str, str]]]
    read: Callable[[object], State]
    balance: str
    stops: bool = False


async def _tripo(service: _Service, job: Job) -> tuple[str, str]:
    if job.pictures:
        files = [
            {"type": media_type(each).removeprefix("image/"), "file_token": await _upload(service, each)}
            for each in job.pictures
        ]
        padded: list[dict[str, str]] = [*files, *({} for _missing in range(4 - len(files)))]
        payload: dict[str, object] = {"type": "image_to_model", "file": files[0]}
        if len(files) > 1:
            payload = {"type": "multiview_to_model", "files": padded}
    else:
        payload = {"type": "text_to_model", "prompt": job.prompt}
    task = _text(await service.json("POST", "/task", payload), "data", "task_id")
    return f"/task/{task}", task


async def _upload(service: _Service, picture: bytes) -> str:
    kind = media_type(picture)
    mark = f"atelier{uuid.uuid4().hex}"
    name = f"picture.{kind.removeprefix('image/')}"
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'
    body = RawBody(head.encode() + picture + f"\r\n--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}")
    return _text(await service.json("POST", "/upload", body), "data", "image_token")


def _tripo_state(said: object) -> State:
    data = said.get("data") if isinstance(said, dict) else None
    data = data if isinstance(data, dict) else {}
    status = str(data.get("status") or "")
    output = data.get("output")
    output = output if isinstance(output, dict) else {}
    if status == "success":
        url = str(output.get("pbr_model") or output.get("model") or output.get("base_model") or "")
        return State(100, url, "" if url else "no model in the answer")
    over = status not in ("queued", "running")
    return State(
        _percent(data.get("progress")), failed=(status or "no status") if over else "", queued=status == "queued"
    )


async def _meshy(service: _Service, job: Job) -> tuple[str, str]:
    uris = [f"data:{media_type(each)};base64,{base64.b64encode(each).decode()}" for each in job.pictures]
    if len(uris) > 1:
        path, payload = "/v1/multi-image-to-3d", dict[str, Any](image_urls=uris)
    elif uris:
        path, payload = "/v1/image-to-3d", dict[str, Any](image_url=uris[0])
    else:
        path, payload = "/v2/text-to-3d", dict[str, Any](mode="preview", prompt=job.prompt)
    task = _text(await service.json("POST", path, payload), "result")
    return f"{path}/{task}", task


def _meshy_state(said: object) -> State:
    data = said if isinstance(said, dict) else {}
    status = str(data.get("status") or "")
    if status == "SUCCEEDED":
        urls = data.get("model_urls")
        url = str(urls.get("glb") or "") if isinstance(urls, dict) else ""
        return State(100, url, "" if url else "no model in the answer")
    error = data.get("task_error")
    detail = str(error.get("message") or "") if isinstance(error, dict) else ""
    over = status not in ("PENDING", "IN_PROGRESS")
    failed = (detail or status or "no status") if over else ""
    return State(_percent(data.get("progress")), failed=failed, queued=status == "PENDING")


def _percent(said: object) -> int:
    return max(0, min(100, int(said))) if isinstance(said, int | float) and said == said else 0


def _text(said: object, *names: str) -> str:
    """A value of an answer that becomes part of an address: letters, digits and dashes only."""
    for name in names:
        said = said.get(name) if isinstance(said, dict) else None
    word = str(said or "")
    if not word or not all(each.isalnum() or each in "-_." for each in word) or len(word) > 2_000:
        raise ToolError("The service answers without the number of its task. Try again.", code="bad_answer")
    return word


SERVICES = {
    "tripo": ModelService("Tripo", "https://api.tripo3d.ai/v2/openapi", _tripo, _tripo_state, "/user/balance"),
    "meshy": ModelService("Meshy", "https://api.meshy.ai/openapi", _meshy, _meshy_state, "/v1/balance", stops=True),
}
