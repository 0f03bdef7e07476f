"""Files named on the command line: endless ones are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.support.locale_format import number
from tests.cli.conftest import Cli

ENDLESS = Path("/dev/zero")


@pytest.mark.skipif(not ENDLESS.exists(), reason="the system has no /dev/zero")
@pytest.mark.parametrize(
    ("command", "most"),
    [
        (("workflows", "import", ENDLESS), limits.IMPORT_FILE),
        (("agents", "add", ENDLESS), limits.IMPORT_FILE),
        (("memory", "import", ENDLESS), limits.MEMORY_FILE),
        (("run", "go", "--answers", ENDLESS), limits.IMPORT_FILE),
    ],
)
def test_an_endless_file_is_refused_with_the_allowed_size(cli: Cli, command: tuple[Any, ...], most: int) -> None:
    result = cli(*map(str, command), steps=["never"])
    assert result.status == 2
    assert number(most) in result.err
