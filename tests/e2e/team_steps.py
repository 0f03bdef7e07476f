"""A team at work in the window."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QAbstractButton, QWidget

from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_model_server import (
    ModelServer,
    config,
    hire,
)

GOAL, MEASURE, CUT, GLUE, CHECK = (
    "Build the shelf",
    "Measure the wall",
    "Cut the boards",
    "Glue the parts",
    "Check the figures",
)


def open_team(open_app: OpenApp, server: ModelServer, **lead: Any) -> AppDriver:
    """The program with Ada, who leads, and Bea, Cid and Dan."""
    app = open_app(None)
    agents = [config("Ada", **lead), *(config(name) for name in ("Bea", "Cid", "Dan"))]
    app.engine(lambda a: hire(a, server.provider, *agents))
    app.settle()
    return app


def lane(app: AppDriver, name: str) -> QWidget:
    """Wait for the lane of a sub-agent."""
    return app.until(
        lambda: [each for each in app.find_all("agent-lane") if name in rendered(each).splitlines()], f"{name}'s lane"
    )[0]


def row(app: AppDriver, name: str) -> QWidget:
    """Wait for an agent's row in the tree."""
    rows = app.window.rail.panes["activity"].tree._rows  # type: ignore[attr-defined]
    found: list[QWidget] = app.until(
        lambda: [each for each in rows.values() if each.name == name and each.isVisible()], f"{name} is in the tree"
    )
    return found[0]


def press(app: AppDriver, within: QWidget, name: str) -> None:
    """Click a button of a widget. Row buttons are visible only under the pointer, but always accept clicks."""
    button = app.until(lambda: within.findChildren(QAbstractButton, name), name)[0]
    app.click(button)
