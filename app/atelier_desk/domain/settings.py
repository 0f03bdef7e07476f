"""Settings of the program, stored as rows of key and JSON value; this model names them, their defaults and their bounds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from atelier_desk.domain import limits
from atelier_desk.domain.addresses import with_scheme
from atelier_desk.domain.approval import ApprovalSettings
from atelier_desk.domain.base import Model
from atelier_desk.domain.imported_data import HeldGrant, HeldKind
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.support.i18n import N_

ActionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
Keys = Annotated[str, Field(pattern=r"^(((Ctrl|Alt|Shift|Meta)\+){0,4}(F([1-9]|[12]\d|3[0-5])|[A-Z][A-Za-z]{1,15}|[A-Z]|[^\sA-Za-z]))?$")]
"""A key with what is held, as Qt writes it in any language: ``Ctrl+Shift+F``, ``F5``; empty for none."""


class EmbedderSettings(Model):
    """Which embedder turns memories into vectors. ``kind`` is ``builtin``, ``sentence-transformers``, a kind of provider, or
    ``none``, which leaves full text alone."""

    kind: str = Field(default="builtin", pattern=r"^[a-z][a-z0-9-]{0,31}$")
    provider: str = ""
    model: str = ""
    dimension: int | None = Field(default=None, ge=1, le=8192)


def _with_host(text: str) -> str:
    """Refuse what looks like an address and has no host, or a port that none has."""
    parts = urlsplit(text)
    if text and (not parts.hostname or parts.port == 0):  # reading a port over 65535 raises
        raise ValueError(N_("an address has a host, and a port from 1 to 65535"))
    return text


ADDRESS = r"^(https?://[^\s@/?#]+(/[^\s?#]*)?)?$"
NO_OR_VARIABLE = r"^([A-Za-z_][A-Za-z0-9_]*)?$"
PROVIDER_AND_MODEL = r"^([^/\s][^/]*/\S.*)?$"
MOST_FORMER_NAMES = 200
MOST_PRICE = 1_000.0
"""US dollars for one picture, model or search."""
Url = Annotated[str, BeforeValidator(with_scheme), Field(max_length=2_000, pattern=ADDRESS), AfterValidator(_with_host)]
"""The address of a server, without a name, password or query; empty for the usual one."""
Variable = Annotated[str, Field(max_length=128, pattern=NO_OR_VARIABLE)]
"""The name of an environment variable; empty for none."""


class WebSettings(Model):
    """How the web is searched.

    Attributes:
        search: who is asked; ``ddgs`` asks public search pages and needs no key, ``off`` offers no search.
        address: of a SearXNG server, or of another server that answers as the service does.
        key_env: the variable with the key; empty for one that is in the keyring.
        scripts: pages that programs make (JavaScript) are shown by an installed browser (``auto``), or read without (``off``).
        browser: the program of that browser; empty takes the first that is found.
    """

    search: Literal["ddgs", "searxng", "brave", "tavily", "off"] = "ddgs"
    address: Url = ""
    key_env: Variable = ""
    scripts: Literal["auto", "off"] = "auto"
    browser: str = Field(default="", max_length=1_000)


class MediaSettings(Model):
    """Who makes pictures and 3D models, and who describes pictures. Empty addresses of 3D services mean their own.

    Attributes:
        sees: the model that describes pictures, ``provider/model``; empty for none.
        images: the address of an images endpoint in OpenAI's form (``https://api.openai.com/v1``); empty for none.
        images_model: as that server calls it.
        models: the service for 3D models.
        images_key_env, models_key_env: the variables with the keys; empty for keys in the keyring.
        images_price, models_price: US dollars for a picture and for a 3D model; None where the person does not know.
    """

    sees: str = Field(default="", max_length=600, pattern=PROVIDER_AND_MODEL)
    images: Url = ""
    images_model: str = Field(default="", max_length=512)
    images_key_env: Variable = ""
    models: Literal["off", "tripo", "meshy"] = "off"
    models_address: Url = ""
    models_key_env: Variable = ""
    images_price: float | None = Field(default=None, ge=0, le=MOST_PRICE)
    models_price: float | None = Field(default=None, ge=0, le=MOST_PRICE)


class Settings(Model):
    """All settings. ``language`` and ``theme`` ``system`` follow the desktop; ``font_scale`` is in percent."""

    language: Literal["system", "en", "fr"] = "system"
    theme: Literal["system", "light", "dark"] = "system"
    font_scale: int = Field(default=100, ge=80, le=200)
    notifications: bool = True
    tray: bool = True
    """An icon in the desktop's notification area, where there is one."""
    quick_key_on: bool = False
    """Hold ``quick_key`` in every program, where the system gives keys to programs; it opens quick ask."""
    quick_key: Keys = "Ctrl+Alt+Space"
    notification_answers: bool = True
    """Buttons and a field for a reply in the desktop's notifications, where it has them."""
    remind_minutes: int = Field(default=10, ge=0, le=240)
    """Minutes after which the desktop tells again of what waits for a person; 0 tells once."""
    first_start_done: bool = False
    default_agent_id: str = ""
    name_by_model: bool = True
    """Ask the model for a workflow's name after its first answer; off, the first message's words are its name."""
    monthly_cost_limit: float = Field(default=0, ge=0, le=1_000_000)
    """US dollars that all requests together may cost in a calendar month, at most; 0 sets no limit."""
    monthly_warned: str = Field(default="", max_length=7)
    """The month in which the person was told that most of it is used: ``2026-11``."""
    monthly_unpriced: str = Field(default="", max_length=7)
    """The month in which requests whose price is not known are sent although there is a monthly limit."""
    stop_repetition: bool = True
    """A reply in which the same passage comes again and again is stopped."""
    workflows_running: int = Field(default=limits.WORKFLOWS_RUNNING, ge=1, le=32)
    inactivity_s: int = Field(default=limits.INACTIVITY_S, ge=limits.INACTIVITY[0], le=limits.INACTIVITY[1])
    """Seconds without a word after which a model's reply, or a sub-agent, is ended."""
    embedder: EmbedderSettings = EmbedderSettings()
    embedder_before: EmbedderSettings | None = None
    """The one that searches still use, while the vectors of ``embedder`` are being made; None when they are whole."""
    embedder_paused: bool = False
    """Making them waits until a person goes on with it."""
    memories_off: tuple[str, ...] = Field(default=(), max_length=10_000)
    """Ids of the workflows whose agents neither keep nor are given memories."""
    memories_ask: bool = True
    """What an agent wants remembered for all workflows holds for its own alone until a person says so, in the card that asks at once."""
    memories_at_end: Literal["off", "told", "always"] = "told"
    """The model is asked after an answer what of the turn is to be remembered: never, when the person told something of themselves (in
    English or French), or always. What it says is proposed."""
    memories_pinned: tuple[str, ...] = Field(default=(), max_length=2_000)
    """Ids of the memories that do not expire, the last pinned first."""
    memories_apart: tuple[tuple[str, str], ...] = Field(default=(), max_length=2_000)
    """Pairs of memories that look like one or like a contradiction and, as a person said, may both stand."""
    fsync: bool = True
    """Wait for the disk at each commit; off survives a killed program but not a power cut."""
    approvals: ApprovalSettings = ApprovalSettings()
    web: WebSettings = WebSettings()
    media: MediaSettings = MediaSettings()
    max_depth: int = Field(default=limits.DEPTH, ge=0, le=limits.DEPTH_MAX)
    """How deep agents may start agents; 0 lets none start any."""
    audit_days: int = Field(default=30, ge=0, le=3650)
    """Days that the audit trail goes back; 0 shows all there is. What happened stays in its workflow either way."""
    checkpoint_days: int = Field(default=30, ge=0, le=3650)
    """Days for which changes of files can be undone; 0 keeps them for ever."""
    checkpoint_mb: int = Field(default=1000, ge=10, le=1_000_000)
    """Megabytes that the undo of file changes may take; over it the oldest changes are given up."""
    folder_trust: dict[str, bool] = Field(default={}, max_length=2_000)
    """By folder, whether a person said that agents may obey what its files tell them; a folder not named was not asked about."""
    project_answers: dict[str, bool] = Field(default={}, max_length=2_000)
    """By granted folder, whether a person said that it becomes a project; a folder not named was not asked about."""
    skills_off: tuple[str, ...] = Field(default=(), max_length=2_000)
    """The files of the skills and commands that a person switched off, absolute."""
    favourite_models: tuple[str, ...] = Field(default=(), max_length=200)
    """``provider/model`` of those that stand first wherever a model is chosen."""
    recent_models: tuple[str, ...] = Field(default=(), max_length=20)
    """The same of those picked last, the newest first."""
    provider_names: dict[str, str] = Field(default={}, max_length=MOST_FORMER_NAMES)
    """By a name that a provider had, the one that it has now: workflows and runs of before know the former. The oldest are given up."""
    last_agent_id: str = ""
    """Who answered the message that was sent last: the agent of the next new workflow. Empty for the default one."""
    last_model: Annotated[str, Field(max_length=600, pattern=PROVIDER_AND_MODEL)] = ""
    """``provider/model`` that was chosen then in place of the agent's own; empty for that."""
    favourite_agents: tuple[str, ...] = Field(default=(), max_length=200)
    """Ids of the agents that stand first."""
    confirmed_tools: dict[str, str] = {}
    """Files of the data folder's ``tools`` that may be loaded: SHA-256 by file name, as a person confirmed it."""
    held: tuple[HeldGrant, ...] = ()
    """What came with data from elsewhere and is not used before a person confirms it; see ``in_force``."""
    shortcuts: dict[ActionName, Keys] = Field(default={}, max_length=500)
    """Keys by action in place of the action's own; empty for none."""
    window: dict[str, str] = {}
    """Geometry and layout of the window, as the desktop wrote them (base64 by name)."""

    @property
    def in_force(self) -> Settings:
        """These settings without the services whose address nobody here confirmed."""
        held = {each.kind for each in self.held}
        changed: dict[str, object] = {}
        if HeldKind.EMBEDDER in held:
            changed |= {"embedder": EmbedderSettings(kind="none"), "embedder_before": None}
        if HeldKind.SEARCH in held:
            changed["web"] = self.web.model_copy(update={"search": "off"})
        media = {"images": ""} if HeldKind.IMAGES in held else {}
        media |= {"models": "off"} if HeldKind.MODELS in held else {}
        if media:
            changed["media"] = self.media.model_copy(update=media)
        return self.model_copy(update=changed) if changed else self

    def trusts(self, folder: PurePath) -> bool | None:
        """What was decided of a folder, links followed, or of the nearest one above; None when nobody was asked."""
        return next((self.folder_trust[str(each)] for each in (folder, *folder.parents) if str(each) in self.folder_trust), None)

    def with_rules(self, rules: Iterable[PermissionRule]) -> Settings:
        """These settings with other standing rules: those are stored on their own."""
        return self.model_copy(update={"approvals": self.approvals.model_copy(update={"rules": tuple(rules)})})
