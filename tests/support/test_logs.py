"""Logging: no secrets, every record names its run, and the file stays small and private."""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from atelier_desk.support import logs

SECRET = "sk-sentinel-4711"
log = logging.getLogger("atelier_desk.test")


@pytest.fixture(autouse=True)
def _clean_logging() -> Iterator[None]:
    level = logging.getLogger().level
    remove = logs.add_redactor(lambda text: text.replace(SECRET, "…"))
    yield
    remove()
    logs.close()
    logging.getLogger().setLevel(level)


def written(folder: Path) -> str:
    return (folder / logs.FILE_NAME).read_text("utf-8")


def test_secrets_are_hidden_in_message_arguments_and_exceptions(tmp_path: Path) -> None:
    logs.set_up(tmp_path, stderr=False)
    log.info("key %s in %s", SECRET, {"header": SECRET})
    try:
        raise RuntimeError(f"refused {SECRET}")
    except RuntimeError:
        log.exception("call with %s failed", SECRET)
    log.info("where", stack_info=True)
    text = written(tmp_path)
    assert SECRET not in text
    assert "key … in" in text
    assert "RuntimeError: refused …" in text
    assert "Stack (most recent call last)" in text


def test_standard_error_is_redacted_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(None)
    log.warning("token %s", SECRET)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "token …" in captured.err
    assert SECRET not in captured.err


async def test_records_carry_the_correlation_of_their_task(tmp_path: Path) -> None:
    logs.set_up(tmp_path, stderr=False)

    async def work(name: str) -> None:
        with logs.correlation(name):
            await asyncio.sleep(0)
            log.info("from %s", name)

    await asyncio.gather(work("run-a"), work("run-b"))
    log.info("outside")
    text = written(tmp_path)
    assert "[run-a] from run-a" in text
    assert "[run-b] from run-b" in text
    assert "[-] outside" in text


def test_the_file_rotates_and_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "FILE_BYTES", 2_000)
    logs.set_up(tmp_path / "logs", stderr=False)
    for number in range(200):
        log.info("line %d", number)
    files = sorted((tmp_path / "logs").iterdir())
    assert len(files) == logs.MAX_FILES + 1
    assert all(path.stat().st_size <= 2_000 for path in files)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    assert "line 199" in written(tmp_path / "logs")


def test_text_that_is_not_valid_unicode_is_written(tmp_path: Path) -> None:
    logs.set_up(tmp_path, stderr=False)
    record = logging.makeLogRecord(
        {"name": "atelier_desk.test", "levelno": logging.INFO, "levelname": "INFO", "msg": "half a pair \ud800"}
    )
    # Directly to our handlers: text captured by pytest must be transferable between its processes.
    for handler in logging.getLogger().handlers:
        if type(handler).__module__ in ("atelier_desk.support.logs", "logging.handlers"):
            handler.handle(record)
    assert "\\ud800" in written(tmp_path)


def test_an_unknown_level_names_the_allowed_ones() -> None:
    with pytest.raises(ValueError, match="DEBUG, INFO, WARNING, ERROR, CRITICAL"):
        logs.set_up(None, "loud")


def test_setting_up_twice_does_not_write_twice(tmp_path: Path) -> None:
    logs.set_up(tmp_path, stderr=False)
    logs.set_up(tmp_path, "debug", stderr=False)
    log.debug("once")
    assert written(tmp_path).count("once") == 1


def test_a_removed_redactor_no_longer_applies() -> None:
    remove = logs.add_redactor(str.upper)
    assert logs.redact("a") == "A"
    remove()
    assert logs.redact("a") == "a"
