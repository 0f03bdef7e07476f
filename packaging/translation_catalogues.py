"""The translation catalogues: update them from the code, check that they are complete, compile them.

    python packaging/translation_catalogues.py update | check | compile [FILE…]

English is the language of the code and has no catalogue. Every other language must translate every message, with
the same placeholders and without fuzzy or obsolete entries.
"""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "translations"
KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2)}
WIDTH = 120


TYPEWRITER = re.compile(r"(?<=\w)'(?=\w)")
"""A typewriter apostrophe; quotation marks around a word of code are allowed."""


BANNED = {
    "en": {
        r"\boutside of\b": "outside",
        r"\bat the right\b": "on the right",
        r"\bfor ?ever\b": "never finishes",
        r"\bin the very\b": "at that moment",
        r"\bdear\b": "expensive",
        r"\bdeeds?\b": "actions",
        r"\b[Hh]a(?:d|ve) agents\b": "run agents",
        r"\bTear\b": "Open in a window",
        r"\bBring back\b": "Restore",
        r"\b[Nn]eeds you$": "has a question",
        r"\bas the profile says\b": "Use profile",
        r"\bput away\b": "archived",
        r"\bits person\b": "the user",
        r"\bstrangers?\b": "untrusted sources",
        r"\bYours, and here\b": "Private and local",
        r"\bcorpus\b": "project",
        r"\b[Ww]ithheld\b": "blocked",
        r"\b[Aa]re told\b": "see",
        r"^Look(?:ed|ing)? at\b": "View, Viewed, Check …",
    },
    "fr": {
        r" (?=[:;?!](?:\s|$)|»)|« |\} (?=(?:[kMG]o|ms|s|min|h)(?![\w’])|%)": "a no-break space",
        r"\bserviable": "utile",
        r"\bSans confiance\b": "Consignes du dossier ignorées",
        r"\bnuire\b": "dangereux",
        r"\b[Cc]lés? (?:d’)?API\b": "clé d’accès",
        r"\bRanger\b": "Déplacer",
        r"\bvers une corbeille\b": "dans la corbeille",
        r"\bqui voit\b": "de vision",
        r"\bSilence le plus long\b": "Délai d’inactivité",
        r"\bA listé \.": "A parcouru le dossier",
        r"\bRecalculer les vecteurs\b": "Réindexer",
        r"\bvalables?\b(?! pour (?:tous|d’autres)\b)": "valide",
        r"\b[Mm]essages anciens\b": "anciens messages",
    },
}
"""Private or overly technical words and breakable spaces in messages, and their replacements: regular expressions by
language."""


def banned_words(language: str, text: str) -> Iterator[str]:
    """The banned words in a text, each with its replacement."""
    for pattern, better in BANNED.get(language, {}).items():
        if found := re.search(pattern, text):
            yield f"{found[0]!r}: write {better!r}"


def read_catalogue(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.parent.parent.name, domain="atelier")


def paths() -> list[Path]:
    """The catalogues of all languages except English."""
    return sorted(FOLDER.glob("*/LC_MESSAGES/atelier.po"))


def extracted() -> Catalog:
    """The messages marked in the code, by the rules of ``babel.cfg``."""
    catalogue = Catalog(domain="atelier", project="atelier-desk", charset="utf-8")
    with (ROOT / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    found = extract_from_dir(
        ROOT, method_map=methods, options_map=options, keywords=KEYWORDS, comment_tags=("Translators:",)
    )
    for name, line, message, comments, context in sorted(found, key=lambda row: (str(row[0]), row[1])):
        catalogue.add(message, None, [(name, line)], auto_comments=comments, context=context)
    return catalogue


def placeholders(text: str) -> set[str]:
    """The names in a message's ``{placeholders}``.

    Raises:
        ValueError: the braces are unbalanced.
    """
    return {name for _text, name, _format, _conversion in string.Formatter().parse(text) if name is not None}


def texts(value: str | tuple[str, ...] | list[str] | None) -> list[str]:
    if value is None:  # a message with plural forms that was just added
        return [""]
    return [value] if isinstance(value, str) else list(value)


def translation_problems(message: Message) -> Iterator[str]:
    """The problems of one translated message."""
    translations = texts(message.string)
    if message.fuzzy:
        yield "fuzzy"
    if not all(translations):
        yield "not translated"
        return
    wanted = set().union(*(placeholders(text) for text in texts(message.id)))
    for text in translations:
        try:
            surplus = placeholders(text) - wanted
            lost = wanted - placeholders(text) - {"n"}
        except ValueError as error:
            yield f"braces: {error}"
            continue
        if TYPEWRITER.search(text):
            yield "' between letters: write ’"
        if surplus or (lost and isinstance(message.id, str)):
            yield f"placeholders differ: {sorted(surplus | lost)}"


def problems(catalogue: Catalog, template: Catalog) -> Iterator[str]:
    """Every problem of a catalogue, one line each."""
    for message in template:
        if not message.id:
            continue
        translated = catalogue.get(message.id, message.context)
        where = f"{message.locations[0][0]}:{message.locations[0][1]}"
        if translated is None:
            yield f"{where}: missing: {texts(message.id)[0]!r}"
        else:
            found = [*translation_problems(translated)]
            for language, translation in (("en", message.id), (str(catalogue.locale), translated.string)):
                found += [problem for text in texts(translation) for problem in banned_words(language, text)]
            yield from (f"{where}: {problem}: {texts(message.id)[0]!r}" for problem in found)
    for message in catalogue:
        if message.id and template.get(message.id, message.context) is None:
            yield f"no longer in the code: {texts(message.id)[0]!r}"
    yield from (f"obsolete: {key!r}" for key in catalogue.obsolete)


def check() -> int:
    template = extracted()
    count = 0
    for path in paths():
        for problem in problems(read_catalogue(path), template):
            print(f"{path.relative_to(ROOT)}: {problem}", file=sys.stderr)
            count += 1
    print(
        f"Catalogues: {len(template)} messages, {count} problems."
        + (" `make translations` adds what is missing." if count else "")
    )
    return int(count > 0)


def update() -> int:
    """Add new messages untranslated and drop those no longer in the code; nothing is guessed from similar
    messages.
    """
    template = extracted()
    for path in paths():
        catalogue = read_catalogue(path)
        catalogue.update(template, no_fuzzy_matching=True)
        catalogue.obsolete.clear()
        with path.open("wb") as file:
            write_po(file, catalogue, width=WIDTH, sort_by_file=True, include_lineno=False, ignore_obsolete=True)
        open_messages = sum(1 for message in catalogue if message.id and not all(texts(message.string)))
        print(f"{path.relative_to(ROOT)}: {len(catalogue)} messages, {open_messages} to translate")
    return 0


def compile_catalogue(path: Path) -> None:
    """Write the ``.mo`` file next to the ``.po`` file."""
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, read_catalogue(path))


def main() -> int:
    command, *names = sys.argv[1:] or ["check"]
    if command == "check":
        return check()
    if command == "update":
        return update()
    if command == "compile":
        for path in [Path(name) for name in names] or sorted(FOLDER.glob("*/LC_MESSAGES/atelier.po")):
            compile_catalogue(path)
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
