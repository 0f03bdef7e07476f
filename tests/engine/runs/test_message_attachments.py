"""Attachments through a complete turn: what is stored, what the model gets, and what remains with a workflow."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.errors import StorageError, UsageError
from atelier_desk.domain.workflow import Dispatch
from atelier_desk.engine import Atelier
from atelier_desk.engine.attachments.reading import PreparedAttachments, of_bytes, read, text_file
from atelier_desk.engine.services.common.import_conflict_choice import OnConflict
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, create_workflow, exported_workflow, send_and_wait
from tests.engine.runs.busy_workflow import Busy
from tests.helpers.sample_images import png
from tests.helpers.tool_calls import tool_call


async def said(atelier: Atelier, workflow_id: str, text: str, *attached: Any) -> str:
    run_id = await send_and_wait(atelier, workflow_id, text, attachments=attached)
    return run_id


async def made(name: str, content: bytes) -> PreparedAttachments:
    """As the service does: an image is opened in a process, which a thread waits for."""
    return await asyncio.to_thread(of_bytes, name, content)


async def attachments(atelier: Atelier, workflow_id: str) -> list[Attachment]:
    """The attachments at the first message of the transcript."""
    entry = (await atelier.workflows.transcript(workflow_id))[0]
    return [Attachment.model_validate(each) for each in entry.message.details["attachments"]]


async def test_bytes_are_stored_by_hash_and_the_model_gets_image_and_text(open_atelier: Opener, tmp_path: Path) -> None:
    picture, model = png(), ScriptedModel(["ok", "still there"])
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create()
        await said(atelier, workflow.id, "Look", await made("dot.png", picture), text_file("a.txt", "The sea is blue."))
        [dot, text] = await attachments(atelier, workflow.id)
        assert await atelier.attachments.data(workflow.id, dot) == picture
        assert await atelier.attachments.text(workflow.id, text) == "The sea is blue."
        assert base64.b64encode(picture).decode() not in await atelier.workflows.export(workflow.id, "md")
    async with open_atelier(model) as atelier:  # after a restart
        await said(atelier, workflow.id, "And now?")
    for request in model.requests:
        asked = request.messages[1]
        assert [base64.b64decode(image.data) for image in asked.images] == [picture]
        assert 'name="a.txt">\nThe sea is blue.\n' in asked.content


async def test_equal_content_is_stored_once_and_equal_names_stay_distinct(open_atelier: Opener) -> None:
    async with open_atelier(["ok"]) as atelier:
        workflow = await atelier.workflows.create()
        await said(atelier, workflow.id, "Look", *(text_file("a", text) for text in ("x", "x", "y")))
        assert [each.text for each in await attachments(atelier, workflow.id)] == ["x", "y"]


async def test_a_long_text_is_sent_in_part_and_can_be_read_further(open_atelier: Opener) -> None:
    text = "".join(f"line {number}\n" for number in range(100_000))
    where = text.index("line 90000\n")
    calls = [
        [tool_call("read_attachment", "1", name="long.txt", offset=20)],
        [tool_call("read_attachment", "2", name="long.txt", search="LINE 90000")],
        [tool_call("read_attachment", "3", name="other.txt")],
        [tool_call("read_attachment", "4", name="long.txt", offset=10**8)],
    ]
    model = ScriptedModel([*calls, "done"])
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create()
        await said(atelier, workflow.id, "Look", text_file("long.txt", text), text_file("short.txt", "whole"))
        [long, short] = await attachments(atelier, workflow.id)
    assert not short.cut
    assert long.cut
    assert text.startswith(long.text)
    assert 10_000 < len(long.text) < 32_768 * 3
    asked = model.requests[0].messages[-1].content
    assert f'characters="1-{len(long.text)} of {len(text)}" rest="read_attachment, offset {len(long.text)}"' in asked
    assert "read_attachment" in [tool.name for tool in model.requests[0].tools]
    page, found, unknown, past = (
        json.loads(message.content) for message in model.requests[-1].messages if message.role.value == "tool"
    )
    assert page["content"] == text[20 : 20 + len(page["content"])]
    assert page["next_offset"] == 20 + len(page["content"])
    assert (found["offset"], found["content"][:11]) == (where, "line 90000\n")
    assert "'long.txt', 'short.txt'" in unknown["error"]
    assert "past the end" in past["error"]


async def test_the_reading_tool_is_offered_only_where_there_is_more_to_read(open_atelier: Opener) -> None:
    model = ScriptedModel(["ok"])
    async with open_atelier(model) as atelier:
        await said(atelier, await create_workflow(atelier), "Look", text_file("a.txt", "short"))
    assert "read_attachment" not in [tool.name for tool in model.requests[0].tools]


class Blind:
    """A gateway whose models are known to accept no images."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway

    async def open(self, agent: Any, language: str) -> Any:
        opened = await self._gateway.open(agent, language)
        return replace(opened, info=opened.info.model_copy(update={"supports_vision": False}))


async def test_a_model_without_vision_is_told_and_the_inspector_shows_it(open_atelier: Opener) -> None:
    model = ScriptedModel(["I cannot see it", "now I do"])
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create()
        seeing = atelier.environment.gateway
        atelier.environment.gateway = Blind(seeing)  # type: ignore[assignment]
        run_id = await said(atelier, workflow.id, "Look", await made("dot.png", png()))
        assert model.requests[0].messages[-1].images == ()
        assert "'dot.png'), but you are a model that cannot see pictures" in model.requests[0].messages[-1].content
        [summary] = await atelier.inspector.requests(run_id)
        shown = await atelier.inspector.request(run_id, summary.seq)
        assert shown.messages[-1].content == model.requests[0].messages[-1].content
        assert [each.name for each in shown.items[-1].attached] == ["dot.png"]
        atelier.environment.gateway = seeing
        await said(atelier, workflow.id, "Again")
        assert [image.name for image in model.requests[1].messages[1].images] == ["dot.png"]


async def test_an_image_whose_file_is_missing_is_reported_and_the_turn_continues(open_atelier: Opener) -> None:
    model = ScriptedModel(["ok", "ok"])
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create()
        run_id = await said(atelier, workflow.id, "Look", await made("dot.png", png()))
        [dot] = await attachments(atelier, workflow.id)
        await atelier.repos.artefacts.remove(workflow.id, [dot.sha256])
        await said(atelier, workflow.id, "Again")
        assert "'dot.png' was attached here; its file is missing" in model.requests[1].messages[1].content
        with pytest.raises(StorageError, match=r"dot\.png cannot be opened"):
            await atelier.runs.regenerate(workflow.id, run_id)


async def test_edited_regenerated_and_queued_messages_keep_their_attachments(open_atelier: Opener) -> None:
    model = ScriptedModel(["one", "two", "three"])
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create()
        run_id = await said(atelier, workflow.id, "Look", await made("dot.png", png()), text_file("a.txt", "blue"))
        await atelier.runs.wait(await atelier.runs.edit_and_resend(workflow.id, run_id, "Look closely"))
        await atelier.runs.wait(await atelier.runs.regenerate(workflow.id, run_id))
    for request in model.requests:
        assert len(request.messages[-1].images) == 1
        assert "blue" in request.messages[-1].content


async def test_a_queued_message_keeps_its_attachments_and_returns_them(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["one"], gate=gate)) as atelier:
        busy = await Busy(atelier, gate).begin()
        await atelier.runs.send(
            busy.workflow_id, "Later", attachments=[text_file("a.txt", "blue")], strategy=Dispatch.QUEUE
        )
        [waiting] = await atelier.runs.waiting.list(busy.workflow_id)
        back = await atelier.runs.waiting.withdraw(busy.workflow_id, waiting.message_id)
        assert [(each.name, each.text) for each in back.attachments] == [("a.txt", "blue")]
        await busy.answer()


async def test_copies_forks_and_exports_of_a_workflow_have_its_attachments(
    open_atelier: Opener, tmp_path: Path
) -> None:
    long = "x" * 200_000
    async with open_atelier(["ok"]) as atelier:
        workflow = await atelier.workflows.create()
        await said(
            atelier,
            workflow.id,
            "Look",
            await made("dot.png", png()),
            await made("l.txt", b"\xff\xfe" + long.encode("utf-16-le")),
        )
        text = await atelier.workflows.export(workflow.id)
        copies = [
            (await atelier.workflows.duplicate(workflow.id)).id,
            (await atelier.runs.fork(workflow.id, (await atelier.workflows.get(workflow.id)).stream_seq)).id,
            (await atelier.workflows.import_(text, OnConflict.RENAME)).workflow.id,
        ]
        await atelier.workflows.purge(workflow.id)
        assert not (tmp_path / "data" / "attachments" / workflow.id).exists()
        for copy in copies:
            [dot, whole] = await attachments(atelier, copy)
            assert await atelier.attachments.data(copy, dot) == png()
            assert await atelier.attachments.text(copy, whole) == long


async def test_a_draft_keeps_its_attachments_over_a_restart_and_can_be_sent(
    open_atelier: Opener, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("blue", "utf-8")
    model = ScriptedModel(["ok"])
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create()
        kept = await atelier.attachments.store(workflow.id, read(tmp_path / "a.txt"))
        await atelier.workflows.set_draft(workflow.id, "Look at", [kept])
    (tmp_path / "a.txt").unlink()
    async with open_atelier(model) as atelier:
        again = await atelier.workflows.get(workflow.id)
        assert (again.draft, [each.name for each in again.draft_attachments]) == ("Look at", ["a.txt"])
        await said(atelier, workflow.id, "Look at", *again.draft_attachments)
        await atelier.workflows.set_draft(workflow.id, "")
        assert len((await atelier.workflows.get(workflow.id)).draft_attachments) == 1  # only the text was changed
        await atelier.workflows.set_draft(workflow.id, "", ())
        assert (await atelier.workflows.get(workflow.id)).draft_attachments == ()
    assert "blue" in model.requests[0].messages[-1].content


async def test_a_removed_attachment_is_deleted_unless_a_message_has_it(open_atelier: Opener) -> None:
    async with open_atelier(["ok"]) as atelier:
        workflow = await atelier.workflows.create()
        sent, gone, twin = (
            text_file(name, text, "file") for name, text in (("a", "blue"), ("b", "green"), ("c", "green"))
        )
        await said(atelier, workflow.id, "Look", sent)
        kept = [await atelier.attachments.store(workflow.id, each) for each in (sent, gone, twin)]
        await atelier.workflows.set_draft(workflow.id, "", kept[2:])
        for each in kept[:2]:
            await atelier.attachments.drop(workflow.id, each)
        assert await atelier.attachments.text(workflow.id, kept[0]) == "blue"
        assert await atelier.attachments.text(workflow.id, kept[2]) == "green", (
            "another one of the draft has the same bytes"
        )
        await atelier.workflows.set_draft(workflow.id, "", ())
        await atelier.attachments.drop(workflow.id, kept[2])
        assert (await atelier.data.attachments())[0] == 1
        with pytest.raises(StorageError):
            await atelier.attachments.text(workflow.id, kept[1])


async def test_a_removed_attachment_stays_if_it_was_stored_elsewhere_meanwhile(open_atelier: Opener) -> None:
    async with open_atelier([]) as atelier:
        workflow = await atelier.workflows.create()
        first = await atelier.attachments.store(workflow.id, text_file("a", "blue"))
        again = await atelier.attachments.store(workflow.id, text_file("a", "blue"))  # not in the draft yet
        await atelier.attachments.drop(workflow.id, first)
        await atelier.workflows.set_draft(workflow.id, "", (again,))
        assert await atelier.attachments.text(workflow.id, again) == "blue"
        await atelier.workflows.set_draft(workflow.id, "", ())
        await atelier.attachments.drop(workflow.id, again)
        assert not atelier.repos.artefacts.has(workflow.id, first.sha256)
        # A tool's file is on the disk before the event that names it.
        draft = await atelier.attachments.store(workflow.id, text_file("a", "blue"))
        made = await atelier.repos.artefacts.store(workflow.id, "made.txt", b"blue", "text/plain")
        await atelier.attachments.drop(workflow.id, draft)
        assert await atelier.repos.artefacts.read(workflow.id, made) == b"blue"


async def test_importing_over_a_workflow_repairs_its_damaged_files(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier(["ok"]) as atelier:
        workflow = await atelier.workflows.create()
        await said(atelier, workflow.id, "Look", text_file("a", "blue"))
        [kept] = await attachments(atelier, workflow.id)
        exported = await atelier.workflows.export(workflow.id)
        [file] = tmp_path.rglob(kept.sha256)
        file.write_bytes(b"bleu")
        await atelier.workflows.import_(exported, OnConflict.OVERWRITE)
        assert await atelier.attachments.text(workflow.id, kept) == "blue"


@pytest.mark.parametrize("digest", ["..", "../../database", "CON", "", "A" * 64])
async def test_an_export_with_an_invalid_hash_is_refused(open_atelier: Opener, digest: str) -> None:
    call = tool_call("TodoTool", "1", operation="create", name="Weed")
    async with open_atelier([[call], "ok"]) as atelier:
        workflow = await atelier.workflows.create()
        await said(atelier, workflow.id, "Go")
        forged = await exported_workflow(atelier, workflow.id)
        [over] = [event["body"] for event in forged["events"] if event["body"]["type"] == "tool_call_finished"]
        over["parts"] = [{"type": "artefact", "name": "x", "size": 1, "sha256": digest}]
        with pytest.raises(UsageError, match="SHA-256"):
            await atelier.workflows.import_(json.dumps(forged))
