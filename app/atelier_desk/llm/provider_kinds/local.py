"""The built-in llama.cpp server and the model files of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.provider import BUILTIN
from atelier_desk.llm.provider_type_registry import ProviderType, register
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ProviderConfig
    from atelier_desk.llm.interfaces import Provider
    from atelier_desk.llm.secrets import KeyVault


def create(config: ProviderConfig, vault: KeyVault, clock: Clock, models_dir: Path) -> Provider:
    from atelier_desk.llm.local.provider import LocalProvider

    return LocalProvider(models_dir, clock, name=config.name)


register(
    ProviderType(
        kind=BUILTIN,
        title=N_("Built-in"),
        name=BUILTIN,
        create=create,
        order=90,
        icon="hard-drive",
        builtin=True,
        free=True,
    )
)
