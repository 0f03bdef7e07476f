"""The line above the transcript: the title keeps some words, whatever stands beside it."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.desktop.chat.header import ChatHeader
from app.desktop.theme import theme
from app.domain.agent import Agent, AgentConfig
from app.domain.provider import ModelInfo


def test_the_title_is_whole_where_there_is_room_and_keeps_some_words_where_there_is_not(qtbot: QtBot) -> None:
    header = ChatHeader()
    qtbot.addWidget(header)
    header.resize(900, 46)
    header.show()
    agent = Agent(config=AgentConfig(name="Architect of everything", provider="p", model="a-model-with-a-name"))
    header.set_agents([agent], agent.id)
    header.set_models([ModelInfo(provider="p", name="a-model-with-a-name")], "p", "a-model-with-a-name")
    header.set_title("Build the shelf")
    for scale in (100, 150):
        theme().set_scale(scale)
        wanted = header.title.fontMetrics().horizontalAdvance
        qtbot.waitUntil(lambda wanted=wanted: header.title.width() >= wanted("Build the shelf"))
    header.set_title("Can you isolate the execution of tools and add a test?")
    header.resize(600, 60)
    qtbot.waitUntil(lambda: header.title.width() >= theme().px(100) - 1)


def test_a_title_given_before_the_first_paint_is_whole_too(qtbot: QtBot) -> None:
    header = ChatHeader()
    qtbot.addWidget(header)
    header.resize(900, 46)
    header.set_title("New workflow")
    header.show()
    qtbot.waitExposed(header)
    assert header.title.width() >= header.title.fontMetrics().horizontalAdvance("New workflow")
