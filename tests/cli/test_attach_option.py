"""``--attach``: files, images, piped input, folders, PDFs, long texts, possible secrets; and attachments in a chat."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from atelier_desk.domain.document_formats import COMPOUND
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.cli.conftest import Cli
from tests.helpers.sample_documents import sheets
from tests.helpers.sample_images import png

PNG = png()


def test_files_and_images_are_sent_with_the_prompt_and_stored_by_type(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The sea is blue.", "utf-8")
    (tmp_path / "dot.png").write_bytes(PNG)
    model = ScriptedModel(["ok"])
    result = cli("run", "Read these", "--attach", "notes.txt", "--attach", "dot.png", "--json", steps=model)
    assert result.status == 0
    asked = model.requests[0].messages[-1]
    assert asked.content == 'Read these\n\n<attached_file name="notes.txt">\nThe sea is blue.\n</attached_file>'
    assert [image.media_type for image in asked.images] == ["image/png"]
    [sent] = [event for event in result.of("message") if event["role"] == "user"]
    assert sent["content"] == "Read these"
    text, picture = sent["attachments"]
    assert (text["name"], text["media_type"], text["text"]) == ("notes.txt", "text/plain", "The sea is blue.")
    assert (picture["name"], picture["bytes"], picture["sha256"]) == (
        "dot.png",
        len(PNG),
        hashlib.sha256(PNG).hexdigest(),
    )
    assert base64.b64decode(asked.images[0].data) == PNG
    workflow = sent["workflow_id"]
    details = cli("workflows", "show", workflow, "--json").json["transcript"][0]["message"]["details"]
    assert [(each["name"], each["text"]) for each in details["attachments"]] == [
        ("notes.txt", "The sea is blue."),
        ("dot.png", ""),
    ]
    assert "Attached file: notes.txt" in cli("workflows", "show", workflow).out


def test_a_following_turn_still_has_the_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The sea is blue.", "utf-8")
    assert cli("run", "Read this", "--attach", "notes.txt", steps=["ok"]).status == 0
    model = ScriptedModel(["blue"])
    assert cli("run", "Which colour?", "--continue", steps=model).status == 0
    assert "The sea is blue." in model.requests[0].messages[1].content


@pytest.mark.parametrize("name", ["missing.txt", "a.zip"])
def test_a_refused_attachment_is_reported_and_creates_no_workflow(cli: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04\x00\x00")
    result = cli("run", "go", "--attach", name, steps=["never"])
    assert result.status == 2
    assert name in result.err
    assert cli("workflows", "list", "--json").json == []


def test_piped_input_with_a_prompt_is_an_attachment(cli: Cli) -> None:
    model = ScriptedModel(["ok"])
    assert cli("run", "Sum it up", piped="a\nb\n", steps=model).status == 0
    assert (
        model.requests[0].messages[-1].content
        == 'Sum it up\n\n<attached_file name="standard input">\na\nb\n</attached_file>'
    )
    model = ScriptedModel(["ok"])
    assert cli("run", "Sum it up", "--attach", "-", piped="c", steps=model).status == 0
    assert model.requests[0].messages[-1].content.endswith("\nc\n</attached_file>")
    model = ScriptedModel(["ok"])
    assert cli("run", "Sum it up", piped="  \n", steps=model).status == 0
    assert model.requests[0].messages[-1].content == "Sum it up"
    assert cli("run", "-", "--attach", "-", piped="x").status == 2
    assert cli("run", "go", "--attach", "-", piped="\x00\x01").status == 2


def test_a_guessed_encoding_is_reported(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes("Привет мир, как дела".encode("cp1251"))
    model = ScriptedModel(["ok"])
    result = cli("run", "look", "--attach", "old.txt", steps=model)
    assert "old.txt is not UTF-8; it was read as windows-1251" in result.err
    assert "Привет мир" in model.requests[0].messages[-1].content


def test_a_file_with_a_secret_is_attached_and_reported(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1", "utf-8")
    model = ScriptedModel(["ok"])
    result = cli("run", "Why?", "--attach", ".env", steps=model)
    assert result.status == 0
    assert ".env may contain secrets" in result.err
    assert "KEY=1" in model.requests[0].messages[-1].content


def test_a_folder_is_attached_as_list_and_texts_with_its_workspace_path(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "main.py").write_text("print()", "utf-8")
    (tmp_path / "project" / "src" / "server.pem").write_text("KEY=1", "utf-8")
    model = ScriptedModel(["ok"])
    result = cli(
        "run",
        "Look",
        "--workspace",
        "project",
        "--attach",
        "project/src",
        "--attach",
        "project/src/main.py",
        steps=model,
    )
    assert result.status == 0
    assert "Files left out of src because they look like secrets: server.pem" in result.err
    asked = model.requests[0].messages[-1].content
    assert '<attached_folder name="src" path="src">\nmain.py (7 bytes)\nserver.pem (5 bytes)\n[Left out' in asked
    assert "--- main.py ---\nprint()\n</attached_folder>" in asked
    assert "KEY=1" not in asked
    assert '<attached_file name="main.py" path="src/main.py">' in asked


def test_attachment_notes_are_in_french(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bombe.png").write_bytes(png(claims=(50_000, 50_000)))
    result = cli("--lang", "fr", "run", "Regarde", "--attach", "bombe.png", steps=["never"])
    assert result.status == 2
    assert "seules les images de 64 millions" in result.err


def test_files_go_with_the_first_chat_message_and_after_attach_with_the_next(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("blue", "utf-8")
    (tmp_path / "b.txt").write_text("green", "utf-8")
    model = ScriptedModel(["one", "two", "three"])
    typed = "first\nsecond\n/attach b.txt\n/attach missing.txt\n/attach\nthird\n/quit\n"
    result = cli("chat", "--attach", "a.txt", typed=typed, steps=model)
    assert result.status == 0
    assert [[word in request.messages[-1].content for word in ("blue", "green")] for request in model.requests] == [
        [True, False],
        [False, False],
        [False, True],
    ]
    assert "b.txt will be attached to the next message" in result.err
    assert "missing.txt cannot be read" in result.err
    assert "/attach needs a file name" in result.err


@pytest.mark.parametrize("name", ["", "gone.txt"])
def test_a_chat_does_not_start_without_its_attachments(cli: Cli, name: str) -> None:
    assert cli("chat", "--attach", name, typed="hello\n", steps=["never"]).status == 2


def test_a_damaged_attachment_is_named_by_doctor_and_backup(cli: Cli, tmp_path: Path) -> None:
    for name in ("plan.txt", "gone.txt"):
        (tmp_path / name).write_text(f"the text of {name}", "utf-8")
    workflow = cli("run", "Why?", "--attach", "plan.txt", "--attach", "gone.txt", "--json", steps=["ok"]).events[0][
        "workflow_id"
    ]
    kept = {path.read_text("utf-8"): path for path in (tmp_path / "atelier-data" / "attachments" / workflow).iterdir()}
    assert {check["name"]: check["status"] for check in cli("doctor", "--json").json}["attachments"] == "ok"
    kept["the text of gone.txt"].unlink()
    (title,) = (each["name"] for each in cli("workflows", "list", "--json").json)
    missing = f"The attachment “gone.txt” of the workflow “{title}” is missing."
    check = {check["name"]: check for check in cli("doctor", "--json").json}["attachments"]
    assert (check["status"], check["message"]) == ("warn", missing)
    made = cli("backup", "create", "a.zip")
    assert (made.status, missing in made.err) == (0, True)
    kept["the text of plan.txt"].write_text("the text of plan.txT", "utf-8")
    damaged = f"The attachment “plan.txt” of the workflow “{title}” is damaged."
    assert damaged in cli("doctor").out
    assert cli("doctor").status == 1
    made = cli("backup", "create", "b.zip", "--json")
    assert made.status == 1
    found = {each["name"]: (each["workflow"], each["missing"]) for each in made.json["damaged_attachments"]}
    assert found == {"plan.txt": (workflow, False), "gone.txt": (workflow, True)}
    verified = cli("backup", "verify", "b.zip")
    assert (verified.status, damaged in verified.err) == (1, True)


def test_a_document_is_sent_as_text_and_a_refused_one_stops_the_message(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sales.xlsx").write_bytes(sheets())
    (tmp_path / "locked.docx").write_bytes(COMPOUND + "EncryptedPackage".encode("utf-16-le"))
    model = ScriptedModel(["ok"])
    assert cli("run", "Sum up", "--attach", "sales.xlsx", steps=model).status == 0
    assert "## Sheet: Ventes\n\n| Mois | Total |" in model.requests[0].messages[-1].content
    refused = cli("run", "Sum up", "--attach", "sales.xlsx", "--attach", "locked.docx", steps=model)
    assert (refused.status, len(model.requests)) == (2, 1)
    assert "locked.docx has a password or copy protection. Save it without protection" in refused.err
