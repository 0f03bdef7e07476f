"""The engine's messages become errors that explain what to do."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage.repositories.runs import RunRepository


@pytest.mark.parametrize(
    ("text", "opening", "code"),
    [
        ("LOCK is already locked by another process", True, "locked"),
        ("IO error: No space left on device (os error 28)", False, "disk_full"),
        (
            "Cannot COMMIT: WAL error: IO error: kind=file too large, message=File too large (os error 27)",
            False,
            "file_too_large",
        ),
        ("IO error: Too many open files (os error 24)", False, "too_many_files"),
        ("Failed to create datastore: IO error: Too many open files (os error 24)", True, "too_many_files"),
        ("Cannot COMMIT: WAL error: IO error: message=Input/output error (os error 5)", False, "io"),
        ("Failed to create datastore: IO error: Input/output error (os error 5)", True, "io"),
        ("IO error: Access is denied. (os error 5)", True, "read_only"),
        ("IO error: Permission denied (os error 13)", True, "read_only"),
        ("IO error: Read-only file system (os error 30)", False, "read_only"),
        ("There was a problem with the key-value store: SSTable error: checksum mismatch", False, "damaged"),
        ("Failed to create datastore: The transaction timed out: 30s", True, "busy"),
        ("There was a problem with the key-value store: timed out while the manifest was written", True, "busy"),
        ("Cannot COMMIT: timed out", False, "busy"),
        ("Failed to create datastore: something never seen", True, "damaged"),
        ("Found field 'x', but no such field exists for table 'y'", False, "query"),
        ("Couldn't coerce value for field `manifest`", False, "query"),
    ],
)
def test_codes(tmp_path: Path, text: str, opening: bool, code: str) -> None:
    error = database_errors.from_text(text, tmp_path, opening=opening)
    assert isinstance(error, StorageError)
    assert error.code == code
    assert str(error), "every placeholder has a value"
    if code != "query":
        assert str(tmp_path) in str(error)


def test_every_message_is_different_and_explains_what_to_do() -> None:
    names = (
        "LOCKED",
        "NEWER_SCHEMA",
        "OLDER_SCHEMA",
        "CANNOT_MIGRATE",
        "MISSING_MANIFEST",
        "DAMAGED",
        "LOST_WRITES",
        "DISK_FULL",
        "READ_ONLY",
        "TOO_MANY_FILES",
        "INPUT_OUTPUT",
        "START_AGAIN",
        "BUSY",
    )
    sentences = [getattr(database_errors, name) for name in names]
    assert len(set(sentences)) == len(sentences)
    advices = (
        "--data-dir",
        "backup restore",
        "Free up some space",
        "Update Atelier",
        "try again",
        "tart Atelier again",
    )
    for sentence in sentences:
        assert any(advice in sentence for advice in advices)


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EBUSY, errno.ENOTEMPTY, errno.ELOOP])
def test_a_file_that_cannot_be_moved_is_not_reported_as_damage(number: int) -> None:
    assert database_errors.from_os_error(OSError(number, os.strerror(number)), "/data").code == "io"


def test_a_folder_that_does_not_fit_on_the_disk_is_not_reported_as_damage() -> None:
    error = shutil.Error(
        [("/data/database/1.sst", "/data/copy/1.sst", str(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))]
    )
    assert database_errors.from_os_error(error, "/data").code == "disk_full"


def test_a_thrown_guard_becomes_not_found() -> None:
    error = database_errors.from_text("An error occurred: atelier:not_found:tool call:run:with:colons", None)
    assert isinstance(error, NotFoundError)
    assert error.params == {"what": "tool call", "id": "run:with:colons"}


def test_each_kind_of_missing_object_has_its_own_sentence() -> None:
    assert {
        RunRepository.what,
        "agent",
        "approval",
        "memory",
        "message",
        "project",
        "prompt",
        "question",
        "report",
        "task",
    } < {*database_errors.NOT_THERE_OF}
    for what, sentence in database_errors.NOT_THERE_OF.items():
        # No noun remains to be inserted into a sentence of another language.
        assert database_errors.not_there(what, "x1").localized(lambda text, **params: text) == sentence
        called = {
            "approval": "approval request x1",
            "stored prompt": "record x1 of instructions and tools sent to a model",
        }
        assert str(database_errors.not_there(what, "x1")) == f"There is no {called.get(what, f'{what} x1')}."
    assert str(database_errors.not_there("model", "local/x")) == "There is no model local/x."


def test_errors_are_translated_as_complete_sentences() -> None:
    error = database_errors.from_text("LOCK is already locked", "/data", opening=True)
    assert error.localized(lambda template, **params: f"fr {template[:7]} {params['path']}") == "fr Another /data"
