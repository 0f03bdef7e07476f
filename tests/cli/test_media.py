"""``atelier media``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from atelier_desk.cli.command_arguments import media
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.web.media_generation import SERVICES
from tests.cli.conftest import Cli
from tests.helpers.servers.threaded_http import Handler, serving


class Service(Handler):
    """An images endpoint and Meshy in one, with one key."""

    def do_GET(self) -> None:
        right = self.headers.get("authorization") == "Bearer right-key"
        said = {"/models": {"data": [{"id": "painter"}]}, "/v1/balance": {"balance": 1_200}}.get(self.path, {})
        self.answer_json(200 if right else 401, said if right else {"error": {"message": "bad key"}})


@pytest.fixture
def server() -> Iterator[str]:
    with serving(Service) as place:
        yield f"http://{place}"


def test_services_are_set_up_tested_and_removed(cli: Cli, server: str) -> None:
    environ: dict[str, str] = {}
    vault = {"vault": KeyVault(environ=environ)}
    for words, why in (
        (("test", "images"), "No image generation service"),
        (("test", "models"), "No 3D generation service"),
        (("images", "ftp://x", "painter"), "images"),
        (("images", "https://x.org:99999", "painter"), "images"),
        (("images", "https://x.org", "p", "--api-key-env", "two words"), "images_key_env"),
        (("describe", "nobody/model"), "no provider nobody"),
        (("describe", "model"), "PROVIDER/MODEL"),
        (("models", "sculptor"), "sculptor"),
    ):
        refused = cli("media", *words)
        assert (refused.status != 0, why in refused.err) == (True, True), refused.err
    assert "Aucun service de génération d’images" in cli("--lang", "fr", "media", "test", "images").err
    assert "Aucun service de génération de modèles 3D" in cli("--lang", "fr", "media", "test", "models").err
    assert "aucun." in cli("--lang", "fr", "media", "describe", "nobody/model").err
    assert cli("media", "list", "--json").json["images"] == "", "nothing of it is stored"
    assert "painter" in cli("media", "images", f"{server}/", "painter", "--api-key-env", "A_KEY").out
    keyless = cli("media", "test", "images", options=vault)
    assert (keyless.status, "A_KEY" in keyless.err, "service-" in keyless.err) == (1, True, False), keyless.err
    environ["A_KEY"] = "right-key"
    said = cli("media", "test", "images", options=vault)
    assert said.out == "The service answers and offers painter.\n", said.err
    assert (
        cli("media", "models", "meshy", "--address", server, "--api-key-env", "A_KEY", "--json").json["models"]
        == "meshy"
    )
    assert (
        cli("media", "test", "models", options=vault).out
        == "The service answered and accepted the key. Credits left: 1,200.\n"
    )
    cli("media", "images", server, "other", "--api-key-env", "A_KEY")
    absent = cli("media", "test", "images", "--json", options=vault)
    assert (absent.status, absent.json["model_listed"]) == (1, False)
    environ["A_KEY"] = "wrong-key"
    refused = cli("media", "test", "models", options=vault)
    assert (refused.status, "wrong-key" in refused.err + refused.out) == (1, False)
    for what in ("images", "models", "describe"):
        assert cli("media", "remove", what).status == 0
    assert cli("media", "list", "--json").json == {
        "sees": "", "images": "", "images_model": "", "images_key_env": "", "models": "off", "models_address": "",
        "models_key_env": "",
        "images_price": None, "models_price": None, "keys": [],
    }  # fmt: skip


def test_the_grammar_lists_all_services() -> None:
    assert tuple(SERVICES) == media.SERVICES
