"""The check of the catalogues reports bad translations, private words and missing messages."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from babel.messages.catalog import Catalog

Load = Callable[[str], ModuleType]


@pytest.fixture
def script(load: Load) -> ModuleType:
    return load("translation_catalogues")


@pytest.fixture
def template() -> Catalog:
    catalogue = Catalog()
    for message in ("Save", "Hello {name}", ("{n} file", "{n} files")):
        catalogue.add(message, None, [("app/atelier_desk/x.py", 1)])
    return catalogue


def french(**changes: str) -> Catalog:
    catalogue = Catalog(locale="fr")
    catalogue.add("Save", changes.get("save", "Enregistrer"))
    catalogue.add("Hello {name}", changes.get("hello", "Bonjour {name}"))
    catalogue.add(("{n} file", "{n} files"), (changes.get("one", "un fichier"), "{n} fichiers"))
    return catalogue


def test_a_complete_catalogue_has_no_problems(script: ModuleType, template: Catalog) -> None:
    assert list(script.problems(french(), template)) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"save": ""}, "not translated"),
        ({"hello": "Bonjour {nom}"}, "placeholders differ: ['name', 'nom']"),
        ({"hello": "Bonjour"}, "placeholders differ: ['name']"),
        ({"hello": "Bonjour {name"}, "braces"),
        ({"save": "L'enregistrer"}, "write ’"),
        ({"one": "{m} fichier"}, "placeholders differ: ['m']"),
        ({"save": "Clé API"}, "write 'clé d’accès'"),
        ({"one": "un fichier serviable"}, "write 'utile'"),
        ({"save": "Enregistrer ?"}, "write 'a no-break space'"),
        ({"save": "«\u00a0Enregistrer »"}, "write 'a no-break space'"),
        ({"save": "«\u00a0Enregistrer »."}, "write 'a no-break space'"),
        ({"hello": "{name} Mo"}, "write 'a no-break space'"),
        ({"save": "une réponse valable"}, "write 'valide'"),
    ],
)
def test_bad_translations_are_reported(
    script: ModuleType, template: Catalog, changes: dict[str, str], problem: str
) -> None:
    (found,) = script.problems(french(**changes), template)
    assert problem in found
    assert found.startswith("app/atelier_desk/x.py:1: ")


def test_private_words_are_reported_in_english_too(script: ModuleType, template: Catalog) -> None:
    template.add("It lies outside of {path}.", None, [("app/atelier_desk/x.py", 2)])
    catalogue = french()
    catalogue.add("It lies outside of {path}.", "Hors de {path}.")
    assert list(script.problems(catalogue, template)) == [
        "app/atelier_desk/x.py:2: 'outside of': write 'outside': 'It lies outside of {path}.'"
    ]


def test_missing_fuzzy_and_obsolete_messages_are_reported(script: ModuleType, template: Catalog) -> None:
    catalogue = french()
    catalogue.delete("Save")
    catalogue["Hello {name}"].flags.add("fuzzy")
    catalogue.add("Gone", "Disparu")
    found = list(script.problems(catalogue, template))
    assert [text.split(": ")[-2] for text in found] == ["missing", "fuzzy", "no longer in the code"]


def test_messages_are_found_in_the_code(script: ModuleType) -> None:
    template = script.extracted()
    assert len(template) > 50
    assert all(location.startswith("app/") for message in template for location, _line in message.locations)
