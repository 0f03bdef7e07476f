"""Search by description: functions found by their docstring, which was removed before indexing.

    python -m tests.bench.bench_code_search_accuracy [--repository FOLDER ...] [--whole] [--model FOLDER] [--misses N]
        [--json FILE]

150 functions of each repository are drawn (``docstring_questions`` says which docstrings are questions). Each is
searched for twice: ``sentence`` is the first sentence of its docstring, ``docstring`` all of it but its examples.
``alone``: the index has only the 150 functions, each in a file of its own, inside its class or other container.
``whole``: the index has all scopes of the repository (tests, classes and overloads too), with no function documented.
``hit_at_1`` is the share found first, ``telling`` the same for questions with at least five words that are not stop
words. ``--model`` replaces the built-in embedder by sentence-transformers with the weights in that folder; it needs an
environment with that package.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from atelier_desk.domain.project import EntityKind, ProjectHit
from atelier_desk.engine import Atelier
from atelier_desk.llm.embedders.sentence_transformers_embedder import SentenceTransformersEmbedder
from atelier_desk.llm.secrets import KeyVault
from tests.bench.docstring_questions import Asked, read

ROOT = Path(__file__).parents[2]
QUESTIONS = 150
FIRST = 10
FORMS = ("sentence", "docstring")
Right = Callable[[ProjectHit], bool]


async def described(
    source: Path, place: Path, *, whole: bool = False, model: Path | None = None, misses: int = 0
) -> dict[str, Any]:
    """The figures of one repository; ``place`` is an empty folder to work in."""
    files, every, documented = read(source)
    asked = random.Random(1).sample(every, min(QUESTIONS, len(every)))
    figures: dict[str, Any] = {"documented": documented, "questions": len(every), "asked": len(asked)}
    alone = {_separate_file(number, each): f"{each.source}\n" for number, each in enumerate(asked)}
    names = list(alone)
    rights: list[Right] = [lambda found, name=name: found.entity.path == name for name in names]  # type: ignore[misc]
    figures["alone"] = await _measured(alone, asked, rights, place / "alone", model, misses)
    if whole:
        rights = [
            lambda found, each=each: (found.entity.path, found.entity.qualified) == (each.path, each.qualified)  # type: ignore[misc]
            for each in asked
        ]
        figures["whole"] = await _measured(files, asked, rights, place / "whole", model, misses)
    return figures


def _separate_file(number: int, each: Asked) -> str:
    path = Path(each.path)
    return f"{path.with_suffix('').as_posix()}/{number:03}{path.suffix}"


async def _measured(
    files: dict[str, str], asked: Sequence[Asked], rights: Sequence[Right], place: Path, model: Path | None, misses: int
) -> dict[str, Any]:
    code = place / "code"
    for name, text in files.items():
        path = code / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    figures: dict[str, Any] = {}
    embedder = SentenceTransformersEmbedder(str(model)) if model is not None else None
    async with Atelier.open(place / "data", vault=KeyVault(environ={}), embedder=embedder) as atelier:
        project = await atelier.projects.create("described", str(code), watched=False)
        await atelier.projects.ingest(project.id)
        state = await atelier.projects.wait(project.id)
        assert state is not None
        assert state.stage == "done", state
        figures["entities"] = (await atelier.projects._repo.counts(project.id))["entity"]
        for name, embedded in (("words", False), ("fused", True)):
            await atelier.projects.change(project.id, embedded=embedded)
            for form in FORMS:
                questions = [getattr(each, form) for each in asked]
                found = [
                    await atelier.projects.find(question, kinds=[EntityKind.SCOPE], limit=FIRST)
                    for question in questions
                ]
                assert all((each.cosine is not None) == embedded for each in found[0]), (
                    "vectors are used only if requested"
                )
                places = [_place(hits, right) for hits, right in zip(found, rights, strict=True)]
                figures.setdefault(form, {})[name] = _shares(places, asked)
                if embedded and misses:
                    _print_misses(form, questions, asked, found, places, misses)
    return figures


def _place(hits: Sequence[ProjectHit], right: Right) -> int:
    return next((rank for rank, hit in enumerate(hits) if right(hit)), FIRST)


def _print_misses(
    form: str,
    questions: Sequence[str],
    asked: Sequence[Asked],
    found: Sequence[Sequence[ProjectHit]],
    places: Sequence[int],
    most: int,
) -> None:
    missed = [each for each in zip(questions, asked, found, places, strict=True) if each[3]]
    for question, each, hits, place in missed[:most]:
        first = f"{hits[0].entity.type} {hits[0].entity.qualified} ({hits[0].entity.path})" if hits else "nothing"
        print(f"{form} #{place + 1} «{question}»\n    wanted {each.qualified} ({each.path}), found {first}")


def _shares(places: Sequence[int], asked: Sequence[Asked]) -> dict[str, float]:
    telling = [place for place, each in zip(places, asked, strict=True) if each.telling]
    return {
        "hit_at_1": round(sum(place == 0 for place in places) / len(places), 3),
        "hit_at_5": round(sum(place < 5 for place in places) / len(places), 3),
        "telling_hit_at_1": round(sum(place == 0 for place in telling) / max(1, len(telling)), 3),
        "telling": len(telling),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repository", type=Path, action="append", help="a folder of code; this repository without any"
    )
    parser.add_argument("--whole", action="store_true", help="look for them in the whole repository too")
    parser.add_argument("--model", type=Path, help="a folder with a model of sentence-transformers")
    parser.add_argument("--misses", type=int, default=0, help="print so many that were not found first")
    parser.add_argument(
        "--quick", action="store_true", help="as all benches have it; this one is as short as it can be"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = {}
    for source in options.repository or [ROOT / "app"]:
        with tempfile.TemporaryDirectory() as folder:
            made = await described(
                source, Path(folder), whole=options.whole, model=options.model, misses=options.misses
            )
        figures[source.resolve().name if options.repository else "this repository"] = made
        print(json.dumps({source.name: made}), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
