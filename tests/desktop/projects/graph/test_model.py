"""The content of the graph, and what is visible."""

from __future__ import annotations

import numpy as np
import pytest

from atelier_desk.desktop.projects.graph import model as graph_model
from atelier_desk.desktop.projects.graph.model import GraphModel
from atelier_desk.domain.project import EntityKind, RelationKind
from tests.helpers.fake_project_service import ENTITIES, RELATIONS


def filled() -> GraphModel:
    model = GraphModel()
    assert model.add(ENTITIES, RELATIONS) == len(ENTITIES)
    model.place(np.arange(2 * len(ENTITIES), dtype=np.float64).reshape(-1, 2))
    return model


def test_a_relation_is_added_once_both_ends_exist() -> None:
    model = GraphModel()
    model.add(ENTITIES[:1], RELATIONS)
    assert len(model.edges) == 0
    model.add(ENTITIES, ())
    assert len(model.edges) == len(RELATIONS)
    assert model.add(ENTITIES, RELATIONS) == 0
    assert len(model.edges) == len(RELATIONS)


def test_hiding_a_kind_hides_its_nodes_and_their_edges() -> None:
    model = filled()
    model.show_kind(EntityKind.FILE, False)
    assert not model.node_shown[model.number["f1"]]
    assert model.degree[model.number["k1"]] == 0
    model.show_kind(EntityKind.FILE, True)
    model.show_relation(RelationKind.CALLS, False)
    assert set(model.neighbours(model.number["m1"])) == {model.number["c1"]}
    assert model.relation_counts()[RelationKind.CALLS] == 2


def test_only_the_surroundings_of_a_node_are_shown() -> None:
    model = filled()
    around = model.around(model.number["m1"], 1)
    assert {model.entities[node].id for node in around} == {"m1", "c1", "m2", "s1"}
    model.show_only(around)
    assert model.narrowed
    assert int(model.node_shown.sum()) == 4
    model.show_only(None)
    assert int(model.node_shown.sum()) == len(ENTITIES)


def test_an_arrow_leads_to_a_neighbour_else_to_the_nearest_there() -> None:
    model = filled()
    places = np.full((len(ENTITIES), 2), 50.0)
    for name, place in {"m1": (0, 0), "c1": (-4, 0), "m2": (3, 0.5), "s1": (0, -6), "h1": (1, 0)}.items():
        places[model.number[name]] = place
    model.place(places)
    here = model.number["m1"]
    assert model.toward(here, 1, 0) == model.number["m2"]  # h1 is closer, but not connected
    assert model.toward(here, -1, 0) == model.number["c1"]
    assert model.toward(here, 0, -1) == model.number["s1"]
    assert model.toward(model.number["s1"], 1, 0) is not None


def test_the_number_of_nodes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_model, "MOST_NODES", 4)
    model = GraphModel()
    assert model.add(ENTITIES, RELATIONS) == 4
    assert len(model) == 4
