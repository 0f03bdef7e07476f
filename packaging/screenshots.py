"""Take screenshots of the real program for README, user guide and reviews: ``python packaging/screenshots.py
[FOLDER]``.

``--docs`` also puts those of README and guide into ``docs/pictures``. One language, or one part of it, is taken
with ``python packaging/screenshots.py FOLDER en [conversation|team]``.

The desktop runs on its own data folder with the real engine and database; only the model is scripted, so that
every run shows the same. It needs a display (``xvfb-run -a`` provides one) or ``QT_QPA_PLATFORM=offscreen``.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from screenshot_team import Team, TeamPictures

from atelier_desk.desktop import app as desktop
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.model_messages import ChatReply, ToolCall, Usage
from atelier_desk.domain.task import TaskStatus
from atelier_desk.llm.scripted_model import ScriptedModel

SIZE = (1360, 860)
REPLY = {
    "fr": """Voici le cœur du module :

```python
class Sandbox:
    \"\"\"Exécute un outil dans un processus isolé.\"\"\"

    async def run(self, call: ToolCall) -> Result:
        async with asyncio.timeout(call.limit):  # délai
            return await self._spawn(call.name, call.args)
```

- chaque appel émet `started`, `output`, `finished` ;
- l’annulation se propage au processus fils ;
- les erreurs deviennent des *événements*, jamais des exceptions perdues.

| étape | durée |
|---|--:|
| lecture | 0,1 s |
| calcul | 2,4 s |
""",
    "en": """Here is the heart of the module:

```python
class Sandbox:
    \"\"\"Runs a tool in a process of its own.\"\"\"

    async def run(self, call: ToolCall) -> Result:
        async with asyncio.timeout(call.limit):  # deadline
            return await self._spawn(call.name, call.args)
```

- every call emits `started`, `output`, `finished`;
- cancelling reaches the child process;
- errors become *events*, never lost exceptions.

| step | time |
|---|--:|
| reading | 0.1 s |
| computing | 2.4 s |
""",
}
WORDS = {
    "fr": {
        "agent": "Architecte",
        "ask": "Peux-tu isoler l’exécution des outils et ajouter un test ?",
        "plan": (
            "Je calcule d’abord le délai, puis je propose un découpage en **trois modules** : `registry`, "
            "`sandbox` et `events`."
        ),
        "others": ("Tri des journaux d’erreurs", "Résumé des réunions d’équipe"),
        "tasks": (
            "Lire le registre",
            "Lister les dépendances",
            "Isoler l’exécution",
            "Écrire les tests",
            "Mettre à jour la doc",
        ),
        "memory": "L’utilisateur préfère des modules courts.",
        "question": "Quels isolements faut-il activer pour les outils ?",
        "options": ("Processus séparé", "Dossier temporaire", "Réseau coupé"),
        "placeholder": "Autre réponse ou précision…",
    },
    "en": {
        "agent": "Architect",
        "ask": "Can you isolate the execution of tools and add a test?",
        "plan": (
            "First I compute the deadline, then I propose a split into **three modules**: `registry`, `sandbox` "
            "and `events`."
        ),
        "others": ("Sorting the error logs", "Summary of team meetings"),
        "tasks": (
            "Read the registry",
            "List the dependencies",
            "Isolate execution",
            "Write the tests",
            "Update the docs",
        ),
        "memory": "The user prefers short modules.",
        "question": "Which isolation should be switched on for tools?",
        "options": ("Process of its own", "Temporary folder", "Network cut off"),
        "placeholder": "Another answer, or more detail…",
    },
}
PARTS = ("conversation", "team")
PICTURES = {
    "first-steps": "first-steps",
    "workflow": "conversation-light",
    "providers": "settings-providers",
    "agents": "settings-agents",
    "approval": "approval-light",
    "question": "question-light",
    "team": "team-light",
}
"""The pictures of README and guide: name in ``docs/pictures``, and screenshot name; both end with the language."""
Shot = tuple[str, str, str, int]
"""Name, language, theme, font scale."""
SHOTS: tuple[Shot, ...] = (
    ("conversation-light-fr", "fr", "light", 100),
    ("conversation-dark-fr", "fr", "dark", 100),
    ("conversation-light-en", "en", "light", 100),
    ("conversation-large-fr", "fr", "light", 150),
)


def scripted(language: str) -> ScriptedModel:
    """The turn that every screenshot shows: a calculation, the answer, then a question left open."""
    words = WORDS[language]
    question = {
        "operation": "ask",
        "question": words["question"],
        "questionType": "mixed",
        "options": [{"id": str(number), "label": label} for number, label in enumerate(words["options"])],
        "textPlaceholder": words["placeholder"],
    }
    usage = Usage(tokens_input=5200, tokens_output=1000, cost=0.011)
    calculate = ToolCall(id="c1", name="CalculatorTool", arguments={"operation": "eval", "expression": "12*7"})
    return ScriptedModel(
        [
            ChatReply(content=str(words["plan"]), tool_calls=(calculate,), usage=usage),
            ChatReply(content=REPLY[language], usage=usage),
            ChatReply(tool_calls=(ToolCall(id="c2", name="UserQuestionTool", arguments=question),), usage=usage),
        ]
    )


async def fill(atelier: Any, language: str) -> None:
    """Store agents, tasks, a memory and older workflows. Generated titles are off: asking for one would use up the
    script's next reply.
    """
    words = WORDS[language]
    config = AgentConfig(
        name=str(words["agent"]),
        provider="demo",
        model="gpt-local",
        tools=("CalculatorTool", "UserQuestionTool", "TodoTool", "MemoryTool"),
    )
    agent = await atelier.agents.save(config)
    await atelier.settings.update(
        first_start_done=True, default_agent_id=agent.id, language=language, name_by_model=False, memories_at_end="off"
    )
    for name in reversed(words["others"]):
        await atelier.workflows.create(str(name), agent.id)
    await atelier.repos.memories.save(
        Memory(type=MemoryType.USER_PREF, content=str(words["memory"]), source="user"), None
    )


async def add_tasks(atelier: Any, language: str, workflow_id: str) -> None:
    for number, name in enumerate(WORDS[language]["tasks"]):
        task = await atelier.tasks.create(workflow_id, name=str(name))
        if number < 2:
            await atelier.tasks.complete(workflow_id, task.id)
        elif number == 2:
            await atelier.tasks.set_status(workflow_id, task.id, TaskStatus.IN_PROGRESS)


class Photographer:
    """Drives the window and saves screenshots of it."""

    def __init__(self, program: desktop.Program, folder: Path, shots: tuple[Shot, ...]) -> None:
        self.program, self.folder, self.shots = program, folder, shots
        self.window, self.bridge = program.window, program.bridge

    async def until(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        """Wait for something on the screen.

        Raises:
            TimeoutError: it never appeared.
        """
        left = int(seconds / 0.02)
        while not condition():
            left -= 1
            if left < 0:
                raise TimeoutError("what was waited for never came to the screen")
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.4)

    def save(self, name: str) -> None:
        path = self.folder / f"{name}.png"
        self.window.grab().save(str(path))
        print(path)

    async def look(self, mode: str, scale: int) -> None:
        """Change theme and font scale, and wait until the window shows them."""
        await self.bridge.engine.settings.update(theme=mode, font_scale=scale)
        await self.until(lambda: theme().tokens.name == mode and round(theme().scale * 100) == scale)
        await asyncio.sleep(0.3)

    async def send(self, text: str) -> None:
        self.window.chat.composer.field.setPlainText(text)
        self.window.chat.composer.submit()

    async def take(self) -> None:
        """Take all pictures of one language."""
        language = self.shots[0][1]
        words = WORDS[language]
        chat = self.window.chat
        await self.until(lambda: chat.composer._enabled)
        self.save(f"start-light-{language}")
        await self.first_steps(language)
        await self.send(str(words["ask"]))
        await self.until(
            lambda: bool(chat.view.entries) and not chat.view.entries[-1].live and len(chat.view.entries) >= 3
        )
        await add_tasks(self.bridge.engine, language, chat.workflow_id)
        await asyncio.sleep(1)
        for name, _language, mode, scale in self.shots:
            await self.look(mode, scale)
            self.save(name)
        await self.look("light", 100)
        await self.palette_and_settings(language)
        await self.send(str(words["ask"]))
        await self.until(lambda: self.window.presenter.dialog is not None)
        self.save(f"question-light-{language}")
        await self.bridge.engine.settings.update(theme="dark")
        await self.until(lambda: theme().tokens.dark)
        self.save(f"question-dark-{language}")

    async def first_steps(self, language: str) -> None:
        self.window.show_first_steps(1)
        await asyncio.sleep(1)
        dialog = self.window._first_steps
        dialog.grab().save(str(self.folder / f"first-steps-{language}.png"))
        dialog.close()
        await asyncio.sleep(0.4)

    async def palette_and_settings(self, language: str) -> None:
        self.window.command_palette()
        await asyncio.sleep(0.4)
        assert self.window._palette is not None
        self.window._palette.grab().save(str(self.folder / f"palette-{language}.png"))
        self.window._palette.hide()
        self.window.open_settings()
        await asyncio.sleep(0.8)
        settings = self.window._settings_window
        for page in ("general", "providers", "agents"):
            settings.show_page(page)
            await asyncio.sleep(0.5)
            settings.grab().save(str(self.folder / f"settings-{page}-{language}.png"))
        settings.close()


def run(language: str, part: str, folder: Path) -> None:
    """Open the program once and take the pictures of one part in a language."""
    folder.mkdir(parents=True, exist_ok=True)
    shots = tuple(shot for shot in SHOTS if shot[1] == language)
    team = Team(language)

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        from atelier_desk.engine.atelier import Atelier

        model = scripted(language)
        factory = team.factory if part == "team" else lambda _agent: model
        async with Atelier.open(data_dir, model_factory=factory) as atelier:
            await fill(atelier, language)
            if part == "team":
                await team.hire(atelier, language)
            yield atelier

    original = desktop.Program._on_opened

    async def then_photograph(program: desktop.Program) -> None:
        await original(program)
        photographer = Photographer(program, folder, shots)
        program.window.resize(*SIZE)
        try:
            await (TeamPictures(photographer, team, language) if part == "team" else photographer).take()
        finally:
            program.window.close()

    desktop.Program._on_opened = then_photograph  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as data:
            desktop.main(Path(data), [], opener=opener)
    finally:
        desktop.Program._on_opened = original  # type: ignore[method-assign]


def publish(taken: Path, target: Path) -> None:
    """Write the pictures of README and guide in 256 colours: a third of the bytes, without a visible difference."""
    from PIL import Image

    target.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        for language in WORDS:
            with Image.open(taken / f"{picture}-{language}.png") as image:
                image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
                    target / f"{name}.{language}.png", optimize=True
                )


def main() -> None:
    if len(sys.argv) > 3:  # one part of a language per process: Qt keeps its translators
        run(sys.argv[2], sys.argv[3], Path(sys.argv[1]))
        return
    import subprocess

    words = [each for each in sys.argv[1:] if each != "--docs"]
    folder = Path(words[0]) if words else Path("out/screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    for language in words[1:] or WORDS:
        for part in PARTS:
            subprocess.run([sys.executable, __file__, str(folder), language, part], check=True)
    if "--docs" in sys.argv:
        publish(folder, Path(__file__).resolve().parent.parent / "docs" / "pictures")


if __name__ == "__main__":
    main()
