"""Models with a small context window."""

from __future__ import annotations

from atelier_desk.domain.agent import ToolDialect
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways.model_gateway import FactoryGateway
from atelier_desk.llm.scripted_model import ScriptedModel

SMALL = 8_192


def on_window(
    atelier: Atelier, model: ScriptedModel, window: int = SMALL, dialect: ToolDialect = ToolDialect.NATIVE
) -> None:
    atelier.environment.gateway = FactoryGateway(lambda config: model, window=window, dialect=dialect)
