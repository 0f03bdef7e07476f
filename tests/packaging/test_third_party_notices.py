"""No unreviewed licence is shipped, and every installed package is listed with its licence texts."""

from __future__ import annotations

import base64
import importlib.util
import sys
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def notices() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("third_party_notices", ROOT / "packaging" / "third_party_notices.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["third_party_notices"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["third_party_notices"]


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("MIT", True),
        ("GPL-3.0-or-later", False),
        ("Apache-2.0 OR GPL-2.0-only", True),
        ("Apache-2.0 AND GPL-2.0-only", False),
        ("(MIT OR GPL-2.0-only) AND Unicode-3.0", True),
        ("(GPL-2.0-only OR AGPL-3.0-only) AND MIT", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", True),
    ],
)
def test_an_or_expression_needs_one_listed_licence_and_an_and_expression_all(
    notices: ModuleType, expression: str, may: bool
) -> None:
    assert notices.allowed(expression) is may


def metadata(**fields: str) -> Message:
    made = Message()
    for name, value in fields.items():
        made[name.replace("_", "-")] = value
    return made


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License_Expression": "mit or apache-2.0"}, "MIT OR Apache-2.0"),
        ({"License": "BSD-3-Clause"}, "BSD-3-Clause"),
        ({"License": "Copyright (c) 2025\nAll rights", "Classifier": "License :: OSI Approved :: MIT License"}, "MIT"),
        ({"License": "Proprietary"}, ""),
        ({}, ""),
    ],
)
def test_a_licence_is_read_from_each_metadata_field(notices: ModuleType, fields: dict[str, str], licence: str) -> None:
    assert notices.licence_of("some-package", metadata(**fields)) == licence


def test_a_package_or_part_under_an_unlisted_licence_is_reported(notices: ModuleType) -> None:
    part = notices.Part("hidden", "2", "AGPL-3.0-only")
    unknown, hidden = notices.Package("odd", "1", ""), notices.Package("outer", "1", "MIT", parts=[part])
    assert [line for each in (unknown, hidden) for line in notices._unlisted(each)] == [
        "odd 1: its licence is not known.",
        "outer 1, in it hidden 2: AGPL-3.0-only is not listed.",
    ]


def test_the_licence_of_the_database_core_is_read_from_its_text(notices: ModuleType) -> None:
    text = base64.b64encode(b"Business Source License 1.1\n\nParameters").decode()
    listed = {
        "components": [
            {"name": "surrealdb-core", "licenses": [{"license": {"name": "Unknown", "text": {"content": text}}}]}
        ]
    }
    [(part, body)] = notices.parts_of(listed)
    assert (part.licence, body[:15]) == ("BUSL-1.1", "Business Source")


def test_the_committed_file_lists_all_installed_packages_and_their_licences(notices: ModuleType) -> None:
    assert notices.main(["check"]) == 0
    text = (ROOT / "THIRD-PARTY-NOTICES").read_text("utf-8")
    assert "Business Source License 1.1" in " ".join(text.partition("PACKAGES")[0].split())
    assert "BUSL-1.1: " in text
    assert "surrealdb-core" in text
    assert {"qt-LGPL-3.0.txt", "qt-GPL-3.0.txt"} <= {path.name for path in (ROOT / "resources" / "licenses").iterdir()}


def test_a_package_missing_from_the_notices_is_reported(
    notices: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notices, "NOTICES", tmp_path / "THIRD-PARTY-NOTICES")
    assert notices.main(["check"]) == 1
    assert "surrealdb-embedded" in capsys.readouterr().err
