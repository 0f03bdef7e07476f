"""The lists of the pickers, and the effects of favourites and choices."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.agent_model_choices import WorkflowChoices, abilities, describe, model_choices
from atelier_desk.desktop.chat.header import ChatHeader
from atelier_desk.desktop.widgets.picker import matching
from atelier_desk.domain.agent import Agent, AgentConfig, Choices, Thinking
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.gateways.model_gateway import DEFAULT_WINDOW
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

THINKER = ModelInfo(
    provider="p",
    name="t",
    context_window=128_000,
    supports_tools=True,
    supports_thinking=True,
    price_input=0.25,
    price_output=2,
)
MODELS = [
    ModelInfo(provider="p", name="m"),
    THINKER,
    ModelInfo(provider="q", name="x/y"),
    ModelInfo(provider="q", name="e", embedding=True),
]
ADA = Agent(id="ada", config=AgentConfig(name="Ada", provider="p", model="m"))


def test_favourites_come_first_then_recent_models_then_each_providers() -> None:
    listed = model_choices(MODELS, favourites=["q/x/y", "gone/model"], recent=["p/t", "q/x/y"])
    assert [(each.key, each.group, each.starred) for each in listed] == [
        ("q/x/y", "Favourites", True),
        ("p/t", "Recent", False),
        ("p/m", "p", False),
    ]


def test_a_model_is_found_by_its_id_and_by_its_label() -> None:
    listed = model_choices(
        [ModelInfo(provider="p", name="claude-sonnet-5", label="Claude Sonnet 5"), MODELS[0]], [], []
    )
    for needle in ("claude-sonnet", "sonnet 5"):
        assert [each.key for each in matching(listed, needle)] == ["p/claude-sonnet-5"]


def test_known_facts_of_a_model_are_shown() -> None:
    assert describe(THINKER).replace("\u202f", " ") == "128.0 k tokens · $0.25 / $2.00"
    assert describe(ModelInfo(provider="p", name="m", price_input=0, price_output=0)) == "free"
    assert describe(MODELS[0]) == ""
    assert [word for _icon, word in abilities(THINKER)] == ["tools", "reasoning"]


async def loaded(qtbot: QtBot, workflow: Workflow | None = None) -> tuple[FakeAtelier, ChatHeader, WorkflowChoices]:
    engine = FakeAtelier(
        agents={"list": [ADA], "default": ADA},
        models={"list": MODELS},
        settings={"get": Settings(favourite_models=("p/m",))},
    )
    header = ChatHeader()
    qtbot.addWidget(header)
    header.resize(900, 46)
    header.show()
    choices = WorkflowChoices(FakeBridge(engine), header, header)
    await choices.load()
    await settle()
    choices.set_workflow(workflow)
    return engine, header, choices


async def test_thinking_effort_can_be_chosen_if_the_model_can_think(qtbot: QtBot) -> None:
    engine, header, _choices = await loaded(qtbot, Workflow(id="w", name="W", agent_id="ada"))

    def efforts() -> list[str]:
        return [each.key for each in header.more.efforts]

    assert efforts() == []
    header.models.chosen.emit("p/t")
    assert efforts() == ["", "off", "low", "medium", "high"]
    header.effort_chosen.emit("high")
    assert (header.models.full_text, header.more.effort) == ("t · High", "high")
    await settle()
    (_args, last) = engine.calls("workflows.choose")[-1][0]
    assert last == Choices(provider="p", model="t", thinking=Thinking.HIGH)


async def test_a_favourite_and_a_choice_are_stored_in_the_settings(qtbot: QtBot) -> None:
    engine, header, _choices = await loaded(qtbot)
    header.models.starred.emit("p/t", True)
    header.models.chosen.emit("q/x/y")
    await settle()
    updates = [fields for _args, fields in engine.calls("settings.update")]
    assert {"favourite_models": ("p/m", "p/t")} in updates
    assert {"recent_models": ("q/x/y",)} in updates
    assert header.models.choices[1].key == "p/t"


async def test_a_chosen_model_that_is_no_longer_offered_stays_shown(qtbot: QtBot) -> None:
    workflow = Workflow(id="w", name="W", agent_id="ada", choices=Choices(provider="q", model="retired"))
    _engine, header, choices = await loaded(qtbot, workflow)
    assert header.models.full_text == "retired"
    assert (header.models.key, choices.model) == ("q/retired", ("q", "retired"))


async def test_a_choice_made_on_the_command_line_meanwhile_is_shown(qtbot: QtBot) -> None:
    workflow = Workflow(id="w", name="W", agent_id="ada")
    _engine, header, choices = await loaded(qtbot, workflow)
    choices.refresh_from(workflow.model_copy(update={"choices": Choices(provider="p", model="t")}))
    assert header.models.full_text == "t"


async def test_an_unknown_context_window_has_the_size_that_runs_assume(qtbot: QtBot) -> None:
    """The share was shown while an agent ran, and disappeared when it was done."""
    _engine, _header, choices = await loaded(qtbot)
    assert choices.model == ("p", "m")
    assert choices.info is not None
    assert choices.info.context_window is None
    assert choices.window == DEFAULT_WINDOW


async def test_a_new_workflow_takes_the_agent_and_the_model_that_were_used_last(qtbot: QtBot) -> None:
    engine, header, choices = await loaded(qtbot, Workflow(id="w", name="W", agent_id="ada"))
    header.models.chosen.emit("p/t")
    choices.used()
    await settle()
    assert {"last_agent_id": "ada", "last_model": "p/t"} in [
        fields for _args, fields in engine.calls("settings.update")
    ]
    choices.set_workflow(Workflow(id="v", name="V", agent_id="ada"))
    assert choices.model == ("p", "m"), "another workflow keeps its own"
    choices.set_workflow(None)
    assert (choices.model, choices.labels["ada"], header.models.key) == (("p", "t"), "t", "p/t")
    header.agents.chosen.emit("ada")
    assert choices.model == ("p", "m"), "who is picked answers with a model of its own"
