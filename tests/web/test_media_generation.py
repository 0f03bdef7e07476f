"""Image and 3D generation services, with servers that answer as they do."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.web import media_generation
from atelier_desk.web.media_generation import POLL_S, Job, MediaGenerator
from atelier_desk.web.page_fetcher import Web
from atelier_desk.web.service_keys import entry
from tests.helpers.fake_websites import Asked, Reply, Sites
from tests.helpers.manual_clock import ManualClock

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
GLB = b"glTF\x02\0\0\0rest"
JSON = {"content-type": "application/json"}


def answer(said: Any, status: int = 200) -> Reply:
    return Reply(json.dumps(said).encode(), status, JSON)


class Polls(ManualClock):
    """The waits between two checks end at once and are counted; all others never end."""

    def __init__(self) -> None:
        super().__init__()
        self.polls = 0

    async def sleep(self, seconds: float) -> None:
        if seconds != POLL_S:
            await super().sleep(seconds)
        self.polls += 1
        self._elapsed += seconds
        await asyncio.sleep(0)


@pytest.fixture
def polls() -> Polls:
    return Polls()


@pytest.fixture
def make(web: Web, polls: Polls, served: Sites) -> Callable[..., MediaGenerator]:
    def made(**settings: Any) -> MediaGenerator:
        vault = KeyVault(session=True)
        for name in ("images", "tripo", "meshy"):
            vault.set(entry(name), "sesame-123")
        maker = MediaGenerator(vault, polls, web)
        maker.settings = MediaSettings.model_validate(settings)
        return maker

    return made


@pytest.fixture
def here(served: Sites) -> str:
    return f"127.0.0.1:{served.port}"


async def test_an_image_is_returned_inline_or_by_its_address(
    make: Callable[..., MediaGenerator], served: Sites, here: str
) -> None:
    maker = make(images=f"http://{here}/v1", images_model="painter")
    served.pages[f"{here}/v1/images/generations"] = answer({"data": [{"b64_json": base64.b64encode(PNG).decode()}]})
    assert await maker.picture("a cat", "3:2") == PNG
    asked = served.asked[-1]
    assert json.loads(asked.headers["body"]) == {"model": "painter", "prompt": "a cat", "n": 1, "size": "1536x1024"}
    assert asked.headers["authorization"] == "Bearer sesame-123"
    served.pages[f"{here}/v1/images/generations"] = answer({"data": [{"url": f"http://{here}/x.png"}]})
    served.pages[f"{here}/x.png"] = Reply(PNG)
    assert await maker.picture("a cat", "1:1") == PNG


async def test_a_private_image_server_needs_no_key(
    make: Callable[..., MediaGenerator], served: Sites, here: str
) -> None:
    maker = make(images=f"http://{here}/v1", images_model="painter")
    maker._vault.delete(entry("images"))
    served.pages[f"{here}/v1/images/generations"] = answer({"data": [{"b64_json": base64.b64encode(PNG).decode()}]})
    assert await maker.picture("a cat", "1:1") == PNG
    assert "authorization" not in served.asked[-1].headers
    served.pages[f"{here}/v1/models"] = answer({"error": "a key, please"}, 401)
    with pytest.raises(ProviderError) as caught:
        await maker.knows_model()
    assert caught.value.code == "auth"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"data": [{"b64_json": "bm8gcGljdHVyZQ=="}]}, "bad_answer"),
        ({"data": [{"b64_json": "%%%"}]}, "bad_answer"),
        ({"data": []}, "bad_address"),
        ({"data": [{"url": "http://169.254.169.254/x.png"}]}, "own_network"),
        ({"data": [{"url": "http://127.0.0.1:1/x.png"}]}, "own_network"),
        ({"data": [{"url": "file:///etc/passwd"}]}, "bad_address"),
    ],
)
async def test_an_answer_that_is_no_image_is_refused(
    make: Callable[..., MediaGenerator], served: Sites, here: str, said: Any, code: str
) -> None:
    served.pages[f"{here}/v1/images/generations"] = answer(said)
    with pytest.raises(ToolError) as failed:
        await make(images=f"http://{here}/v1", images_model="painter").picture("a cat", "1:1")
    assert failed.value.code == code


async def test_a_refused_key_is_reported_without_the_key(
    make: Callable[..., MediaGenerator], served: Sites, here: str
) -> None:
    served.pages[f"{here}/v1/images/generations"] = answer({"error": {"message": "sesame-123 is no good"}}, 401)
    with pytest.raises(ProviderError) as failed:
        await make(images=f"http://{here}/v1", images_model="painter").picture("a cat", "1:1")
    assert (failed.value.code, "sesame-123" in str(failed.value)) == ("auth", False)


async def test_tripo_gets_an_image_and_is_polled_until_the_model_is_ready(
    make: Callable[..., MediaGenerator], served: Sites, here: str, polls: Polls
) -> None:
    states = iter([("queued", 0), ("running", 40), ("success", 100)])

    def task(asked: Asked) -> Reply:
        status, progress = next(states)
        output = {"pbr_model": f"http://{here}/m.glb"} if status == "success" else {}
        return answer({"code": 0, "data": {"task_id": "t-1", "status": status, "progress": progress, "output": output}})

    served.pages[f"{here}/upload"] = answer({"code": 0, "data": {"image_token": "tok"}})
    served.pages[f"{here}/task"] = answer({"code": 0, "data": {"task_id": "t-1"}})
    served.pages[f"{here}/task/t-1"] = task
    served.pages[f"{here}/m.glb"] = Reply(GLB)
    said: list[tuple[int, bool]] = []
    maker = make(models="tripo", models_address=f"http://{here}")
    assert await maker.model(Job(pictures=(PNG,)), lambda *told: said.append(told)) == GLB
    assert (said, polls.polls) == ([(0, False), (40, False)], 2)
    order = next(json.loads(each.headers["body"]) for each in served.asked if each.target == "/task")
    assert order == {"type": "image_to_model", "file": {"type": "png", "file_token": "tok"}}
    upload = next(each for each in served.asked if each.target == "/upload")
    assert "multipart/form-data" in upload.headers["content-type"]
    assert 'name="file"; filename="picture.png"' in upload.headers["body"]


async def test_meshy_generates_a_model_from_text_or_reports_the_reason(
    make: Callable[..., MediaGenerator], served: Sites, here: str
) -> None:
    maker = make(models="meshy", models_address=f"http://{here}")
    served.pages[f"{here}/v2/text-to-3d"] = answer({"result": "m1"}, 202)
    served.pages[f"{here}/v2/text-to-3d/m1"] = answer(
        {"status": "SUCCEEDED", "progress": 100, "model_urls": {"glb": f"http://{here}/m.glb"}}
    )
    served.pages[f"{here}/m.glb"] = Reply(GLB)
    assert await maker.model(Job("a horse"), lambda *_: None) == GLB
    served.pages[f"{here}/v2/text-to-3d/m1"] = answer({"status": "FAILED", "task_error": {"message": "too vague"}})
    with pytest.raises(ToolError) as failed:
        await maker.model(Job("a horse"), lambda *_: None)
    assert "too vague" in str(failed.value)
    served.pages[f"{here}/v2/text-to-3d"] = answer({"result": "../../secrets"})
    with pytest.raises(ToolError) as lied:
        await maker.model(Job("a horse"), lambda *_: None)
    assert lied.value.code == "bad_answer"


@pytest.mark.parametrize(
    ("service", "status", "told", "last"),
    [("meshy", "PENDING", True, "DELETE"), ("meshy", "IN_PROGRESS", False, "GET"), ("tripo", "queued", False, "GET")],
)
async def test_stopping_the_call_cancels_a_queued_job_where_the_service_supports_it(
    make: Callable[..., MediaGenerator], served: Sites, here: str, service: str, status: str, told: bool, last: str
) -> None:
    begun = asyncio.Event()
    said: list[bool] = []

    def say(percent: int, stops: bool) -> None:
        said.append(stops)
        begun.set()

    served.pages[f"{here}/v2/text-to-3d"] = answer({"result": "m1"}, 202)
    served.pages[f"{here}/task"] = answer({"code": 0, "data": {"task_id": "m1"}})
    served.pages[f"{here}/v2/text-to-3d/m1"] = answer({"status": status, "progress": 10})
    served.pages[f"{here}/task/m1"] = answer({"data": {"status": status, "progress": 10}})
    maker = make(models=service, models_address=f"http://{here}")
    work = asyncio.create_task(maker.model(Job("a horse"), say))
    await begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert (said[0], served.methods[-1]) == (told, last)
    polled = len(served.asked)
    await asyncio.sleep(0)
    assert len(served.asked) == polled


async def test_a_paid_job_survives_temporary_server_errors(
    make: Callable[..., MediaGenerator], served: Sites, here: str
) -> None:
    states = iter(
        [
            answer({}, 503),
            answer({}, 500),
            answer({"status": "SUCCEEDED", "model_urls": {"glb": f"http://{here}/m.glb"}}),
        ]
    )
    served.pages[f"{here}/v2/text-to-3d"] = answer({"result": "m1"}, 202)
    served.pages[f"{here}/v2/text-to-3d/m1"] = lambda asked: next(states)
    served.pages[f"{here}/m.glb"] = Reply(GLB)
    maker = make(models="meshy", models_address=f"http://{here}")
    assert await maker.model(Job("a horse"), lambda *_: None) == GLB
    served.pages[f"{here}/v2/text-to-3d/m1"] = answer({}, 503)
    with pytest.raises(ProviderError):
        await maker.model(Job("a horse"), lambda *_: None)
    assert "DELETE" not in served.methods


async def test_the_connection_test_of_a_service_costs_nothing(
    make: Callable[..., MediaGenerator], served: Sites, here: str
) -> None:
    served.pages[f"{here}/models"] = answer({"data": [{"id": "painter"}]})
    served.pages[f"{here}/user/balance"] = answer({"code": 0, "data": {"balance": 12.5, "frozen": 0}})
    served.pages[f"{here}/v1/balance"] = answer({"balance": 1000})
    maker = make(images=f"http://{here}", images_model="painter", models="tripo", models_address=f"http://{here}")
    assert (await maker.knows_model(), await maker.balance()) == (True, 12.5)
    maker = make(images=f"http://{here}", images_model="other", models="meshy", models_address=f"http://{here}")
    assert (await maker.knows_model(), await maker.balance()) == (False, 1000.0)
    unreadable: tuple[object, ...] = ({"data": []}, [], {"data": "many"})
    for said in unreadable:
        served.pages[f"{here}/models"] = served.pages[f"{here}/v1/balance"] = answer(said)
        assert (await maker.knows_model(), await maker.balance()) == (None, None)
    assert set(served.methods) == {"GET"}
    with pytest.raises(ToolError):
        await make().balance()


async def test_a_job_that_never_finishes_is_abandoned(
    make: Callable[..., MediaGenerator], served: Sites, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_generation, "WAIT_S", 60.0)
    served.pages[f"{here}/v2/text-to-3d"] = answer({"result": "m1"}, 202)
    served.pages[f"{here}/v2/text-to-3d/m1"] = answer({"status": "IN_PROGRESS", "progress": 10})
    with pytest.raises(ToolError) as failed:
        await make(models="meshy", models_address=f"http://{here}").model(Job("a horse"), lambda *_: None)
    assert "not finished after 1 minutes" in str(failed.value)


async def test_missing_settings_are_named(make: Callable[..., MediaGenerator]) -> None:
    maker = make()
    assert (
        "Settings, Images and 3D" in maker.missing_for_images(),
        "Tripo or Meshy" in maker.missing_for_models(),
    ) == (True, True)
    with pytest.raises(ToolError) as failed:
        await maker.model(Job("x"), lambda *_: None)
    assert failed.value.code == "not_configured"
