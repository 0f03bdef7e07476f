"""The shipped list of hosted models, built from a checkout of the models.dev repository."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

from atelier_desk.llm.model_catalogue import ListedModel, ModelList

Load = Callable[[str], ModuleType]
BASE = """
name = "Large"
reasoning = true
tool_call = true
[limit]
context = 200_000
input = 150_000
output = 64_000
[modalities]
input = ["text", "image"]
output = ["text"]
"""
OWN = """
base_model = "maker/large"
base_model_omit = ["limit.output", "limit.nothing", "reasoning"]
[cost]
input = 3
output = 15.5
[limit]
context = 100_000
"""
PLAIN = """
tool_call = false
[modalities]
input = ["text"]
output = ["text"]
"""
NONE = ModelList(date(2026, 1, 1), {})


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in (
        ("models/maker/large.toml", BASE),
        ("providers/groq/models/maker/large.toml", OWN),
        ("providers/groq/models/plain.toml", PLAIN),
        ("providers/nobody-knows/models/broken.toml", "= ="),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@b.c"]
    day = "2026-11-20T12:00:00+0000"
    for order in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x", "--date", day]):
        subprocess.run(
            [*git, *order], check=True, env={"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_COMMITTER_DATE": day}
        )
    return tmp_path


def test_a_checkout_becomes_the_list(load: Load, checkout: Path) -> None:
    made = load("model_list").build_list(checkout, NONE)
    assert (made.day, made.count) == (date(2026, 11, 20), 2)
    assert made.models["groq"] == {
        "maker/large": ListedModel(100_000, None, 3.0, 15.5, True, True, None),
        "plain": ListedModel(None, None, None, None, False, False, None),
    }


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (ModelList(date(2026, 11, 21), {}), "pull the repository first"),
        (
            ModelList(date(2026, 1, 1), {"groq": dict.fromkeys("abcdefgh", ListedModel(*[None] * 7))}),
            "Only 2 models were found where 8",
        ),
    ],
)
def test_an_older_or_halved_list_is_refused(load: Load, checkout: Path, before: ModelList, why: str) -> None:
    model_list = load("model_list")
    with pytest.raises(model_list.Unusable, match=why):
        model_list.build_list(checkout, before)


def test_a_folder_that_is_no_checkout_is_refused_and_the_list_unchanged(
    load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model_list = load("model_list")
    before = model_list.SHIPPED.read_bytes()
    assert (model_list.main([""]), model_list.main([str(tmp_path)])) == (2, 1)
    (tmp_path / "providers/groq/models").mkdir(parents=True)
    (tmp_path / "providers/groq/models/a.toml").write_text("= =")
    assert model_list.main([str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert all(
        words in said for words in ("make models FROM=FOLDER", "has no folder providers", "a.toml cannot be read")
    )
    assert model_list.SHIPPED.read_bytes() == before
