"""Projects as agents use them: reading a granted folder, looking things up in it, and nothing of what they may not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.engine import Atelier
from atelier_desk.tools.base import ToolContext, ToolResult
from tests.engine.conftest import Opener

CART = '''def total(prices):
    """Add up what is in the cart."""
    return plus(prices)


def plus(a):
    return a
'''


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "private").mkdir(parents=True)
    (folder / "public").mkdir()
    (folder / "public" / "cart.py").write_text(CART)
    (folder / "private" / "wage.py").write_text('def wage(person):\n    """What a person is paid."""\n    return person\n')
    return folder


class Agent:
    """Calls tools as one run does, with the folders that were granted."""

    def __init__(self, atelier: Atelier, *roots: Path) -> None:
        self.atelier, self.roots, self.state = atelier, roots, dict[str, Any]()
        self.trusted: tuple[Path, ...] = ()

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return (await self.result(tool, **arguments)).data

    async def result(self, tool: str, **arguments: Any) -> ToolResult:
        context = ToolContext(
            "w", "r", "c", roots=self.roots, workspace=self.roots[0] if self.roots else None, state=self.state, trusted=self.trusted
        )
        result = await self.atelier.registry.execute(tool, arguments, context)
        assert isinstance(result, ToolResult)
        self.state = {**self.state, **(result.state or {})}
        return result


async def test_a_folder_is_set_up_and_looked_up_in(open_atelier: Opener, code: Path) -> None:
    async with open_atelier() as atelier:
        agent = Agent(atelier, code)
        made = await agent("setup_project")
        assert (made["success"], made["project"], made["entities"]["scope"]) == (True, "shop", 3)
        found = await agent("semantic_search", query="add up the cart")
        assert found["results"][0]["name"] == "total"
        queried = await agent("query_entities", entity="Scope", where={"path": {"starts_with": "public"}}, order_by="-start_line")
        assert [row["name"] for row in queried["results"]] == ["plus", "total"]
        around = await agent("explore_relationships", entity_id="plus", relationship="calls", direction="in")
        assert [row["name"] for row in around["results"]] == ["total"]
        schema = await agent("get_schema")
        assert schema["counts"]["Scope"] == 3
        listed = await agent("list_projects")
        assert [(row["name"], row["current"]) for row in listed["projects"]] == [("shop", True)]
        assert (await agent("ingest_code", files=["public/cart.py"], incremental=False))["changed"] == 1
        assert (await agent("forget_path", path="private"))["files"] == 1
        assert "wage" not in str(await agent("brain_search", query="wage person paid"))


async def test_what_is_not_there_is_answered_with_what_is(open_atelier: Opener, code: Path) -> None:
    async with open_atelier() as atelier:
        agent = Agent(atelier, code)
        assert "setup_project" in (await agent("semantic_search", query="x"))["error"]
        await agent("setup_project")
        assert "shop" in (await agent("switch_project", name="ship"))["error"]
        assert "Scope" in (await agent("query_entities", entity="Klass"))["error"]
        assert "qualified" in (await agent("query_entities", entity="Scope", where={"nom": "x"}))["error"]
        assert "starts_with" in (await agent("query_entities", entity="Scope", where={"name": {"like": "x"}}))["error"]
        assert "total" in (await agent("explore_relationships", entity_id="totals cart"))["error"]


async def test_an_agent_reads_back_only_what_it_may_read(open_atelier: Opener, code: Path, tmp_path: Path) -> None:
    async with open_atelier() as atelier:
        await Agent(atelier, code)("setup_project")
        narrow = Agent(atelier, code / "public")
        assert "wage" not in str(await narrow("brain_search", query="what a person is paid wage"))
        assert "wage" not in str(await narrow("query_entities", entity="Scope"))
        [project] = await atelier.projects.list()
        [wage] = await atelier.projects.find("wage", limit=1, project_ids=[project.id])
        assert not (await narrow("explore_relationships", entity_id=wage.entity.id))["success"]
        assert "outside" in (await narrow("setup_project", root=str(code / "private")))["error"]
        near = (await narrow("explore_relationships", entity_id="what a person is paid"))["error"]
        assert ("wage.py" in near, "Nearest" in near) == (False, True)
        (tmp_path / "else").mkdir()
        stranger = Agent(atelier, tmp_path / "else")
        assert (await stranger("list_projects"))["projects"] == []
        assert not (await stranger("switch_project", name="shop"))["success"]


async def test_what_an_agent_may_not_read_has_no_name_in_relations(open_atelier: Opener, code: Path) -> None:
    (code / "public" / "bill.py").write_text("def bill():\n    return 1\n")
    wages = "from public.bill import bill\nfrom public.cart import total\n\n\ndef wage():\n    return total([]), bill()\n"
    (code / "private" / "wage.py").write_text(wages)
    async with open_atelier() as atelier:
        await Agent(atelier, code)("setup_project")
        around = await Agent(atelier, code / "public")("explore_relationships", entity_id="total", relationship="calls", depth=2)
        assert {row["name"]: row["by"] for row in around["results"]} == {"plus": "total calls plus", "bill": "? calls bill"}


async def test_pages_are_kept_and_what_they_say_is_from_outside(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        project = await atelier.projects.create("Web pages")
        page = ("https://birds.example/herons", "Herons", "# Herons\n\nHerons nest in tall trees.\n")
        assert await atelier.projects.add_pages(project.id, [page]) >= 2
        found = await Agent(atelier).result("brain_search", query="where herons nest")
        assert found.data["results"][0]["path"] == "https://birds.example/herons"
        assert found.tainted == ("birds.example",)
        assert (await atelier.projects.delete(project.id)) > 2


async def test_a_link_out_of_the_workspace_is_no_folder_of_it(open_atelier: Opener, code: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "link").symlink_to(code)
    async with open_atelier() as atelier:
        agent = Agent(atelier, workspace)
        assert (await agent("setup_project", root="link"))["code"] == "outside"
        assert (await agent("create_project", name="shop", path="link/private"))["code"] == "outside"
        assert await atelier.projects.list() == []


async def test_a_folder_swapped_for_a_link_is_not_read(open_atelier: Opener, code: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    (workspace / "own").mkdir(parents=True)
    (workspace / "own" / "mine.py").write_text("def mine():\n    pass\n")
    async with open_atelier() as atelier:
        agent = Agent(atelier, workspace)
        assert (await agent("setup_project", root="own"))["success"]
        (workspace / "own").rename(workspace / "old")
        (workspace / "own").symlink_to(code)
        assert (await agent("generate_embeddings", force=True))["code"] == "ingest_failed"
        assert "wage" not in str(await agent("semantic_search", query="what a person is paid wage"))
        (workspace / "own" / "mine.py").write_text("hush")
        [found] = await atelier.projects.find("mine", limit=1)
        with pytest.raises(ToolError, match="cannot be opened"):
            await atelier.projects.source(found.entity.id)


async def test_what_files_of_strangers_say_is_from_outside_and_of_trusted_folders_is_not(open_atelier: Opener, code: Path) -> None:
    async with open_atelier() as atelier:
        agent = Agent(atelier, code)
        await agent("setup_project")
        asked: list[tuple[str, dict[str, Any]]] = [
            ("semantic_search", {"query": "add up the cart", "limit": 1}),
            ("brain_search", {"query": "add up the cart", "limit": 1}),
            ("query_entities", {"entity": "Scope", "where": {"name": "total"}}),
            ("explore_relationships", {"entity_id": "total", "relationship": "calls", "direction": "out"}),
        ]
        for tool, arguments in asked:
            agent.trusted = ()
            assert (await agent.result(tool, **arguments)).tainted == (str(code / "public" / "cart.py"),), tool
            agent.trusted = (code / "public",)
            assert (await agent.result(tool, **arguments)).tainted == (), tool
