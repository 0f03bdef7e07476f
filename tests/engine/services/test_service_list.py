"""The services listed for the window exist under their names."""

from __future__ import annotations

from operator import attrgetter

from atelier_desk.engine.services.service_list import PARTS, SERVICES
from tests.engine.conftest import Opener


async def test_each_service_and_part_is_what_it_is_listed_as(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        assert {name: type(getattr(atelier, name)).__name__ for name in SERVICES} == SERVICES
        classes = {path: type(attrgetter(path)(atelier)) for path in PARTS}
    assert {path: f"{found.__module__}.{found.__name__}" for path, found in classes.items()} == {
        path: f"atelier_desk.{found}" for path, found in PARTS.items()
    }
