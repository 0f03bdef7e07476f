"""Names of projects, and the address or path of a source."""

from __future__ import annotations

from atelier_desk.domain.project import Project, free_name, is_address


def test_an_existing_name_gets_a_number_whatever_its_case() -> None:
    known = [Project(name="Heron"), Project(name="heron 2"), Project(name="project")]
    assert [free_name(wanted, known) for wanted in ("egret", "HERON", "")] == ["egret", "HERON 3", "project 2"]


def test_a_page_has_an_address_and_a_file_a_path() -> None:
    assert is_address("https://example.org/a")
    assert is_address("http://example.org")
    assert not is_address("docs/https://a.md")
