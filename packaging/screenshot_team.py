"""A team for the screenshots: one agent leads three, one of which has a sub-agent; they stop where the pictures
are taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.model_messages import ChatReply, ToolCall, Usage
from atelier_desk.llm.scripted_model import ScriptedModel, Step

SCENE_STYLES = (("light", 100), ("dark", 100), ("light", 150))
"""Theme and font scale of each scene."""
TOOLS = (
    "CalculatorTool",
    "TodoTool",
    "MemoryTool",
    "ReportTool",
    "UserQuestionTool",
    "SpawnAgentTool",
    "ParallelTasksTool",
)
WORDS: dict[str, dict[str, Any]] = {
    "fr": {
        "lead": "Architecte",
        "names": ("Relecteur", "Testeur", "Rédactrice"),
        "fourth": "Vérificateur de types",
        "ask": "Peux-tu isoler l’exécution des outils et ajouter un test ?",
        "plan": "Je partage le travail entre trois agents, puis je rassemble leurs **rapports**.",
        "jobs": (
            "Relis le module `sandbox` et signale chaque chemin par lequel un outil pourrait sortir de son processus.",
            "Écris un test pour le délai d’un outil : il doit s’arrêter après douze secondes.",
            "Rédige le paragraphe du guide qui explique l’isolement, en dix lignes au plus.",
        ),
        "fourth_job": "Vérifie les types du module `sandbox`.",
        "review": "Je lis d’abord le module, puis je fais vérifier ses types par un autre agent.",
        "types": "Aucune erreur de type n’apparaît dans les fonctions que j’ai relues jusqu’ici ; il reste le registre",
        "test": "Le test est écrit : l’outil est arrêté au bout de **douze secondes**, et son dossier est vidé.",
        "guide": (
            "## Isolement\n\nChaque outil s’exécute dans un *processus à part*, avec un dossier temporaire et "
            "sans réseau."
        ),
        "reviewed": "Deux chemins sont à fermer : `os.environ` et le dossier courant.",
        "end": "Tout est prêt : le test passe, le guide est à jour, et **deux chemins** restent à fermer.",
    },
    "en": {
        "lead": "Architect",
        "names": ("Reviewer", "Tester", "Writer"),
        "fourth": "Type checker",
        "ask": "Can you isolate the execution of tools and add a test?",
        "plan": "I share the work among three agents and put their **reports** together.",
        "jobs": (
            "Review the module `sandbox` and report every way a tool could leave its process.",
            "Write a test for a tool's deadline: it must stop after twelve seconds.",
            "Write the paragraph of the guide that explains isolation, ten lines at most.",
        ),
        "fourth_job": "Check the types of the module `sandbox`.",
        "review": "First I read the module, then I have its types checked by another agent.",
        "types": "No type error shows in the functions I have read so far; the registry is left",
        "test": "The test is written: the tool is stopped after **twelve seconds** and its folder is emptied.",
        "guide": (
            "## Isolation\n\nEvery tool runs in a *process of its own*, with a temporary folder and without a network."
        ),
        "reviewed": "Two ways are to be closed: `os.environ` and the current folder.",
        "end": "All is ready: the test passes, the guide is current, and **two ways** are left to be closed.",
    },
}


class Photographer(Protocol):
    """The interface of whatever drives the window and saves screenshots."""

    window: Any
    bridge: Any
    folder: Path

    async def until(self, condition: Callable[[], bool], seconds: float = 20) -> None: ...

    async def send(self, text: str) -> None: ...

    async def look(self, mode: str, scale: int) -> None: ...

    def save(self, name: str) -> None: ...


def used(tokens: int) -> Usage:
    return Usage(tokens_input=tokens, tokens_output=tokens // 6, cost=tokens * 2e-6)


def reply(content: str = "", *calls: ToolCall, tokens: int = 2400) -> ChatReply:
    return ChatReply(content=content, tool_calls=calls, usage=used(tokens))


class Team:
    """The models of the four agents, by the agent's name; two of them stop in the middle until ``gate`` is set."""

    def __init__(self, language: str) -> None:
        self.words = words = WORDS[language]
        self.gate = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        tasks = [{"agent_id": name, "prompt": job} for name, job in zip(words["names"], words["jobs"], strict=True)]
        batch = ToolCall(id="p1", name="ParallelTasksTool", arguments={"operation": "execute_batch", "tasks": tasks})
        spawn = ToolCall(
            id="s1",
            name="SpawnAgentTool",
            arguments={"operation": "spawn", "name": words["fourth"], "prompt": words["fourth_job"]},
        )
        calculate = ToolCall(id="c1", name="CalculatorTool", arguments={"operation": "eval", "expression": "12*7"})
        reviewer, tester, writer = words["names"]
        scripts: dict[str, tuple[Sequence[Step], bool]] = {
            words["lead"]: ((reply(words["plan"], batch, tokens=5200), reply(words["end"], tokens=6100)), False),
            reviewer: ((reply(words["review"], spawn), reply(words["reviewed"])), False),
            tester: ((reply("", calculate), reply(words["test"])), False),
            writer: ((reply(words["guide"], tokens=3100),), True),
            words["fourth"]: ((reply("", calculate, tokens=900), reply(words["types"] + ".", tokens=1800)), True),
        }
        self.models = {name: self._model(steps, held) for name, (steps, held) in scripts.items()}

    def _model(self, steps: Sequence[Step], held: bool) -> ScriptedModel:
        model = ScriptedModel(steps, chunk=80)
        if held:  # its last reply stops after the first chunk
            model.gate = asyncio.Event()
            if len(steps) > 1:
                model.gate.set()
                first, last = steps

                def stop(_request: Any) -> Step:
                    model.gate = self.gate
                    return last

                model._steps = [first, stop]
            else:
                model.gate = self.gate
        return model

    def release(self) -> None:
        """Let the stopped ones continue; called from another thread than the engine's."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self.gate.set)

    def factory(self, config: AgentConfig) -> ScriptedModel:
        self.loop = asyncio.get_running_loop()
        return self.models[config.name]

    async def hire(self, atelier: Any, language: str) -> None:
        """Store the agents, and let the existing one lead them; it must ask before it starts others."""
        words = self.words
        lead = AgentConfig(
            name=words["lead"], provider="demo", model="gpt-local", tools=TOOLS, budget=Budget(max_cost=0.25)
        )
        stored = await atelier.agents.save(lead, (await atelier.agents.by_name(lead.name)).id)
        for name in words["names"]:
            await atelier.agents.save(AgentConfig(name=name, provider="demo", model="gpt-local", tools=TOOLS))
        await atelier.settings.update(first_start_done=True, default_agent_id=stored.id, language=language)


class TeamPictures:
    """Takes the pictures of one team from its first message to its replay."""

    def __init__(self, photographer: Photographer, team: Team, language: str) -> None:
        self.by, self.team, self.language = photographer, team, language
        self.window, self.bridge = photographer.window, photographer.bridge

    async def take(self) -> None:
        chat = self.window.chat
        await self.by.until(lambda: chat.composer._enabled)
        await self.by.send(self.team.words["ask"])
        await self.by.until(lambda: len(self.window.presenter.approvals.pending()) == 1)
        self.window.rail.show_pane("questions")
        await self.shoot("approval")
        self.window.rail.show_pane("memory")
        await self.allow()
        # the reviewer asks for its own sub-agent
        await self.by.until(lambda: len(self.window.presenter.approvals.pending()) == 1)
        await self.shoot("approval-lineage")
        await self.allow()
        await self.by.until(lambda: self.working() and len(chat.team.state.members) == 5)
        await asyncio.sleep(1)
        await self.shoot("team")
        self.window.rail.show_pane("timeline")
        await self.shoot("timeline")
        self.window.rail.docks["timeline"].close()
        await self.shoot("agent", self.open_fourth)
        chat.leave_agent()
        self.team.release()
        await self.by.until(lambda: chat.view.entries[-1].content == self.team.words["end"])
        self.window.rail.show_pane("context")
        await self.shoot("context")
        self.window.rail.docks["context"].close()
        self.window.conductor.open_replay()
        await self.by.until(
            lambda: self.window.conductor.replay is not None and bool(self.window.conductor.replay.marks)
        )
        self.window.conductor.replay.player.seek(len(self.window.conductor.replay.marks) // 2)
        await self.shoot("replay")
        self.window.conductor.close_replay()
        await self.settings()

    def working(self) -> bool:
        names = {member.name: member for member in self.window.chat.team.state.members.values()}
        fourth = names.get(self.team.words["fourth"])
        return fourth is not None and fourth.tokens_input >= 900

    def open_fourth(self) -> None:
        chat = self.window.chat
        chat.open_agent(
            next(each.run_id for each in chat.team.state.members.values() if each.name == self.team.words["fourth"])
        )

    async def allow(self) -> None:
        [request] = self.window.presenter.approvals.pending()
        await self.bridge.engine.approvals.approve(request.id)
        await self.by.until(lambda: all(each.id != request.id for each in self.window.presenter.approvals.pending()))

    async def shoot(self, scene: str, before: Callable[[], object] | None = None) -> None:
        """One scene in each combination of theme and font scale."""
        for mode, scale in SCENE_STYLES:
            await self.by.look(mode, scale)
            if before is not None:
                before()
                await asyncio.sleep(0.6)
            self.by.save(f"{scene}-{'large' if scale > 100 else mode}-{self.language}")
        await self.by.look("light", 100)

    async def settings(self) -> None:
        self.window.open_settings()
        await asyncio.sleep(0.8)
        settings = self.window._settings_window
        settings.show_page("approvals")
        for mode, scale in SCENE_STYLES:
            await self.by.look(mode, scale)
            settings.grab().save(
                str(self.by.folder / f"settings-approvals-{'large' if scale > 100 else mode}-{self.language}.png")
            )
        settings.close()
