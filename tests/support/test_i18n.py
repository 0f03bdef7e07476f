"""Translation: placeholders of any name, plural rules of both languages, and the switch."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

import atelier_desk
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.settings import Settings
from atelier_desk.support import i18n
from atelier_desk.support.i18n import LANGUAGES, _, language, ngettext, set_language, spoken, system_language


def test_a_placeholder_may_have_any_name() -> None:
    assert _("{title}: {message}", title="a", message="b") == "a: b"
    error = UsageError("{template} and {message}", template="x", message="y")
    assert str(error) == "x and y"
    assert error.localized(_) == "x and y"


def test_hiding_and_reordering_characters_in_values_are_escaped() -> None:
    assert _("Renamed to “{name}”", name="report\u202etxt.sh") == "Renamed to “report⟨U+202E⟩txt.sh”"
    assert ngettext("{n} of {name}", "{n} of {name}", 2, name="a\u200bb") == "2 of a⟨U+200B⟩b"


def test_french_counts_zero_as_one() -> None:
    texts = ("{n} memory embedded", "{n} memories embedded")
    assert [ngettext(*texts, n) for n in (0, 1, 2)] == [
        "0 memories embedded",
        "1 memory embedded",
        "2 memories embedded",
    ]
    set_language("fr")
    assert [ngettext(*texts, n) for n in (0, 1, 2)] == [
        "embedding calculé pour 0 souvenir",
        "embedding calculé pour 1 souvenir",
        "embeddings calculés pour 2 souvenirs",
    ]


async def test_a_task_may_use_another_language_than_the_process() -> None:
    async def translate() -> tuple[str, str]:
        await asyncio.sleep(0)
        return language(), ngettext("{n} memory embedded", "{n} memories embedded", 2)

    set_language("en")
    with spoken("fr"):
        task = asyncio.create_task(translate())
    assert await translate() == ("en", "2 memories embedded")
    assert await task == ("fr", "embeddings calculés pour 2 souvenirs")
    with spoken("xx"):
        assert language() == "en"


def test_the_system_language_is_a_supported_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "fr_CA.UTF-8")
    assert system_language() == "fr"
    monkeypatch.setenv("LANG", "xx_YY")
    assert system_language() in LANGUAGES
    assert set_language("no such language") in LANGUAGES


def test_numbers_in_errors_are_grouped_in_the_readers_format() -> None:
    error = UsageError("{low} to {high}, not {value}", low=1024, high=2_000_000, value=1000.5)
    assert error.localized(_) == "1,024 to 2,000,000, not 1,000.5"
    set_language("fr")
    assert error.localized(_) == "1\u202f024 to 2\u202f000\u202f000, not 1\u202f000,5"
    set_language("en")
    assert UsageError("{flag}", flag=True).localized(_) == "True"


def catalogue_texts(code: str) -> list[str]:
    """All texts of the program in a language, each plural form by itself."""
    folder = Path(__file__).parents[2] / "translations" / "fr" / "LC_MESSAGES"
    with (folder / "atelier.po").open("rb") as file:
        texts = [(each.id if code == "en" else each.string) or "" for each in read_po(file)]
    return [text for each in texts for text in ([each] if isinstance(each, str) else each)]


@pytest.mark.parametrize("code", ["en", "fr"])
def test_workflow_is_the_only_term_for_a_workflow(code: str) -> None:
    """One term for one thing."""
    misnamed = [
        text
        for text in catalogue_texts(code)
        if "conversation" in text.lower().replace("real conversation", "").replace("vraie conversation", "")
    ]  # the starter model is too small for talking: no workflow is meant
    assert misnamed == []


WORDS_THAT_PUZZLED = (
    "Écrivez à Chef",
    "Ce qui modifie quelque chose est demandé avant",
    "À vous, et ici",
    "dans son trousseau",
    "Mieux vaut indiquer une variable",
    "models.dev est introuvable",
    "Sans confiance",
    "peut dire aux agents de nuire",
    "que l’on touche à des fichiers",
    "A listé .",
    "lancer commandes ou agents",
    "Appel autorisé",
    "Supprimer cette branche",
    "assistant serviable",
    "Me le rappeler après",
    "vers une corbeille",
    "dit quelque chose de moi",
    "Recalculer les vecteurs",
    "Vide, il est recherché",
    "tel qu’il a été écrit",
)
"""French that somebody doing office work had to read twice."""


def test_french_uses_the_words_of_an_office() -> None:
    texts = catalogue_texts("fr")
    assert len(texts) > 4_000
    assert not [text for text in texts if any(words in text for words in WORDS_THAT_PUZZLED)]


def test_no_translated_text_is_an_f_string() -> None:
    """The catalogues cannot find such a text, so it would stay English."""
    hidden = []
    called_in_braces = re.compile(r"\{[^{}\n]*\b(_|N_|ngettext)\(")
    for path in sorted(Path(atelier_desk.__file__).parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for outer in ast.walk(ast.parse(text)) if called_in_braces.search(text) else ():
            for node in ast.walk(outer) if isinstance(outer, ast.JoinedStr) else ():
                called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
                if (
                    isinstance(node, ast.Call)
                    and called in ("_", "N_", "ngettext")
                    and isinstance(node.args[0], ast.Constant)
                ):
                    hidden.append(f"{path.name}:{node.lineno}")
    assert hidden == []


def test_a_new_language_needs_only_a_catalogue(tmp_path: Path) -> None:
    """A new language is found, named and offered by its folder."""
    for code in ("pt_BR", "de"):
        (tmp_path / code / "LC_MESSAGES").mkdir(parents=True)
        (tmp_path / code / "LC_MESSAGES" / "atelier.mo").touch()
    (tmp_path / "empty").mkdir()
    assert i18n.catalogues(tmp_path) == ("de", "pt_BR")
    assert (i18n.native_name("pt_BR"), i18n.english_name("de")) == ("Português (Brasil)", "German")
    assert ("en", *i18n.catalogues(i18n.catalogue_dir())) == i18n.LANGUAGES
    assert Settings(language=i18n.LANGUAGES[-1]).language == "fr"
    with pytest.raises(ValueError, match="choose “system” or one"):
        Settings(language="xx")
