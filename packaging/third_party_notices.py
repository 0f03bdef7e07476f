"""The licences of everything that Atelier is installed with: ``python packaging/third_party_notices.py [check |
write]``.

They are read from the installed packages that Atelier needs: their metadata, the licence texts in their wheels,
and the lists of parts (SBOMs in CycloneDX) of those with code in other languages. ``write`` generates
``THIRD-PARTY-NOTICES``; ``check`` fails where that file differs from what ``write`` would generate, apart from
packages needed only on other systems. Both fail for a licence that is not listed here, so that none is shipped
without a review.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from simpleeval import simple_eval

ROOT = Path(__file__).resolve().parent.parent
NOTICES = ROOT / "THIRD-PARTY-NOTICES"
PROGRAM = "atelier-desk"

FREE = frozenset(
    [
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "CDLA-Permissive-2.0",
        "CNRI-Python",
        "FTL",
        "IJG",
        "ISC",
        "libpng-2.0",
        "libtiff",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "PSF-2.0",
        "Unicode-3.0",
        "Unicode-DFS-2016",
        "Unlicense",
        "X11",
        "Zlib",
    ]
)
"""Licences that only require their text to be included."""

CONDITIONS = {
    "LGPL-2.1-or-later": "a part of another library, as its maker ships it; it can be exchanged",
    "LGPL-3.0-only": "Qt and its bindings: separate files that can be exchanged for others of the same interface",
    "EPL-2.0": "parts of a library that are not changed here; their source is where the name of the part leads",
    "MPL-1.1": "files that are not changed here",
    "MPL-2.0": "files that are not changed here",
    "BUSL-1.1": "the database's core: see the top of the notices",
}
"""Licences with further conditions, and how these are met."""

BY_NAME = {
    "numpy": "BSD-3-Clause",
    "trimesh": "MIT",
    "pyside6-essentials": "LGPL-3.0-only",
    "shiboken6": "LGPL-3.0-only",
    "socksio": "MIT",
}
"""Packages whose metadata lack a licence, or contain its full text."""

BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
BY_WORDS = {"Apache 2.0": "Apache-2.0", "MIT License": "MIT", "The BSD 2-Clause License": "BSD-2-Clause"}

PARTS = {
    "jbigkit-libs": "GPL-2.0-or-later",
    "libXau": "X11",
    "libjpeg-turbo": "IJG AND BSD-3-Clause",
    "libpng": "libpng-2.0",
    "libtiff": "libtiff",
    "libwebp": "BSD-3-Clause",
    "openssl": "Apache-2.0",
}
"""Libraries in a wheel whose list of parts names no licence for them."""

BUSINESS = "Business Source License 1.1"
ABOUT = """\
Atelier is licensed under the Apache License 2.0 (see LICENSE). It is installed with the programs below, each under its
own licence.

The database: the package surrealdb-embedded calls itself Apache-2.0, and its list of parts names SurrealDB's core under
the Business Source License 1.1. That licence allows every use except offering the database to others as a service of
its own ("Database Service", in which third parties create, manage or control schemas or tables), and becomes the Apache
License 2.0 on the day that its text names. Using Atelier, alone or in a company, is no such service.

Qt and its Python bindings (PySide6, Shiboken) are used under the GNU Lesser General Public License 3: they lie in files
of their own and can be exchanged. Their sources: https://download.qt.io/official_releases/QtForPython/
"""


class Unlisted(Exception):
    """A licence that was not reviewed; the message says whose it is and what to do."""


@dataclass(frozen=True)
class Part:
    """A library inside a wheel."""

    name: str
    version: str
    licence: str


@dataclass(frozen=True)
class Package:
    """An installed package: an SPDX expression, the licence texts to include, and the parts it was built from."""

    name: str
    version: str
    licence: str
    home: str = ""
    texts: Sequence[str] = ()
    parts: Sequence[Part] = field(default=())


def needed() -> Iterator[str]:
    """The normalised names of all packages that the program is installed with, in no order, each once."""
    # For Atelier itself, pyproject.toml decides: the installed metadata may be older than the last change.
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    seen: set[tuple[str, str]] = set()
    waiting = [(canonicalize_name(PROGRAM), "")]
    while waiting:
        key = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        try:
            lines = wanted if key[0] == PROGRAM else metadata.requires(key[0]) or ()
        except metadata.PackageNotFoundError:
            continue  # included in its maker's own package
        for line in lines:
            asked = Requirement(line)
            if asked.marker is not None and not asked.marker.evaluate({"extra": key[1]}):
                continue
            waiting += [(canonicalize_name(asked.name), extra) for extra in ("", *asked.extras)]
    yield from dict.fromkeys(each for each, _extra in seen)


def allowed(expression: str) -> bool:
    """Whether an SPDX expression is covered by the list: "A OR B" needs one of them, "A AND B" needs both."""
    terms = re.sub(r" WITH [\w.-]+", "", expression)
    truth = re.sub(r"[\w.+-]+", lambda found: _truth(found[0]), terms)
    return bool(simple_eval(truth))


def _truth(word: str) -> str:
    return word.lower() if word in {"AND", "OR"} else str(word in FREE or word in CONDITIONS)


def licence_of(name: str, found: metadata.PackageMetadata) -> str:
    """The SPDX expression of a package: from its metadata, or from the table above for those without."""
    words = [
        found.get("License-Expression"),
        BY_NAME.get(name),
        BY_WORDS.get(found.get("License") or ""),
        found.get("License"),
    ]
    classifiers = [
        each.split("::")[-1].strip() for each in found.get_all("Classifier") or () if each.startswith("License ::")
    ]
    for word in (*words, *(BY_CLASSIFIER.get(each) for each in classifiers)):
        try:
            if word and "\n" not in word:
                return canonicalize_license_expression(word)
        except InvalidLicenseExpression:
            continue
    return ""


def parts_of(listed: dict[str, object]) -> Iterator[tuple[Part, str]]:
    """The parts named in a CycloneDX list, and the text of a licence that has no name there."""
    for each in listed.get("components") or ():  # type: ignore[attr-defined]
        expressions, text = [], ""
        for entry in each.get("licenses") or ():
            licence = entry.get("license") or {}
            body = str((licence.get("text") or {}).get("content") or "")
            text = base64.b64decode(body).decode("utf-8", "replace") if body else text
            named = entry.get("expression") or licence.get("id") or licence.get("name") or ""
            expressions.append(
                "BUSL-1.1"
                if named == "Unknown" and text.startswith(BUSINESS.replace("License 1.1", "License"))
                else named
            )
        licence = " AND ".join(f"({one})" if " OR " in one and len(expressions) > 1 else one for one in expressions)
        name = str(each["name"])
        yield (
            Part(
                name, str(each.get("version") or ""), PARTS.get(name, "") if not licence else " ".join(licence.split())
            ),
            text,
        )


def packages() -> list[Package]:
    """All packages that Atelier is installed with, by name.

    Raises:
        Unlisted: a licence is unknown, or not one of those that may be shipped.
    """
    found = []
    for name in sorted(set(needed()) - {PROGRAM}):
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        files = [each for each in package.files or () if ".dist-info" in str(each)]
        texts = [
            Path(str(each.locate())).read_text("utf-8", "replace")
            for each in files
            if re.search(r"licen[sc]e|copying|notice", str(each), re.IGNORECASE)
        ]
        parts: dict[str, Part] = {}
        for each in files:
            if "/sboms/" in str(each):
                for part, text in parts_of(json.loads(Path(str(each.locate())).read_text("utf-8"))):
                    if canonicalize_name(part.name) != name:
                        parts[part.name] = part
                    texts += [text] if text else []
        licence = licence_of(name, package.metadata)
        found.append(
            Package(
                name,
                package.version,
                licence,
                _home(package.metadata),
                tuple(dict.fromkeys(texts)),
                tuple(parts.values()),
            )
        )
    wrong = [line for each in found for line in _unlisted(each)]
    if wrong:
        raise Unlisted(
            "\n".join(
                [
                    *wrong,
                    f"Look at each, then list it in {Path(__file__).name} with the reason, or leave the package out.",
                ]
            )
        )
    return found


def _home(found: metadata.PackageMetadata) -> str:
    links = dict(line.split(", ", 1) for line in found.get_all("Project-URL") or () if ", " in line)
    lower = {key.lower(): url for key, url in links.items()}
    return found.get("Home-page") or next(
        (lower[key] for key in ("homepage", "repository", "source", "home") if key in lower), ""
    )


LEFT_OUT = {
    ("pillow", "libimagequant"): "not built into the wheel: PIL.features.check('libimagequant') is False",
    (
        "tesserocr",
        "jbigkit-libs",
    ): (
        "libjbig, a file of its own in the wheel, which libtiff loads; sources: "
        "https://www.cl.cam.ac.uk/~mgk25/jbigkit/"
    ),
}
"""Parts under an unlisted licence, and why they are allowed."""


def _unlisted(package: Package) -> Iterator[str]:
    if not package.licence:
        yield f"{package.name} {package.version}: its licence is not known."
    elif not allowed(package.licence):
        yield f"{package.name} {package.version}: {package.licence} is not listed."
    for part in package.parts:
        if (package.name, part.name) not in LEFT_OUT and (not part.licence or not allowed(part.licence)):
            licence = part.licence or "no licence"
            yield f"{package.name} {package.version}, in it {part.name} {part.version}: {licence} is not listed."


def notices(found: Sequence[Package]) -> str:
    """The text to ship: every package and part with its licence, and each licence text once."""
    numbers: dict[str, int] = {}
    lines = [ABOUT, "PACKAGES", ""]
    for each in found:
        refs = [
            numbers.setdefault("\n".join(line.rstrip() for line in text.strip().splitlines()), len(numbers) + 1)
            for text in each.texts
        ]
        texts_note = f", texts {', '.join(map(str, refs))}" if refs else ""
        lines.append(f"{each.name} {each.version}: {each.licence}{texts_note}{f' ({each.home})' if each.home else ''}")
        groups: dict[str, list[str]] = {}
        for part in each.parts:
            why = LEFT_OUT.get((each.name, part.name))
            groups.setdefault(f"{part.licence} ({why})" if why else part.licence, []).append(
                f"{part.name} {part.version}".strip()
            )
        for licence, names in sorted(groups.items()):
            lines += textwrap.wrap(
                f"{licence}: {', '.join(sorted(names))}", 120, initial_indent="    ", subsequent_indent="      "
            )
    for text, number in numbers.items():
        lines += ["", "-" * 80, f"TEXT {number}", "", text]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    try:
        found = packages()
    except Unlisted as error:
        print(error, file=sys.stderr)
        return 1
    if list(arguments) == ["write"]:
        NOTICES.write_text(notices(found), "utf-8")
        print(f"{NOTICES.name}: {len(found)} packages, {sum(len(each.parts) for each in found)} parts")
        return 0
    known = NOTICES.read_text("utf-8") if NOTICES.is_file() else ""
    absent = [
        f"{each.name} {each.version}" for each in found if f"\n{each.name} {each.version}: {each.licence}" not in known
    ]
    if absent:
        print(
            f"{NOTICES.name} lacks {', '.join(absent)}. Write it anew: python packaging/third_party_notices.py write",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
