"""The catalogue's entries are complete and unique, and name their source."""

import re
from urllib.parse import urlsplit

import pytest

from atelier_desk.llm.local.catalogue import CATALOGUE, CatalogueEntry


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.id)
def test_an_entry_names_a_file_on_the_hub_with_its_checksum_and_licence(entry: CatalogueEntry) -> None:
    parts = urlsplit(entry.url)
    assert (parts.scheme, parts.hostname) == ("https", "huggingface.co")
    assert re.fullmatch(r"/[\w.-]+/[\w.-]+-GGUF/resolve/(main|[0-9a-f]{40})/" + re.escape(entry.file), parts.path)
    assert entry.licence
    assert entry.licence_url.startswith("https://")
    assert entry.size_bytes / 1e9 < entry.ram_gb < 10


def test_no_two_entries_are_the_same() -> None:
    for field in ("id", "file", "sha256", "url"):
        assert len({getattr(entry, field) for entry in CATALOGUE}) == len(CATALOGUE)
